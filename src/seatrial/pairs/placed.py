"""Which ranks measure with which when two placements are compared, and in which order the placements are started."""

from collections.abc import Sequence

import msgspec

from seatrial.model.measurement import Kernel, Phase, Round, Shape
from seatrial.pairs.complete import Pair
from seatrial.pairs.sizes import as_many_as_last

LATENCY_BYTES = 8
MESSAGE_BYTES = 1 << 20
WINDOW = 4
ROUND_S = 0.1
"""Wanted length of the timed part of a round."""
ROUNDS = 3
"""Of each kernel in one launch, which their median stands for: one that was disturbed does not matter."""


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


def abba(variants: Sequence[str], each: int) -> tuple[tuple[int, str], ...]:
    """(repetition, variant), each variant `each` times: A B B A A B ..., so that a steady drift falls on all alike."""
    there = tuple(variants)
    return tuple(
        (repetition, variant)
        for repetition in range(each)
        for variant in (there if repetition % 2 == 0 else there[::-1])
    )


def pilot_shapes() -> tuple[Shape, Shape]:
    """A few of each, to find out how long one takes."""
    return (
        Shape(kernel=Kernel.PINGPONG, message_bytes=LATENCY_BYTES, window=1, warmup=2, iterations=5),
        Shape(kernel=Kernel.ONEWAY, message_bytes=MESSAGE_BYTES, window=WINDOW, warmup=1, iterations=2),
    )


def lasting(shape: Shape, took_s: float) -> Shape:
    """The shape with as many iterations as last `ROUND_S` where one takes `took_s`: 5 to 500, a fifth before them."""
    iterations = as_many_as_last(ROUND_S, took_s, 5, 500)
    return msgspec.structs.replace(shape, warmup=max(iterations // 5, 1), iterations=iterations)


def placed_rounds(repetition: int, variant: str, shapes: Sequence[Shape], pairs: tuple[Pair, ...]) -> tuple[Round, ...]:
    """What is measured in one launch."""
    return tuple(
        Round(phase=Phase.VARIANT, repetition=repetition, shape=shape, pairs=pairs, variant=variant)
        for _ in range(ROUNDS)
        for shape in shapes
    )
