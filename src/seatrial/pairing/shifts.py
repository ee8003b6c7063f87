"""Shift permutations: everybody sends to the one so many places further, in the order of the leaves."""

import random
from collections.abc import Sequence

from seatrial.pairing.complete import Pair


def shift_round(nodes: Sequence[str], by: int) -> list[Pair]:
    """Each of n nodes sends once and receives once; n pairs. Raises ValueError where `by` is no shift: 0, n.

    With nodes in the order of leaf and port these are free of contention on a fat tree with D-mod-K routes (Zahavi,
    J. Parallel Distrib. Comput. 72, 2012). A node sends and receives at once: `conflicts.pieces` takes that apart, into
    two pieces where the shift's circles are even, three where they are odd.
    """
    if not 0 < by < len(nodes):
        raise ValueError(f"{by} is no shift of {len(nodes)} nodes")
    return [(source, nodes[(place + by) % len(nodes)]) for place, source in enumerate(nodes)]


def shift_rounds(nodes: Sequence[str], rounds: int, seed: int, *, near: int = 0) -> list[list[Pair]]:
    """Rounds of different random shifts, none of `near` places or less either way where there are enough others.

    All n-1 shifts together are every ordered pair once.
    """
    everything = range(1, len(nodes))
    far = [by for by in everything if near < by < len(nodes) - near]
    draw = random.Random(seed)
    chosen = draw.sample(far if len(far) >= rounds else everything, min(rounds, len(everything)))
    return [shift_round(nodes, by) for by in chosen]
