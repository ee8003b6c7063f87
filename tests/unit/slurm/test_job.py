"""The job around us, as squeue tells of it; lines as of Slurm 22.05 on a lab."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.launch.mpi import without_schedulers
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.errors import JobOver, LaunchError, UsageError
from seatrial.model.settings import SiteSettings
from seatrial.process.process import Completed
from seatrial.slurm import job, presence
from tests.support.slurm_scripts import in_place_of_slurm

ARRAY = "71|RUNNING|1000|n[1-2]\n70|RUNNING|1000|n[3-4]\n"
"""Of `sbatch --array=1-2`; the last task has the number of the whole."""
HETEROGENEOUS = "72|RUNNING|1000|n1\n73|RUNNING|1000|n[3-4]\n"
Says = Callable[..., None]


@pytest.fixture
def squeue(monkeypatch: pytest.MonkeyPatch) -> Says:
    """Lets squeue answer so."""

    def says(text: str, error: str = "") -> None:
        answer = Completed(argv=("squeue",), returncode=int(bool(error)), stdout=text, stderr=error)
        for module in (job, presence):
            monkeypatch.setattr(module, "asked", lambda _: answer)

    monkeypatch.setenv("SLURM_JOB_UID", "1000")
    return says


@pytest.mark.parametrize(("text", "number", "nodes"), [(ARRAY, "70", "n[3-4]"), (HETEROGENEOUS, "72", "n1")])
def test_of_several_lines_that_of_the_very_job_counts(squeue: Says, text: str, number: str, nodes: str) -> None:
    squeue(text)
    assert job.job_around(number).nodes == nodes
    job.refuse_over(number)


@pytest.mark.parametrize("text", ["", "7|COMPLETING|1000|n1\n", "7|PENDING|1000|\n", "8|RUNNING|1000|n1\n", "7|x\n"])
def test_a_job_that_is_over(squeue: Says, text: str) -> None:
    squeue(text)
    with pytest.raises(LaunchError, match="knows no such job any more"):
        job.job_around("7")
    with pytest.raises(JobOver, match="Job 7 is over"):
        job.refuse_over("7")


def test_words_that_are_no_number_are_no_job(squeue: Says) -> None:
    squeue("", error="squeue: error: Invalid job id: x y")
    assert job.job_now("x y") is None


def test_a_silent_controller_is_not_taken_for_the_end_of_the_job(squeue: Says) -> None:
    squeue("", error="slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
    with pytest.raises(LaunchError, match=r"The state of job 7 is not known.*controller does not answer"):
        job.refuse_over("7")


def test_a_suspended_job_is_named(squeue: Says) -> None:
    squeue("7|SUSPENDED|1000|n1\n")
    with pytest.raises(JobOver, match="Job 7 is suspended"):
        job.refuse_over("7")


def test_the_job_of_another_user_is_left_alone(squeue: Says, monkeypatch: pytest.MonkeyPatch) -> None:
    squeue("7|RUNNING|1001|n1\n")
    with pytest.raises(LaunchError, match=r"job 7, and that is user 1001's\."):
        job.job_around("7")
    monkeypatch.setenv("SLURM_JOB_UID", "1001")  # as in a container, where everybody is root
    assert job.job_around("7").user == "1001"


def test_of_a_step_of_many_tasks_one_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm = in_place_of_slurm(tmp_path / "bin", tmp_path / "runs", monkeypatch)
    slurm.says("squeue", "7|RUNNING|1000|n[1-2]\n")
    for name, value in {"JOB_ID": "7", "JOB_UID": "1000", "STEP_ID": "0", "PROCID": "0"}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1")
    launcher = SlurmLauncher(SiteSettings(archive=Path()), probe=tmp_path)
    assert launcher.hosts().nodes == ("n1", "n2")
    monkeypatch.setenv("SLURM_PROCID", "3")
    with pytest.raises(UsageError, match="task 3 of a step"):
        launcher.hosts()


def test_mpirun_for_this_machine_alone_does_not_see_the_job_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_CONF", "/c")
    argv = without_schedulers(["mpirun", "-n", "2"], os.environ)
    assert argv[0] == "env"
    assert argv[-3:] == ["mpirun", "-n", "2"]
    assert "SLURM_JOB_ID" in argv
    assert "SLURM_CONF" not in argv


@pytest.mark.parametrize(("named", "refused"), [("a,b", True), ("all", True), ("a", False), ("", False)])
def test_several_clusters_at_once_are_refused_since_names_may_collide(named: str, *, refused: bool) -> None:
    if not refused:
        job.refuse_clusters(named)
        return
    with pytest.raises(UsageError, match="may have the same names"):
        job.refuse_clusters(named)
