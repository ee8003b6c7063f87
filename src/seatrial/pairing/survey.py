"""The survey: latency and bandwidth over all pairs, or over as many as the time allows."""

import random
from collections.abc import Iterator, Sequence

import msgspec

from seatrial.model.measurement import Kernel, Phase, Round, Shape
from seatrial.model.run import Design
from seatrial.pairing.complete import Pair, circle_rounds, split

LATENCY = Shape(kernel=Kernel.PINGPONG, message_bytes=8, window=1, warmup=20, iterations=100)
BANDWIDTH = Shape(kernel=Kernel.ONEWAY, message_bytes=1 << 20, window=4, warmup=1, iterations=3)
PILOT = Shape(kernel=Kernel.ONEWAY, message_bytes=1 << 20, window=4, warmup=1, iterations=2)

REPETITIONS = 3
BANDWIDTH_ROUND_S = 0.1
"""Wanted length of the timed part of one bandwidth round."""
ROUND_COST_S = 0.03
"""What a round costs beside its timed part: a command, a reply, the waking of ranks that slept."""


class SurveyPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A design and its rounds in the order in which they are to be measured."""

    design: Design
    rounds: tuple[Round, ...]


def bandwidth_shape(window_s: float) -> Shape:
    """The bandwidth kernel with as many windows of `window_s` as fill `BANDWIDTH_ROUND_S`, 3 to 1,000."""
    iterations = min(max(round(BANDWIDTH_ROUND_S / max(window_s, 1e-9)), BANDWIDTH.iterations), 1000)
    return msgspec.structs.replace(BANDWIDTH, iterations=iterations)


def plan_survey(nodes: Sequence[str], *, pairs_at_once: int, window_s: float, budget_s: float, seed: int) -> SurveyPlan:
    """Plan as much of the complete design as `budget_s` seconds allow; one bandwidth window takes `window_s`.

    First the repetitions shrink from three to one, then whole rounds of the circle method are left out, chosen by
    `seed`; at least one round always remains, or two for odd n, where one node rests in each: every node has a partner.
    """
    shape = bandwidth_shape(window_s)
    seconds_each = 2 * ((shape.iterations + shape.warmup) * window_s + ROUND_COST_S) + ROUND_COST_S
    pieces = [split(pairs, pairs_at_once) for pairs in circle_rounds(nodes)]
    random.Random(seed).shuffle(pieces)
    seconds_once = sum(len(piece) for piece in pieces) * seconds_each
    repetitions = min(max(int(budget_s / max(seconds_once, 1e-9)), 1), REPETITIONS)
    kept = pieces
    while len(kept) > 1 + len(nodes) % 2 and sum(len(piece) for piece in kept) * seconds_each > budget_s:
        kept = kept[:-1]
    chosen = [pairs for piece in kept for pairs in piece]
    rounds = tuple(_rounds(chosen, shape, repetitions, seed))
    everything = len(nodes) * (len(nodes) - 1)
    planned = 2 * sum(len(pairs) for pairs in chosen)
    return SurveyPlan(
        rounds=rounds,
        design=Design(
            name="complete" if planned == everything else "sparse",
            pairs_at_once=pairs_at_once,
            repetitions=repetitions,
            rounds=len(rounds),
            ordered_pairs=everything,
            planned_pairs=planned,
            statement=_statement(planned, everything, repetitions, pairs_at_once),
        ),
    )


def _rounds(chosen: Sequence[Sequence[Pair]], shape: Shape, repetitions: int, seed: int) -> Iterator[Round]:
    for repetition in range(repetitions):
        order = list(chosen)
        random.Random(seed + repetition).shuffle(order)
        for pairs in order:
            back = tuple((target, source) for source, target in pairs)
            for one, ways in ((LATENCY, tuple(pairs)), (shape, tuple(pairs)), (shape, back)):
                yield Round(phase=Phase.SURVEY, repetition=repetition, shape=one, pairs=ways)


def _statement(planned: int, everything: int, repetitions: int, pairs_at_once: int) -> str:
    times = "once" if repetitions == 1 else f"in {repetitions} rounds each"
    at_once = "one pair at a time" if pairs_at_once == 1 else f"up to {pairs_at_once} pairs at once"
    if planned == everything:
        return f"All {everything} ordered pairs, {times}, {at_once}."
    share = 100 * planned / everything
    return (
        f"{planned} of {everything} ordered pairs ({share:.0f} %), {times}, {at_once}: a fault of one single pair "
        f"among the others would not have been seen. A larger --budget measures more."
    )
