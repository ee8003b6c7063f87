"""What is measured at each start of a variant, and in which order variants are started."""

import random
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.experiment.controls import forth_or_back
from seatrial.model.measurement import Kernel, Phase, Round, Shape
from seatrial.model.transport import Role, Variant
from seatrial.pairs.survey import LATENCY

MESSAGE_BYTES = 4 << 20
BANDWIDTH_S = 0.06
"""Seconds for the timed windows of one bandwidth round: a start takes about a second anyhow."""
FEWEST, MOST = 1, 200
"""Windows in one round."""
ROUNDS = 3
"""Rounds of each kernel at each start; the best one counts."""
HOBBLED_LATENCY = msgspec.structs.replace(LATENCY, iterations=20)
PILOT = Round(
    phase=Phase.PILOT,
    repetition=0,
    shape=Shape(kernel=Kernel.ONEWAY, message_bytes=MESSAGE_BYTES, window=2, warmup=1, iterations=2),
    pairs=(),
)


def start_rounds(pair: tuple[str, str], window_s: float, role: Role) -> tuple[Round, ...]:
    """The rounds of one start, alternating kernels; as many windows as fit the time, `window_s` each.

    Where a carrier is slowed down, rounds are short, since it is slow; as are those of the reference it is compared
    with: rates of processes that have just started rise with what they have already sent.
    """
    windows = round(min(max(BANDWIDTH_S / window_s if window_s > 0 else MOST, FEWEST), MOST))
    latency = LATENCY
    if role in (Role.HOBBLED, Role.REFERENCE):
        windows, latency = 1, HOBBLED_LATENCY
    bandwidth = msgspec.structs.replace(PILOT.shape, iterations=windows)
    return tuple(
        Round(phase=Phase.VARIANT, repetition=0, shape=shape, pairs=(pair,))
        for _ in range(ROUNDS)
        for shape in (latency, bandwidth)
    )


def bytes_of(wanted: Round) -> int:
    """What one rank of each pair sends in the direction in which most is sent."""
    shape = wanted.shape
    return len(wanted.pairs) * shape.window_bytes * (shape.warmup + shape.iterations)


def ablation_order(variants: Sequence[Variant], block: int, draw: random.Random) -> tuple[Variant, ...]:
    """The default first, the others in random order; every other block reversed."""
    first, *others = variants
    draw.shuffle(others)
    return tuple(forth_or_back((first, *others), block))


def over_rail(variants: Sequence[Variant], rail: str, held: Mapping[str, str]) -> tuple[Variant, ...]:
    """The variants restricted to one rail, with distinct names for their samples. No rail: unchanged."""
    if not rail:
        return tuple(variants)
    return tuple(
        msgspec.structs.replace(one, name=f"{one.name} over {rail}", rail=rail, held=dict(held)) for one in variants
    )
