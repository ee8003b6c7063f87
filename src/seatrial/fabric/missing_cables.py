"""Cables that switches of neighbouring tiers lack: pairs below comparable pairs, and switches with few uplinks."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

import msgspec
import numpy as np

from seatrial.fabric.map_integrity import switches_complete
from seatrial.fabric.map_lines import joined
from seatrial.fabric.uplinks import FEWEST_SWITCHES, MOST, CableTable, Counts, SwitchUplinks, alike, within
from seatrial.model.fabric import DeviceKind, FabricMap
from seatrial.model.pair_table import Flags
from seatrial.model.words import natural_key

FEWEST_PEERS = 3
"""Peers at one of the two ends of a pair; the other needs one."""


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


class ShortPod(msgspec.Struct, frozen=True, kw_only=True):
    """Lower switches that the same upper ones join, with `most` cables to those at most.

    `agreeing` of `pods` others, that of `example` among them, have lower switches with `usual`.
    """

    switches: tuple[str, ...]
    most: int
    usual: int
    agreeing: int
    pods: int
    example: str


class CableSearch(msgspec.Struct, frozen=True, kw_only=True):
    """Missing cables: pairs that lack some, switches that lack some of which the other end is not known, and pods."""

    pairs: tuple[MissingCables, ...] = ()
    switches: tuple[FewUplinks, ...] = ()
    pods: tuple[ShortPod, ...] = ()


class _Cables:
    """Cables among switches: (switch, switch) -> ports of the first."""

    def __init__(self, fabric: FabricMap, tier: Mapping[str, int]) -> None:
        self.ports: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        self.used: defaultdict[str, set[int]] = defaultdict(set)
        self.below: Counter[str] = Counter()
        """Cables of each switch to adapters and to the tier below."""
        devices = fabric.by_key
        for link in fabric.links:
            for near_end, far_end in link.ways:
                near, far = near_end.device, far_end.device
                self.used[near].add(near_end.port)
                if near in tier and far in tier:
                    self.ports[near, far].append(near_end.port)
                    self.below[near] += tier[far] < tier[near]
                elif devices[far].kind is DeviceKind.ADAPTER:
                    self.below[near] += 1

    def counts(self, rows: list[str], columns: list[str]) -> Counts:
        """How many there are between each two."""
        counts = [[len(self.ports.get((row, column), ())) for column in columns] for row in rows]
        return np.array(counts, dtype=np.int32).reshape(len(rows), len(columns))

    def near(self, among: Iterable[str]) -> dict[str, list[str]]:
        """Each of these devices, and those of them that its cables lead to."""
        near: dict[str, list[str]] = {device: [] for device in among}
        for begin, end in self.ports:
            if begin in near and end in near:
                near[begin].append(end)
        return near

    def expected_ports(self, near_end: str, far_end: str, peers: list[str], most: int) -> tuple[int, ...]:
        """Free ports of `near_end` that should lead to `far_end`: those by which most peers of the former reach it."""
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
    pods: list[ShortPod] = []
    tops = max(tier.values(), default=0)
    if not tops:
        pairs += _of_mesh(cables, sorted(tier, key=natural_key))
    beneath: list[str] = []
    lower = _of_tier(tier, 0)
    for level in range(tops):
        upper = _of_tier(tier, level + 1)
        neighbours = _Neighbours(cables, lower, upper, beneath)
        pairs += neighbours.pairs()
        switches += neighbours.switches
        pods += _short_pods(cables, lower, upper)
        beneath, lower = lower, upper
    return CableSearch(pairs=tuple(pairs), switches=tuple(switches), pods=tuple(pods))


def _of_tier(tier: Mapping[str, int], level: int) -> list[str]:
    return sorted((switch for switch, of in tier.items() if of == level), key=natural_key)


def too_many(tier: Mapping[str, int]) -> int:
    """How many switches the largest tier has, if they are too many to compare each with each; else 0."""
    most = max(Counter(tier.values()).values(), default=0)
    return most if most > MOST_SWITCHES else 0


MOST_SWITCHES = 4096
"""Most switches of a tier: each is compared with each, which takes the square of their number in memory."""


class _Neighbours:
    """Two neighbouring tiers. One row for each lower switch, one column for each upper one.

    Lower switches without uplinks have peers by what is `beneath` them.
    """

    def __init__(self, cables: _Cables, lower: list[str], upper: list[str], beneath: list[str]) -> None:
        self._cables, self._lower, self._upper = cables, lower, upper
        counts = cables.counts(lower, upper)
        self._down = np.array([cables.below[switch] for switch in lower], dtype=np.int32)
        some, lone = counts > 0, counts.sum(axis=1) == 0
        self._below, self._above = alike(some) | within(some), alike(some.T)
        self._below[lone] = alike(cables.counts(lower, beneath) > 0)[lone]
        self._reach = some | (self._below.astype(np.float32) @ some.astype(np.float32) > 0)
        """Upper switches to which a lower one, or a peer of it, has a cable."""
        self._counts = counts
        self._expected = _expected(counts, self._below, self._above)
        rows = self._rows(counts)
        planned = [row.number for row in rows if row.is_even or row.has_more or row.is_doubtful or row.has_twin]
        self._expected[planned] = 0
        self._planned = np.isin(np.arange(len(lower)), planned)
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

    def _rows(self, counts: Counts) -> list[SwitchUplinks]:
        """Lower switches whose peers agree on a number of uplinks."""
        table = CableTable(counts, self._reach, self._below, self._down)
        usual, agreeing = table.usual()
        peers = self._below.sum(axis=1)
        agree = np.flatnonzero((agreeing >= MOST * peers) & (peers > 0)).tolist()
        return [SwitchUplinks(row, table, int(usual[row])) for row in agree]

    def _half_empty(self) -> Iterator[FewUplinks]:
        """Upper switches that lack cables to several lower ones, which would else have all those that others have.

        Adds these pairs if an upper switch has more than half of its cables, else yields the switch, not decided.
        """
        counts, totals = self._counts, self._counts.sum(axis=1)
        columns = CableTable(counts.T, self._reach.T, self._above, np.zeros(len(self._upper), dtype=np.int32))
        usual, agreeing = columns.usual()
        fewer = (agreeing >= MOST * self._above.sum(axis=1)) & (columns.totals < usual)
        for column in np.flatnonzero(fewer & (self._above.sum(axis=1) >= FEWEST_SWITCHES)).tolist():
            peers = np.flatnonzero(self._above[column])
            own, others = counts[:, column], np.median(counts[:, peers], axis=1).astype(np.int32)
            agreed = ((counts[:, peers] == others[:, None]).mean(axis=1) >= MOST) & (others > 0)
            lacking, whole = (
                np.flatnonzero(agreed & (own < others) & ~self._planned),
                np.flatnonzero(agreed & (own == others)),
            )
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

    def _few(self, row: SwitchUplinks) -> FewUplinks:
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


def _short_pods(cables: _Cables, lower: list[str], upper: list[str]) -> Iterator[ShortPod]:
    """Pods that cables join and all whose switches have fewer uplinks than others' with no more below them.

    Several others must be there, and most of them have one number, before one can have fewer: it lacks an upper switch.
    """
    fabric_of = joined(cables.near(cables.used))
    pod_of = joined(cables.near([*lower, *upper]))
    uplinks = dict(zip(lower, cables.counts(lower, upper).sum(axis=1).tolist(), strict=True))
    pods: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for switch in lower:
        if uplinks[switch]:
            pods[fabric_of[switch]][pod_of[switch]].append(switch)
    for of_fabric in pods.values():
        most = {pod: max(uplinks[switch] for switch in switches) for pod, switches in of_fabric.items()}
        below = {pod: max(cables.below[switch] for switch in switches) for pod, switches in of_fabric.items()}
        for pod, switches in of_fabric.items():
            others = Counter(number for other, number in most.items() if other != pod)
            usual, agreeing = others.most_common(1)[0] if others else (0, 0)
            alike_pods = [other for other in of_fabric if other != pod and most[other] == usual]
            if (
                most[pod] < usual
                and agreeing >= max(FEWEST_SWITCHES, MOST * others.total())
                and len(switches) >= FEWEST_SWITCHES
                and below[pod] >= min(below[other] for other in alike_pods)
            ):
                yield ShortPod(
                    switches=tuple(switches),
                    most=most[pod],
                    usual=usual,
                    agreeing=agreeing,
                    pods=others.total(),
                    example=of_fabric[alike_pods[0]][0],
                )


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
                lower=pair[0], upper=pair[1], present=present[pair], expected=usual, lower_ports=(), upper_ports=()
            )


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
