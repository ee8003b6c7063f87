"""Where the site's own --mpi does not work, others are tried, mpiexec last; what works is kept and reported."""

from pathlib import Path

import pytest

from seatrial.launch.contract import MPIEXEC, StartWays
from seatrial.launch.mpi import Family, Mpi
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.errors import LaunchError
from seatrial.model.settings import SiteSettings, Start
from tests.support.slurm_scripts import SlurmScripts, in_place_of_slurm

LISTED = "MPI plugin types are...\n\tnone\n\tpmi2\n\tcray_shasta\n\tpmix\n"
STRANGERS = "the launcher and this MPI do not know each other."


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlurmScripts:
    scripts = in_place_of_slurm(tmp_path / "bin", tmp_path / "archive", monkeypatch)
    scripts.says("srun", LISTED)
    scripts.says("scontrol", "MpiDefault              = pmix\n")
    return scripts


class Attempts:
    """Starts that work in some ways only."""

    def __init__(self, *works: str, other_mpi_type: bool = True) -> None:
        self.works = works
        self.tried: list[str] = []
        self._other_mpi_type = other_mpi_type

    def __call__(self, way: str) -> str:
        self.tried.append(way)
        if way not in self.works:
            raise LaunchError(f"{way or 'pmix'}: {STRANGERS}", other_mpi_type=self._other_mpi_type)
        return f"started by {way}"


def test_the_first_other_type_that_works_is_used_reported_and_kept(slurm: SlurmScripts) -> None:
    ways, attempts = StartWays("", Start.AUTO, mpiexec=True), Attempts("pmi2", MPIEXEC)
    assert ways.start(attempts) == "started by pmi2"
    assert (
        ways.remark == f"The default of this site, --mpi=pmix, does not work (pmix: {STRANGERS}): --mpi=pmi2 was used."
    )
    assert ways.start(attempts) == "started by pmi2"
    assert attempts.tried == ["", "pmi2", "pmi2"]
    assert ways.started_by == "srun --mpi=pmi2"


def test_cray_mpich_where_another_type_is_the_default(slurm: SlurmScripts) -> None:
    ways, attempts = StartWays("", Start.AUTO, mpiexec=False), Attempts("cray_shasta")
    assert ways.start(attempts) == "started by cray_shasta"
    assert ways.remark.endswith("--mpi=cray_shasta was used.")


def test_another_mpi_where_cray_shasta_is_the_default(slurm: SlurmScripts) -> None:
    slurm.says("scontrol", "MpiDefault              = cray_shasta\n")
    ways, attempts = StartWays("", Start.AUTO, mpiexec=False), Attempts("pmix")
    assert ways.start(attempts) == "started by pmix"
    assert attempts.tried == ["", "pmi2", "pmix"]
    assert ways.remark.startswith("The default of this site, --mpi=cray_shasta, does not work")


def test_mpiexec_is_the_last(slurm: SlurmScripts) -> None:
    ways, attempts = StartWays("", Start.AUTO, mpiexec=True), Attempts(MPIEXEC)
    ways.start(attempts)
    assert attempts.tried == ["", "pmi2", "cray_shasta", MPIEXEC]
    assert "mpiexec inside the allocation was used" in ways.remark
    assert ways.started_by == MPIEXEC


@pytest.mark.parametrize(
    ("start", "tried"), [(Start.SRUN, ["", "pmi2", "cray_shasta"]), (Start.MPIEXEC, [MPIEXEC]), (Start.AUTO, [""])]
)
def test_what_was_asked_for_is_all_that_is_tried(slurm: SlurmScripts, start: Start, tried: list[str]) -> None:
    works = {Start.SRUN: (MPIEXEC,), Start.MPIEXEC: ("", "pmi2"), Start.AUTO: ("",)}[start]
    ways, attempts = StartWays("", start, mpiexec=True), Attempts(*works)
    if start is Start.AUTO:
        ways.start(attempts)
        assert (ways.started_by, ways.remark) == ("", "")
    else:
        with pytest.raises(LaunchError):
            ways.start(attempts)
    assert attempts.tried == tried


def test_where_nothing_works_the_first_error_is_the_answer(slurm: SlurmScripts) -> None:
    ways, attempts = StartWays("", Start.AUTO, mpiexec=False), Attempts()
    with pytest.raises(LaunchError, match=r"^pmix: "):
        ways.start(attempts)
    assert (attempts.tried, ways.remark) == (["", "pmi2", "cray_shasta"], "")


@pytest.mark.parametrize(("chosen", "other_mpi_type"), [("pmix", True), ("", False)])
def test_a_type_that_was_asked_for_and_other_failures_are_not_replaced(
    slurm: SlurmScripts, chosen: str, *, other_mpi_type: bool
) -> None:
    attempts = Attempts(MPIEXEC, "pmi2", other_mpi_type=other_mpi_type)
    with pytest.raises(LaunchError):
        StartWays(chosen, Start.AUTO, mpiexec=True).start(attempts)
    assert attempts.tried == [chosen]
    assert not slurm.all_asked("srun")


def test_what_worked_once_is_not_replaced_later(slurm: SlurmScripts) -> None:
    ways, attempts = StartWays("", Start.AUTO, mpiexec=True), Attempts("", "pmi2")
    ways.start(attempts)
    attempts.works = ("pmi2",)
    with pytest.raises(LaunchError):
        ways.start(attempts)
    assert attempts.tried == ["", ""]


def test_the_launcher_tries_every_way(slurm: SlurmScripts, tmp_path: Path) -> None:
    slurm.runs(
        "srun",
        f'case "$*" in *--mpi=list*) echo pmix; echo pmi2 ;; *) echo "$*" >>{slurm.folder}/starts; '
        'echo "PMII_singinit: execv failed" >&2; exit 1 ;; esac',
    )
    slurm.says("mpirun", "")
    slurm.runs("mpirun", f'echo "$SLURM_JOB_NUM_NODES: $*" >>{slurm.folder}/starts; exit 1')
    own = Mpi(mpicc="mpicc", mpirun=str(slurm.folder / "mpirun"), family=Family.MPICH)
    launcher = SlurmLauncher(SiteSettings(archive=Path()), probe=Path("/probe"), own=own)
    launcher.job = "7"
    with pytest.raises(LaunchError, match="world of one"):
        launcher.start(("n1", "n2"), tmp_path / "log")
    first, second, third = (slurm.folder / "starts").read_text().splitlines()
    assert "--mpi" not in first
    assert "--mpi=pmi2" in second
    assert third == "2: -hosts n1,n2 -ppn 1 -n 2 -bind-to core /probe"
