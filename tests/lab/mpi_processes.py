"""The processes of MPI on the nodes of a lab, whatever started them."""

import shutil
from pathlib import Path

import pytest

from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import pids_in, program

ROOT = Path(__file__).resolve().parents[2]
COMPILERS = ("mpicc.openmpi", "mpicc.mpich")
OF_MPI = (
    *("orted", "prted", "prterun", "hydra_pmi_proxy", "hydra_bstrap_proxy", "mpirun", "mpiexec"),
    *("mpirun.openmpi", "mpiexec.openmpi", "mpiexec.mpich", "mpiexec.hydra", "seatrial-probe"),
)
"""Short names of programs that must not stay on a node."""


def of_mpi(plan: LabPlan) -> list[str]:
    """Programs of MPI and the probe that run on the nodes of the lab now; the kernel cuts names."""
    spaces = [plan.space(node) for node in plan.node_names]
    return [name for name in map(program, pids_in(spaces)) if name in {full[:15] for full in OF_MPI}]


def require_compiler(mpicc: str) -> None:
    """Skip the test where that MPI is not installed."""
    if shutil.which(mpicc) is None:
        pytest.skip(f"{mpicc} is not installed")
