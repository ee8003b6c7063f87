"""Cables that switches of neighbouring tiers lack: pairs below comparable pairs, and switches with few uplinks."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.fabric.map_integrity import switches_complete
from seatrial.model.fabric import DeviceKind, FabricMap
from seatrial.model.pair_table import Flags
from seatrial.model.words import natural_key

ALIKE = 0.5
"""Switches of one tier are peers if they share at least this part of their neighbours in the other tier."""
MOST = 2 / 3
"""Share of a switch's peers that must have as many cables before one can lack some."""
FEWEST_PEERS = 3
"""Peers at one of the two ends of a pair; the other needs one."""
FEWEST_SWITCHES = 2
"""Peers of which most have the same number of cables, before a switch with fewer can lack some."""
Counts = NDArray[np.int32]


class MissingCables(msgspec.Struct, frozen=True, kw_only=True):
    """`lower` and `upper` are joined by `present` cables, where comparable pairs have `expected`.

    `lower_ports`, `upper_ports`: where peers have these cables, as far as those ports are free.
    """

    lower: str
    upper: str
    present: int
    expected: int
    lower_ports: tuple[int, ...]
    upper_ports: tuple[int, ...]


class FewUplinks(msgspec.Struct, frozen=True, kw_only=True):
    """`switch` has `cables` to the tier above, where `agreeing` of `peers` alike have `usual`, `example` among them.

    The same number, if the switch has them all but not distributed as evenly as its peers. Not `decided`: it may have
    been planned so.
    """

    switch: str
    cables: tuple[tuple[str, int], ...]
    usual: int
    agreeing: int
    peers: int
    example: str
    decided: bool
    side: str = "above"
    """`below` where it is an upper switch, and the cables are those to the tier below."""

    @property
    def present(self) -> int:
        """All its cables to the tier above."""
        return sum(cables for _, cables in self.cables)


class CableSearch(msgspec.Struct, frozen=True, kw_only=True):
    """Missing cables: pairs that lack some, and switches that lack some of which the other end is not known."""

    pairs: tuple[MissingCables, ...] = ()
    switches: tuple[FewUplinks, ...] = ()


class _Cables:
    """Cables among switches: (switch, switch) -> ports of the first."""

    def __init__(self, fabric: FabricMap, tier: Mapping[str, int]) -> None:
        self.ports: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        self.used: defaultdict[str, set[int]] = defaultdict(set)
        self.below: Counter[str] = Counter()
        """Cables of each switch to adapters and to the tier below."""
        devices = fabric.by_key
        for link in fabric.links:
            for near_end, far_end in ((link.one, link.other), (link.other, link.one)):
                near, far = near_end.device, far_end.device
                self.used[near].add(near_end.port)
                if near in tier and far in tier:
                    self.ports[near, far].append(near_end.port)
                    self.below[near] += tier[far] < tier[near]
                elif devices[far].kind is DeviceKind.ADAPTER:
                    self.below[near] += 1

    def expected_ports(self, near_end: str, far_end: str, peers: list[str], most: int) -> tuple[int, ...]:
        """Free ports of `here` that should lead to `there`: those by which most peers of `here` reach it."""
        by_port = Counter(port for peer in peers for port in set(self.ports[peer, far_end]))
        free = [port for port, often in by_port.items() if 2 * often > len(peers) and port not in self.used[near_end]]
        return tuple(sorted(free)[:most])


def missing_cables(fabric: FabricMap, tier: Mapping[str, int]) -> CableSearch:
    """What switches of neighbouring tiers lack. Empty where the map lacks lines of switches.

    Empty, too, for more switches than can be compared.
    """
    if not switches_complete(fabric) or too_many(tier):
        return CableSearch()
    cables = _Cables(fabric, tier)
    pairs: list[MissingCables] = []
    switches: list[FewUplinks] = []
    tops = max(tier.values(), default=0)
    if not tops:
        pairs += _of_mesh(cables, sorted(tier, key=natural_key))
    for level in range(tops):
        lower, upper = (
            sorted((switch for switch, of in tier.items() if of == wanted), key=natural_key)
            for wanted in (level, level + 1)
        )
        neighbours = _Neighbours(cables, lower, upper)
        pairs += neighbours.pairs()
        switches += neighbours.switches
    return CableSearch(pairs=tuple(pairs), switches=tuple(switches))


def too_many(tier: Mapping[str, int]) -> int:
    """How many switches the largest tier has, if they are too many to compare each with each; else 0."""
    most = max(Counter(tier.values()).values(), default=0)
    return most if most > MOST_SWITCHES else 0


MOST_SWITCHES = 4096
"""Most switches of a tier: each is compared with each, which takes the square of their number in memory."""


class _Neighbours:
    """Two neighbouring tiers. One row for each lower switch, one column for each upper one."""

    def __init__(self, cables: _Cables, lower: list[str], upper: list[str]) -> None:
        self._cables, self._lower, self._upper = cables, lower, upper
        counts = np.array([[len(cables.ports.get((a, b), ())) for b in upper] for a in lower], dtype=np.int32)
        self._down = np.array([cables.below[switch] for switch in lower], dtype=np.int32)
        self._below, self._above = _peers(counts > 0), _peers(counts.T > 0)
        self._reach = (counts > 0) | (self._below.astype(np.float32) @ (counts > 0).astype(np.float32) > 0)
        """Upper switches to which a lower one, or a peer of it, has a cable."""
        self._counts = counts
        self._expected = _expected(counts, self._below, self._above)
        rows = self._rows(counts)
        planned = [row.number for row in rows if row.is_even or (row.fewer_below and row.lacks > 1) or row.has_twin]
        self._expected[planned] = 0
        self.switches = [*self._half_empty(), *self._few_uplinks()]
        """Switches that lack cables of which the other end is not known, or share them unevenly."""

    def pairs(self) -> Iterator[MissingCables]:
        """The pairs that lack cables."""
        for row, column in np.argwhere(self._expected > self._counts).tolist():
            a, b = self._lower[row], self._upper[column]
            lacking = int(self._expected[row, column] - self._counts[row, column])
            below = [self._lower[place] for place in np.flatnonzero(self._below[row])]
            above = [self._upper[place] for place in np.flatnonzero(self._above[column])]
            yield MissingCables(
                lower=a,
                upper=b,
                present=int(self._counts[row, column]),
                expected=int(self._expected[row, column]),
                lower_ports=self._cables.expected_ports(a, b, below, lacking),
                upper_ports=self._cables.expected_ports(b, a, above, lacking),
            )

    def _rows(self, counts: Counts) -> "list[_Uplinks]":
        """Lower switches whose peers agree on a number of uplinks."""
        table = _Table(counts, self._reach, self._below, self._down)
        usual, agreeing = table.usual()
        peers = self._below.sum(axis=1)
        agree = np.flatnonzero((agreeing >= MOST * peers) & (peers > 0)).tolist()
        return [_Uplinks(row, table, int(usual[row])) for row in agree]

    def _half_empty(self) -> Iterator[FewUplinks]:
        """Upper switches that lack cables to several lower ones, which would else have all those that others have.

        Adds these pairs if an upper switch has more than half of its cables, else yields the switch, not decided.
        """
        counts, totals = self._counts, self._counts.sum(axis=1)
        columns = _Table(counts.T, self._reach.T, self._above, np.zeros(len(self._upper), dtype=np.int32))
        usual, agreeing = columns.usual()
        fewer = (agreeing >= MOST * self._above.sum(axis=1)) & (columns.totals < usual)
        for column in np.flatnonzero(fewer & (self._above.sum(axis=1) >= FEWEST_SWITCHES)).tolist():
            peers = np.flatnonzero(self._above[column])
            own, others = counts[:, column], np.median(counts[:, peers], axis=1).astype(np.int32)
            agreed = ((counts[:, peers] == others[:, None]).mean(axis=1) >= MOST) & (others > 0)
            lacking, whole = np.flatnonzero(agreed & (own < others)), np.flatnonzero(agreed & (own == others))
            if min(len(lacking), len(whole)) < FEWEST_SWITCHES:
                continue
            missing = (others - own)[lacking]
            if np.unique(np.concatenate([totals[whole], totals[lacking] + missing])).size > 1:
                continue
            if own.sum() > missing.sum():
                self._expected[lacking, column] = others[lacking]
                continue
            alike = peers[columns.totals[peers] == usual[column]]
            yield FewUplinks(
                switch=self._upper[column],
                cables=tuple((self._lower[row], int(own[row])) for row in np.flatnonzero(agreed).tolist()),
                usual=int(usual[column]),
                agreeing=len(alike),
                peers=len(peers),
                example=self._upper[alike[0]],
                decided=False,
                side="below",
            )

    def _few_uplinks(self) -> Iterator[FewUplinks]:
        """Judged with the cables that pairs lack as if they were there, and adding pairs that are then found."""
        for row in self._rows(np.maximum(self._counts, self._expected)):
            if not (row.lacks or row.is_misplaced) or row.is_planned:
                continue
            places = row.places() if row.is_decided else {}
            if places:
                for column, expected in places.items():
                    self._expected[row.number, column] = expected
            elif not (self._expected[row.number] > self._counts[row.number]).any():
                yield self._few(row)

    def _few(self, row: "_Uplinks") -> FewUplinks:
        columns = np.flatnonzero(self._reach[row.number]).tolist()
        return FewUplinks(
            switch=self._lower[row.number],
            cables=tuple((self._upper[column], int(self._counts[row.number, column])) for column in columns),
            usual=row.usual,
            agreeing=len(row.agreeing),
            peers=len(row.peers),
            example=self._lower[row.agreeing[0]],
            decided=row.is_decided,
        )


class _Table:
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


class _Uplinks:
    """A lower switch beside its peers, most of which have the same number of uplinks."""

    def __init__(self, number: int, table: _Table, usual: int) -> None:
        self.number, self.usual, self._table = number, usual, table
        self.peers = np.flatnonzero(table.below[number])
        totals = table.totals[self.peers]
        self.agreeing = self.peers[totals == usual]
        self._present, self._spread = int(table.totals[number]), int(table.spread[number])
        self._alike = int((totals == self._present).sum())
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
        """Whether a peer shares the usual number in the same uneven manner."""
        counts = self._table.counts
        return self.is_misplaced and bool((counts[self.peers] == counts[self.number]).all(axis=1).any())

    @property
    def has_most(self) -> bool:
        """Whether it lacks one, or less than half: a switch with half of them may be planned so."""
        return self.lacks <= 1 or 2 * self._present > self.usual

    @property
    def fewer_below(self) -> bool:
        """Whether it has fewer adapters than each of its peers, and as many uplinks for each as one of them."""
        own, others = int(self._table.down[self.number]), self._table.down[self.agreeing]
        in_proportion = self._present * int(others.max()) >= self.usual * own
        return bool(self.lacks and in_proportion and (others > own).all())

    @property
    def is_planned(self) -> bool:
        """Whether nobody need hear of it, by two signs of three: half of the usual number or less, the same number to
        each upper switch, or another switch that has as few.
        """
        return bool(self.lacks) and (not self.has_most) + self._each_lacks + (self._alike > 0) > 1

    @property
    def is_decided(self) -> bool:
        """Whether something is wrong, as opposed to planned."""
        if self.lacks and (not self.has_most or self._each_lacks or self.fewer_below):
            return False
        if self.has_twin:
            return False
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
    def _each_lacks(self) -> bool:
        """Whether it lacks the same number to each of several upper switches."""
        uppers = int(self._table.reach[self.number].sum())
        return uppers > 1 and self._spread == 0 and self.lacks % uppers == 0

    @property
    def _most_pairs_agree(self) -> bool:
        """Whether one number of cables is that of most pairs of it and its only peer with an upper switch."""
        peer = int(self.peers[0])
        own, other = (self._table.counts[number, self._table.reach[number]] for number in (self.number, peer))
        same = int((own == other[0]).sum()) + len(other)
        return int(self._table.spread[peer]) == 0 and same >= MOST * (len(own) + len(other))


def _of_mesh(cables: _Cables, switches: list[str]) -> Iterator[MissingCables]:
    """Pairs with fewer cables where no switch is above others, and most pairs are joined by one number of cables.

    Of pairs that are not joined only a single one counts, among four switches at least: others may be a chain or ring.
    """
    number = len(switches) * (len(switches) - 1) // 2
    often = Counter(len(ports) for ports in cables.ports.values())
    usual, ends = often.most_common(1)[0] if often else (0, 0)
    if number < FEWEST_PEERS or ends < MOST * 2 * number:
        return
    present = {pair: len(cables.ports.get(pair, ())) for pair in itertools.combinations(switches, 2)}
    fewer = [pair for pair in present if present[pair] < usual]
    if all(present[pair] for pair in fewer) or (len(fewer) == 1 and number > FEWEST_PEERS):
        for pair in fewer:
            yield MissingCables(
                lower=pair[0],
                upper=pair[1],
                present=present[pair],
                expected=usual,
                lower_ports=(),
                upper_ports=(),
            )


def _peers(joined: Flags) -> Flags:
    """Which rows share at least ALIKE of their neighbours. No row is its own peer."""
    some = joined.astype(np.float32)
    shared = some @ some.T
    size = some.sum(axis=1)
    either = size[:, None] + size[None, :] - shared
    alike: Flags = shared >= ALIKE * np.maximum(either, 1)
    np.fill_diagonal(alike, val=False)
    return alike


def _expected(counts: Counts, below: Flags, above: Flags) -> Counts:
    """Cables that each pair should have: the number that most peers at one end have, if most at the other have as many.

    0 where there is none. Those at the other end may have more: of two switches one has the cable that the other lacks.
    A switch shows its own number by one or two others above only if it has as many cables as most of its peers.
    """
    expected = np.zeros_like(counts)
    peers_below, peers_above = below.sum(axis=1)[:, None], above.sum(axis=1)[None, :]
    cables = counts.sum(axis=1)
    usual = ((cables[:, None] == cables[None, :]) & below).sum(axis=1)[:, None] >= MOST * peers_below
    usual = usual | (peers_above >= FEWEST_PEERS)
    enough = (np.minimum(peers_below, peers_above) >= 1) & (np.maximum(peers_below, peers_above) >= FEWEST_PEERS)
    for value in np.unique(counts[counts > 0]).tolist():
        same, least = (chosen.astype(np.float32) for chosen in (counts == value, counts >= value))
        by_lower, by_upper = (
            (below.astype(np.float32) @ first >= MOST * peers_below)
            & (second @ above.astype(np.float32).T >= MOST * peers_above)
            for first, second in ((same, least), (least, same))
        )
        expected[enough & (by_lower | by_upper & usual)] = value
    return expected
