"""The Slurm launcher keeps the same contract as local MPI and replay."""

import shutil
import sys
from functools import partial
from pathlib import Path

import pytest

from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.process.process import run
from tests.lab.waiting import decided
from tests.support.launcher_contract import KEPT, MPI_CRASHED

pytestmark = pytest.mark.lab
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("mpicc", "mpi"), [("mpicc.openmpi", "pmix"), ("mpicc.mpich", "pmi2")])
def test_the_contract(lab4: LabPlan, tmp_path: Path, mpicc: str, mpi: str) -> None:
    if shutil.which(mpicc) is None:
        pytest.skip(f"{mpicc} is not installed")
    argv = as_user(lab4, [sys.executable, "-m", "tests.lab.slurm_contract", str(tmp_path), mpicc, mpi], cwd=str(ROOT))
    done = decided(partial(run, argv, timeout_s=120), lambda done: done.stdout == f"{MPI_CRASHED}\n")
    assert done.stdout == f"{KEPT}\n", done.stdout + done.stderr
