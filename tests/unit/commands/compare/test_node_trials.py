"""`compare` of runs of `seatrial nodes`: a quota stops few iterations, for long, and takes what it takes."""

from pathlib import Path

import msgspec
import pytest

from seatrial.commands.compare.run import run_comparison
from seatrial.judgement.comparison.records import Comparison
from seatrial.model.measurement import GroupMeasurement, Kernel
from seatrial.model.node_trials import Measure
from seatrial.model.settings import Trial
from seatrial.model.subject import node
from seatrial.model.verdict import ComparisonOutcome
from tests.support.node_series import CORE_FLOPS_PER_S, CORES, GOOD, recorded
from tests.support.run_archives import archived_groups

NAMES = ("n1", "n2", "n3")
EVERY = 10


def stopped(measurement: GroupMeasurement) -> GroupMeasurement:
    """As under a quota of half: one iteration of ten takes eleven times as long, the others what they took."""
    times = tuple(
        (1 + EVERY * (place % EVERY == EVERY // 2)) * time_s for place, time_s in enumerate(measurement.times_s)
    )
    return msgspec.structs.replace(measurement, times_s=times)


def archived(archive: Path, run: str, seed: int, slow: str = "") -> None:
    """`slow`: a node with a quota."""
    series = recorded(dict.fromkeys(NAMES, GOOD), trials=(Trial.ARITHMETIC, Trial.PIPE), seed=seed)
    groups = tuple(
        stopped(group) if group.nodes[0].startswith(f"{slow}:") and group.shape.kernel is Kernel.FMA else group
        for group in series.group_measurements
    )
    archived_groups(archive, msgspec.structs.replace(series, group_measurements=groups), run=run)


def compared(archive: Path, slow: str) -> Comparison:
    for seed in (1, 2, 3):
        archived(archive, f"a{seed}", seed)
        archived(archive, f"b{seed}", 10 + seed, slow)
    return run_comparison(archive, "a1,a2,a3", "b1,b2,b3")


def test_a_node_that_is_stopped_for_half_of_the_time_lost_half(tmp_path: Path) -> None:
    comparison = compared(tmp_path, "n2")
    (metric,) = (each for each in comparison.metrics if each.metric.kernel is Measure.FMA)
    (row,) = metric.changed
    assert (comparison.outcome, row.subject, row.outcome) == (
        ComparisonOutcome.SLOWER,
        node("n2"),
        ComparisonOutcome.SLOWER,
    )
    assert row.ratio.low < 0.5 < row.ratio.high
    assert row.ratio.high - row.ratio.low < 0.05
    assert row.before == pytest.approx(CORES * CORE_FLOPS_PER_S, rel=0.02)
    assert {each.subject for one in comparison.metrics for each in one.changed} == {node("n2")}


def test_runs_without_a_change_are_not_changed(tmp_path: Path) -> None:
    assert compared(tmp_path, "").outcome is ComparisonOutcome.SAME
