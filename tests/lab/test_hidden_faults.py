"""Faults that a check may overlook, once each: a fault never ends as PASS, and nobody else is named.

Other tests take the cores meanwhile, so that less may be named. `make hidden` repeats them on a quiet machine, where
each must be named, and beside programs that take all cores.
"""

import sys
from pathlib import Path

import pytest

from seatrial.process.process import run
from tests.series.__main__ import HIDDEN, unsure

pytestmark = pytest.mark.lab
ROOT = Path(__file__).resolve().parents[2]
BUDGET = ("--budget", "1m")
"""A check that has no time left must say so, too."""


@pytest.mark.parametrize("name", HIDDEN)
def test_no_fault_passes_and_nobody_else_is_named(name: str, tmp_path: Path) -> None:
    scenario = unsure(ROOT / "tests" / "scenarios" / f"{name}.toml", tmp_path / "scenario", 0, BUDGET)
    argv = [sys.executable, "-m", "seatrial", "lab", "trial", str(scenario), "--json", "--keep", str(tmp_path)]
    done = run(argv, timeout_s=600, cwd=str(ROOT))
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
