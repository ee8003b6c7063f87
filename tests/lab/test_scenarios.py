"""Each planted fault is named, and nothing else, once; `seatrial lab trial --repeat` does it as often as one likes."""

import json
import sys
from functools import partial
from pathlib import Path

import pytest

from seatrial.launch.process import Completed, run
from tests.lab.waiting import decided
from tests.series.__main__ import SCENARIOS as SERIES

pytestmark = pytest.mark.lab
ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = {"healthy-4", "node-link-60", "node-down", "slurmd-killed", "slurmd-stopped", "uplink-50"}
"""Minutes are dear: healthy-8 is more than healthy-4, one-way-out-60 more than node-link-60, which docs/lab.md
plants, too; test_check_faults plants the lives that end and looks closer; test_check_cables has the two uplinks."""
MIXED = {"governor", "pcie-width", "mount-missing", "firmware", "scheduler-granularity", "sysctl"}
"""Planted here three at a time, by facts-mixed and facts-mixed-2."""
HERE_TOO = {"healthy-8"}
"""Of the scenarios that `make series` runs many times each."""
NOT_HERE = ELSEWHERE | MIXED | (set(SERIES) - HERE_TOO)
SCENARIOS = [path for path in sorted(ROOT.glob("tests/scenarios/*.toml")) if path.stem not in NOT_HERE]


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_scenario_is_scored_right(path: Path, tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "seatrial", "lab", "trial", str(path), "--json", "--keep", str(tmp_path)]
    done = decided(partial(run, argv, timeout_s=400, cwd=str(ROOT)), undecided)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert json.loads(done.stdout)


def undecided(done: Completed) -> bool:
    """Whether the check named nobody at all, and said itself that it could not decide."""
    if done.returncode != 1 or not done.stdout:
        return False
    (scenario,) = json.loads(done.stdout)["scenarios"]
    return not scenario["false_names"] and all(one["verdict"] == "INCONCLUSIVE" for one in scenario["results"])
