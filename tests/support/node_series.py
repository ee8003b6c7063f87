"""Synthetic runs of `seatrial nodes` of known truth: what each node's kernels would deliver."""

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import (
    Arrival,
    Conditions,
    Corruption,
    GroupMeasurement,
    GroupRound,
    Kernel,
    Measurement,
    Phase,
    Shape,
)
from seatrial.model.run import Design, RecordedRun, RunKind
from seatrial.model.settings import NodesSettings, SiteSettings, SoakSettings, Trial
from seatrial.pairs.node_places import NodePlaces
from seatrial.pairs.node_rounds import (
    COLLECTIVE_KERNELS,
    FULL_STORAGE,
    STORAGE_KERNELS,
    STREAM,
    TOTAL,
    rounds_of,
    storage_rounds,
)
from seatrial.pairs.rounds import circle_round, turns
from tests.support.builders import Cluster, info_of
from tests.support.paths import ROOT

CORES = 4
ITERATIONS = 50
"""At most: more take longer and show no more."""
REPETITIONS = 9
"""Three, and those of a node that was measured again."""
MEMORY_BYTES_PER_S = 40e9
"""As STREAM counts, of all cores of a node."""
CORE_FLOPS_PER_S = 50e9
DGEMM_SHARE = 0.9
QUANTUM_S = 800e-6
LOAD_S = 90e-9
SWITCH_S, WAKE_S = 6e-6, 20e-6
TIMER_S, SLICE_S = 30e-6, 4e-3
STINTS = 4
STEP_S = 1e-3
"""Work and barrier."""
STREAM_BYTES_PER_S, NODE_BYTES_PER_S, TOTAL_BYTES_PER_S = 120e6, 400e6, 420e6
"""Of a file system behind a gateway: of one stream, of a node, and of all nodes together."""
FILE_S = 200e-6
COUNTED = {
    Kernel.MEMORY_COPY: 2, Kernel.MEMORY_SCALE: 2, Kernel.MEMORY_ADD: 3, Kernel.MEMORY_TRIAD: 3, Kernel.MEMORY_READ: 1,
}  # fmt: skip


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """How a node differs from a good one: factors on rates and times, and delays of some quanta of work."""

    memory: float = 1.0
    load: float = 1.0
    arithmetic: float = 1.0
    slowest_core: float = 1.0
    delay_s: float = 0.0
    """Of one in ten quanta of the first core."""
    pipe: float = 1.0
    timer: float = 1.0
    time_slice: float = 1.0
    stints: float = 1.0
    """How many a burst is divided into."""
    far: float = 1.6
    """Of the memory of another NUMA node, beside its own; only of machines with several."""
    late_s: float = 5e-6
    """To a barrier after work, behind the first node."""
    clock_error_s: float = 2e-6
    storage: float = 1.0
    blas: int = 4
    """The library of DGEMM, by its number; 0: none."""
    wrong: Kernel | None = None


GOOD = Machine()


def places(name: str) -> NodePlaces:
    """A node of four cores and one NUMA node."""
    ranks = tuple(f"{name}:{rank}" for rank in range(CORES))
    return NodePlaces(node=name, cores=ranks, node_array_bytes=1 << 20, core_array_bytes=1 << 22)


def variant_crosses(variant: str) -> bool:
    """Whether core and memory are on different NUMA nodes."""
    here, _, there = variant.partition(">")
    return here != there


def facts(name: str, **changes: object) -> NodeFacts:
    """Of a node like all others but in what is changed."""
    node = NodeFacts(
        hostname=name, complete=True, cpu_model="AMD EPYC 7543", cores=CORES, boot_id=f"boot-of-{name}",
        memory_bytes=64 << 30,
    )  # fmt: skip
    return msgspec.structs.replace(node, **changes)


def recorded(
    machines: Mapping[str, Machine],
    *,
    node_facts: Mapping[str, NodeFacts] | None = None,
    trials: tuple[Trial, ...] = tuple(Trial),
    noise: float = 0.002,
    seed: int = 1,
) -> RecordedRun:
    """A complete run on these nodes."""
    names = tuple(machines)
    nodes = [places(name) for name in names]
    rounds = rounds_of(trials, nodes, range(REPETITIONS), at_once=True)
    if Trial.STORAGE in trials:
        rounds += tuple(storage_rounds(nodes, range(REPETITIONS), FULL_STORAGE, "/scratch/x", total=True))
    draw = random.Random(seed)
    info = info_of(
        Cluster(nodes=names), kind=RunKind.NODES,
        settings=NodesSettings(site=SiteSettings(archive=ROOT), trials=trials),
        design=Design(
            name="nodes", pairs_at_once=0, repetitions=REPETITIONS, rounds=len(rounds), ordered_pairs=0,
            planned_pairs=0, statement="",
        ),
    )  # fmt: skip
    return RecordedRun(
        info=info, planned=(), facts=node_facts or {name: facts(name) for name in names}, facts_after={},
        measurements=(),
        group_measurements=tuple(one for wanted in rounds for one in deliver(wanted, machines, noise, draw)),
    )  # fmt: skip


def soaked(
    machine_at: Callable[[str, int], Machine], names: tuple[str, ...], cycles: int, seed: int = 1
) -> RecordedRun:
    """A complete soak. `machine_at`: how a node is in a cycle; a cycle takes ten seconds."""
    draw = random.Random(seed)
    trials = (Trial.MEMORY, Trial.ARITHMETIC, Trial.NOISE, Trial.PIPE)
    site = SiteSettings(archive=ROOT, budget_s=10.0 * cycles)
    measured = [
        msgspec.structs.replace(delivered, at_s=10.0 * cycle)
        for cycle in range(cycles)
        for wanted in rounds_of(trials, [places(name) for name in names], [cycle], at_once=True)
        for delivered in deliver(wanted, {name: machine_at(name, cycle) for name in names}, 0.01, draw)
    ]
    return RecordedRun(
        info=info_of(Cluster(nodes=names), kind=RunKind.SOAK, settings=SoakSettings(site=site, trials=trials)),
        planned=(), facts={name: facts(name) for name in names}, facts_after={}, measurements=linked(names, cycles),
        group_measurements=tuple(measured),
    )  # fmt: skip


def linked(names: tuple[str, ...], cycles: int) -> tuple[Measurement, ...]:
    """Latency and bandwidth of the links of a soak, which are all alike."""
    if len(names) < 2:
        return ()
    shapes = {
        Shape(kernel=Kernel.PINGPONG, message_bytes=8, window=1, warmup=10, iterations=200): 20e-6,
        Shape(kernel=Kernel.ONEWAY, message_bytes=1 << 20, window=4, warmup=1, iterations=6): 0.04,
    }
    firsts = [f"{name}:0" for name in names]
    return tuple(
        Measurement(
            phase=Phase.SOAK, repetition=cycle, shape=shape, source=source, target=target,
            times_s=(time_s * (1 + 0.001 * (cycle % 3)),),
        )
        for cycle in range(cycles)
        for source, target in circle_round(firsts, cycle % turns(len(firsts)))
        for shape, time_s in shapes.items()
    )  # fmt: skip


def deliver(
    wanted: GroupRound, machines: Mapping[str, Machine], noise: float, draw: random.Random
) -> Iterator[GroupMeasurement]:
    """What one round delivers."""
    shape = wanted.shape
    for group in wanted.groups:
        machine = machines[group[0].partition(":")[0]]
        mood = draw.gauss(1, noise)
        times = tuple(time_s * mood for time_s in _times_s(wanted, group, machine, draw))
        wrong = machine.wrong is shape.kernel
        corruption = Corruption(source="", target=group[0], wrong_bytes=8, first_byte=0)
        yield GroupMeasurement(
            phase=wanted.phase, repetition=wanted.repetition, shape=shape, nodes=group, times_s=times,
            groups_at_once=len(wanted.groups), variant=wanted.variant, verified=shape.iterations, errors=8 * wrong,
            corruptions=(corruption,) * wrong, at_s=1.0, **_meeting(wanted, group, machines, draw),
        )  # fmt: skip


def _meeting(
    wanted: GroupRound, group: tuple[str, ...], machines: Mapping[str, Machine], draw: random.Random
) -> dict[str, Any]:
    """Arrivals and the time of the round, of collective operations; how often a rank left a core that it shares."""
    if wanted.shape.kernel is Kernel.TIME_SLICE:
        switches = round(STINTS * wanted.shape.iterations * machines[group[0].partition(":")[0]].stints)
        return {"conditions": Conditions(wall_s=0.05 * wanted.shape.iterations, switches=switches, faults=0)}
    if wanted.shape.kernel is Kernel.DGEMM:
        library = machines[group[0].partition(":")[0]].blas
        return {"conditions": Conditions(wall_s=0.01 * wanted.shape.iterations, library=library)}
    if wanted.shape.kernel not in COLLECTIVE_KERNELS:
        return {}
    steps = wanted.shape.iterations
    late = [machines[place.partition(":")[0]] for place in group]
    arrivals = tuple(
        Arrival(
            offset_s=0.25 * number, error_s=machine.clock_error_s,
            late_s=machine.late_s * draw.uniform(0.9, 1.1) if number else 0.0, last=steps // len(group),
        )
        for number, machine in enumerate(late)
    )  # fmt: skip
    return {"arrivals": arrivals, "conditions": Conditions(wall_s=STEP_S * steps, switches=0, faults=0)}


def _times_s(wanted: GroupRound, group: tuple[str, ...], machine: Machine, draw: random.Random) -> list[float]:
    """The times of a round: alike, but for noise."""
    steps = range(min(wanted.shape.iterations, ITERATIONS))
    if wanted.shape.kernel is Kernel.NOISE_WORK:
        delay_s = machine.delay_s if group[0].endswith(":0") else 0.0
        return [QUANTUM_S + (draw.random() < 0.1) * delay_s for _ in steps]
    if wanted.shape.kernel is Kernel.NOISE_DETOUR:
        return [10e-6 if draw.random() < 0.25 else 1e-7 for _ in steps]
    return [_time_s(wanted, group, machine)] * len(steps)


def _time_s(wanted: GroupRound, group: tuple[str, ...], machine: Machine) -> float:
    shape = wanted.shape
    kernel = shape.kernel
    if kernel in COUNTED:
        moved = COUNTED[kernel] * shape.message_bytes * len(group)
        alone = 0.4 if wanted.variant == "core" else 1.0
        return moved / (MEMORY_BYTES_PER_S * machine.memory * alone)
    if kernel is Kernel.FMA:
        slow = machine.slowest_core if group[0].endswith(":0") else 1.0
        rate = CORE_FLOPS_PER_S * machine.arithmetic * slow * shape.message_bytes / 32
        return shape.window * 12288 * shape.message_bytes / rate if shape.message_bytes <= 32 else 0.0
    if kernel in STORAGE_KERNELS:
        return _storage_s(wanted, group, machine)
    if kernel is Kernel.DGEMM:
        rows = round((shape.message_bytes / 8) ** 0.5)
        return 2 * rows**3 / (DGEMM_SHARE * CORE_FLOPS_PER_S * machine.arithmetic) if machine.blas else 0.0
    return {
        Kernel.CHASE: 4096 * LOAD_S * machine.load,
        Kernel.PIPE_SWITCH: SWITCH_S * machine.pipe,
        Kernel.PIPE_WAKE: WAKE_S * machine.pipe,
        Kernel.TIMER_WAKE: TIMER_S * machine.timer,
        Kernel.TIME_SLICE: SLICE_S * machine.time_slice,
        Kernel.CHASE_FAR: 4096 * LOAD_S * (machine.far if variant_crosses(wanted.variant) else 1.0),
        Kernel.BARRIER: 20e-6,
        Kernel.ALLREDUCE: 30e-6,
        Kernel.ALLTOALL: 50e-6,
    }[kernel]


def _storage_s(wanted: GroupRound, group: tuple[str, ...], machine: Machine) -> float:
    shape = wanted.shape
    if shape.kernel is Kernel.STORAGE_FILES:
        return shape.window * FILE_S / machine.storage
    rate = {STREAM: STREAM_BYTES_PER_S, TOTAL: TOTAL_BYTES_PER_S}.get(wanted.variant, NODE_BYTES_PER_S)
    own = 1.0 if wanted.variant == TOTAL else machine.storage
    return shape.window * shape.message_bytes * len(group) / (rate * own)
