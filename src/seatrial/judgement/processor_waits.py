"""Whether runs are slow because a rank waited for a processor, and not because of the link or the node.

The probe reads from the kernel how long both ranks of a pair had no processor, also where a hypervisor had it. A run
that lacks no more than they waited says nothing of the link (`explained`). Where the rank of a node waited longer than
the ranks of good pairs in the same minutes, a program on its core is the likely reason (`RankWaits`).
"""

from collections.abc import Collection, Mapping, Sequence

import msgspec
import numpy as np

from seatrial.experiment.controls import usual_of_rounds
from seatrial.locate.evidence import Pair
from seatrial.locate.thresholds import EXPLAINED
from seatrial.model.units import share
from seatrial.statistics.estimates import ERROR_RATE, median
from seatrial.statistics.strata import rank_sum_test

CROWDED = 0.9
"""Share of the time: if a rank waits this long, the little that is left of a core decides what a run delivers."""
LEAST_EXCESS = 0.05
"""Share of the time: a wait that exceeds those of the peers by less is not mentioned, nor is less of a processor that
other processes use."""
TIMES_PEERS = 2
"""A rank that waits less than this many times as long as its peers shares with them what takes their processors."""
Ends = tuple[float, float]
"""Shares of a run's time for which the ranks of source and target had no processor."""


def explained(share_of_reference: float, waited: float, beside: float = 0.0) -> bool:
    """Whether waits for a processor may be the only reason why a run is below its reference.

    `share_of_reference`: what it delivered. `waited`: the longer wait of its two ranks, a share of its time. `beside`:
    the wait of the ranks that gave the reference; 0 for a limit.
    """
    longer = waited - beside
    return longer >= max(LEAST_EXCESS, EXPLAINED * (1 - share_of_reference)) or (waited >= CROWDED and longer > 0)


class LongWaits(msgspec.Struct, frozen=True):
    """The rank of a node waited longer than those of good pairs beside it: medians of the shares of their time."""

    node: str
    own: float
    peers: float

    @property
    def text(self) -> str:
        """The waits in words."""
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
        """The node of these whose rank waited longest in runs of these pairs; None if none waited longer."""
        long = [waits for node in sorted(nodes) if (waits := self._long(node, pairs)) is not None]
        return max(long, key=lambda waits: waits.own - waits.peers, default=None)

    def _long(self, node: str, pairs: Collection[Pair]) -> LongWaits | None:
        """The unit is the run, as everywhere: one number of each, the median over the pairs in it."""
        own = self._by_run([(pair, end) for pair in pairs for end in (0, 1) if pair[end] == node])
        peers = self._by_run([(pair, end) for pair in self._good if node not in pair for end in (0, 1)])
        if not own or not peers:
            return None
        waits = LongWaits(node, median(own), median(peers))
        least = max(waits.peers + LEAST_EXCESS, TIMES_PEERS * waits.peers)
        longer = rank_sum_test(np.array(own), np.array(peers)) <= ERROR_RATE
        return waits if waits.own >= least and longer else None

    def _by_run(self, ends: Sequence[tuple[Pair, int]]) -> list[float]:
        columns = [{run: shares[end] for run, shares in self._waited.get(pair, {}).items()} for pair, end in ends]
        return [*usual_of_rounds(columns).values()]
