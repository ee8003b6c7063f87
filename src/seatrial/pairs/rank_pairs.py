"""Pairs of ranks: how many ranks of a node send at once, and which ranks measure when placements are compared."""

import random
from collections.abc import Sequence

import msgspec

from seatrial.experiment.controls import RETEST_RUNS, shuffled
from seatrial.model.measurement import Kernel, Phase, Round, Shape
from seatrial.pairs.rounds import Pair
from seatrial.pairs.sizes import (
    MOST_IN_FLIGHT,
    Pace,
    as_many_as_last,
    geometric_sizes,
    latency_shape,
    seconds_of,
    stream_shape,
)
from seatrial.pairs.survey import BANDWIDTH, BANDWIDTH_ROUND_S, LATENCY

SIZES = (64 << 10, 256 << 10, 1 << 20, 4 << 20)
LATENCY_BYTES = LATENCY.message_bytes
"""Message size of latency, and of the message rate."""

ROUNDS = 3
"""Rounds of each kernel in one launch, whose median counts: a single disturbed one has no effect."""


def doubling(most: int) -> tuple[int, ...]:
    """1, 2, 4, ... up to `most`, which is included."""
    counts = [1]
    while counts[-1] * 2 < most:
        counts.append(counts[-1] * 2)
    return tuple(dict.fromkeys((*counts, most)))


def place_pairs(pair: Pair, ranks: int) -> tuple[Pair, ...]:
    """Each of the first `ranks` places of the one node with the same of the other."""
    return tuple((f"{pair[0]}:{place}", f"{pair[1]}:{place}") for place in range(ranks))


def window_shape(message_bytes: int, ranks: int, pace: Pace) -> Shape:
    """Windows that fill `BANDWIDTH_ROUND_S` if `ranks` share one rank's pace, 5 to 200, and one before them."""
    iterations = as_many_as_last(BANDWIDTH_ROUND_S, pace.time_s(ranks * BANDWIDTH.window * message_bytes), 5, 200)
    return Shape(
        kernel=Kernel.ONEWAY,
        message_bytes=message_bytes,
        window=BANDWIDTH.window,
        warmup=1,
        iterations=iterations,
    )


def rate_shape(ranks: int, pace: Pace) -> Shape:
    """Many small messages in flight, as osu_mbw_mr counts them: windows that fill half of a round, 5 to 200.

    A message in flight is taken to cost a tenth of a latency, as far as the ranks do not share it.
    """
    took_s = pace.latency_s * (1 + ranks * MOST_IN_FLIGHT / 10)
    iterations = as_many_as_last(BANDWIDTH_ROUND_S / 2, took_s, 5, 200)
    return Shape(
        kernel=Kernel.ONEWAY,
        message_bytes=LATENCY_BYTES,
        window=MOST_IN_FLIGHT,
        warmup=max(iterations // 5, 1),
        iterations=iterations,
    )


def saturation_rounds(pair: Pair, counts: Sequence[int], repetitions: int, pace: Pace, seed: int) -> tuple[Round, ...]:
    """Latency, message rate and, at every size, bandwidth for each number of ranks; a new random order each time."""
    some = [(latency_shape(LATENCY_BYTES, pace), ranks) for ranks in counts]
    some += [(rate_shape(ranks, pace), ranks) for ranks in counts]
    some += [(window_shape(size, ranks, pace), ranks) for size in SIZES for ranks in counts]
    return tuple(
        Round(phase=Phase.SATURATION, repetition=number, shape=shape, pairs=place_pairs(pair, ranks))
        for number, (shape, ranks) in shuffled(some, range(repetitions), random.Random(seed))
    )


def repetitions_within(counts: Sequence[int], pace: Pace, budget_s: float, most: int, fewest: int) -> int:
    """How often all of it can be measured in that time, `fewest` to `most`."""
    once = sum(seconds_of(window_shape(size, ranks, pace), pace, ranks) for ranks in counts for size in SIZES)
    return min(max(int(budget_s / once), fewest), most)


def placed_pairs(places: Sequence[Sequence[str]]) -> tuple[Pair, ...]:
    """`places`: those of each node. Rank i of one node with rank i of the next, nodes two by two, all at once.

    Of a single node the ranks measure among themselves, two by two; a node or rank without a partner stays idle.
    """
    if len(places) == 1:
        alone = places[0]
        return tuple((alone[first], alone[first + 1]) for first in range(0, len(alone) - 1, 2))
    return tuple(
        pair for first in range(0, len(places) - 1, 2) for pair in zip(places[first], places[first + 1], strict=False)
    )


def pilot_shapes() -> tuple[Shape, Shape]:
    """A few of each, to find out how long one takes."""
    return (
        Shape(kernel=Kernel.PINGPONG, message_bytes=LATENCY_BYTES, window=1, warmup=2, iterations=5),
        Shape(
            kernel=Kernel.ONEWAY, message_bytes=BANDWIDTH.message_bytes, window=BANDWIDTH.window, warmup=1, iterations=2
        ),
    )


def lasting(shape: Shape, took_s: float) -> Shape:
    """The shape with as many iterations as last a round, each `took_s`: 5 to 500, and a fifth before them."""
    iterations = as_many_as_last(BANDWIDTH_ROUND_S, took_s, 5, 500)
    return msgspec.structs.replace(shape, warmup=max(iterations // 5, 1), iterations=iterations)


def placed_rounds(repetition: int, variant: str, shapes: Sequence[Shape], pairs: tuple[Pair, ...]) -> tuple[Round, ...]:
    """What is measured in one launch."""
    return tuple(
        Round(phase=Phase.VARIANT, repetition=repetition, shape=shape, pairs=pairs, variant=variant)
        for _ in range(ROUNDS)
        for shape in shapes
    )


PLATEAU_HALVINGS = 1
"""The plateau is read from the largest size and this many halvings of it."""
MORE_REPETITIONS = 9
"""The interval of nine runs leaves out minimum and maximum, so that one disturbed run has no effect."""
TOGETHER = "+"


class RailDesign(msgspec.Struct, frozen=True, kw_only=True):
    """What each variant is measured with, each time."""

    shapes: tuple[Shape, ...]
    repetitions: int


def rail_variants(rails: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Name -> rails of each variant: each rail alone, and where there are several all together, `eth0+eth1`."""
    alone: dict[str, tuple[str, ...]] = {rail: (rail,) for rail in rails}
    return {**alone, TOGETHER.join(rails): tuple(rails)} if len(rails) > 1 else alone


def rail_design(
    most_bytes: int, per_octave: int, variants: int, pace: Pace, *, start_s: float, budget_s: float
) -> RailDesign:
    """The finest sizes for which every variant gets `MORE_REPETITIONS`, or else `RETEST_RUNS`, within the budget.

    Runs come before sizes: fewer than six runs settle nothing. The coarsest choice, one latency and the plateau, is
    taken where nothing fits. `start_s`: the cost of starting the probe again, at each change of the variant.
    """
    choices = [_shapes(geometric_sizes(most_bytes, each), pace) for each in dict.fromkeys((per_octave, 1))]
    choices.append(_shapes(geometric_sizes(most_bytes, 1)[::-2][::-1], pace))
    plateau = [max(most_bytes >> halving, 1) for halving in range(PLATEAU_HALVINGS + 1)]
    coarsest = (latency_shape(LATENCY_BYTES, pace), *(stream_shape(size, pace) for size in plateau))
    for shapes in (*choices, coarsest):
        once_s = variants * sum(seconds_of(shape, pace) for shape in shapes)
        for repetitions in (MORE_REPETITIONS, RETEST_RUNS):
            starts = (variants - 1) * repetitions + 1
            if repetitions * once_s + starts * start_s <= budget_s:
                return RailDesign(shapes=shapes, repetitions=repetitions)
    return RailDesign(shapes=coarsest, repetitions=RETEST_RUNS)


def _shapes(sizes: Sequence[int], pace: Pace) -> tuple[Shape, ...]:
    return tuple(shape(size, pace) for size in sizes for shape in (latency_shape, stream_shape))


def rail_rounds(pair: Pair, design: RailDesign, variant: str, repetition: int, seed: int) -> tuple[Round, ...]:
    """One repetition of one variant, in a new random order."""
    order = shuffled(design.shapes, [repetition], random.Random(f"{seed} {repetition} {variant}"))
    return tuple(
        Round(phase=Phase.VARIANT, repetition=number, shape=shape, pairs=(pair,), variant=variant)
        for number, shape in order
    )


def rails_of_variant(variant: str) -> tuple[str, ...]:
    """The inverse of `rail_variants`' names."""
    return tuple(variant.split(TOGETHER))
