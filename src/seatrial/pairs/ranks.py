"""How many ranks of a node send at once, and in which order that is tried."""

import random
from collections.abc import Sequence

from seatrial.model.measurement import Kernel, Phase, Round, Shape
from seatrial.pairs.complete import Pair
from seatrial.pairs.sizes import Pace, as_many_as_last, latency_shape, seconds_of

SIZES = (64 << 10, 256 << 10, 1 << 20, 4 << 20)
WINDOW = 4
"""Messages in flight; the same at every size, so that the model's start-up is."""
ROUND_S = 0.1
LATENCY_BYTES = 8


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
    """Windows that fill `ROUND_S` if `ranks` share one rank's pace, 5 to 200, and one before them."""
    iterations = as_many_as_last(ROUND_S, pace.time_s(ranks * WINDOW * message_bytes), 5, 200)
    return Shape(
        kernel=Kernel.ONEWAY,
        message_bytes=message_bytes,
        window=WINDOW,
        warmup=1,
        iterations=iterations,
    )


def saturation_rounds(pair: Pair, counts: Sequence[int], repetitions: int, pace: Pace, seed: int) -> tuple[Round, ...]:
    """In each repetition latency and, at every size, bandwidth for each number of ranks, in an order drawn anew."""
    rounds = []
    for repetition in range(repetitions):
        some = [(latency_shape(LATENCY_BYTES, pace), ranks) for ranks in counts]
        some += [(window_shape(size, ranks, pace), ranks) for size in SIZES for ranks in counts]
        random.Random(f"{seed} {repetition}").shuffle(some)
        rounds += [
            Round(phase=Phase.SATURATION, repetition=repetition, shape=shape, pairs=place_pairs(pair, ranks))
            for shape, ranks in some
        ]
    return tuple(rounds)


def repetitions_within(counts: Sequence[int], pace: Pace, budget_s: float, most: int, fewest: int) -> int:
    """How often all of it can be measured in that time, `fewest` to `most`."""
    once = sum(seconds_of(window_shape(size, ranks, pace), pace, ranks) for ranks in counts for size in SIZES)
    return min(max(int(budget_s / once), fewest), most)
