"""Lines between good and bad: fixed thresholds, each with its source, and the practical effect.

The practical effect is the difference from which a part is reported at all; it follows the scatter of healthy peers.
"""

import math

import msgspec
import numpy as np

from seatrial.model.pair_table import Reals
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.statistics.estimates import (
    ERROR_RATE,
    LEAST_SCATTER,
    NORMAL_95,
    array_median,
    robust_scale,
    student_quantile,
    two_sided,
)

PEERS_FLOOR = 0.90
"""Share of the best of several rails or ports below which one is slow. ClusterKit's published rule is 0.93."""

SUSPICION = 2 / 3
"""Share of the practical effect that the survey suspects; the retest then decides on all that may reach the effect."""

MOST_LACK = 0.7
"""Log: a pair at half of what its peers deliver is suspected whatever the scatter."""

SURE = 0.85
"""A part that was measured again is good if its whole interval is above this share of the practical effect."""

CLEAR = 0.5
"""What lacks less than this part of what makes it bad is clearly good: a pair or way of the survey, and the median of a
part in the retest, whose interval noise widens."""

GROSS_LOSS = 0.10
"""Runs this much worse than the peers, with good ones between them, are instability, not noise. A table in which noise
would hide a node slower by this share does not pass."""

LIMIT_FLOOR = 0.75
"""Bandwidth below this share of the limit is slow even where all peers are alike. Public runs reach 0.93 to 0.99."""

GATE_TOLERANCE = 1.01
"""Above this times the gate a number is INVALID; the hundredth is for the clock and for buffers that fill meanwhile."""

GROSS_GATE = 1.5
"""Every window above this times the gate is INVALID whatever the number of runs: buffers and a late clock read explain
a few percent, not half as much again."""

LATENCY_RATIO = 2.1
"""Latency above this times its peers' is high for nodes that share a kernel: ClusterKit's published rule."""

LATENCY_FLOOR_S = 5e-6
"""A high latency exceeds its peers' by at least this much, which scheduling alone can cost."""

STALL_S = 0.19
"""A small round trip this long waited for TCP's retransmission timer, at least 0.2 s on Linux (TCP_RTO_MIN)."""

EXPLAINED = 0.75
"""Waits for a processor of this much of the time that a run lacks, and more, may be the only reason. A rank that is off
its core for some milliseconds also keeps its partner waiting, so that a little more is lost than the waits alone."""

UNIFORM_SHARE = 0.9
"""When this share of all pairs is below the limit's floor and none below its peers, the whole fabric is."""

RETEST_PAIRS = 4
"""Pairs measured again for each suspect."""

CONTROL_PAIRS = 3
"""Good pairs measured again beside the suspects, so that both see the same minute."""

RETEST_CAP = 200
"""Pairs measured again at most in all."""


# The practical effect.

SCATTERS = 4.5
"""A node is slow from this many scatters of its healthy peers below them, unless --effect says otherwise."""
LEAST_EFFECT = {BANDWIDTH: 0.0075, LATENCY: 0.09}
"""A slow node lacks at least this share, however quiet the table."""
EFFECT, LATENCY_EFFECT = 0.03, 0.10
"""A part that lacks this share is slow however natural such differences are in this table; less does not matter."""
MOST_EFFECT = {BANDWIDTH: EFFECT, LATENCY: LATENCY_EFFECT}
LATENCY_STEP_S = 0.3e-6
"""The least MOST_EFFECT of latency: one switch more on the way costs 0.1 to 0.3 µs."""
RUN_SCATTER = 0.0005
"""Scatter of repeated runs of one pair on the quietest public cluster, as a share of the median."""
BEST_PAIRS = 0.75
"""A node or a way between groups is as good as this quantile of its pairs: with 40 % of all nodes slow, 60 % of its
partners are good."""
PAIR_EFFECT = {BANDWIDTH: EFFECT, LATENCY: 0.30}
"""A single pair has few measurements, and their tails are heavy."""


class Effects(msgspec.Struct, frozen=True, kw_only=True):
    """The practical effects of one metric as log differences: the least and the most, equal if the user asked."""

    metric: str
    least: float
    most: float
    must_show: float
    step: float
    """What rounding may take from a healthy pair, or hide of a loss; included in `least` and `most`."""

    def chosen(self, scatter: float) -> float:
        """The effect for nodes that scatter like this among healthy peers (log)."""
        return min(max(SCATTERS * scatter, self.least), self.most)

    def one_way(self, effect: float) -> float:
        """The effect for one direction alone: twice the node's effect, up to the greatest default, and never less.

        In real tables one direction of a healthy node differs up to twice as much as both together.
        """
        return min(2 * effect, max(effect, self.most, to_log(MOST_EFFECT[self.metric], self.metric)))

    @property
    def pair(self) -> float:
        """The effect for a single pair."""
        return max(to_log(PAIR_EFFECT[self.metric], self.metric), self.least)


def practical_effects(metric: str, median: float, asked: float | None, step: float = 0.0) -> Effects:
    """`asked`: the user's effect, as a share. `median`: what the table's pairs usually give, in the metric's unit.

    `step`: the last digit of the table's values in that unit.
    """
    most = MOST_EFFECT[metric]
    if metric == LATENCY and math.isfinite(median):
        most = max(most, LATENCY_STEP_S / median)
    least = LEAST_EFFECT[metric]
    if asked is not None:
        least = most = asked
    show = max(GROSS_LOSS, most)
    rounding = to_log(step / median, metric) if step else 0.0
    return Effects(
        metric=metric, least=to_log(least, metric) + rounding, most=to_log(most, metric) + rounding,
        must_show=to_log(show, metric), step=rounding,
    )  # fmt: skip


def to_log(loss: float, metric: str) -> float:
    """A share that is missing, or of latency that is added, as a positive difference of logarithms."""
    return math.log1p(loss) if metric == LATENCY else -math.log1p(-min(loss, 1 - 1e-12))


def to_loss(log: float, metric: str) -> float:
    """The inverse: 0.05 for 5 % less bandwidth or 5 % more latency."""
    return math.expm1(min(log, 700.0)) if metric == LATENCY else -math.expm1(-log)


def critical_value(tests: int, degrees: float, error_rate: float = ERROR_RATE) -> float:
    """Standard errors that a one-sided test must exceed so that `tests` tests err with `error_rate` together.

    Bonferroni over the tests, and Student's distribution with `degrees` of freedom of the scale.
    """
    return student_quantile(1 - error_rate / max(tests, 1), max(degrees, 1.0))


def adjusted_p(scores: Reals, tests: int, degrees: float) -> Reals:
    """Family-wise p-values of one-sided scores: the probability that any of `tests` healthy subjects scores as much."""
    tails = two_sided(np.maximum(scores, 0.0), np.asarray(degrees, dtype=np.float64)) / 2
    return np.minimum(tails * tests, 1.0)


def detectable(threshold: float, standard_error: float) -> float:
    """The smallest effect that exceeds `threshold` with 95 % power, all three on the log scale."""
    return threshold + NORMAL_95 * standard_error


# Scatter of numbers that should be equal.

HALF_NORMAL = 1.7
"""Robust scatter of a normal distribution over that of its upper half."""
NEAR = 0.05


def resolution(values: Reals) -> float:
    """The step in which values are given: the smallest difference of distinct ones near the median, or 0.

    Tools print two decimals, and of quantised data the median absolute deviation may be zero. Values more than NEAR
    from the median do not count: between a good and a slow pair lies no step of the printer.
    """
    finite = _finite(values)
    centre = array_median(finite)
    steps = np.diff(np.sort(finite[np.abs(finite - centre) <= NEAR * abs(centre)]))
    least = float(steps.min(initial=np.inf, where=steps > 1e-9 * abs(centre)))
    return least if math.isfinite(least) else 0.0


def relative_scale(values: Reals) -> float:
    """Scatter as a share of the median: the greatest of the robust one, rounding's (step / sqrt 12), and LEAST_SCATTER.

    Never zero, so that equal or quantised values divide by something. `values` must be positive and not empty.
    """
    finite = _finite(values)
    centre = array_median(finite)
    return max(robust_scale(finite, centre) / centre, resolution(finite) / math.sqrt(12) / centre, LEAST_SCATTER)


def half_scatter(ratio: Reals) -> float:
    """Robust scatter; of the better half where that is less than half of it, so that the worse half is slow.

    Half a normal distribution scatters less than the whole.
    """
    better, whole = HALF_NORMAL * relative_scale(ratio[ratio >= np.median(ratio)]), relative_scale(ratio)
    return better if better < whole / 2 else whole


def _finite(values: Reals) -> Reals:
    """The finite values; the array itself where all are finite, since it may be large."""
    finite = np.isfinite(values)
    return values if finite.all() else values[finite]
