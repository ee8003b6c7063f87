"""A check left to the queue, and collected: with scripts in Slurm's place that say what Slurm would."""

import json
import sys
from pathlib import Path

import pytest

from seatrial.archive.reader import run_folders
from seatrial.archive.writer import RunWriter
from seatrial.experiment import detached
from seatrial.model.run import Ending
from tests.unit.builders import Cluster, fill, info_of, names, record, sail, slow_part

main = pytest.importorskip("seatrial.cli.main", exc_type=ImportError)

CLUSTER = Cluster(nodes=names(3), parts=slow_part("node", "n2", 0.6))


class Slurm:
    """Scripts on PATH; each prints a file's content."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.says("sinfo", "".join(f"n{place}|idle|normal*|none\n" for place in (1, 2, 3)))
        self.says("scontrol", "ClusterName = demo\n")
        self.says("sbatch", "42\n")
        self.says("squeue", "PENDING\n")

    def says(self, program: str, text: str, code: int = 0) -> None:
        (self.folder / f"{program}.out").write_text(text)
        script = self.folder / program
        script.write_text(
            f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {self.folder}/{program}.asked\n"
            f"cat {self.folder}/{program}.out {'>&2' if code else ''}\nexit {code}\n"
        )
        script.chmod(0o755)

    def asked(self, program: str) -> list[str]:
        return (self.folder / f"{program}.asked").read_text().splitlines()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "the archive"


@pytest.fixture
def slurm(tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch) -> Slurm:
    for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(archive))
    monkeypatch.setattr(detached, "CLOSING_S", 0.0)
    slurm = Slurm(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{slurm.folder}:/usr/bin:/bin")
    return slurm


def submit(*options: str) -> int:
    code: int = main.run(["check", "--detach", "--run", "later", "--probe", "/bin/true", *options])
    return code


def test_what_is_handed_to_the_queue(slurm: Slurm, archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert submit("--budget", "2m", "--seed", "7") == 0
    assert "Job 42 will measure; `seatrial runs collect later`" in capsys.readouterr().out
    asked = slurm.asked("sbatch")
    assert "--nodelist=n[1-3]" in asked
    script = asked.index(str(archive / "later.submitted" / "batch.sh"))
    assert asked[script + 1 : script + 5] == [sys.executable, "-m", "seatrial", "check"]
    options = dict(zip(asked[script + 5 :: 2], asked[script + 6 :: 2], strict=True))
    assert options["--archive"] == str(archive)
    assert (options["--run"], options["--budget"], options["--seed"]) == ("later", "120s", "7")
    assert "--detach" not in asked


def test_while_it_waits_its_state_is_said_and_the_exit_code_is_2(
    slurm: Slurm, capsys: pytest.CaptureFixture[str]
) -> None:
    submit()
    capsys.readouterr()
    assert main.run(["runs", "collect"]) == 2
    assert capsys.readouterr().out == "later: job 42 is PENDING.\n"
    assert main.run(["runs", "collect", "later", "--json"]) == 2
    assert json.loads(capsys.readouterr().out) == {"format": 1, "state": "later: job 42 is PENDING."}
    assert "--jobs=42" in slurm.asked("squeue")


def test_once_it_is_over_it_is_reported_and_exits_as_it_did(
    slurm: Slurm, archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submit()
    record(CLUSTER, archive, "later")
    slurm.says("squeue", "")
    capsys.readouterr()
    assert main.run(["runs", "collect", "la"]) == 1
    assert "n2" in capsys.readouterr().out


def test_a_job_that_is_gone_in_mid_work_is_recovered(
    slurm: Slurm, archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submit()
    fill(RunWriter(archive, info_of(CLUSTER, run="later", ending=Ending.RUNNING)), CLUSTER, sail(CLUSTER))
    slurm.says("squeue", "slurm_load_jobs error: Invalid job id specified\n", 1)
    capsys.readouterr()
    assert main.run(["runs", "collect", "later"]) == 1
    assert [folder.name for folder in run_folders(archive)] == ["later"]


def test_a_job_that_is_gone_without_a_trace_leaves_its_last_word(
    slurm: Slurm, archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submit()
    slurm.says("squeue", "")
    (archive / "later.submitted" / "output.txt").write_text("first\nslurmstepd: error: \x1b[31mKilled\n")
    capsys.readouterr()
    assert main.run(["runs", "collect", "later"]) == 2
    assert capsys.readouterr().out == "later: job 42 is gone and measured nothing: slurmstepd: error: Killed\n"


def test_a_job_that_slurm_does_not_take_leaves_nothing_behind(
    slurm: Slurm, archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.says("sbatch", "sbatch: error: Batch job submission failed: Invalid account\n", 1)
    assert submit() == 2
    assert "Slurm takes no job: Batch job submission failed: Invalid account." in capsys.readouterr().err
    assert list(archive.iterdir()) == []


def test_without_slurm_nothing_can_be_left_to_it(
    slurm: Slurm, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.says("sinfo", "no\n", 1)
    assert submit() == 64
    assert "--detach needs Slurm" in capsys.readouterr().err


def test_a_partition_or_node_that_does_not_exist_is_shown(slurm: Slurm, capsys: pytest.CaptureFixture[str]) -> None:
    assert submit("--partition", "p; reboot") == 64
    assert "'p; reboot'" in capsys.readouterr().err
    assert submit("--nodes", "n[1-2],n9") == 64
    assert "'n9'" in capsys.readouterr().err


def test_a_run_that_was_not_submitted_is_refused(
    slurm: Slurm, archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(CLUSTER, archive, "direct")
    assert main.run(["runs", "collect", "direct"]) == 64
    assert "'direct' was not submitted by --detach" in capsys.readouterr().err
