"""The parts of the cluster that explain bad pairs."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypedDict

import msgspec
import numpy as np

from seatrial.locate.evidence import Pair
from seatrial.model.fabric import Component, Paths
from seatrial.model.pair_table import Indices, Reals
from seatrial.model.subject import Direction, Subject, SubjectKind, link, node, pair, spine, uplink

BUNDLES = (SubjectKind.UPLINK, SubjectKind.SPINE)
MANY_PAIRS = 8
"""Pairs that are all slow, each on cables of its own: enough to accuse a bundle of cables, or a node."""
MAKERS = {"node": node, "uplink": uplink, "link": link, "spine": spine}


class Accused(TypedDict):
    """What a finding says of its suspect, as arguments of `Finding`."""

    subject: Subject
    ambiguous_with: tuple[Subject, ...]
    direction: Direction
    pairs: tuple[str, ...]


class PartSuspect(msgspec.Struct, frozen=True, kw_only=True):
    """A part that explains some bad pairs. `ambiguous_with`: parts that these pairs cannot distinguish from it."""

    subject: Subject
    direction: Direction
    ambiguous_with: tuple[Subject, ...]
    pairs: tuple[Pair, ...]

    @property
    def accused(self) -> Accused:
        """The suspect in the fields of a finding."""
        names = tuple(f"{source}>{target}" for source, target in self.pairs)
        return Accused(subject=self.subject, ambiguous_with=self.ambiguous_with, direction=self.direction, pairs=names)


class Blamed(msgspec.Struct, frozen=True):
    """Directions of parts that lie on the same bad pairs, and these pairs; no components: a pair on its own."""

    components: frozenset[Component]
    pairs: frozenset[Pair]

    @property
    def is_own(self) -> bool:
        """Whether it is a node's own link for certain, which no other job uses while the node is ours."""
        return {part.kind for part in self.components} == {SubjectKind.NODE}

    @property
    def is_wide(self) -> bool:
        """Whether it is a bundle of cables that many pairs accuse: other jobs' traffic does not fill all of them."""
        return len(self.pairs) >= MANY_PAIRS and any(part.kind in BUNDLES for part in self.components)


class Ways(msgspec.Struct, frozen=True, kw_only=True):
    """What each row crosses: `row[x]` crosses `part[x]`, rows ascending. `parts`: how many parts there are."""

    row: Indices
    part: Indices
    parts: int
    subject: Indices | None = None
    """What each part is a direction of, by number; None: each is a subject of its own."""


class Blame(msgspec.Struct, frozen=True, kw_only=True):
    """`parts` that these rows cannot distinguish (one, where they can); `rows` that they explain, ascending."""

    parts: tuple[int, ...]
    rows: Indices


class Crossings:
    """How many of certain pairs cross each part of the fabric, kept up to date while pairs join and leave.

    Nothing is counted before somebody asks: where nothing is suspected, nobody does.
    """

    def __init__(self, fabric: Paths, pairs: Iterable[Pair] = ()) -> None:
        self.fabric = fabric
        self.pairs = set(pairs)
        self._counts: Counter[Component] | None = None

    def change(self, joined: Collection[Pair], left: Collection[Pair]) -> None:
        """Add and remove pairs."""
        joined = set(joined) - self.pairs
        self.pairs |= joined
        left = self.pairs.intersection(left)
        self.pairs -= left
        if self._counts is not None:
            for pair in joined:
                self._counts.update(self.fabric.path(*pair))
            for pair in left:
                self._counts.subtract(self.fabric.path(*pair))

    def changed(self, joined: Collection[Pair], left: Collection[Pair]) -> "Crossings":
        """A copy with pairs added and removed."""
        copy = Crossings(self.fabric, self.pairs)
        copy._counts = None if self._counts is None else self._counts.copy()
        copy.change(joined, left)
        return copy

    def rewire(self, fabric: Paths, *, recount: bool) -> None:
        """Follow the pairs through another view of the fabric; `recount`: its paths are others."""
        self.fabric = fabric
        if recount:
            self._counts = None

    def count(self, part: Component) -> int:
        """Pairs that cross the part."""
        return self._counted()[part]

    @property
    def parts(self) -> frozenset[Component]:
        """Parts that any pair crosses."""
        return frozenset(part for part, count in self._counted().items() if count > 0)

    def _counted(self) -> Counter[Component]:
        if self._counts is None:
            self._counts = Counter(part for pair in self.pairs for part in self.fabric.path(*pair))
        return self._counts


def locate(
    bad: Mapping[Pair, float], good: Collection[Pair], fabric: Paths, *, acquit: bool = True
) -> list[PartSuspect]:
    """The fewest parts that explain every bad pair, those that explain most first. See `blame`."""
    return suspects_of(blame(bad, Crossings(fabric, good), acquit=acquit))


def blame(
    bad: Mapping[Pair, float], good: Crossings, *, acquit: bool = True, cleared: Collection[Component] = ()
) -> list[Blamed]:
    """Directions of parts that explain the bad pairs; each bad pair that nothing explains is on its own, at the end.

    `bad` maps each bad ordered pair to its weight (1 for slow; the number of lost packets for lossy). Under the
    bottleneck model a pair is as good as the worst part on its way, so one good pair clears every part that it crosses
    (`acquit`; the COMP rule of group testing: Chan et al., Allerton 2011). A part that is the only one left on a bad
    pair is at fault for certain; the bad pairs that this does not explain are covered greedily (the DD and SCOMP rules:
    Aldridge, Baldassini and Johnson, IEEE Trans. Inf. Theory 60, 2014), by what both directions of a part explain.
    Parts that lie on the same bad pairs are named together. Packets are lost by chance, so there a good pair clears no
    part. A bad pair with only cleared parts is a suspect of its own. `cleared`: parts known not to be at fault.
    """
    groups = _cover(bad, good, acquit=acquit, cleared=cleared)
    explained = {one for blamed in groups for one in blamed.pairs}
    return groups + [Blamed(frozenset(), frozenset([one])) for one in bad if one not in explained]


def suspects_of(groups: Collection[Blamed]) -> list[PartSuspect]:
    """Suspects with the two directions of one part together."""
    merged: dict[frozenset[tuple[str, str]], list[Blamed]] = defaultdict(list)
    for blamed in groups:
        if blamed.components:
            merged[frozenset((part.kind, part.name) for part in blamed.components)].append(blamed)
    alone = [one for blamed in groups if not blamed.components for one in sorted(blamed.pairs)]
    return [_suspect(group) for group in merged.values()] + pair_suspects(alone)


def blamed_parts(bad: Mapping[Pair, float], good: Crossings) -> list[frozenset[Component]]:
    """What `blame` names, by direction; the parts of one set lie on the same bad pairs."""
    return [blamed.components for blamed in _cover(bad, good, acquit=True)]


def both_ways(groups: Sequence[Blamed]) -> list[Blamed]:
    """Groups of round trips, whose numbers hold for both directions of a pair, with their pairs in both."""
    return [Blamed(group.components, group.pairs | {pair[::-1] for pair in group.pairs}) for group in groups]


def with_parts(groups: Sequence[Blamed], added: Sequence[Blamed]) -> list[Blamed]:
    """`groups` and the parts `added` to them; lone pairs that these explain are no longer suspects of their own."""
    explained = {pair for group in added for pair in group.pairs}
    return [*(group for group in groups if group.components or not group.pairs <= explained), *added]


def pair_suspects(pairs: Collection[Pair]) -> list[PartSuspect]:
    """Pairs on their own; the two directions of one pair are one suspect."""
    suspects = []
    bad_pairs = frozenset(pairs)
    for source, target in pairs:
        back = (target, source) in bad_pairs
        if back and target < source:
            continue
        suspects.append(
            PartSuspect(
                subject=pair(source, target),
                direction=Direction.BOTH if back else Direction.OUT,
                ambiguous_with=(),
                pairs=((source, target), (target, source)) if back else ((source, target),),
            )
        )
    return suspects


def _cover(
    bad: Mapping[Pair, float], good: Crossings, *, acquit: bool, cleared: Collection[Component] = ()
) -> list[Blamed]:
    pairs = list(bad)
    paths = [tuple(good.fabric.path(*one)) for one in pairs]
    crossed = sorted({part for path in paths for part in path}.difference(cleared))
    parts = [part for part in crossed if not (acquit and good.count(part))]
    number = {part: place for place, part in enumerate(parts)}
    names: dict[tuple[str, str], int] = {}
    subjects = [names.setdefault((part.kind, part.name), len(names)) for part in parts]
    entries = [(row, number[part]) for row, path in enumerate(paths) for part in path if part in number]
    if not entries:
        return []
    row, part = np.array(entries).T
    bad_pairs, certain = np.bincount(part), np.unique(part[np.bincount(row)[row] == 1]).tolist()
    groups: Iterable[Blame] = cover(
        Ways(row=row, part=part, parts=len(parts), subject=np.array(subjects) if acquit else None),
        len(pairs),
        weight=np.array([bad[one] for one in pairs]),
        first=sorted(certain, key=lambda one: (-int(bad_pairs[one]), one)) if acquit else (),
    )
    groups = groups if acquit else _by_own_rows([*groups], row, part)
    return [
        Blamed(frozenset(parts[one] for one in group.parts), frozenset(pairs[one] for one in group.rows.tolist()))
        for group in groups
    ]


def _by_own_rows(groups: Sequence[Blame], row: Indices, part: Indices) -> list[Blame]:
    """The groups that explain a row which no other one explains, each with all parts that explain those rows as well;
    groups with such a part in common are one.

    What explains most is chosen first, and may be a switch behind which two nodes lose packets, each of them by itself.
    """
    rows_of: defaultdict[int, set[int]] = defaultdict(set)
    parts_on: defaultdict[int, set[int]] = defaultdict(set)
    for place, number in zip(row.tolist(), part.tolist(), strict=True):
        rows_of[number].add(place)
        parts_on[place].add(number)
    every = {place for group in groups for place in group.rows.tolist()}
    reach = [every.intersection(*(rows_of[number] for number in group.parts)) for group in groups]
    times = Counter(chain.from_iterable(reach))
    kept = []
    for group, rows in zip(groups, reach, strict=True):
        if any(times[place] == 1 for place in rows):
            kept.append((group, rows))
        else:
            times.subtract(rows)
    left = every.difference(*(group.rows.tolist() for group, _ in kept))
    named: list[tuple[set[int], set[int]]] = []
    index: dict[int, int] = {}
    for group, rows in kept:
        parts = set.intersection(*(parts_on[place] for place in rows if times[place] == 1))
        number = min((index[shared] for shared in parts & index.keys()), default=len(named))
        if number == len(named):
            named.append((parts, set()))
        for gone in named[number][0] - parts:
            del index[gone]
        named[number][0].intersection_update(parts)
        named[number][1].update(rows & left, rows.intersection(group.rows.tolist()))
        index |= dict.fromkeys(named[number][0], number)
    return [Blame(parts=tuple(sorted(parts)), rows=np.array(sorted(rows))) for parts, rows in named]


def _suspect(group: list[Blamed]) -> PartSuspect:
    components = sorted({part for blamed in group for part in blamed.components})
    subjects = list(dict.fromkeys(MAKERS[part.kind](part.name) for part in components))
    subject, others = subjects[0], subjects[1:]
    ways = {part.direction for part in components if MAKERS[part.kind](part.name) == subject}
    return PartSuspect(
        subject=subject,
        direction=ways.pop() if len(ways) == 1 else Direction.BOTH,
        ambiguous_with=tuple(others),
        pairs=tuple(sorted({one for blamed in group for one in blamed.pairs})),
    )


def nodes_of(suspect: PartSuspect) -> set[str]:
    """Nodes that the suspect is or may be."""
    both = (suspect.subject, *suspect.ambiguous_with)
    return {subject.name for subject in both if subject.kind is SubjectKind.NODE}


def cover(
    ways: Ways,
    rows: int,
    *,
    weight: Reals | None = None,
    least: Indices | Reals | int = 1,
    first: Sequence[int] = (),
) -> Iterator[Blame]:
    """Parts chosen one after the other: the one that explains most of the `rows` that nothing explains yet.

    `ways`: which parts may explain which of the rows; a part competes with all directions of its subject together.
    `weight`: of each row, whole numbers, 1 by default. `least`: rows that a part must explain to be chosen. `first`:
    parts that are chosen before all others, with all their rows. Of parts that are alike in their rows, all are in one
    `Blame`.
    """
    entries = _Entries(ways, rows, weight)
    for part in first:
        every = entries.rows_of(part)
        entries.take(every)
        yield Blame(parts=(part,), rows=every)
    subject = np.arange(ways.parts) if ways.subject is None else ways.subject
    while np.any(able := np.where(entries.count >= least, entries.weight, 0)):
        together = np.where(able > 0, np.bincount(subject, weights=able)[subject], 0)
        best = np.flatnonzero(together == np.max(together))
        part = int(best[np.argmax(able[best])])
        explained = entries.rows_of(part)
        explained = explained[entries.left[explained]]
        before = entries.count
        shared = before - entries.take(explained)
        alike = (shared == len(explained)) & (before == len(explained))
        yield Blame(parts=tuple(np.flatnonzero(alike).tolist()), rows=explained)


class _Entries:
    """Pairs of a row and a part that may explain it. Each is taken out of the sums once."""

    def __init__(self, ways: Ways, rows: int, weight: Reals | None) -> None:
        key = np.unique(ways.row.astype(np.int64) * max(ways.parts, 1) + ways.part)
        row, self._part = key // max(ways.parts, 1), key % max(ways.parts, 1)
        self._first = np.searchsorted(row, np.arange(rows + 1))
        order = np.argsort(self._part, kind="stable")
        self._row_by_part = row[order]
        self._first_of_part = np.searchsorted(self._part[order], np.arange(ways.parts + 1))
        self._row_weight = np.ones(rows) if weight is None else weight
        self.count = np.bincount(self._part, minlength=ways.parts)
        """Rows that are left, by part."""
        self.weight = np.bincount(self._part, weights=self._row_weight[row], minlength=ways.parts)
        """The weight of these rows."""
        self.left = np.ones(rows, dtype=np.bool_)
        """Rows that nothing explains yet."""

    def rows_of(self, part: int) -> Indices:
        """All rows that the part may explain, ascending."""
        return self._row_by_part[self._first_of_part[part] : self._first_of_part[part + 1]]

    def take(self, rows: Indices) -> Indices:
        """Count these rows as explained; how many are left then, by part."""
        rows = rows[self.left[rows]]
        first, last = self._first[rows], self._first[rows + 1]
        entries = np.repeat(first - np.concatenate(([0], np.cumsum(last - first)[:-1])), last - first)
        parts = self._part[entries + np.arange(len(entries))]
        weights = np.repeat(self._row_weight[rows], last - first)
        self.left[rows] = False
        self.weight = self.weight - np.bincount(parts, weights=weights, minlength=len(self.count))
        self.count = self.count - np.bincount(parts, minlength=len(self.count))
        return self.count
