"""Each planted fault is named, and nothing else, once; `seatrial lab trial --repeat` does it as often as one likes."""

import sys
from functools import partial
from pathlib import Path

import msgspec
import pytest
from _pytest.mark import ParameterSet

from seatrial.lab.cluster import planting
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.trial.scenario import Scenario, read_scenario
from seatrial.lab.trial.trial import ScenarioResult, complaints, real_stage, run_scenario
from seatrial.process.process import Completed, run
from tests.lab.waiting import decided
from tests.series.__main__ import HIDDEN
from tests.series.__main__ import SCENARIOS as SERIES
from tests.support.json_objects import parsed

pytestmark = pytest.mark.lab
ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = {
    "node-link-60", "node-down", "slurmd-killed", "slurmd-stopped", "uplink-50", "trunk-50-sparse", "mpi-rail",
}  # fmt: skip
"""Minutes are dear: one-way-out-60 is more than node-link-60, which docs/lab.md plants, too; test_check_faults plants
the failures of nodes and examines them closer; test_check_cables has the two uplinks and the slow trunks; mpi-rail is
named as mpi-transport is, and `make proofs` plants it."""
MIXED = {"governor", "pcie-width", "mount-missing", "firmware", "scheduler-granularity", "sysctl"}
"""Planted here three at a time, by facts-mixed and facts-mixed-2."""
TRIALS = {
    "core-hog", "cpu-quota", "memory-hog", "cpu-hog", "core-hog-check", "cpu-quota-check", "memory-hog-check",
    "cpu-hog-check", "healthy-4-nodes", "healthy-4-trials", "slow-mount", "slow-mount-check", "healthy-4-storage",
    "heat",
}  # fmt: skip
"""Of nodes one after the other, some minutes on a busy machine: `lab trial` and `make series` can run them."""
NOT_HERE = TRIALS | ELSEWHERE | MIXED | set(SERIES) | set(HIDDEN)
"""Scenarios of `make series` and `make hidden` have relatives here: test_allocation.py checks four healthy nodes,
one-way-out-60 has a slow link, and data-corrupt-out a corrupting one."""
BESIDE = {"facts-mixed", "facts-mixed-2", "mtu", "node-hung"}
"""What they name is a fact or a failure, and no rate."""
SCENARIOS = {
    path: read_scenario(path) for path in sorted(ROOT.glob("tests/scenarios/*.toml")) if path.stem not in NOT_HERE
}


def fits_lab4(scenario: Scenario) -> bool:
    """Whether the four nodes that most tests share will do, also afterwards."""
    return scenario.plan("x") == Scenario(name="x", nodes=4).plan("x") and not scenario.ends_lives


def cases(*, own_lab: bool) -> list[ParameterSet]:
    """The scenarios that need a lab of their own, or the others; what they judge by rates runs alone."""
    return [
        pytest.param(path, id=path.stem, marks=() if path.stem in BESIDE else pytest.mark.alone)
        for path, scenario in SCENARIOS.items()
        if fits_lab4(scenario) != own_lab
    ]


@pytest.mark.parametrize("path", cases(own_lab=False))
def test_the_scenario_is_scored_right(lab4: LabPlan, path: Path, tmp_path: Path) -> None:
    """In the lab that other tests use, too: raising one takes as long as many a check."""
    stage = msgspec.structs.replace(
        real_stage(tmp_path), plan=lambda _: lab4, raise_lab=lambda _: None, raze=planting.clear
    )
    result = decided(partial(run_scenario, SCENARIOS[path], 1, stage), inconclusive_result)
    assert result.right, [complaints(one) for one in result.runs]


def inconclusive_result(result: ScenarioResult) -> bool:
    """Whether the check named nobody at all, and said itself that it could not decide."""
    return all(one.score and not one.score.false_names and one.verdict == "INCONCLUSIVE" for one in result.runs)


@pytest.mark.parametrize("path", cases(own_lab=True))
def test_the_scenario_is_scored_right_by_the_command(path: Path, tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "seatrial", "lab", "trial", str(path), "--json", "--keep", str(tmp_path)]
    done = decided(partial(run, argv, timeout_s=400, cwd=str(ROOT)), undecided)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert parsed(done.stdout)


def undecided(done: Completed) -> bool:
    """The same of what the command prints."""
    if done.returncode != 1 or not done.stdout:
        return False
    (scenario,) = parsed(done.stdout)["scenarios"]
    return not scenario["false_names"] and all(one["verdict"] == "INCONCLUSIVE" for one in scenario["results"])
