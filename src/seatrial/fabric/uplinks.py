"""Uplinks of a switch beside those of its peers: which it lacks, and which may have been planned so."""

import numpy as np
from numpy.typing import NDArray

from seatrial.model.pair_table import Flags

ALIKE = 0.5
"""Switches of one tier are peers if they share at least this part of their neighbours in the other tier."""
MOST = 2 / 3
"""Share of a switch's peers that must have as many cables before one can lack some."""
FEWEST_SWITCHES = 2
"""Peers of which most have the same number of cables, before a switch with fewer can lack some."""
Counts = NDArray[np.int32]


class CableTable:
    """Cables of each lower switch to each upper one, and what follows for each lower one."""

    def __init__(self, counts: Counts, reach: Flags, below: Flags, down: Counts) -> None:
        self.counts, self.reach, self.below, self.down = counts, reach, below, down
        self.totals = counts.sum(axis=1)
        most = counts.max(axis=1, initial=0)
        self.spread = most - np.where(reach, counts, most[:, None]).min(axis=1, initial=most.max(initial=0))
        """Most cables to one upper switch, less the fewest to one."""

    def usual(self) -> "tuple[Counts, NDArray[np.float32]]":
        """The commonest number of uplinks among the peers of each switch, and how many of them have it."""
        usual, agreeing = np.zeros_like(self.totals), np.zeros(len(self.totals), dtype=np.float32)
        peers = self.below.astype(np.float32)
        for value in np.unique(self.totals[self.totals > 0]).tolist():
            often = peers @ (self.totals == value).astype(np.float32)
            usual = np.where(often > agreeing, value, usual)
            agreeing = np.maximum(agreeing, often)
        return usual, agreeing

    def leads_out(self, number: int) -> bool:
        """Whether upper switches of its peers join others than these, too: those of a whole tier, not an appendix."""
        others = ~self.below[number]
        others[number] = False
        return bool((self.reach[number] & (self.counts[others] > 0).any(axis=0)).any())


class SwitchUplinks:
    """A lower switch beside its peers, most of which have the same number of uplinks."""

    def __init__(self, number: int, table: CableTable, usual: int) -> None:
        self.number, self.usual, self._table = number, usual, table
        self.peers = np.flatnonzero(table.below[number])
        totals = table.totals[self.peers]
        self.agreeing = self.peers[totals == usual]
        self._present, self._spread = int(table.totals[number]), int(table.spread[number])
        self._alike = int((totals == self._present).sum())
        self._own, self._down = int(table.down[number]), table.down[self.agreeing]
        """Cables to adapters and to the tier below: its own, and those of peers that have the usual number."""
        self.lacks = max(usual - self._present, 0)

    @property
    def is_even(self) -> bool:
        """Whether it has the usual number, shared as evenly as possible: of 3 cables 2 to one switch, 1 to another."""
        return not self.lacks and self._spread <= 1

    @property
    def is_misplaced(self) -> bool:
        """Whether it has the usual number, and shares them less evenly than most of its peers do."""
        uneven = self._present == self.usual and self._spread > 1
        return uneven and bool((self._table.spread[self.agreeing] <= 1).mean() >= MOST)

    @property
    def has_twin(self) -> bool:
        """Whether a peer shares the usual number in the same uneven manner: alike, or evenly over the same switches."""
        if self._present != self.usual or self._spread <= 1:
            return False
        own, others = self._table.counts[self.number], self._table.counts[self.agreeing]
        used = own[own > 0]
        allowed = int(used.max() - used.min() <= 1)
        same = ((others > 0) == (own > 0)) & (np.abs(others - own) <= allowed)
        return bool(same.all(axis=1).any())

    @property
    def has_most(self) -> bool:
        """Whether it lacks one, or less than half: a switch with half of them may be planned so."""
        return self.lacks <= 1 or 2 * self._present > self.usual

    @property
    def has_more(self) -> bool:
        """Whether it has more than the usual number: none is missing, however they are shared."""
        return self._present > self.usual

    @property
    def fewer_below(self) -> bool:
        """Whether it has fewer adapters than each of its peers, and as many uplinks for each as one of them."""
        in_proportion = self._present * int(self._down.max()) >= self.usual * self._own
        return bool(self.lacks and in_proportion and (self._down > self._own).all())

    @property
    def is_planned(self) -> bool:
        """Whether nobody need hear of it, by two signs of three: half of the usual number or less, the same number to
        each upper switch, or another switch that has as few. Without the last, it has half of the adapters at most.
        """
        signs = (not self.has_most) + self._is_even_with_fewer + (self._alike > 0)
        return bool(self.lacks and self._present) and signs > 1 and (self._alike > 0 or self._is_small)

    @property
    def is_doubtful(self) -> bool:
        """Whether it lacks some and may be planned so: evenly, or several in proportion to its adapters, or half.

        A switch that lacks whole upper switches, and nothing else, is not, if it has as many adapters as its peers.
        """
        half = not self.has_most and not self._lost.any()
        counts, reach = self._table.counts[self.number], self._table.reach[self.number]
        some = self.lacks > 1 or (self._is_small and bool((counts[reach] == 0).any()))
        return self._is_even_with_fewer or (self.lacks > 1 and half) or (some and self.fewer_below)

    @property
    def is_decided(self) -> bool:
        """Whether something is wrong, as opposed to planned."""
        if self.lacks and not self._present:
            return self._table.leads_out(self.number) and len(self.agreeing) >= FEWEST_SWITCHES
        if self.has_twin or self.is_doubtful or self.fewer_below:
            return False
        if not self.has_most:
            return int(self._lost.sum()) == 1 and len(self.agreeing) >= FEWEST_SWITCHES
        if len(self.peers) < FEWEST_SWITCHES:
            return bool(self.lacks and self._most_pairs_agree)
        return 2 * len(self.agreeing) > len(self.peers) + 1

    def places(self) -> dict[int, int]:
        """Upper switch -> cables to it, where most peers have more; empty unless these are all that it lacks."""
        expected: dict[int, int] = {}
        counts = self._table.counts
        for column in np.flatnonzero(self._table.reach[self.number]).tolist():
            values, often = np.unique(counts[self.peers, column], return_counts=True)
            usual = int(values[often.argmax()])
            if usual > counts[self.number, column] and often.max() >= MOST * len(self.peers):
                expected[column] = usual
        located = sum(usual - int(counts[self.number, column]) for column, usual in expected.items())
        return expected if located == self.lacks or not self.lacks else {}

    @property
    def _is_small(self) -> bool:
        """Whether it has half of the adapters at most that each of its peers has."""
        return bool((self._down >= 2 * self._own).all())

    @property
    def _is_even_with_fewer(self) -> bool:
        """Whether it lacks several, and has the same number to each of several upper switches.

        Or one at least, shared as evenly as possible, if it reaches more of them than its peers: the fabric grew.
        """
        counts = self._table.counts
        more = bool(((counts[self.number] > 0) & (counts[self.agreeing] == 0).all(axis=0)).any())
        return self.lacks > (not more) and int(self._table.reach[self.number].sum()) > 1 and self._spread <= more

    @property
    def _lost(self) -> Flags:
        """Upper switches that each peer reaches and it does not, where it has all cables to the others."""
        own, least = self._table.counts[self.number], self._table.counts[self.agreeing].min(axis=0)
        lost: Flags = (own == 0) & (least > 0)
        whole = self._own >= int(self._down.min()) and bool(((own >= least) | lost).all())
        return lost if whole else np.zeros_like(lost)

    @property
    def _most_pairs_agree(self) -> bool:
        """Whether one number of cables is that of most pairs of it and its only peer with an upper switch."""
        peer = int(self.peers[0])
        own, other = (self._table.counts[number, self._table.reach[number]] for number in (self.number, peer))
        same = int((own == other[0]).sum()) + len(other)
        return int(self._table.spread[peer]) == 0 and same >= MOST * (len(own) + len(other))


def alike(joined: Flags) -> Flags:
    """Which rows share at least ALIKE of their neighbours. No row is its own peer."""
    shared, size = _shared(joined)
    either = size[:, None] + size[None, :] - shared
    peers: Flags = shared >= ALIKE * np.maximum(either, 1)
    np.fill_diagonal(peers, val=False)
    return peers


def within(joined: Flags) -> Flags:
    """Which rows have all neighbours of one that has some: its peers, if it lost the others, and not it theirs."""
    shared, size = _shared(joined)
    peers: Flags = (shared == size[:, None]) & (size[:, None] > 0)
    np.fill_diagonal(peers, val=False)
    return peers


def _shared(joined: Flags) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """How many neighbours each two rows share, and how many each has."""
    some = joined.astype(np.float32)
    return some @ some.T, some.sum(axis=1)
