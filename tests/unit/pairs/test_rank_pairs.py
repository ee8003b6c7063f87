"""Two placements compared: who measures with whom, in which order, for how long."""

import pytest

from seatrial.pairs.rank_pairs import ROUNDS, lasting, pilot_shapes, placed_pairs, placed_rounds
from seatrial.pairs.survey import BANDWIDTH_ROUND_S


@pytest.mark.parametrize(
    ("places", "pairs"),
    [
        ((("a0", "a1", "a2", "a3"),), (("a0", "a1"), ("a2", "a3"))),
        ((("a0", "a1", "a2"),), (("a0", "a1"),)),
        ((("a0",),), ()),
        ((("a0", "a1"), ("b0", "b1")), (("a0", "b0"), ("a1", "b1"))),
        ((("a0", "a1"), ("b0",)), (("a0", "b0"),)),
        ((("a0",), ("b0",), ("c0",)), (("a0", "b0"),)),
        ((("a0",), ("b0",), ("c0",), ("d0",)), (("a0", "b0"), ("c0", "d0"))),
    ],
)
def test_ranks_of_one_node_measure_with_those_of_the_next(
    places: tuple[tuple[str, ...], ...], pairs: tuple[tuple[str, str], ...]
) -> None:
    assert placed_pairs(places) == pairs


def test_a_round_lasts_as_long_as_wanted_and_has_a_warm_up() -> None:
    latency, bandwidth = pilot_shapes()
    wanted = lasting(bandwidth, BANDWIDTH_ROUND_S / 100)
    assert (wanted.iterations, wanted.warmup, wanted.window) == (100, 20, bandwidth.window)
    assert [lasting(latency, took_s).iterations for took_s in (10.0, 1e-9, 0.0)] == [5, 500, 500]
    assert lasting(latency, 10.0).warmup == 1


def test_the_rounds_of_a_launch_bear_its_setting() -> None:
    rounds = placed_rounds(2, "advised", pilot_shapes(), (("a0", "b0"),))
    assert [(one.repetition, one.variant, one.pairs) for one in rounds] == [
        (2, "advised", (("a0", "b0"),))
    ] * 2 * ROUNDS
    assert [one.shape for one in rounds] == [*pilot_shapes()] * ROUNDS
