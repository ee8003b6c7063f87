"""How the MPI's own launcher is asked where it puts ranks."""

import shutil
from pathlib import Path

import pytest

from seatrial.launch.contract import StartsByDefault
from seatrial.launch.local import LocalLauncher
from seatrial.launch.mpi import Family, Mpi, default_argv, default_line, find_mpi, job_variables
from seatrial.launch.probe_build import build, default_folder
from seatrial.launch.session import look
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.settings import SiteSettings

OPEN_MPI = Mpi(mpicc="/opt/bin/mpicc", mpirun="/opt/bin/mpirun", family=Family.OPEN_MPI)
HYDRA = Mpi(mpicc="/opt/bin/mpicc", mpirun="/opt/bin/mpiexec", family=Family.MPICH)


def test_the_line_says_nothing_of_binding() -> None:
    assert default_line(OPEN_MPI, 2) == "mpirun -n 2"
    assert default_argv(OPEN_MPI, 2, ["probe"], root=False) == ["/opt/bin/mpirun", "-n", "2", "probe"]
    assert default_argv(OPEN_MPI, 2, ["probe"], root=True)[1] == "--allow-run-as-root"
    assert default_argv(HYDRA, 2, ["probe"], root=True) == ["/opt/bin/mpiexec", "-n", "2", "probe"]


def test_the_job_looks_as_salloc_makes_it() -> None:
    """One task on each node, so that mpirun starts one rank on each."""
    found = job_variables("42", ("n1", "n2"))
    assert (found["SLURM_JOB_ID"], found["SLURM_JOB_NODELIST"]) == ("42", "n[1-2]")
    assert (found["SLURM_TASKS_PER_NODE"], found["SLURM_NNODES"], found["SLURM_NTASKS"]) == ("1(x2)", "2", "2")
    assert job_variables("42", ("n1",))["SLURM_TASKS_PER_NODE"] == "1"


@pytest.mark.parametrize("argv", [["false"], ["/does/not/exist"], ["sh", "-c", "echo no slots >&2; exit 3"]])
def test_a_launch_that_fails_is_a_result(argv: list[str], tmp_path: Path) -> None:
    found = look("mpirun -n 2", argv, ("n1", "n2"), tmp_path / "log", {}, one_host=True)
    assert found.failure
    assert (found.line, found.ranks) == ("mpirun -n 2", ())


def test_without_mpirun_or_job_there_is_nothing_to_look_at(tmp_path: Path) -> None:
    alone = Mpi(mpicc="mpicc", mpirun="", family=Family.UNKNOWN)
    assert LocalLauncher(alone, Path("probe"), 2).default_start(("a", "b"), tmp_path / "log") is None
    slurm = SlurmLauncher(SiteSettings(archive=Path()), probe=Path("probe"), own=OPEN_MPI)
    slurm.job = ""
    assert slurm.default_start(("a", "b"), tmp_path / "log") is None
    assert isinstance(slurm, StartsByDefault)


@pytest.mark.parametrize("mpicc", ["mpicc.openmpi", "mpicc.mpich"])
def test_ranks_of_the_real_launcher_say_where_they_are(mpicc: str, tmp_path: Path) -> None:
    if shutil.which(mpicc) is None:
        pytest.skip(f"{mpicc} is not installed")
    mpi = find_mpi(mpicc)
    launcher = LocalLauncher(mpi, build(mpi, default_folder()), 2)
    found = launcher.default_start(launcher.hosts().nodes, tmp_path / "log")
    assert found is not None
    assert found.failure == "" or "slots" in found.failure, found.failure
    if not found.failure:
        assert [rank["rank"] for rank in found.ranks] == [0, 1]
        assert all(rank["cpus"] for rank in found.ranks)
