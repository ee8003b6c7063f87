"""What healthy pairs give and how much they scatter, from few or many pairs of which up to half may be slow."""

from collections import defaultdict
from collections.abc import Mapping

import msgspec
import numpy as np

from seatrial.locate.scale import NORMAL
from seatrial.model.pair_table import Reals

Pair = tuple[str, str]
UPPER = 0.75
"""A node is as good as this quantile of its pairs: with 40 % of all nodes slow, 60 % of its partners are good."""
TAIL = 0.54
"""Median excess of normal values over their 58th to 75th percentile, in standard deviations: 0.48 to 0.61."""
HALF_NORMAL = 1.7
"""Robust scatter of a normal distribution over that of its upper half."""
CORE = 4.5
"""Standard deviations around the reference within which a pair counts as healthy."""
LEAST_SCATTER = 0.0005
"""What repeated runs of one pair scatter on the quietest public cluster."""
FEWEST_EXCESSES = 3
MOST_ROUNDS = 10


class Peers(msgspec.Struct, frozen=True, kw_only=True):
    """On logarithms: the median of healthy pairs, and the standard deviation of one of them."""

    log: float
    scatter: float


def peers_of(values: Mapping[Pair, float]) -> Peers | None:
    """`values`: one positive number per ordered pair, larger is better. None where there is none.

    First the median over nodes of each node's upper quartile, which half of the nodes may not reach. The scatter about
    it is the least of what lies above it, of the better half, and of the differences of a pair's two directions; then
    that of all pairs within CORE scatters, as long as that adds any. The reference is the median of these.
    """
    logs = {pair: float(np.log(value)) for pair, value in values.items() if value > 0}
    if not logs:
        return None
    by_node: dict[str, list[float]] = defaultdict(list)
    for pair, log in logs.items():
        for node in pair:
            by_node[node].append(log)
    paces = sorted(_upper(own) for own in by_node.values())
    rough = paces[len(paces) // 2]
    every = np.array(list(logs.values()))
    scatter = min(_above(every, rough), _directions(logs), _better_half(every))
    scatter = max(scatter if np.isfinite(scatter) else _few(every), LEAST_SCATTER)
    core = every
    for _ in range(MOST_ROUNDS):
        core = every[every > rough - CORE * scatter]
        centre = float(np.median(core))
        wider = NORMAL * float(np.median(np.abs(core - centre)))
        if wider <= scatter * 1.01:
            break
        scatter = wider
    return Peers(log=float(np.median(core)), scatter=scatter)


def _upper(logs: list[float]) -> float:
    ordered = sorted(logs, reverse=True)
    return ordered[max(int(np.ceil((1 - UPPER) * len(ordered))) - 1, 0)]


def _above(logs: Reals, rough: float) -> float:
    excess = logs[logs > rough] - rough
    return float(np.median(excess)) / TAIL if len(excess) >= FEWEST_EXCESSES else float("inf")


def _few(logs: Reals) -> float:
    """Of two numbers nobody knows whether they differ by noise."""
    return NORMAL * float(np.median(np.abs(logs - np.median(logs)))) if len(logs) > 2 else 0.0


def _better_half(logs: Reals) -> float:
    better = np.sort(logs)[len(logs) // 2 :]
    if len(better) < FEWEST_EXCESSES:
        return float("inf")
    return HALF_NORMAL * NORMAL * float(np.median(np.abs(better - np.median(better))))


def _directions(logs: Mapping[Pair, float]) -> float:
    """Scatter of one direction, from the differences of both. Of latency both are one number, which tells nothing."""
    apart = [abs(log - logs[back]) for pair, log in logs.items() if pair < (back := pair[::-1]) and back in logs]
    if len(apart) < FEWEST_EXCESSES or not any(apart):
        return float("inf")
    return NORMAL * float(np.median(apart)) / float(np.sqrt(2))
