"""Which message sizes of one pair to measure, in which order, and how often each."""

import math
import random
from collections.abc import Sequence

import msgspec

from seatrial.experiment.controls import RETEST_RUNS, shuffled
from seatrial.model.measurement import Kernel, Phase, Round, Shape
from seatrial.model.settings import CURVE_PER_OCTAVE
from seatrial.pairs.rounds import Pair

FEWEST_REPETITIONS = 3
RESOLUTION = 1.02
"""A switch is placed well enough when the sizes on both sides of it are no further apart than this."""

LATENCY_ROUND_S = 0.02
BANDWIDTH_ROUND_S = 0.05
"""Wanted length of the timed part of a round."""
ROUND_COST_S = 0.03
"""The cost of a round besides its timed part: a command, a reply, the waking of ranks that slept."""
MOST_IN_FLIGHT = 64
LEAST_WINDOW_BYTES = 4 << 20
MOST_WINDOW_BYTES = 64 << 20
LATENCIES_A_WINDOW = 200
"""A window closes with an acknowledgement, which costs a latency: a window this many times as long hides it."""


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a pilot: about how long a message takes. It only sets the lengths of rounds."""

    latency_s: float = 20e-6
    bytes_per_s: float = 117e6

    def time_s(self, sent_bytes: int, messages: int = 1) -> float:
        """One way, of messages in flight together: the smallest cost up to a latency each, as through TCP they do."""
        return self.latency_s + max(sent_bytes / self.bytes_per_s, (messages - 1) * self.latency_s)


def geometric_sizes(most_bytes: int, per_octave: int = CURVE_PER_OCTAVE) -> tuple[int, ...]:
    """1 B to `most_bytes`, both included, `per_octave` sizes for each doubling, rounded to whole bytes."""
    steps = math.floor(per_octave * math.log2(most_bytes))
    return tuple(sorted({round(2 ** (step / per_octave)) for step in range(steps + 1)} | {most_bytes}))


def between(last_bytes: int, first_bytes: int) -> int | None:
    """The size in the geometric middle; None where the two are close enough (`RESOLUTION`, or next to each other)."""
    middle = round(math.sqrt(last_bytes * first_bytes))
    if first_bytes <= last_bytes * RESOLUTION or not last_bytes < middle < first_bytes:
        return None
    return middle


def as_many_as_last(lasting_s: float, each_s: float, fewest: int, most: int) -> int:
    """How many iterations of `each_s` last that long, `fewest` to `most`; `most` for a duration of zero."""
    return round(min(max(lasting_s / each_s, fewest), most)) if each_s > 0 else most


def latency_shape(message_bytes: int, pace: Pace) -> Shape:
    """Round trips for `LATENCY_ROUND_S`, 5 to 200, and a fifth as many before them."""
    iterations = as_many_as_last(LATENCY_ROUND_S, 2 * pace.time_s(message_bytes), 5, 200)
    return Shape(
        kernel=Kernel.PINGPONG, message_bytes=message_bytes, window=1, warmup=iterations // 5, iterations=iterations
    )


def stream_shape(message_bytes: int, pace: Pace) -> Shape:
    """Windows of up to `MOST_IN_FLIGHT` messages for `BANDWIDTH_ROUND_S`, 3 to 200, and one or more before them."""
    enough = LATENCIES_A_WINDOW * pace.latency_s * pace.bytes_per_s
    window_bytes = min(max(enough, LEAST_WINDOW_BYTES), MOST_WINDOW_BYTES)
    window = min(max(math.ceil(window_bytes / message_bytes), 1), MOST_IN_FLIGHT)
    iterations = as_many_as_last(BANDWIDTH_ROUND_S, pace.time_s(window * message_bytes, window), 3, 200)
    return Shape(
        kernel=Kernel.ONEWAY,
        message_bytes=message_bytes,
        window=window,
        warmup=max(iterations // 5, 1),
        iterations=iterations,
    )


def seconds_of(shape: Shape, pace: Pace, ranks: int = 1) -> float:
    """About how long one round of it takes; `ranks`: of each node, that share one rank's pace."""
    each_s = pace.time_s(ranks * shape.window_bytes, shape.window)
    if shape.kernel is Kernel.PINGPONG:
        each_s *= 2
    return ROUND_COST_S + (shape.warmup + shape.iterations) * each_s


def repetitions_within(sizes: Sequence[int], pace: Pace, budget_s: float) -> int:
    """How often all sizes can be measured in that time: `FEWEST_REPETITIONS` to `RETEST_RUNS`."""
    once = sum(seconds_of(shape(size, pace), pace) for size in sizes for shape in (latency_shape, stream_shape))
    return min(max(int(budget_s / once), FEWEST_REPETITIONS), RETEST_RUNS)


def curve_rounds(pair: Pair, sizes: Sequence[int], repetitions: int, pace: Pace, seed: int) -> tuple[Round, ...]:
    """Latency and bandwidth at every size, once in each repetition, in a new random order for each.

    Drift during the run then affects all sizes equally, and no size follows the one below it. Each repetition begins
    with the stream of the largest: without it, a budget that is spent early would leave the rate of a small size as
    what the link reaches.
    """
    shapes = [shape(size, pace) for size in sizes for shape in (latency_shape, stream_shape)]
    order = shuffled(shapes, range(repetitions), random.Random(f"{seed} {len(sizes)}"))
    rounds = [Round(phase=Phase.CURVE, repetition=number, shape=shape, pairs=(pair,)) for number, shape in order]
    largest = (Kernel.ONEWAY, max(sizes))
    rounds.sort(key=lambda one: (one.repetition, (one.shape.kernel, one.shape.message_bytes) != largest))
    return tuple(rounds)


def closer_rounds(
    pair: Pair, sizes: Sequence[int], repetitions: int, pace: Pace, seed: int, *, first: int = 0
) -> tuple[Round, ...]:
    """Latency alone at some sizes, in repetitions from `first` on: sizes that place a step, or more runs of all."""
    order = shuffled(sizes, range(first, first + repetitions), random.Random(f"{seed} {first} {sizes}"))
    return tuple(
        Round(phase=Phase.CURVE, repetition=number, shape=latency_shape(size, pace), pairs=(pair,))
        for number, size in order
    )
