"""The order in which parts take their turns, so that none of them always has the same place or the same part before it.

What comes last may be slower for no reason of its own: writes of the first nodes fill the memory that holds them until
the disk has them, and the last node waits for it.
"""

from collections.abc import Sequence
from typing import TypeVar

Part = TypeVar("Part")


def in_turn(parts: Sequence[Part], repetition: int) -> list[Part]:
    """The parts in the order of this repetition, from 0.

    Each two repetitions begin at a place far from those before (van der Corput's sequence), forwards and backwards:
    after a few, every part has been at every place about equally often.
    """
    first = int(_van_der_corput(repetition // 2) * len(parts))
    order = [*parts[first:], *parts[:first]]
    return order[::-1] if repetition % 2 else order


def _van_der_corput(number: int) -> float:
    """0, 1/2, 1/4, 3/4, 1/8, 5/8, ...: the binary digits of the number, mirrored at the point."""
    value, place = 0.0, 0.5
    while number:
        value += place * (number % 2)
        number, place = number // 2, place / 2
    return value
