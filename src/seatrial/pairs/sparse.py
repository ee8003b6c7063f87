"""A few random rounds instead of all, and what they promise."""

import math
import random
from collections.abc import Sequence

import msgspec

from seatrial.pairs.complete import Pair, circle_round, circle_rounds, turns

MOST_ROUNDS = 16
"""Beyond these the complete design is near anyway, or the fault share is too high for acquittal by a good partner."""


class Guarantee(msgspec.Struct, frozen=True, kw_only=True):
    """What k rounds of disjoint random pairs can promise among `nodes` nodes of which `faulty` are slow.

    `wrongly_left`: expected number of healthy nodes all of whose partners are faulty, so that nothing acquits them.
    """

    nodes: int
    faulty: int
    rounds: int
    wrongly_left: float

    @property
    def statement(self) -> str:
        """The promise in one sentence."""
        return (
            f"{self.rounds} round{'s'[: self.rounds != 1]} over {self.nodes} nodes: with up to {self.faulty} of them "
            f"slow, every slow node is seen, {self.wrongly_left:.2g} healthy nodes are expected to stay without an "
            f"acquittal, and of single "
            f"bad pairs {100 * min(self.rounds / max(self.nodes - 1, 1), 1):.2g} % are crossed."
        )


def wrongly_left(nodes: int, faulty: int, rounds: int) -> float:
    """Expected healthy nodes that meet faulty partners alone: (n-d) C(d,k) / C(n-1,k).

    Each node's k partners are a random subset of the other n-1, since no pair comes twice; hypergeometric.
    """
    if rounds > faulty:
        return 0.0
    return (nodes - faulty) * math.comb(faulty, rounds) / math.comb(nodes - 1, rounds)


def rounds_needed(nodes: int, fault_share: float, error: float) -> int:
    """The fewest rounds with at most `error` healthy nodes expected to stay unacquitted; about ln(n/error)/ln(1/share).

    Raises ValueError for a share or an error outside 0 to 1.
    """
    if not 0 < fault_share < 1 or not 0 < error < 1:
        raise ValueError(f"fault share {fault_share} and error {error} must lie between 0 and 1")
    faulty = max(math.ceil(nodes * fault_share), 1)
    most = max(nodes - 1, 1)
    return next((k for k in range(1, most) if wrongly_left(nodes, faulty, k) <= error), most)


def guarantee(nodes: int, rounds: int, fault_share: float) -> Guarantee:
    """The promise of so many rounds."""
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
