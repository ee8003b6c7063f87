"""Commands by which launchers start a user's program in a shared folder."""

from pathlib import Path

import pytest

from seatrial.launch.contract import StartsPrograms
from seatrial.launch.hosts.launcher import HostsLauncher
from seatrial.launch.local import LocalLauncher
from seatrial.launch.mpi import Family, Mpi, job_variables, placed_argv

OPEN_MPI = Mpi(mpicc="mpicc", mpirun="/opt/mpirun", family=Family.OPEN_MPI)
MPICH = Mpi(mpicc="mpicc", mpirun="/opt/mpiexec", family=Family.MPICH)
FOLDER = Path("/scratch/run 1")
WORDS = ["/opt/app", "; rm -rf"]


def words_after(argv: tuple[str, ...], word: str) -> str:
    return argv[argv.index(word) + 1]


@pytest.mark.parametrize("mpi", [OPEN_MPI, MPICH])
def test_hosts_start_it_by_mpirun_in_the_folder(mpi: Mpi) -> None:
    launcher = HostsLauncher(["h1", "h2"], mpi, Path("/opt/probe"))
    assert isinstance(launcher, StartsPrograms)
    argv = launcher.program_command(["h1", "h2"], WORDS, 3, FOLDER).argv
    assert words_after(argv, "-n") == "6"
    assert words_after(argv, "--wdir" if mpi is OPEN_MPI else "-wdir") == str(FOLDER)
    assert argv[-2:] == tuple(WORDS)


def test_a_program_without_mpi_is_quoted_for_the_shell_of_the_host() -> None:
    argv = HostsLauncher(["h1", "h2"], OPEN_MPI, Path("/opt/probe")).program_command(["h1"], WORDS, 0, FOLDER).argv
    assert argv[argv.index("h1") + 1 :] == ("env", "-C", "'/scratch/run 1'", "/opt/app", "'; rm -rf'")


def test_this_machine_starts_all_ranks_of_its_places() -> None:
    launcher = LocalLauncher(OPEN_MPI, Path("/opt/probe"), 2)
    assert isinstance(launcher, StartsPrograms)
    argv = launcher.program_command(["here:0"], WORDS, 2, FOLDER).argv
    assert words_after(argv, "-n") == "2"
    assert launcher.program_command(["here:0"], WORDS, 0, FOLDER).argv == tuple(WORDS)


def test_open_mpi_in_a_job_gets_the_order_of_nodes_as_parts_of_one_program() -> None:
    argv = placed_argv(OPEN_MPI, ["n4", "n2"], 1, ["x", "1"], root=False, options=["--bind-to", "none"], in_order=True)
    assert argv[1:] == [
        "--host", "n4:1", "-n", "1", "--bind-to", "none", "x", "1", ":", "--host", "n2:1", "-n", "1", "x", "1"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("mpi", "placed"),
    [(OPEN_MPI, ("--host", "n1:2,n2:2", "--map-by", "ppr:2:node")), (MPICH, ("-hosts", "n1,n2", "-ppn", "2"))],
)
def test_mpirun_in_an_allocation_places_as_many_ranks_as_its_variables_permit(
    mpi: Mpi, placed: tuple[str, ...]
) -> None:
    argv = placed_argv(mpi, ["n1", "n2"], 2, WORDS, root=False)
    assert argv == [mpi.mpirun, *placed, "-n", "4", *WORDS]
    variables = job_variables("7", ["n1", "n2"], 2)
    assert (variables["SLURM_TASKS_PER_NODE"], variables["SLURM_NTASKS"]) == ("2(x2)", "4")
    assert job_variables("7", ["n1", "n2"])["SLURM_TASKS_PER_NODE"] == "1(x2)"
