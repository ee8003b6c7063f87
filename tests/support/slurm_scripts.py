"""Scripts in the place of Slurm's commands, that print what Slurm would and write down what they were asked."""

from pathlib import Path

import pytest

from seatrial.driver import submitted

GRANTS = """
echo "salloc: Granted job allocation 42" >&2
while [ "$1" != sh ]; do shift; done
SLURM_JOB_ID=42 "$@"
echo "salloc: Relinquishing job allocation 42" >&2
"""
"""What salloc does: it runs its command, which inherits its input and output, and the job ends with that."""


class SlurmScripts:
    """Each program prints a file's content; three idle nodes, one job that waits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.says("sinfo", "".join(f"n{place}|idle|normal*|none\n" for place in (1, 2, 3)))
        self.says("scontrol", "ClusterName = demo\n")
        self.says("sbatch", "42\n")
        self.says("squeue", "42|PENDING||Resources\n")
        for unused in ("salloc", "srun", "scancel"):
            self.says(unused, "")

    def says(self, program: str, text: str, code: int = 0) -> None:
        """Let it print this, on standard error where it fails; forget what it was asked."""
        (self.folder / f"{program}.out").write_text(text)
        (self.folder / f"{program}.asked").unlink(missing_ok=True)
        script = self.folder / program
        script.write_text(
            f"#!/bin/sh\nprintf '%s\\n' \"$@\" '' >> {self.folder}/{program}.asked\n"
            f"cat {self.folder}/{program}.out {'>&2' if code else ''}\nexit {code}\n"
        )
        script.chmod(0o755)

    def runs(self, program: str, script: str) -> None:
        """Let it be this shell script."""
        (self.folder / program).write_text(f"#!/bin/sh\n{script}\n")

    def all_asked(self, program: str) -> list[list[str]]:
        """The arguments of each call, oldest first."""
        written = self.folder / f"{program}.asked"
        return [call.splitlines() for call in written.read_text().split("\n\n")[:-1]] if written.exists() else []

    def asked(self, program: str) -> list[str]:
        """Those of the last call."""
        return self.all_asked(program)[-1]


def in_place_of_slurm(folder: Path, archive: Path, monkeypatch: pytest.MonkeyPatch) -> SlurmScripts:
    """The scripts on PATH, outside any job, with an archive; nobody waits for a network file system."""
    for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(archive))
    monkeypatch.setattr(submitted, "CLOSING_S", 0.0)
    slurm = SlurmScripts(folder)
    monkeypatch.setenv("PATH", f"{slurm.folder}:/usr/bin:/bin")
    return slurm
