"""The practical effect: from which difference on a part is worth a name."""

import math

import msgspec

from seatrial.model.units import BANDWIDTH, LATENCY

SCATTERS = 4.5
"""Without --effect a node must lie this many scatters of its healthy peers below them ..."""
LEAST_EFFECT = {BANDWIDTH: 0.0075, LATENCY: 0.09}
"""... at least by this share, however quiet the table ..."""
MOST_EFFECT = {BANDWIDTH: 0.03, LATENCY: 0.10}
"""... and from this share on it is named however natural such differences are in this table."""
LATENCY_STEP_S = 0.3e-6
"""For latency MOST_EFFECT is at least this: one switch more on the way costs 0.1 to 0.3 µs."""
MUST_SHOW = 0.10
"""A table in which noise would hide a node slower by this share does not pass."""
PAIR_EFFECT = {BANDWIDTH: 0.03, LATENCY: 0.30}
"""A single pair has few measurements, and their tails are heavy."""
GROSS = {BANDWIDTH: 0.10, LATENCY: 1.0}
"""A pair that was this bad once makes the table unstable even if it was never measured again."""


class Effects(msgspec.Struct, frozen=True, kw_only=True):
    """The practical effects of one metric as log differences: the least and the most, equal if the user asked."""

    metric: str
    least: float
    most: float
    must_show: float

    def chosen(self, scatter: float) -> float:
        """The effect for nodes that scatter like this among healthy peers (log)."""
        return min(max(SCATTERS * scatter, self.least), self.most)

    def one_way(self, effect: float) -> float:
        """For one direction alone: twice the node's effect, up to the greatest default, and never less than it.

        In real tables one direction of a healthy node differs up to twice as much as both together.
        """
        return min(2 * effect, max(effect, self.most, to_log(MOST_EFFECT[self.metric], self.metric)))

    @property
    def pair(self) -> float:
        """For a single pair."""
        return max(to_log(PAIR_EFFECT[self.metric], self.metric), self.least)

    @property
    def gross(self) -> float:
        """From here on one measurement of one pair is enough to withhold a PASS."""
        return to_log(GROSS[self.metric], self.metric)


def practical_effects(metric: str, median: float, asked: float | None) -> Effects:
    """`median`: what the table's pairs usually give, in the metric's unit. `asked`: the user's effect, as a share."""
    most = MOST_EFFECT[metric]
    if metric == LATENCY and math.isfinite(median):
        most = max(most, LATENCY_STEP_S / median)
    least = LEAST_EFFECT[metric]
    if asked is not None:
        least = most = asked
    show = max(MUST_SHOW, most)
    return Effects(
        metric=metric, least=to_log(least, metric), most=to_log(most, metric), must_show=to_log(show, metric)
    )


def to_log(loss: float, metric: str) -> float:
    """A share that is missing, or of latency that is added, as a positive difference of logarithms."""
    return math.log1p(loss) if metric == LATENCY else -math.log1p(-min(loss, 1 - 1e-12))


def to_loss(log: float, metric: str) -> float:
    """The inverse: 0.05 for 5 % less bandwidth or 5 % more latency."""
    return math.expm1(min(log, 700.0)) if metric == LATENCY else -math.expm1(-log)
