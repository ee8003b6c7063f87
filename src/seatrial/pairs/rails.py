"""Which message sizes to measure over each rail and over all of them, in which order, and how often."""

import random
from collections.abc import Sequence

import msgspec

from seatrial.experiment.controls import RETEST_RUNS, shuffled
from seatrial.model.measurement import Phase, Round, Shape
from seatrial.pairs.rank_pairs import LATENCY_BYTES
from seatrial.pairs.rounds import Pair
from seatrial.pairs.sizes import Pace, geometric_sizes, latency_shape, seconds_of, stream_shape

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
