"""The figures of each node over the cycles of a soak, and what became worse: a step, or a steady drift.

A value is compared with the median of all nodes in the same cycle, so that what disturbs all of them disappears; with
fewer than three nodes with the median of the better half of the node's own. What all of them lose is the course of
their median.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.experiment.controls import usual_of_rounds
from seatrial.judgement.nodes.figures import sustained
from seatrial.model.measurement import GroupMeasurement, Kernel, Measurement, node_of
from seatrial.model.node_trials import Measure, Runs
from seatrial.model.units import SHARE
from seatrial.statistics.change_points import FEWEST, SeriesChanges, find_changes
from seatrial.statistics.estimates import FEWEST_ALIKE, median, student_quantile
from seatrial.statistics.scan import MOST_AUTOCORRELATION, independent_share, residual_products, upper_autocorrelation

ERROR_RATE = 0.01
"""Share of healthy soaks in which a change may be reported, shared by all figures of all nodes."""
EFFECTS = 2.0
"""Times the practical effect of a figure: what a soak reports."""
ALL_NODES = "all nodes"
"""Name of the course of their medians."""
LINK, LINK_EFFECT = "bandwidth of its link", 0.05
FEWEST_CYCLES = FEWEST
LEAST_BESIDE = 3
"""Cycles on either side of a step."""
PADDING = 0.5
"""Standard errors that are added to the estimated autocorrelation."""
PEERS = 3.0
"""A step must be this many times as high as the median of the other nodes' best steps of the same figure."""
Numbers = NDArray[np.float64]


class LevelStep(msgspec.Struct, frozen=True, kw_only=True):
    """The best cut of a short series: values `first` and later are higher by `change` than those before.

    The search for several changes allows for the largest autocorrelation that the series could have. In a dozen cycles
    that is so large that even a loss of a third, ten times the noise, is taken for chance. Values relative to the peers
    of the same cycle are little correlated, and by how much the other nodes vary is seen beside them.
    """

    first: int
    change: float
    error: float
    """Standard error of the change, with the autocorrelation of the residuals."""
    degrees: int
    cuts: int
    squares: float
    """Sum of the squared residuals beside both levels."""

    def half_width(self, probability: float) -> float:
        """Half of the two-sided interval with that probability."""
        return student_quantile((1 + probability) / 2, self.degrees) * self.error

    def sure(self, error_rate: float) -> bool:
        """Whether it is higher than chance makes the best of all cuts, with that error rate."""
        return self.change > student_quantile(1 - error_rate / self.cuts, self.degrees) * self.error


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of one node, cycle by cycle: how much worse it is than usual, as a share or of a share in points."""

    node: str
    label: str
    effect: float
    times_s: tuple[float, ...]
    """When each cycle of the node began, since the run began."""
    losses: tuple[float, ...]


class Decline(msgspec.Struct, frozen=True, kw_only=True):
    """A figure that became worse. All changes are shares of the usual value, more is worse."""

    node: str
    label: str
    drift: bool
    """It became worse steadily; else at once."""
    since_s: float
    """When it began: seconds since the run began."""
    until_s: float | None
    """When a step ended; None: it was still there at the end."""
    change: float
    low: float
    high: float
    """95 % interval of the change, over the whole soak for a drift."""
    cycles: int
    """How many show it."""


def courses(
    measurements: Sequence[GroupMeasurement], pairs: Iterable[Measurement], *, together: bool = False
) -> list[Course]:
    """All of them that have enough cycles. `together`: of the medians of three or more nodes."""
    began: dict[str, dict[int, float]] = defaultdict(dict)
    for group in measurements:
        for name in (node_of(group.nodes[0]), ALL_NODES):
            began[name].setdefault(group.repetition, group.at_s or 0.0)
    by_measure: dict[Measure, dict[str, Runs]] = defaultdict(dict)
    for each_node in sustained(measurements):
        for measure, runs in each_node.runs.items():
            by_measure[measure][each_node.node] = runs
    made = []
    for measure, by_node in by_measure.items():
        of_share, more = measure.metric == SHARE, measure.more_is_better
        usual = usual_of_rounds(by_node.values(), FEWEST_ALIKE) if together else {}
        values = {ALL_NODES: usual} if usual else {} if together else by_node
        losses = _losses(values, of_share=of_share, more_is_better=more)
        made += _made(measure.label, EFFECTS * measure.effect, losses, began)
    links = _losses(_links(pairs), of_share=False, more_is_better=True)
    return [*made, *_made(LINK, EFFECTS * LINK_EFFECT, links, began)]


def _made(
    label: str, effect: float, losses: Mapping[str, Runs], began: Mapping[str, Mapping[int, float]]
) -> list[Course]:
    return [
        Course(
            node=name, label=label, effect=effect, losses=tuple(runs[cycle] for cycle in sorted(runs)),
            times_s=tuple(began.get(name, {}).get(cycle, 0.0) for cycle in sorted(runs)),
        )
        for name, runs in losses.items()
        if len(runs) >= FEWEST_CYCLES
    ]  # fmt: skip


def _links(pairs: Iterable[Measurement]) -> dict[str, Runs]:
    """Bytes per second between each node and its partner of the cycle."""
    rates: dict[str, Runs] = defaultdict(dict)
    for one_way in pairs:
        if one_way.shape.kernel is Kernel.ONEWAY and one_way.times_s and min(one_way.times_s) > 0:
            rate = one_way.shape.window_bytes / median(one_way.times_s)
            for name in one_way.pair:
                rates[node_of(name)][one_way.repetition] = rate
    return rates


def _losses(by_node: Mapping[str, Runs], *, of_share: bool, more_is_better: bool) -> dict[str, Runs]:
    of_cycle = usual_of_rounds(by_node.values(), FEWEST_ALIKE)
    losses: dict[str, Runs] = {name: {} for name in by_node}
    for name, runs in by_node.items():
        own = sorted(runs.values(), reverse=more_is_better)[len(runs) // 4]  # also where it was worse most of the time
        for cycle, value in runs.items():
            reference = of_cycle.get(cycle, own)
            if of_share:
                losses[name][cycle] = value - reference
            elif reference > 0:
                losses[name][cycle] = (1 - value / reference) if more_is_better else (value / reference - 1)
    return losses


def declines(all_courses: Sequence[Course]) -> list[Decline]:
    """What became worse on which node, in the order of the courses; a steady drift only where no step fits better."""
    error_rate = ERROR_RATE / max(len(all_courses), 1)
    best: dict[str, dict[str, LevelStep]] = defaultdict(dict)
    for course in all_courses:
        if (step := best_step(np.asarray(course.losses))) is not None:
            best[course.label][course.node] = step
    worse: list[Decline] = []
    for course in all_courses:
        steps = _steps(course, find_changes(course.losses, error_rate))
        if steps:
            worse += steps
            continue
        step = _alone(course, best[course.label], error_rate)
        drift, squares = _drift(course, error_rate)
        if step is not None and (drift is None or step.squares <= squares):
            worse.append(_declined(course, step))
        elif drift is not None:
            worse.append(drift)
    return worse


def _alone(course: Course, best: Mapping[str, LevelStep], error_rate: float) -> LevelStep | None:
    """The node's best step, where it is sure, as large as the effect, and larger than what the other nodes vary by.

    `best`: of this figure, by node.
    """
    step = best.get(course.node)
    if step is None or step.change < course.effect or not step.sure(error_rate):
        return None
    others = [abs(other.change) for node, other in best.items() if node != course.node]
    return None if others and step.change < PEERS * median(others) else step


def _declined(course: Course, step: LevelStep) -> Decline:
    half = step.half_width(0.95)
    return Decline(
        node=course.node, label=course.label, drift=False, since_s=course.times_s[step.first], until_s=None,
        change=step.change, low=step.change - half, high=step.change + half, cycles=len(course.losses) - step.first,
    )  # fmt: skip


def detectable(all_courses: Sequence[Course]) -> dict[str, float]:
    """Figure -> the smallest step in the middle of the soak that is found in about 90 % of cases, on any node."""
    error_rate = ERROR_RATE / max(len(all_courses), 1)
    coarsest: dict[str, float] = {}
    for course in all_courses:
        size = find_changes(course.losses, error_rate).detectable
        if size is not None:
            coarsest[course.label] = max(size, course.effect, coarsest.get(course.label, 0.0))
    return coarsest


def _steps(course: Course, changes: SeriesChanges) -> list[Decline]:
    """Levels that are worse than the best one before them by the effect, with the whole interval above nothing."""
    if changes.trend:
        return []
    steps = []
    for number, piece in enumerate(changes.pieces[1:], 1):
        best = min(changes.pieces[:number], key=lambda earlier: earlier.mean)
        change, sizes = piece.mean - best.mean, (piece.end - piece.first, best.end - best.first)
        error = changes.scale * math.sqrt(sum(1 / size for size in sizes) / independent_share(changes.autocorrelation))
        half = student_quantile(0.975, max(changes.count - len(changes.pieces), 1)) * error
        if change >= course.effect and change > half:
            until = course.times_s[piece.end] if piece.end < len(course.times_s) else None
            steps.append(
                Decline(
                    node=course.node, label=course.label, drift=False, since_s=course.times_s[piece.first],
                    until_s=until, change=change, low=change - half, high=change + half, cycles=sizes[0],
                )
            )  # fmt: skip
    return steps


def _drift(course: Course, error_rate: float) -> tuple[Decline | None, float]:
    """The line of least squares over time, if it rises by the effect, and its squared residuals.

    Its interval allows for correlated noise.
    """
    times = np.asarray(course.times_s)
    losses = np.asarray(course.losses)
    centred = times - times.mean()
    spread = float(centred @ centred)
    if not spread > 0:
        return None, math.inf
    slope = float(centred @ losses) / spread
    residuals = losses - losses.mean() - slope * centred
    squares, lagged = residual_products(residuals)
    alike = upper_autocorrelation(squares, lagged, len(losses), 1, 2)
    degrees = len(losses) - 2
    error = math.sqrt(squares / degrees / spread / independent_share(alike))
    length_s = float(times[-1] - times[0])
    change, error = slope * length_s, error * length_s
    sure = student_quantile(1 - error_rate / 2, degrees) * error
    half = student_quantile(0.975, degrees) * error
    if change < course.effect or change <= sure:
        return None, squares
    drift = Decline(
        node=course.node, label=course.label, drift=True, since_s=course.times_s[0], until_s=None, change=change,
        low=change - half, high=change + half, cycles=len(losses),
    )  # fmt: skip
    return drift, squares


def best_step(values: Numbers) -> LevelStep | None:
    """The cut with the least squared residuals; None where there are too few values for one."""
    count = len(values)
    if count < 2 * LEAST_BESIDE:
        return None
    cuts = np.arange(LEAST_BESIDE, count - LEAST_BESIDE + 1)
    sums = np.cumsum(values)
    before = sums[cuts - 1] / cuts
    after = (sums[-1] - sums[cuts - 1]) / (count - cuts)
    best = int(np.argmax(cuts * before**2 + (count - cuts) * after**2))
    first, low, high = int(cuts[best]), float(before[best]), float(after[best])
    residuals = values - np.where(np.arange(count) < first, low, high)
    squares, lagged = residual_products(residuals)
    plain = lagged / squares if squares > 0 else 0.0
    share = independent_share(min(max(plain + PADDING / math.sqrt(count), 0.0), MOST_AUTOCORRELATION))
    spread = 1 / first + 1 / (count - first)
    return LevelStep(
        first=first,
        change=high - low,
        error=math.sqrt(squares / (count - 2) * spread / share),
        degrees=max(int((count - 2) * share), 1),
        cuts=len(cuts),
        squares=squares,
    )
