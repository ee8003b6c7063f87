"""The figures of each node from its measurements: rates and times, one value a repetition."""

import enum
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from seatrial.commands.nodes.noise import Noise, noise_of
from seatrial.commands.nodes.rounds import ALL, CORE, NODE, WIDTHS
from seatrial.driver.group_rounds import node_of
from seatrial.model.measurement import Estimate, GroupMeasurement, Kernel, Phase
from seatrial.model.settings import Trial
from seatrial.model.units import BANDWIDTH, FLOP_RATE, LATENCY, SHARE
from seatrial.model.verdict import FindingKind
from seatrial.statistics.estimates import median, median_estimate

LOADS_PER_CHASE = 4096
FLOPS_PER_BYTE = 12288
"""Of one block of the arithmetic kernel, for each byte of its vectors."""


class Traffic(NamedTuple):
    """Passes over an array of a memory kernel, as STREAM counts them and with the lines that a store reads first."""

    counted: int
    with_write_allocate: int


TRAFFIC = {
    Kernel.MEMORY_COPY: Traffic(2, 3),
    Kernel.MEMORY_SCALE: Traffic(2, 3),
    Kernel.MEMORY_ADD: Traffic(3, 4),
    Kernel.MEMORY_TRIAD: Traffic(3, 4),
    Kernel.MEMORY_READ: Traffic(1, 1),
}


class Measure(enum.StrEnum):
    """What is compared between nodes: its word in JSON, and how it is judged."""

    trial: Trial
    kind: FindingKind
    metric: str
    label: str
    more_is_better: bool
    effect: float
    """Smallest difference that matters: a share of the peers' value; of a share, the difference itself."""

    def __new__(cls, word: str, trial: Trial, kind: FindingKind, metric: str, label: str, effect: float) -> "Measure":
        """A member is its word."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.trial, member.kind, member.metric, member.label = trial, kind, metric, label
        member.more_is_better, member.effect = metric in (BANDWIDTH, FLOP_RATE), effect
        return member

    TRIAD = "triad", Trial.MEMORY, FindingKind.LOW_MEMORY_BANDWIDTH, BANDWIDTH, "STREAM triad of all cores", 0.05
    COPY = "copy", Trial.MEMORY, FindingKind.LOW_MEMORY_BANDWIDTH, BANDWIDTH, "STREAM copy of all cores", 0.05
    READ = "read", Trial.MEMORY, FindingKind.LOW_MEMORY_BANDWIDTH, BANDWIDTH, "memory reading of all cores", 0.05
    CORE_TRIAD = (
        "core_triad", Trial.MEMORY, FindingKind.LOW_MEMORY_BANDWIDTH, BANDWIDTH, "STREAM triad of one core", 0.10,
    )  # fmt: skip
    CHASE = "memory_latency", Trial.MEMORY, FindingKind.HIGH_MEMORY_LATENCY, LATENCY, "memory latency", 0.10
    FMA = "arithmetic", Trial.ARITHMETIC, FindingKind.SLOW_ARITHMETIC, FLOP_RATE, "arithmetic of all cores", 0.03
    SLOWEST_CORE = (
        "slowest_core", Trial.ARITHMETIC, FindingKind.SLOW_ARITHMETIC, FLOP_RATE, "arithmetic of the slowest core",
        0.05,
    )  # fmt: skip
    NOISE = "noise", Trial.NOISE, FindingKind.HIGH_NOISE, SHARE, "noise of the noisiest core", 0.02
    SWITCH = (
        "pipe_switch",
        Trial.PIPE,
        FindingKind.SLOW_SCHEDULER,
        LATENCY,
        "pipe round trip on one core",
        0.15,
    )
    WAKE = "pipe_wake", Trial.PIPE, FindingKind.SLOW_SCHEDULER, LATENCY, "pipe round trip on two cores", 0.25


class NodeFigures(msgspec.Struct, frozen=True, kw_only=True):
    """All figures of one node."""

    node: str
    values: dict[Measure, Estimate]
    memory_bytes_per_s: dict[str, Estimate] = {}
    """By kernel and scope: `memory_triad node`, `memory_triad NUMA node 1`, `memory_triad core`."""
    flops_by_width: dict[int, Estimate] = {}
    """All cores, by the bytes of a vector."""
    noise: Noise | None = None
    wrong_bytes: int = 0
    wrong_kernels: tuple[str, ...] = ()
    """Kernels whose results were wrong."""
    verified: int = 0
    """Iterations whose results were compared."""


def figures_of(measurements: Iterable[GroupMeasurement]) -> tuple[NodeFigures, ...]:
    """The figures of each node, in the order in which they were measured first."""
    by_node: dict[str, list[GroupMeasurement]] = defaultdict(list)
    for measurement in measurements:
        if measurement.phase is Phase.NODES:
            by_node[node_of(measurement.nodes[0])].append(measurement)
    return tuple(_figures(name, measured) for name, measured in by_node.items())


def _figures(name: str, measured: Sequence[GroupMeasurement]) -> NodeFigures:
    usable = [
        measurement
        for measurement in measured
        if measurement.times_s and min(measurement.times_s) > 0 and not measurement.errors
    ]
    memory = _memory(usable)
    flops = {width: _rates(usable, width) for width in WIDTHS}
    widths = {width: [sum(cores) for cores in repetitions] for width, repetitions in flops.items() if repetitions}
    widest = flops[max(widths)] if widths else []
    noise = _noise(usable)
    runs: dict[Measure, Sequence[float]] = {
        Measure.TRIAD: memory.get(f"{Kernel.MEMORY_TRIAD} {NODE}", ()),
        Measure.COPY: memory.get(f"{Kernel.MEMORY_COPY} {NODE}", ()),
        Measure.READ: memory.get(f"{Kernel.MEMORY_READ} {NODE}", ()),
        Measure.CORE_TRIAD: memory.get(f"{Kernel.MEMORY_TRIAD} {CORE}", ()),
        Measure.CHASE: [value / LOADS_PER_CHASE for value in _medians(usable, Kernel.CHASE)],
        Measure.FMA: [sum(cores) for cores in widest],
        Measure.SLOWEST_CORE: [min(cores) for cores in widest],
        Measure.NOISE: _noise_runs(usable),
        Measure.SWITCH: _medians(usable, Kernel.PIPE_SWITCH),
        Measure.WAKE: _medians(usable, Kernel.PIPE_WAKE),
    }
    wrong = [measurement for measurement in measured if measurement.errors]
    return NodeFigures(
        node=name,
        values={measure: median_estimate(values) for measure, values in runs.items() if values},
        memory_bytes_per_s={scope: median_estimate(values) for scope, values in memory.items()},
        flops_by_width={width: median_estimate(values) for width, values in widths.items()},
        noise=noise,
        wrong_bytes=sum(measurement.errors for measurement in wrong),
        wrong_kernels=tuple(dict.fromkeys(str(measurement.shape.kernel) for measurement in wrong)),
        verified=sum(measurement.verified for measurement in measured),
    )


def _memory(measured: Iterable[GroupMeasurement]) -> Mapping[str, list[float]]:
    """Bytes per second as STREAM counts, by kernel and scope, one value a repetition."""
    values_by_key: dict[str, list[float]] = defaultdict(list)
    for measurement in measured:
        if traffic := TRAFFIC.get(measurement.shape.kernel):
            moved = traffic.counted * measurement.shape.message_bytes * len(measurement.nodes)
            values_by_key[f"{measurement.shape.kernel} {measurement.variant}"].append(
                moved / median(measurement.times_s)
            )
    return values_by_key


def _rates(measured: Iterable[GroupMeasurement], width: int) -> list[list[float]]:
    """Operations per second of each core, repetition by repetition."""
    values_by_key: dict[int, list[float]] = defaultdict(list)
    for measurement in measured:
        shape = measurement.shape
        if shape.kernel is Kernel.FMA and shape.message_bytes == width and measurement.variant == ALL:
            values_by_key[measurement.repetition].append(
                shape.window * FLOPS_PER_BYTE * width / median(measurement.times_s)
            )
    return list(values_by_key.values())


def _medians(measured: Iterable[GroupMeasurement], kernel: Kernel) -> list[float]:
    return [median(measurement.times_s) for measurement in measured if measurement.shape.kernel is kernel]


def _noise(measured: Sequence[GroupMeasurement]) -> Noise | None:
    work: dict[str, list[float]] = defaultdict(list)
    for measurement in measured:
        if measurement.shape.kernel is Kernel.NOISE_WORK:
            work[measurement.nodes[0]].extend(measurement.times_s)
    detours = [
        time_s
        for measurement in measured
        if measurement.shape.kernel is Kernel.NOISE_DETOUR
        for time_s in measurement.times_s
    ]
    return noise_of(work, detours)


def _noise_runs(measured: Sequence[GroupMeasurement]) -> list[float]:
    """The noise of the noisiest core in each repetition."""
    by_repetition: dict[int, dict[str, list[float]]] = defaultdict(dict)
    for measurement in measured:
        if measurement.shape.kernel is Kernel.NOISE_WORK:
            by_repetition[measurement.repetition][measurement.nodes[0]] = list(measurement.times_s)
    values_by_key = (noise_of(work, ()) for work in by_repetition.values())
    return [noise.worst_fraction for noise in values_by_key if noise is not None]
