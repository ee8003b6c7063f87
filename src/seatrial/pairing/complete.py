"""Every pair exactly once, in rounds of pairs that share no node."""

from collections.abc import Sequence

Pair = tuple[str, str]


def circle_rounds(nodes: Sequence[str]) -> list[list[Pair]]:
    """All n(n-1)/2 pairs in n-1 rounds (n for odd n, where one node rests in each), each pair exactly once.

    The circle method: one place is fixed, the others turn by one each round. (A 1-factorisation of the complete graph:
    Anderson, Combinatorial Designs and Tournaments, 1997, chapter 2.) For odd n the fixed place is the rest.
    """
    turning: list[str | None] = list(nodes[1:])
    fixed: str | None = nodes[0] if nodes else None
    if len(nodes) % 2:
        turning, fixed = list(nodes), None
    rounds: list[list[Pair]] = []
    for _ in turning:
        circle = [fixed, *turning]
        half = len(circle) // 2
        facing = zip(circle[:half], reversed(circle[half:]), strict=True)
        rounds.append([(one, other) for one, other in facing if one is not None and other is not None])
        turning = turning[-1:] + turning[:-1]
    return [pairs for pairs in rounds if pairs]


def split(pairs: Sequence[Pair], pairs_at_once: int) -> list[list[Pair]]:
    """The same pairs in pieces of at most `pairs_at_once`."""
    return [list(pairs[start : start + pairs_at_once]) for start in range(0, len(pairs), pairs_at_once)]
