"""Every pair exactly once, in rounds of pairs that share no node."""

from collections.abc import Sequence

Pair = tuple[str, str]


def circle_rounds(nodes: Sequence[str]) -> list[list[Pair]]:
    """All n(n-1)/2 pairs in n-1 rounds (n for odd n, where one node rests in each), each pair exactly once.

    The circle method: one place is fixed, the others turn by one each round. (A 1-factorisation of the complete graph:
    Anderson, Combinatorial Designs and Tournaments, 1997, chapter 2.) For odd n the fixed place is the rest.
    """
    rounds = [circle_round(nodes, turn) for turn in range(turns(len(nodes)))]
    return [pairs for pairs in rounds if pairs]


def turns(count: int) -> int:
    """How many rounds the circle method has for so many nodes."""
    return max(count - 1 + count % 2, 0)


def circle_round(nodes: Sequence[str], turn: int) -> list[Pair]:
    """One of the rounds alone, 0 to `turns` - 1: a large cluster wants a few of them, and all would be n²/2 pairs."""
    fixed: str | None = None if len(nodes) % 2 else nodes[0]
    ring = list(nodes if len(nodes) % 2 else nodes[1:])
    circle = [fixed, *ring[len(ring) - turn :], *ring[: len(ring) - turn]]
    half = len(circle) // 2
    facing = zip(circle[:half], reversed(circle[half:]), strict=True)
    return [(one, other) for one, other in facing if one is not None and other is not None]
