"""Rounds in which no two pairs share a cable, as far as the fabric is known: contention makes none of them slow."""

import random
from collections.abc import Mapping, Sequence
from itertools import islice

from seatrial.model.fabric import Component, Wiring
from seatrial.model.subject import SubjectKind
from seatrial.pairs.leaf_matchings import leaf_matching, matchings, members_by_leaf
from seatrial.pairs.rounds import Pair, pieces, sparse_rounds

MANY_NODES = 64
"""Nodes from which on the pairs of a round share no cable, as far as cables or leaves are known."""
CABLES_ON_TWO_LEVELS = 2
"""Between switches, on the way of a pair whose leaves differ."""
SAMPLED = 64
"""Leaves whose pairs show of how many levels the fabric is."""


def cables_known(pairs: Sequence[Pair], fabric: Wiring) -> bool:
    """Whether the cables between switches are known where these pairs cross any. Pairs below one switch cross none."""
    return any(cables(pair, fabric) for pair in pairs)


def on_shared_cables(pair: Pair, fabric: Wiring) -> bool:
    """Whether other jobs' traffic may cross the pair's way: known cables, or those between leaves of many nodes."""
    crossed = {part.kind for part in fabric.path(*pair)}
    return SubjectKind.LINK in crossed or (SubjectKind.UPLINK in crossed and len(fabric.leaf_of) >= MANY_NODES)


def apart(pairs: Sequence[Pair], fabric: Wiring, most: int, *, both_ways: bool = False) -> list[list[Pair]]:
    """The pairs in rounds of at most `most`, in which no two share a cable as far as the fabric is known.

    Of a fabric whose cables are known those on the way count; of leaves alone, all uplinks of a leaf count as one.
    `both_ways`: nor do they when the same pairs are measured in the other direction.
    """
    paths = [_shared(pair, fabric) for pair in pairs]
    if both_ways:
        paths = [
            [*there, *_shared((target, source), fabric)] for there, (source, target) in zip(paths, pairs, strict=True)
        ]
    rounds = [[pairs[place] for place in piece] for piece in pieces(pairs, paths)]
    return [one[start : start + most] for one in rounds for start in range(0, len(one), most)]


def cables(pair: Pair, fabric: Wiring) -> list[Component]:
    """The cables between switches that a pair crosses, where they are known."""
    return [part for part in fabric.path(*pair) if part.kind == SubjectKind.LINK]


def _shared(pair: Pair, fabric: Wiring) -> list[Component]:
    """What other pairs may cross, too."""
    return cables(pair, fabric) or [part for part in fabric.path(*pair) if part.kind == SubjectKind.UPLINK]


def even_matchings(nodes: Sequence[str], fabric: Wiring, rounds: int, seed: int) -> list[list[Pair]]:
    """Matchings between leaves and within leaves in turn, as `leaf_matchings.matchings`.

    Where the fabric is known to have two levels, all nodes of a leaf are matched with those of one other leaf, a
    different one in each round: routes by destination then cross all cables of both leaves equally often, while random
    pairs miss some. On more levels all these pairs would share a few cables, and where cables are not known, pairs of
    many different leaves distinguish more.
    """
    drawn = matchings(nodes, fabric.leaf_of, rounds, seed)
    members = members_of(nodes, fabric.leaf_of)
    if not on_two_levels(members, fabric):
        return drawn
    draw = random.Random(seed)
    leaves = sparse_rounds(list(members), (len(drawn) + 1) // 2, seed)
    for number, leaf_pairs in zip(range(0, len(drawn), 2), leaves, strict=False):
        used = {frozenset(pair) for pairs in drawn[:number] for pair in pairs}
        drawn[number] = leaf_matching(members, leaf_pairs, used, draw)
    return drawn


def members_of(nodes: Sequence[str], leaf_of: Mapping[str, str]) -> dict[str, list[str]]:
    """Nodes by leaf; those of unknown leaf are left out."""
    return {leaf: members for leaf, members in members_by_leaf(nodes, leaf_of).items() if leaf}


def on_two_levels(members: Mapping[str, Sequence[str]], fabric: Wiring) -> bool:
    """Whether all leaves are joined by one level of switches, by the paths of a sample of pairs."""
    first = [names[0] for names in islice(members.values(), SAMPLED)]
    pairs = zip(first, [*first[1:], first[0]], strict=True) if len(first) > 1 else ()
    ways = [len(cables(pair, fabric)) for pair in pairs]
    return bool(ways) and all(count == CABLES_ON_TWO_LEVELS for count in ways)
