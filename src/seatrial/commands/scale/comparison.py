"""Two curves side by side, of two systems or two dates: how many times as fast the second is at each common size."""

import enum
import math
from collections.abc import Sequence

import msgspec

from seatrial.commands.scale.evidence import differing_work
from seatrial.commands.scale.judge import JudgedCurve, ScalePoint, values_at
from seatrial.experiment.controls import above, below
from seatrial.judgement.side_by_side import times_as_good
from seatrial.model.benchmark import Better, Breach
from seatrial.model.errors import UsageError
from seatrial.model.measurement import Estimate


class Difference(enum.StrEnum):
    """What is known of one size."""

    FASTER = "faster"
    SLOWER = "slower"
    NOT_SHOWN = "not-shown"
    """The interval contains 1."""
    NOT_JUDGED = ""
    """There are no repetitions."""


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """One size that both curves have."""

    first: ScalePoint
    second: ScalePoint
    ratio: Estimate
    """How many times as fast the second is; without repetitions its ends are the value itself."""
    difference: Difference


class CurveComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Both curves, with what can be compared and what cannot."""

    first: JudgedCurve
    second: JudgedCurve
    pairs: tuple[Pair, ...]
    only: tuple[tuple[str, tuple[float, ...]], ...]
    """Name of a curve, and the sizes that the other one lacks."""
    breaches: tuple[tuple[str, Breach], ...]
    """Which file or row of the second did other work than the first at the same size."""


def beside(first: JudgedCurve, second: JudgedCurve) -> CurveComparison:
    """The comparison. Raises UsageError where the curves are not of the same thing, or have no common size."""
    before, after = first.curve, second.curve
    for what, old, new in (("over", before.over, after.over), ("of", before.metric, after.metric)):
        if old != new:
            raise UsageError(
                f"{before.name} is {what} {old}, {after.name} {what} {new}: they cannot be compared.",
                "Choose what both have with --over and --metric.",
            )
    of_first = {point.size: point for point in first.points}
    of_second = {point.size: point for point in second.points}
    common = [size for size in of_first if size in of_second]
    if not common:
        raise UsageError(
            f"{before.name} and {after.name} have no common size: {_sizes(of_first)}; {_sizes(of_second)}.",
            "Measure one size on both.",
        )
    return CurveComparison(
        first=first,
        second=second,
        pairs=tuple(
            _pair(of_first[size], of_second[size], [values_at(curve, size) for curve in (before, after)], before.better)
            for size in common
        ),
        only=tuple(
            (name, missing)
            for name, sizes, others in ((before.name, of_first, of_second), (after.name, of_second, of_first))
            if (missing := tuple(size for size in sizes if size not in others))
        ),
        breaches=tuple(_breaches(first, second, common)),
    )


def _sizes(points: dict[float, ScalePoint]) -> str:
    return ", ".join(f"{size:g}" for size in points)


def _pair(first: ScalePoint, second: ScalePoint, values: Sequence[Sequence[float]], better: Better) -> Pair:
    """`values`: of the runs of both curves at this size."""
    compared = times_as_good(values[1], values[0], better)
    times = compared.together.ratio(0, compared.runs)
    if not math.isfinite(times.high):
        alone = msgspec.structs.replace(times, low=times.value, high=times.value, confidence=0.0)
        return Pair(first=first, second=second, ratio=alone, difference=Difference.NOT_JUDGED)
    shown = Difference.FASTER if above(times, 1) else Difference.SLOWER if below(times, 1) else Difference.NOT_SHOWN
    return Pair(first=first, second=second, ratio=times, difference=shown)


def _breaches(first: JudgedCurve, second: JudgedCurve, common: Sequence[float]) -> list[tuple[str, Breach]]:
    """Runs of the second against a run of the first at the same size."""
    of_first = {run.size: run for run in first.curve.runs}
    return [
        (run.source, breach)
        for run in second.curve.runs
        if run.size in common
        for breach in differing_work(of_first[run.size], run)
    ]
