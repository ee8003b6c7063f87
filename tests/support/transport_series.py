"""Runs of `seatrial link --transports` of known truth: what each variant gives, block by block."""

import math
import random
from collections.abc import Mapping

from seatrial.commands.link.transports.components import MpiFamily, Stock
from seatrial.commands.link.transports.judge import Transports, judge_transports
from seatrial.commands.link.transports.open_mpi import variants
from seatrial.model.measurement import Kernel, Measurement, Phase, Shape
from seatrial.model.run import RecordedRun
from seatrial.model.transport import Carrier, Counted, Declared, Variant, VariantNote
from seatrial.node.node import parse_facts
from tests.support.builders import Cluster, info_of

STOCK = Stock(
    family=MpiFamily.OPEN_MPI,
    compiled={"pml": ("cm", "ob1", "ucx"), "mtl": ("ofi", "psm2"), "btl": ("openib", "self", "tcp", "vader")},
)
OFI = Declared(carriers=(Carrier.OFI,), words=("pml cm", "mtl ofi"))
LATENCY = Shape(kernel=Kernel.PINGPONG, message_bytes=8, window=1, warmup=0, iterations=1)
BANDWIDTH = Shape(kernel=Kernel.ONEWAY, message_bytes=4 << 20, window=1, warmup=0, iterations=1)
SENT = 100_000_000
GIGABIT = 117e6


def shown(block: int, name: str, latency_s: float, bytes_per_s: float, pair: tuple[str, str]) -> list[Measurement]:
    """One start's measurements."""
    times = {LATENCY: 2 * latency_s, BANDWIDTH: (4 << 20) / bytes_per_s}
    return [
        Measurement(
            phase=Phase.VARIANT,
            repetition=block,
            shape=shape,
            source=pair[0],
            target=pair[1],
            times_s=(time_s,),
            variant=name,
        )
        for shape, time_s in times.items()
    ]


def judged(
    truth: Mapping[str, tuple[float, float]],
    *,
    pair: tuple[str, str] = ("n1", "n2"),
    declared: Declared | None = OFI,
    failures: Mapping[str, str] | None = None,
    devices: Mapping[str, Mapping[str, float]] | None = None,
    blocks: int = 4,
    noise: float = 0.01,
    seed: int = 1,
    stock: Stock = STOCK,
    boot_id: str = "",
) -> Transports:
    """`truth`: variant -> how many times the default's 10 µs and its time at GIGABIT; those not named: 1 and 1.

    `devices`: variant -> device -> bytes counted over bytes sent; those not named: eth0 alone. `failures`: variants
    that do not start.
    """
    draw = random.Random(seed)
    failures, devices = failures or {}, devices or {}
    chosen: tuple[Variant, ...] = variants(stock, declared.carriers if declared else ())
    notes = [VariantNote(variant=chosen[0], block=-1, declared=declared)]
    measurements: list[Measurement] = []
    for block in range(blocks):
        for one in chosen:
            failure = failures.get(one.name, "")
            shares = devices.get(one.name, devices.get("", {"eth0": 1.003}))
            counted = tuple(
                Counted(node="n1", device=name, counted_bytes=round(share * SENT)) for name, share in shares.items()
            )
            first = block == 0 and not failure
            notes.append(
                VariantNote(
                    variant=one, block=block, failure=failure, sent_bytes=SENT, counted=counted if first else ()
                )
            )
            if not failure:
                late, slow = truth.get(one.name, (1.0, 1.0))
                latency_s = 10e-6 * late * math.exp(draw.gauss(0, noise))
                rate = GIGABIT / slow * math.exp(-abs(draw.gauss(0, noise)))  # a full link is never faster
                measurements += shown(block, one.name, latency_s, rate, pair)
    of = Cluster(nodes=("n1", "n2"), boot_id=boot_id)
    recorded = RecordedRun(
        info=info_of(of, mpi_library="Open MPI v4.1.4"),
        planned=(pair,),
        facts={node: parse_facts(of.facts_text(node)) for node in of.nodes},
        facts_after={},
        measurements=tuple(measurements),
    )
    return judge_transports(recorded, notes)
