"""The Slurm launcher keeps the same contract as local MPI and replay."""

import sys
from pathlib import Path

import pytest

from seatrial.lab.enter import as_user
from seatrial.lab.plan import LabPlan
from seatrial.launch.process import run

pytestmark = pytest.mark.lab
ROOT = Path(__file__).resolve().parents[2]


def test_the_contract(lab4: LabPlan, tmp_path: Path) -> None:
    argv = as_user(lab4, [sys.executable, "-m", "tests.lab.slurm_contract", str(tmp_path)], cwd=str(ROOT))
    done = run(argv, timeout_s=120)
    assert done.stdout == "the contract is kept\n", done.stderr
