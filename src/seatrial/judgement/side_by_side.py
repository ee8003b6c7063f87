"""Configurations side by side: which is the best in each figure, by how much, at which sizes, and which scatters more.

Two configurations are compared by the statistics of two sets of runs (`statistics.run_comparison`), one value a run.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from seatrial.locate.thresholds import GATE_TOLERANCE, GROSS_GATE
from seatrial.model.benchmark import Better
from seatrial.model.configuration import ComparedFigure, ConfigurationValue, RateLimit
from seatrial.model.measurement import Estimate
from seatrial.model.verdict import ComparisonOutcome, Verdict
from seatrial.statistics.change_errors import variance_of
from seatrial.statistics.estimates import CONFIDENCE, median, median_estimate, ratio_tails
from seatrial.statistics.run_comparison import RunComparison, compare_runs
from seatrial.statistics.strata import adjusted

FEWEST_TO_SCATTER = 4
"""Values beyond one a size; of fewer nobody says which of two configurations scatters more."""


class FigureCurve(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration in one figure."""

    label: str
    points: dict[float, Estimate]
    """Size -> median over its runs."""
    runs: dict[float, tuple[float, ...]]
    limit: float | None = None
    gate: float | None = None
    """Rates, both, in B/s: what it can carry, and what is impossible."""

    @property
    def deviation(self) -> tuple[float, int]:
        """Standard deviation of the logarithm from run to run at one size, pooled, with its degrees of freedom."""
        several = [np.log(values) for values in self.runs.values() if len(values) > 1]
        free = sum(len(values) - 1 for values in several)
        if not free:
            return math.nan, 0
        return math.sqrt(sum(variance_of(values) * (len(values) - 1) for values in several) / free), free


class ConfigurationRatio(msgspec.Struct, frozen=True, kw_only=True):
    """The best configuration beside another one."""

    label: str
    size: float
    """The size at which both are compared."""
    ratio: Estimate
    """How many times as good the best one is; of single runs an interval without bounds."""
    outcome: ComparisonOutcome
    better_at: tuple[float, ...]
    """Sizes, beside each other and with the compared one among them, at which the best one is better."""
    sizes: tuple[float, ...]
    """All sizes that both have."""


class Scatter(msgspec.Struct, frozen=True, kw_only=True):
    """The configurations that vary most and least from run to run, and whether chance explains that."""

    most: str
    most_deviation: float
    least: str
    least_deviation: float
    chance: float


class FigureJudged(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of all configurations that have it."""

    figure: ComparedFigure
    size: float
    """The size at which the configurations are compared."""
    curves: tuple[FigureCurve, ...]
    """The best first, at that size; those without a value there last."""
    others: tuple[ConfigurationRatio, ...]
    scatter: Scatter | None
    impossible: tuple[tuple[str, float, float], ...]
    """Label, size and share of its limit of values above it."""

    @property
    def best(self) -> FigureCurve:
        """The configuration that is the best at the compared size."""
        return self.curves[0]

    @property
    def outcome(self) -> ComparisonOutcome | Verdict | None:
        """FASTER, SAME, INCONCLUSIVE or INVALID; None: single runs, which show no difference to be one."""
        if self.impossible:
            return Verdict.INVALID
        if not math.isfinite(self.others[0].ratio.high):
            return None
        return self.others[0].outcome


def judge_side_by_side(
    measured: Sequence[ConfigurationValue], limits: Mapping[str, RateLimit], effect: float
) -> tuple[FigureJudged, ...]:
    """Every figure that two configurations have at a common size. `limits`: of rates, by label."""
    by_figure: dict[ComparedFigure, dict[str, dict[float, list[float]]]] = {}
    for value in measured:
        of_label = by_figure.setdefault(value.figure, {}).setdefault(value.label, {})
        of_label.setdefault(value.size, []).append(value.value)
    return tuple(
        _judged(figure, [_curve(figure, label, values, limits) for label, values in labels.items()], effect)
        for figure, labels in by_figure.items()
        if _shared_sizes(list(labels.values()))
    )


def _shared_sizes(curves: Sequence[Mapping[float, object]]) -> list[float]:
    """Sizes that as many configurations as possible have, at least two."""
    counts: dict[float, int] = {}
    for curve in curves:
        for size in curve:
            counts[size] = counts.get(size, 0) + 1
    most = max(counts.values(), default=0)
    return sorted(size for size, number in counts.items() if number == most) if most > 1 else []


def _curve(
    figure: ComparedFigure, label: str, values: Mapping[float, Sequence[float]], limits: Mapping[str, RateLimit]
) -> FigureCurve:
    rate = limits.get(label) if figure.unit == "B/s" else None
    return FigureCurve(
        label=label,
        points={size: median_estimate(values[size]) for size in sorted(values)},
        runs={size: tuple(values[size]) for size in sorted(values)},
        limit=rate.limit if rate else None,
        gate=rate.gate if rate else None,
    )


def _judged(figure: ComparedFigure, curves: Sequence[FigureCurve], effect: float) -> FigureJudged:
    sizes = _shared_sizes([curve.points for curve in curves])
    size = sizes[0] if figure.small_first else sizes[-1]
    sign = -1 if figure.better is Better.MORE else 1
    having = sorted((curve for curve in curves if size in curve.points), key=lambda one: sign * one.points[size].value)
    missing = [curve for curve in curves if size not in curve.points]
    best, others = having[0], having[1:]
    tests = [_compared(figure, best, other, size) for other in others]
    chances = adjusted(np.array([chance for _, chance, _ in tests]))
    return FigureJudged(
        figure=figure,
        size=size,
        curves=(*having, *missing),
        others=tuple(
            ConfigurationRatio(
                label=other.label,
                size=size,
                ratio=ratio,
                outcome=_outcome(ratio, float(chance), same=within <= effect),
                better_at=_better_at(figure, best, other, size, effect),
                sizes=tuple(sorted(best.points.keys() & other.points.keys())),
            )
            for other, (ratio, _, within), chance in zip(others, tests, chances, strict=True)
        ),
        scatter=_scatter(having),
        impossible=tuple(_impossible(curves, size)),
    )


def _compared(
    figure: ComparedFigure, best: FigureCurve, beside: FigureCurve, size: float
) -> tuple[Estimate, float, float]:
    """How many times as good the best one is, the chance of that without a difference, and what it is surely within."""
    compared = times_as_good(best.runs[size], beside.runs[size], figure.better)
    change = compared.together
    most = max(abs(float(change.same_low[0])), abs(float(change.same_high[0])))
    return change.ratio(0, compared.runs), float(change.p_value[0]), 1 - math.exp(-most)


def times_as_good(values: Sequence[float], beside: Sequence[float], better: Better) -> RunComparison:
    """The comparison whose ratio says how many times as good the first values are as those beside them, one a run."""
    good, other = (np.array(each)[:, None] for each in (values, beside))
    return compare_runs(other, good) if better is Better.MORE else compare_runs(good, other)


def _outcome(ratio: Estimate, chance: float, *, same: bool) -> ComparisonOutcome:
    if same:
        return ComparisonOutcome.SAME
    return ComparisonOutcome.FASTER if chance <= 1 - CONFIDENCE and ratio.low > 1 else ComparisonOutcome.INCONCLUSIVE


def _better_at(
    figure: ComparedFigure, best: FigureCurve, beside: FigureCurve, size: float, effect: float
) -> tuple[float, ...]:
    """The sizes around the compared one, without a gap, at which the interval, or the ratio of single runs, says so."""
    sizes = sorted(best.points.keys() & beside.points.keys())
    shown = []
    for length in sizes:
        ratio, _, _ = _compared(figure, best, beside, length)
        bounded = math.isfinite(ratio.high)
        shown.append(ratio.low > 1 if bounded else ratio.value > 1 / (1 - effect))
    place = sizes.index(size)
    if not shown[place]:
        return ()
    first = next((at + 1 for at in range(place, -1, -1) if not shown[at]), 0)
    last = next((at for at in range(place, len(sizes)) if not shown[at]), len(sizes))
    return tuple(sizes[first:last])


def _scatter(curves: Sequence[FigureCurve]) -> Scatter | None:
    """None: there are too few repetitions."""
    repeated = [(curve.label, *curve.deviation) for curve in curves if curve.deviation[1] >= FEWEST_TO_SCATTER]
    if len(repeated) < 2:
        return None
    most, least = max(repeated, key=lambda one: one[1]), min(repeated, key=lambda one: one[1])
    return Scatter(
        most=most[0],
        most_deviation=most[1],
        least=least[0],
        least_deviation=least[1],
        chance=ratio_tails((most[1] / least[1]) ** 2, most[2], least[2]) * math.comb(len(repeated), 2),
    )


def _impossible(curves: Sequence[FigureCurve], settled: float) -> Iterator[tuple[str, float, float]]:
    """Values above the gate, from the size on at which curves are compared; of smaller sizes, those that buffers and
    late readings of a clock do not explain.
    """
    for curve in curves:
        if curve.limit is not None and curve.gate is not None:
            for size, values in curve.runs.items():
                tolerance = GATE_TOLERANCE if size >= settled else GROSS_GATE
                if (middle := median(values)) > tolerance * curve.gate:
                    yield curve.label, size, middle / curve.limit
