"""The Slurm launcher keeps the same contract as local MPI and replay."""

import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.process.process import Completed, run
from tests.lab.mpi_processes import COMPILERS, ROOT, require_compiler
from tests.lab.waiting import decided
from tests.support.launcher_contract import KEPT, MPI_CRASHED

pytestmark = pytest.mark.lab
InLab = Callable[..., Completed]


WAYS = [("mpicc.openmpi", "pmix"), ("mpicc.mpich", "pmi2"), *((mpicc, "mpiexec") for mpicc in COMPILERS)]


@pytest.mark.parametrize(("mpicc", "way"), WAYS)
def test_the_contract(lab4: LabPlan, in_lab: InLab, tmp_path: Path, mpicc: str, way: str) -> None:
    require_compiler(mpicc)
    if way == "pmix" and not re.search(r"\bpmix\b", in_lab(lab4, ["srun", "--mpi=list"]).stdout):
        pytest.skip("this Slurm has no PMIx")
    argv = as_user(lab4, [sys.executable, "-m", "tests.lab.slurm_contract", str(tmp_path), mpicc, way], cwd=str(ROOT))
    done = decided(partial(run, argv, timeout_s=120), lambda done: done.stdout == f"{MPI_CRASHED}\n")
    assert done.stdout == f"{KEPT}\n", done.stdout + done.stderr
