"""Whether runs are slow because a rank waited for a processor, and not because of the link.

The probe reads from the kernel how long both ranks of a pair were ready to run without a processor. A link that comes
and goes is bad whether or not they waited; another process on the core of a rank makes bad just those runs in which the
rank waited longest (`excused_by_waiting`). One that never pauses makes all runs of a node bad: there the rank of the
node waited longer than the ranks of good pairs in the same minutes (`RankWaits`).
"""

import math
from collections.abc import Collection, Mapping, Sequence

import msgspec

from seatrial.locate.evidence import Pair
from seatrial.model.units import share
from seatrial.statistics.estimates import median
from seatrial.statistics.rank_sum import rank_sum_tail

ERROR_RATE = 0.01
"""Of runs whose times have nothing to do with the waiting, this share is excused."""
CROWDED = 0.9
"""Of the time: where ranks wait this long in good runs too, the little that is left of a core decides what a run
delivers, and nothing is learned about a link that comes and goes."""
LEAST_EXCESS = 0.05
"""Of the time: a rank that waits less than this longer than its peers is worth no word."""
EXPLAINED = 0.75
"""Waits of this much of the time that the runs lack, and more, may be the only reason. A rank that is off its core for
some milliseconds also keeps its partner waiting, so that a little more is lost than the waits alone."""

Ends = tuple[float, float]
"""Of one run the shares of its time for which the ranks of source and target had no processor."""


class Waits(msgspec.Struct, frozen=True):
    """Share of their time for which the rank that waited longer had no processor: medians of bad and of good runs."""

    bad: float
    good: float


def excused_by_waiting(runs: Sequence[tuple[float, float]], bad_below: float) -> Waits | None:
    """The waits that explain the bad runs, or None where they do not explain them.

    They do where a rank waited longer in the bad runs than in the others, as ranks show, and by at least the time that
    the bad runs took longer: of good runs that last 1, bad ones last 1 / (1 - lost), and each waits its share of that.
    Where all runs waited for nearly all of their time, no test is needed.

    `runs`: logarithm over the peers, and the waited share of the time, of each run. `bad_below`: a logarithm.
    """
    bad = [run for run in runs if run[0] < bad_below]
    good = [waited for value, waited in runs if value >= bad_below]
    if not bad or not good:
        return None
    waits = Waits(median([waited for _, waited in bad]), median(good))
    if min(waits.bad, waits.good) >= CROWDED:
        return waits
    lost = 1 - math.exp(median([value for value, _ in bad]))
    if waits.bad - waits.good < lost * (1 - waits.good):
        return None
    return waits if _longer([waited for _, waited in bad], good) else None


def _longer(first: Sequence[float], others: Sequence[float]) -> bool:
    """Whether these waits are longer than the others, by the rank-sum test."""
    tail = rank_sum_tail(_rank_sum_from_the_top(first, others), len(first), len(first) + len(others))
    return tail <= ERROR_RATE


def _rank_sum_from_the_top(first: Sequence[float], others: Sequence[float]) -> float:
    """Sum of the ranks of `first` among all, 1 for the largest, and the mean rank of equal ones."""
    every = (*first, *others)
    return sum(sum(one > value for one in every) + (sum(one == value for one in every) + 1) / 2 for value in first)


def starved(share_of_limit: float, waited: float) -> bool:
    """Whether waits for a processor may be the only reason why a run is below its limit.

    Peers that wait as long deliver as little, so that no comparison with them shows it. `share_of_limit`: what the run
    delivered. `waited`: the share of its time for which a rank of it had no processor, and its peers had none either.
    """
    return waited >= max(LEAST_EXCESS, EXPLAINED * (1 - share_of_limit))


class LongWaits(msgspec.Struct, frozen=True):
    """The rank of a node waited longer than those of good pairs beside it: medians of the shares of their time."""

    node: str
    own: float
    peers: float

    def explain(self, log_of_peers: float) -> bool:
        """Whether they may be the only reason for what runs deliver, a logarithm over the peers."""
        return self.own - self.peers >= EXPLAINED * (1 - math.exp(log_of_peers))

    @property
    def text(self) -> str:
        """In words."""
        return (
            f"the rank of {self.node} waited {share(min(self.own, 1.0))} of the time for a processor, "
            f"those of its peers {share(min(self.peers, 1.0))}"
        )


class RankWaits:
    """Waits of the ranks in all runs of a retest. Pairs come once in each run, suspects and good pairs alike."""

    def __init__(self, waited: Mapping[Pair, Mapping[int, Ends]], good: Collection[Pair]) -> None:
        """`waited`: of each pair, by number of the run. `good`: pairs that are not suspected of anything."""
        self._waited = waited
        self._good = good

    def longest(self, nodes: Collection[str], pairs: Collection[Pair]) -> LongWaits | None:
        """Of these nodes the one whose rank waited longest in runs of these pairs; None where none waited longer."""
        long = [waits for node in sorted(nodes) if (waits := self._long(node, pairs)) is not None]
        return max(long, key=lambda waits: waits.own - waits.peers, default=None)

    def _long(self, node: str, pairs: Collection[Pair]) -> LongWaits | None:
        """The unit is the run, as everywhere: one number of each, the median over the pairs in it."""
        own = self._by_run([(pair, end) for pair in pairs for end in (0, 1) if pair[end] == node])
        peers = self._by_run([(pair, end) for pair in self._good if node not in pair for end in (0, 1)])
        if not own or not peers:
            return None
        waits = LongWaits(node, median(own), median(peers))
        return waits if waits.own - waits.peers >= LEAST_EXCESS and _longer(own, peers) else None

    def _by_run(self, ends: Sequence[tuple[Pair, int]]) -> list[float]:
        columns = [{run: shares[end] for run, shares in self._waited.get(pair, {}).items()} for pair, end in ends]
        runs = sorted(set().union(*columns))
        return [median([column[run] for column in columns if run in column]) for run in runs]
