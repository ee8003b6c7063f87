"""Pieces of a round without contention."""

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.pairs.conflicts import pieces


@given(count=st.integers(2, 30), seed=st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_pieces_share_nothing_and_lose_nothing(count: int, seed: int) -> None:
    draw = random.Random(seed)
    pairs = [(f"s{draw.randrange(9)}", f"t{draw.randrange(9)}") for _ in range(count)]
    paths = [draw.sample(range(20), draw.randint(0, 4)) for _ in range(count)]
    found = pieces(pairs, paths)
    assert sorted(place for piece in found for place in piece) == list(range(count))
    for piece in found:
        things = Counter(thing for place in piece for thing in (*pairs[place], *paths[place]))
        assert set(things.values()) <= {1}
    busiest = Counter(thing for pair, path in zip(pairs, paths, strict=True) for thing in (*pair, *path))
    assert max(busiest.values()) <= len(found)
