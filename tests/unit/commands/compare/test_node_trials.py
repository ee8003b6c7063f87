"""`compare` of runs of `seatrial nodes`: a quota stops few iterations, for long, and takes what it takes."""

from pathlib import Path

import msgspec
import pytest

from seatrial.archive.journal import GroupDelivered
from seatrial.archive.writer import RunWriter, ended
from seatrial.commands.compare.run import run_comparison
from seatrial.judgement.comparison.records import Comparison
from seatrial.model.measurement import GroupMeasurement, Kernel
from seatrial.model.node_trials import Measure
from seatrial.model.run import Ending
from seatrial.model.settings import Trial
from seatrial.model.subject import node
from seatrial.model.verdict import ComparisonOutcome
from tests.support.node_series import CORE_FLOPS_PER_S, CORES, GOOD, recorded

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
    info = msgspec.structs.replace(series.info, run=run, ending=Ending.COMPLETE)
    writer = RunWriter(archive, info)
    for number, measurement in enumerate(series.group_measurements, 1):
        of_slow = measurement.nodes[0].startswith(f"{slow}:") and measurement.shape.kernel is Kernel.FMA
        writer.append(GroupDelivered(number=number, measurement=stopped(measurement) if of_slow else measurement))
    writer.close(ended(info, Ending.COMPLETE, info.ended))


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
