"""Checks of simulated fabrics that are drawn at random, family by family, for `make random-checks`.

The classes of the ablation are few and known; these are many, and nobody has seen them. Families differ in what
disturbs the check: faults that begin late or lose packets, latency, jobs of others, losses on cables, and ranks that
wait for a processor now and then or all the time, or as other programs come and go.
"""

import random
from collections.abc import Callable

import msgspec
from bench.ablation_classes import TrialClass

from seatrial.lab.simulator.disturbances import SimulatedConditions, Starved

SELDOM_STARVED = (Starved.NOBODY, Starved.NOBODY, Starved.ONE, Starved.ALL)


def tree(draw: random.Random, sizes: tuple[int, ...], ratios: tuple[int, ...] = (1,)) -> str:
    """A fat tree with one to three leaves or so."""
    nodes, ratio = draw.choice(sizes), draw.choice(ratios)
    leaf = draw.choice((nodes, max(2, nodes // 2), max(2, nodes // 3)))
    over = f",oversubscription={ratio}" if ratio > 1 and nodes > leaf else ""
    return f"fat-tree:{nodes},per-leaf={leaf}{over}"


def faults_of_all_kinds(draw: random.Random) -> TrialClass:
    """Up to three nodes or cables, some of which lose packets, become slow later, or come and go."""
    topology = tree(draw, (3, 4, 5, 6, 7, 8, 12, 13, 16, 24), (1, 1, 2))
    faults = []
    for _ in range(draw.choice((0, 0, 1, 1, 2, 3))):
        kind = draw.choice(("node", "node", "node", "link"))
        way = draw.choice((":both", ":in", ":out")) if kind == "node" else ""
        course = draw.choice(("", "", "", ",lost=0.01", ",lost=0.003", ",since=1", ",since=5", ",since=2,period=4"))
        faults.append(f"{kind}:{draw.choice((0.5, 0.7, 0.85, 0.9, 0.93, 0.95, 0.97))}{way}{course}")
    conditions = SimulatedConditions(
        starved=draw.choice(SELDOM_STARVED), noise=draw.choice((0.0005, 0.003, 0.01, 0.03)),
        one_kernel=draw.random() < 0.3,
    )  # fmt: skip
    return TrialClass(name="", topology=topology, faults=tuple(faults), conditions=conditions)


def late_parts(draw: random.Random) -> TrialClass:
    """Parts over which small messages take longer."""
    topology = tree(draw, (4, 5, 6, 8, 12, 16, 24))
    kinds = ("node", "node", "uplink", "link", "pair")
    late = ("0.3e-6", "0.5e-6", "1e-6", "3e-6")
    count = draw.choice((0, 1, 1, 1, 2))
    faults = tuple(f"{draw.choice(kinds)}:0.9999,late={draw.choice(late)}" for _ in range(count))
    conditions = SimulatedConditions(noise=draw.choice((0.0005, 0.01)), jobs=draw.choice((0, 0, 0, 2)))
    routed = draw.random() < 0.4
    return TrialClass(name="", topology=topology, faults=faults, routed=routed, conditions=conditions)


def beside_jobs(draw: random.Random) -> TrialClass:
    """Fabrics of many kinds on which other jobs send."""
    nodes = draw.choice((8, 12, 16, 24, 31, 48))
    topology = draw.choice(
        (f"fat-tree:{nodes},oversubscription={draw.choice((1, 2, 4))}", f"fat-tree3:{nodes}", f"dragonfly:{nodes}")
    )
    kinds = (
        "node:0.85", "node:0.7:in", "uplink:0.7", "link:0.5", "pair:0.6", "spine:0.7", "node:0.97,lost=0.01",
        "link:0.97,lost=0.01", "link:0.97,lost=0.03",
    )  # fmt: skip
    faults = tuple(draw.choice(kinds) for _ in range(draw.choice((0, 0, 1, 2, 3))))
    conditions = SimulatedConditions(
        noise=draw.choice((0.0005, 0.003, 0.01)), jobs=draw.choice((0, 2, 4, 8)), waits_known=draw.random() < 0.5,
        starved=draw.choice((Starved.NOBODY, Starved.NOBODY, Starved.ONE)),
    )  # fmt: skip
    routed = draw.random() < 0.5
    return TrialClass(name="", topology=topology, faults=faults, routed=routed, conditions=conditions)


def lossy_parts(draw: random.Random) -> TrialClass:
    """Cables, nodes and uplinks that lose packets."""
    nodes = draw.choice((6, 8, 12, 16, 20, 24))
    leaf = draw.choice((max(2, nodes // 2), max(2, nodes // 3), 4))
    kind = draw.choice(("link", "link", "link", "node", "uplink"))
    conditions = SimulatedConditions(
        noise=draw.choice((0.0005, 0.003)), waits_known=draw.random() < 0.5,
        starved=draw.choice((Starved.NOBODY, Starved.NOBODY, Starved.NOBODY, Starved.ONE)),
    )  # fmt: skip
    return TrialClass(
        name="", topology=f"fat-tree:{nodes},per-leaf={leaf}", conditions=conditions, routed=draw.random() < 0.4,
        faults=(f"{kind}:0.97,lost={draw.choice((0.003, 0.01, 0.02, 0.03))}",),
    )  # fmt: skip


def busy_ranks(draw: random.Random) -> TrialClass:
    """Ranks that wait for a processor, which the kernel says or not."""
    nodes = draw.choice((4, 5, 6, 8, 12, 16))
    faults = draw.choice(((), (), ("node:0.85",), ("node:0.6",), ("node:0.7:in",)))
    conditions = SimulatedConditions(
        noise=draw.choice((0.0005, 0.003, 0.01)), starved=draw.choice((Starved.ONE, Starved.ALL)),
        waits_known=draw.random() < 0.3,
    )  # fmt: skip
    return TrialClass(
        name="", topology=f"fat-tree:{nodes},per-leaf={draw.choice((nodes, max(2, nodes // 2)))}", faults=faults,
        conditions=conditions, routed=draw.random() < 0.4,
    )  # fmt: skip


def always_busy(draw: random.Random) -> TrialClass:
    """Fabrics all of whose ranks wait for a processor all the time, as the kernel says."""
    kinds = ("node:0.8", "node:0.6", "node:0.7:in", "uplink:0.6", "link:0.5", "pair:0.6", "node:0.97,lost=0.02")
    conditions = SimulatedConditions(
        noise=draw.choice((0.0005, 0.003, 0.01)), starved=Starved.ALWAYS, one_kernel=draw.random() < 0.3,
    )  # fmt: skip
    return TrialClass(
        name="", topology=tree(draw, (4, 5, 6, 8, 12, 16, 24), (1, 1, 2)), conditions=conditions,
        faults=tuple(draw.choice(kinds) for _ in range(draw.choice((0, 1, 1, 2)))), routed=draw.random() < 0.4,
    )  # fmt: skip


def busy_machines(draw: random.Random) -> TrialClass:
    """One machine whose cores other programs take and give back."""
    nodes, share = draw.choice((4, 6, 8)), draw.choice((1.0, 0.7, 0.7, 0.85))
    faults = (f"node:{share}",) if share < 1 else ()
    return TrialClass(name="", topology="", faults=faults, busy_machine=nodes)


FAMILIES: dict[str, Callable[[random.Random], TrialClass]] = {
    "all kinds": faults_of_all_kinds,
    "latency": late_parts,
    "jobs": beside_jobs,
    "loss": lossy_parts,
    "waits": busy_ranks,
    "always busy": always_busy,
    "busy machine": busy_machines,
}


def drawn(family: str, seed: int) -> TrialClass:
    """The check of this seed, named after its family."""
    return msgspec.structs.replace(FAMILIES[family](random.Random(f"{family} {seed}")), name=family)
