"""The order in which parts take their turns."""

import itertools
from collections import Counter

import pytest

from seatrial.pairs.turn_order import in_turn


def test_the_first_repetitions_of_four() -> None:
    orders = ["".join(in_turn("abcd", repetition)) for repetition in range(8)]
    assert orders == ["abcd", "dcba", "cdab", "badc", "bcda", "adcb", "dabc", "cbad"]


@pytest.mark.parametrize("parts", range(2, 17))
@pytest.mark.parametrize("repetitions", [6, 9])
def test_no_part_is_last_much_more_often_than_others(parts: int, repetitions: int) -> None:
    last = Counter(in_turn(range(parts), repetition)[-1] for repetition in range(repetitions))
    assert max(last.values()) <= -(-repetitions // parts) + 1


@pytest.mark.parametrize("parts", range(3, 17))
def test_no_part_always_comes_after_the_same(parts: int) -> None:
    orders = [in_turn(range(parts), repetition) for repetition in range(6)]
    after = Counter(pair for order in orders for pair in itertools.pairwise(order))
    assert max(after.values()) <= 3


@pytest.mark.parametrize("parts", [(), ("n1",)])
def test_none_or_one(parts: tuple[str, ...]) -> None:
    assert in_turn(parts, 5) == [*parts]
