"""Next best pairs: the few whose outcome distinguishes the remaining suspects of a tree of leaves.

A pair is as good as the worst part on its path (the bottleneck model), so one good pair clears every part that it
crosses, and a bad pair all of whose parts but one are cleared convicts that one.
"""

import random
from collections import defaultdict
from collections.abc import Collection, Sequence

import msgspec

from seatrial.model.fabric import Component, Paths
from seatrial.model.subject import Direction
from seatrial.pairs.rounds import Pair

MOST_PAIRS = 16
"""Pairs in one step; each is measured alone."""
_MOST_PARTS = 64
_OTHER_LEAVES = 8
_ACROSS = 24
"""Pairs looked at for each cable in question."""
_GOOD = 3
"""Good ends of each leaf that come into question."""


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What measured pairs show. `acquitted`: parts that a good pair crosses. `blamed`: parts that explain the bad pairs
    best; those of one set cannot be distinguished."""

    bad: frozenset[Pair]
    acquitted: frozenset[Component]
    blamed: tuple[frozenset[Component], ...]


def next_pairs(nodes: Sequence[str], known: Known, fabric: Paths, *, asked: Collection[Pair], seed: int) -> list[Pair]:
    """At most `MOST_PAIRS` ordered pairs of `nodes` that were not `asked` yet; empty where no pair could help.

    Two questions are put, each by pairs that otherwise cross only cleared parts. Of parts blamed together: a pair
    that crosses half of them (halving: Aldridge, Johnson and Scarlett, Group Testing, 2019, section 1.7). Of parts on
    bad pairs that another part explains: a pair that crosses as many of them as can be, since all are likely good and
    one good pair then clears them all.
    """
    acquitted = known.acquitted
    on_bad = [frozenset(fabric.path(*pair)) - acquitted for pair in known.bad]
    proved = frozenset(part for parts in on_bad if len(parts) == 1 for part in parts)
    blamed = frozenset(part for parts in known.blamed for part in parts)
    groups = [left for parts in known.blamed if len(left := parts - acquitted) > 1 and not left & proved][:MOST_PAIRS]
    hidden = frozenset(part for parts in on_bad for part in parts) - proved - blamed
    if not groups and not hidden:
        return []
    draw = random.Random(seed)
    offered = _offered(nodes, [*groups, hidden], acquitted, fabric, draw)
    for pair in asked:
        offered.pop(pair, None)
    chosen: list[Pair] = []
    for group in groups:
        halves = [pair for pair, crossed in offered.items() if crossed < group and pair not in chosen]
        chosen += sorted(halves, key=lambda pair: abs(2 * len(offered[pair]) - len(group)))[:1]
    harmless = {pair: crossed for pair, crossed in offered.items() if crossed <= hidden}
    while harmless and hidden and len(chosen) < MOST_PAIRS:
        pair = max(harmless, key=lambda one: len(harmless[one] & hidden))
        if not harmless[pair] & hidden:
            break
        chosen.append(pair)
        hidden -= harmless.pop(pair)
    return chosen[:MOST_PAIRS]


def _offered(
    nodes: Sequence[str],
    questions: Sequence[frozenset[Component]],
    acquitted: frozenset[Component],
    fabric: Paths,
    draw: random.Random,
) -> dict[Pair, frozenset[Component]]:
    """Pairs in random order, and what each crosses that is not cleared; pairs that cross nothing such are left out.

    Ends are nodes in question, and good ones: of every leaf in question and of a few others; and those of pairs that
    cross a cable in question.
    """
    wanted = {part for parts in questions for part in _at_most(_MOST_PARTS, parts, draw)}
    asked_leaves = {part.name if part.kind == "uplink" else fabric.leaf_of.get(part.name, "") for part in wanted}
    members: dict[str, list[str]] = defaultdict(list)
    for node in draw.sample(nodes, len(nodes)):
        members[fabric.leaf_of.get(node, "")].append(node)
    others = [leaf for leaf in members if leaf not in asked_leaves][:_OTHER_LEAVES]
    ends: dict[Direction, list[str]] = {}
    for way in (Direction.OUT, Direction.IN):
        own = [part.name for part in sorted(wanted) if part.kind == "node" and part.direction in (way, Direction.BOTH)]
        good = [
            [node for node in members[leaf] if not acquitted.isdisjoint(links_of(node, way))][:_GOOD]
            for leaf in (*sorted(asked_leaves & members.keys()), *others)
        ]
        ends[way] = [node for node in own if node in set(nodes)] + [node for some in good for node in some]
    pairs = [(source, target) for source in ends[Direction.OUT] for target in ends[Direction.IN] if source != target]
    cables = (part for part in sorted(wanted) if part.kind != "node")
    crossing = (pair for part in cables for pair in fabric.across(part, _ACROSS, draw.getrandbits(32)))
    pairs += [pair for pair in dict.fromkeys(crossing) if set(nodes).issuperset(pair)]
    draw.shuffle(pairs)
    crossed = {pair: frozenset(fabric.path(*pair)).difference(acquitted) for pair in pairs}
    return {pair: parts for pair, parts in crossed.items() if parts}


def links_of(node: str, way: Direction) -> list[Component]:
    """A node's link in this direction, and in both, as round trips cross it."""
    return [Component(kind="node", name=node, direction=either) for either in (way, Direction.BOTH)]


def _at_most(most: int, parts: Collection[Component], draw: random.Random) -> list[Component]:
    """At most `most` parts by chance, the same ones for the same seed: a set has another order in each process."""
    ordered = sorted(parts)
    return ordered if len(ordered) <= most else draw.sample(ordered, most)
