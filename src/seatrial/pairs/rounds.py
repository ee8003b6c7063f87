"""Rounds of pairs that share no node: every pair once, a few random rounds, and parts of a round without conflicts."""

import math
import random
from collections import defaultdict
from collections.abc import Hashable, Sequence

import msgspec

from seatrial.model.units import share

Pair = tuple[str, str]


def circle_rounds(nodes: Sequence[str]) -> list[list[Pair]]:
    """All n(n-1)/2 pairs in n-1 rounds (n for odd n, where one node rests in each), each pair exactly once.

    The circle method: one place is fixed, the others turn by one each round. (A 1-factorisation of the complete graph:
    Anderson, Combinatorial Designs and Tournaments, 1997, chapter 2.) For odd n the fixed place is the rest.
    """
    rounds = [circle_round(nodes, turn) for turn in range(turns(len(nodes)))]
    return [pairs for pairs in rounds if pairs]


def turns(count: int) -> int:
    """The number of rounds of the circle method for `count` nodes."""
    return max(count - 1 + count % 2, 0)


def circle_round(nodes: Sequence[str], turn: int) -> list[Pair]:
    """One of the rounds alone, 0 to `turns` - 1: a large cluster wants a few of them, and all would be n²/2 pairs."""
    fixed: str | None = None if len(nodes) % 2 else nodes[0]
    ring = list(nodes if len(nodes) % 2 else nodes[1:])
    circle = [fixed, *ring[len(ring) - turn :], *ring[: len(ring) - turn]]
    half = len(circle) // 2
    facing = zip(circle[:half], reversed(circle[half:]), strict=True)
    return [(one, other) for one, other in facing if one is not None and other is not None]


MOST_ROUNDS = 16
"""Beyond these the complete design is near anyway, or the fault share is too high to clear nodes by a good partner."""


class Guarantee(msgspec.Struct, frozen=True, kw_only=True):
    """What k rounds of disjoint random pairs can promise among `nodes` nodes of which `faulty` are slow.

    `wrongly_left`: expected number of healthy nodes all of whose partners are faulty, so that no good pair clears them.
    """

    nodes: int
    faulty: int
    rounds: int
    wrongly_left: float

    @property
    def statement(self) -> str:
        """The promise in one sentence."""
        crossed = min(self.rounds / max(self.nodes - 1, 1), 1)
        return (
            f"{self.rounds} round{'s'[: self.rounds != 1]} over {self.nodes} nodes: with up to {self.faulty} of them "
            f"slow, every slow node is detected, {self.wrongly_left:.2g} healthy nodes are expected to remain "
            f"unverified, and {share(crossed)} of single bad pairs are measured."
        )


def wrongly_left(nodes: int, faulty: int, rounds: int) -> float:
    """Expected healthy nodes that meet faulty partners alone: (n-d) C(d,k) / C(n-1,k).

    Each node's k partners are a random subset of the other n-1, since no pair comes twice; hypergeometric.
    """
    if rounds > faulty:
        return 0.0
    return (nodes - faulty) * math.comb(faulty, rounds) / math.comb(nodes - 1, rounds)


def rounds_needed(nodes: int, fault_share: float, error: float) -> int:
    """The fewest rounds with at most `error` healthy nodes expected to be unverified; about ln(n/error)/ln(1/share).

    Raises ValueError for a share or an error outside 0 to 1.
    """
    if not 0 < fault_share < 1 or not 0 < error < 1:
        raise ValueError(f"fault share {fault_share} and error {error} must lie between 0 and 1")
    faulty = max(math.ceil(nodes * fault_share), 1)
    most = max(nodes - 1, 1)
    return next((k for k in range(1, most) if wrongly_left(nodes, faulty, k) <= error), most)


def guarantee(nodes: int, rounds: int, fault_share: float) -> Guarantee:
    """The guarantee of that many rounds."""
    faulty = max(math.ceil(nodes * fault_share), 1)
    return Guarantee(nodes=nodes, faulty=faulty, rounds=rounds, wrongly_left=wrongly_left(nodes, faulty, rounds))


def sparse_rounds(nodes: Sequence[str], rounds: int, seed: int) -> list[list[Pair]]:
    """`rounds` random perfect matchings of which no two share a pair; all of the complete design where n is small.

    Rounds of the circle method are disjoint whatever the order of the nodes, so a random order and a random choice
    of rounds give random matchings. For odd n one node rests in each round, and never the same one twice.
    """
    draw = random.Random(seed)
    order = list(nodes)
    draw.shuffle(order)
    if rounds >= turns(len(order)):
        return circle_rounds(order)
    return [circle_round(order, turn) for turn in draw.sample(range(turns(len(order))), rounds)]


def pieces(pairs: Sequence[Pair], paths: Sequence[Sequence[Hashable]]) -> list[list[int]]:
    """Places of the pairs, in as many pieces as a greedy colouring needs; `paths[p]` is what pair p crosses.

    Two pairs of one piece share neither a node nor anything on their paths. Each pair goes into the first piece that
    has room for it (greedy colouring: Welsh and Powell, Comput. J. 10, 1967); at worst that takes as many pieces as the
    busiest node or cable has pairs, times the things on a way. A pair without a path is taken to cross nothing.
    """
    taken: defaultdict[Hashable, int] = defaultdict(int)
    result: list[list[int]] = []
    for place, (pair, path) in enumerate(zip(pairs, paths, strict=True)):
        wanted: list[Hashable] = [("node", pair[0]), ("node", pair[1]), *path]
        full = 0
        for thing in wanted:
            full |= taken[thing]
        free = ~full & (full + 1)
        number = free.bit_length() - 1
        for thing in wanted:
            taken[thing] |= free
        if number == len(result):
            result.append([])
        result[number].append(place)
    return result
