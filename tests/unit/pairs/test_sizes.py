"""Grids of message sizes, the order in which they are measured, and the sizes between."""

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.measurement import Kernel
from seatrial.pairs.sizes import (
    MOST_IN_FLIGHT,
    MOST_WINDOW_BYTES,
    RESOLUTION,
    Pace,
    between,
    closer_rounds,
    curve_rounds,
    geometric_sizes,
    latency_shape,
    repetitions_within,
    stream_shape,
)

PAIR = ("n1", "n2")
PACE = Pace()


def test_sizes_are_geometric_and_include_both_ends() -> None:
    assert geometric_sizes(16) == (1, 2, 3, 4, 6, 8, 11, 16)
    assert geometric_sizes(64, 1) == (1, 2, 4, 8, 16, 32, 64)
    assert geometric_sizes(3000, 1)[-2:] == (2048, 3000)
    assert len(geometric_sizes(4 << 20)) == 44


@given(st.integers(1024, 1 << 30), st.integers(1, 16))
def test_sizes_rise_and_leave_no_gap(most: int, per_octave: int) -> None:
    sizes = geometric_sizes(most, per_octave)
    assert sizes[0] == 1
    assert sizes[-1] == most
    ratio = 2 ** (1 / per_octave)
    assert all(0 < after - before <= (ratio - 1) * before + 2 for before, after in itertools.pairwise(sizes))


@given(st.integers(1, 1 << 30), st.floats(1.001, 2))
def test_halving_ends_at_two_percent(last: int, ratio: float) -> None:
    first, steps = int(last * ratio) + 1, 0
    while (middle := between(last, first)) is not None:
        last, first = (middle, first) if steps % 2 else (last, middle)
        steps += 1
    assert steps <= 8
    assert first <= last * RESOLUTION or first - last == 1


def test_every_repetition_holds_every_size_once_in_an_order_of_its_own() -> None:
    sizes = geometric_sizes(4096)
    rounds = curve_rounds(PAIR, sizes, 3, PACE, seed=1)
    orders = [[one.shape for one in rounds if one.repetition == repetition] for repetition in range(3)]
    assert orders[0] != orders[1] != orders[2]
    for order in orders:
        measured = Counter((shape.kernel, shape.message_bytes) for shape in order)
        assert measured == Counter((kernel, size) for size in sizes for kernel in (Kernel.PINGPONG, Kernel.ONEWAY))
        assert (order[0].kernel, order[0].message_bytes) == (Kernel.ONEWAY, 4096), "the plateau, whatever is cut off"
    assert curve_rounds(PAIR, sizes, 3, PACE, seed=1) == rounds
    assert curve_rounds(PAIR, sizes, 3, PACE, seed=2) != rounds


def test_a_closer_look_measures_latency_alone() -> None:
    rounds = closer_rounds(PAIR, [100, 5000], 3, PACE, seed=1)
    assert len(rounds) == 6
    assert {one.shape.kernel for one in rounds} == {Kernel.PINGPONG}


@given(st.integers(1, 1 << 30), st.floats(1e-7, 1e-2), st.floats(1e6, 1e12))
def test_shapes_are_ones_that_the_probe_takes(size: int, latency_s: float, rate: float) -> None:
    pace = Pace(latency_s=latency_s, bytes_per_s=rate)
    for shape in (latency_shape(size, pace), stream_shape(size, pace)):
        assert 1 <= shape.window <= MOST_IN_FLIGHT
        assert 1 <= shape.warmup < shape.iterations <= 200
        assert (shape.window - 1) * size < MOST_WINDOW_BYTES


def test_a_window_of_large_messages_hides_its_acknowledgement() -> None:
    pace = Pace(latency_s=2e-6, bytes_per_s=50e9)
    shape = stream_shape(1 << 20, pace)
    assert shape.window * (1 << 20) / pace.bytes_per_s > 190 * pace.latency_s


def test_small_messages_that_cost_a_latency_each_take_no_longer_than_large_ones() -> None:
    """A stream of 64 of them through TCP, 240 times, took four times as long as one of large messages."""
    pace = Pace(latency_s=16e-6, bytes_per_s=117e6)
    small = stream_shape(1, pace)
    assert (small.warmup + small.iterations) * small.window * 14e-6 < 0.08
    assert small.iterations >= 40
    fast = stream_shape(1, Pace(latency_s=1.2e-6, bytes_per_s=25e9))
    assert fast.iterations == 200, "where they cost less, there are as many as before"


@pytest.mark.parametrize(("budget_s", "repetitions"), [(1, 3), (1000, 6)])
def test_a_budget_buys_repetitions(budget_s: float, repetitions: int) -> None:
    assert repetitions_within(geometric_sizes(4 << 20), PACE, budget_s) == repetitions
