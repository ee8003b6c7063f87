"""A user's own launch line, with commands of our own in place of Slurm's."""

import time
from pathlib import Path

import pytest

from seatrial.archive.writer import RunWriter
from seatrial.driver.measurer import Measurer
from seatrial.driver.progress import Silent
from seatrial.launch import session
from seatrial.launch.contract import StartManner
from seatrial.launch.launch_line import LineLauncher
from seatrial.launch.line_parser import Dialect, parse_line
from seatrial.model.errors import JobOver, LaunchError
from seatrial.slurm import allocation
from tests.support.builders import Cluster, info_of
from tests.support.slurm_scripts import SlurmScripts, in_place_of_slurm

QUEUED = "echo 'srun: job 17 queued and waiting for resources' >&2; exec sleep 60"


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlurmScripts:
    monkeypatch.setattr(session, "BETWEEN_QUESTIONS_S", 0.05)
    monkeypatch.setattr(allocation, "SHORTEST_PAUSE_S", 0.1)
    scripts = in_place_of_slurm(tmp_path / "slurm", tmp_path / "runs", monkeypatch)
    scripts.runs("srun", QUEUED)
    return scripts


def refused(folder: Path, wait_s: float) -> LaunchError:
    line = parse_line(("srun", "-N2", "-n2", "./app"), Dialect.SRUN)
    with pytest.raises(LaunchError) as caught:
        LineLauncher(line, folder / "probe", wait_s).look(folder / "launch.err")
    return caught.value


def test_a_job_that_cannot_start_is_not_waited_for(tmp_path: Path, slurm: SlurmScripts) -> None:
    slurm.says("squeue", "PartitionConfig\n")
    began = time.monotonic()
    error = refused(tmp_path, 600)
    assert time.monotonic() - began < 50
    assert error.what == "Slurm will not grant the line: the partition does not allow what is asked (PartitionConfig)."
    assert error.remedy
    assert "--jobs=17" in slurm.asked("squeue")


def test_a_job_that_others_keep_waiting_is_waited_for(
    tmp_path: Path, slurm: SlurmScripts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seatrial.launch.launch_line.START_TIMEOUT_S", 3.0)
    slurm.says("squeue", "Resources\n")
    assert "not within 4 s" in refused(tmp_path, 1.0).what
    assert len(slurm.all_asked("squeue")) >= 2


@pytest.mark.parametrize(
    ("words", "queue", "over"),
    [
        (("srun", "-n2"), "42|RUNNING|0|n[1-2]\n", False),
        (("srun", "-n2"), "", True),
        (("srun", "-n2"), "42|COMPLETING|0|n[1-2]\n", True),
        (("srun", "--jobid=7", "-n2"), "42|RUNNING|0|n[1-2]\n", True),
        (("salloc", "-N2", "srun", "-n2"), "", False),
    ],
)
def test_a_start_that_fails_since_its_job_is_over_says_nothing_of_the_line(
    words: tuple[str, ...], queue: str, over: bool, tmp_path: Path, slurm: SlurmScripts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "42")
    for program in ("srun", "salloc"):
        slurm.says(program, "srun: error: Unable to create step for job 42: Job/step already completing\n", code=1)
    slurm.says("squeue", queue)
    line = parse_line((*words, "./app"), Dialect.SRUN)
    writer = RunWriter(tmp_path, info_of(Cluster(nodes=("n1", "n2"))))
    measurer = Measurer(LineLauncher(line, tmp_path / "probe", 0.0), writer, ("n1:0", "n2:0"), Silent(), 0.5)
    with pytest.raises(JobOver if over else LaunchError):
        measurer.begin(StartManner(options=("--cpu-bind=cores",)), starts=2)
