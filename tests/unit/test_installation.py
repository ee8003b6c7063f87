"""What the README's own lines install carries out what the documents promise, as far as it needs no cluster."""

import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from seatrial.process.process import run
from tests.support.documents import section
from tests.support.paths import ROOT
from tests.support.promises import BLOCK, SEARCH, as_tested, promised_in, write_named_files
from tests.support.run_archives import healthy_run

WHEELS = ROOT / ".venv" / "wheels"
"""What scripts/setup.sh made the tests' own environment of."""
UNDECIDED = ("history", "compare", "swap status", "--launcher local")
"""What an archive of a few runs, a search without results, or a busy machine does not decide."""


def path_after_installing(home: Path) -> str:
    """PATH after the README's lines; `python3.11` is this Python, and the index is the folder of wheels."""
    python = home / "bin" / "python3.11"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys._base_executable)} "$@"\n')  # type: ignore[attr-defined]
    python.chmod(0o755)
    typed = BLOCK.findall(section((ROOT / "README.md").read_text(), "Install"))[0]
    settings = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(WHEELS), "PIP_NO_COMPILE": "1"}
    surroundings = {**settings, "HOME": str(home), "PATH": f"{python.parent}:{os.environ['PATH']}"}
    asked = ["bash", "-ec", f"{typed}\ncomplete -p seatrial\ncommand -v seatrial\nprintenv PATH"]
    done = run(asked, timeout_s=300, extra_environment=surroundings, cwd=str(ROOT))
    assert done.returncode == 0, done.stdout + done.stderr
    *_, program, path = done.stdout.splitlines()
    assert program == str(home / "seatrial" / "bin" / "seatrial")
    return path


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no MPI")
def test_the_installation_of_the_readme_does_what_needs_no_cluster(tmp_path: Path) -> None:
    commands = promised_in("docs/commands.md", on_a_cluster=False)
    assert len(commands) >= 15
    assert set(promised_in("README.md", on_a_cluster=False)) <= set(commands)
    assert WHEELS.is_dir(), "scripts/setup.sh test collects them"
    archive = tmp_path / "runs"
    environment = {"PATH": path_after_installing(tmp_path / "home"), "SEATRIAL_ARCHIVE": str(archive)}
    write_named_files(tmp_path)
    for number in range(1, 5):
        healthy_run(archive, number)
    for command in (shlex.join(["seatrial", *SEARCH]), *map(as_tested, commands)):
        if " compare good " in command:
            healthy_run(archive, 5)  # the check after the change
        done = run(shlex.split(command), timeout_s=120, extra_environment=environment, cwd=str(tmp_path))
        wanted = (0, 2) if any(word in command for word in (*UNDECIDED, "swap start")) else (0,)
        assert done.returncode in wanted, f"{command}: {done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert (tmp_path / "samples.parquet").exists()
