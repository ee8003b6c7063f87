"""The figures of each node from its measurements: rates and times, one value a repetition."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import asdict, replace

from seatrial.judgement.nodes.noise import noise_of, recurrence_of
from seatrial.judgement.nodes.storage import storage_runs
from seatrial.model.measurement import Conditions, Estimate, GroupMeasurement, Kernel, Phase, node_of
from seatrial.model.node_trials import Clock, Collective, Measure, NodeConditions, NodeFigures, Noise, Runs, WrongResult
from seatrial.model.words import natural_sorted
from seatrial.pairs.node_rounds import ALL, COLLECTIVE_KERNELS, CORE, DOUBLE_BYTES, FAR, MEETING, NODE, WIDTHS
from seatrial.statistics.estimates import median, median_estimate

LOADS_PER_CHASE = 4096
BURST_S = 12e-3
"""What the thread beside a rank works before it sleeps again."""
FLOPS_PER_BYTE = 12288
"""Operations in one block of the arithmetic kernel, for each byte of its vectors."""

BLAS = {
    1: "MKL", 2: "Arm Performance Libraries", 3: "Cray LibSci", 4: "OpenBLAS", 5: "BLIS", 6: "FlexiBLAS", 7: "libblas",
}  # fmt: skip
"""The libraries by the number that the probe gives."""


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

STEADY = frozenset((*TRAFFIC, Kernel.FMA, Kernel.CHASE))
"""Kernels that do the same work in each iteration, without waiting."""


def figures_of(measurements: Iterable[GroupMeasurement]) -> tuple[NodeFigures, ...]:
    """The figures of each node, in the order in which they were measured first."""
    parts: dict[str, list[GroupMeasurement]] = defaultdict(list)
    measured = [measurement for measurement in measurements if measurement.phase is Phase.NODES]
    wrong: dict[str, list[WrongResult]] = defaultdict(list)
    for measurement in measured:
        for name, part in by_node(measurement):
            parts[name].append(part)
            if part.errors:
                wrong[name].append(_wrong(part, measurement))
    late = late_runs(measured)
    return tuple(
        _figures(name, delivered, late.get(name, {}), _by_kernel(wrong[name])) for name, delivered in parts.items()
    )


def sustained(measurements: Iterable[GroupMeasurement]) -> tuple[NodeFigures, ...]:
    """The figures with mean times in place of medians: a quota or a duty cycle stops few iterations, for long.

    Pipes and noise keep their own: their times have long tails.
    """
    return figures_of(
        replace(group, times_s=(math.fsum(group.times_s) / len(group.times_s),))
        if group.shape.kernel in STEADY and group.times_s and min(group.times_s) > 0
        else group
        for group in measurements
    )


def _wrong(part: GroupMeasurement, whole: GroupMeasurement) -> WrongResult:
    """What a node got wrong; `whole`: the operation, of which the node had a part."""
    ranks = natural_sorted({one.target for one in part.corruptions} or set(part.nodes))
    nodes = natural_sorted(set(map(node_of, whole.nodes)))
    return WrongResult(kernel=whole.shape.kernel, ranks=tuple(ranks), nodes=tuple(nodes))


def _by_kernel(wrong: Iterable[WrongResult]) -> tuple[WrongResult, ...]:
    """Each kernel once, with all its ranks and nodes."""
    merged: dict[Kernel, WrongResult] = {}
    for result in wrong:
        before = merged.get(result.kernel, result)
        merged[result.kernel] = WrongResult(
            kernel=result.kernel,
            ranks=tuple(natural_sorted({*before.ranks, *result.ranks})),
            nodes=tuple(natural_sorted({*before.nodes, *result.nodes})),
        )
    return tuple(merged.values())


def _figures(
    name: str, measured: Sequence[GroupMeasurement], late: Runs, wrong: tuple[WrongResult, ...]
) -> NodeFigures:
    usable = [
        measurement
        for measurement in measured
        if measurement.times_s and min(measurement.times_s) > 0 and not measurement.errors
    ]
    memory = _memory(usable)
    flops = {width: _rates(usable, width) for width in WIDTHS}
    widest = max((width for width, rates in flops.items() if rates), default=0)
    cores = flops.get(widest, {})
    candidates: dict[Measure, Runs] = {
        Measure.TRIAD: memory.get(f"{Kernel.MEMORY_TRIAD} {NODE}", {}),
        Measure.COPY: memory.get(f"{Kernel.MEMORY_COPY} {NODE}", {}),
        Measure.READ: memory.get(f"{Kernel.MEMORY_READ} {NODE}", {}),
        Measure.CORE_TRIAD: memory.get(f"{Kernel.MEMORY_TRIAD} {CORE}", {}),
        Measure.CHASE: {number: value / LOADS_PER_CHASE for number, value in _medians(usable, Kernel.CHASE).items()},
        Measure.FMA: {number: sum(rates) for number, rates in cores.items()},
        Measure.SLOWEST_CORE: {number: min(rates) for number, rates in cores.items()},
        Measure.PRODUCT: _products(usable),
        Measure.NOISE: _noise_runs(usable),
        Measure.OTHERS: _others(usable),
        Measure.SWITCH: _medians(usable, Kernel.PIPE_SWITCH),
        Measure.WAKE: _medians(usable, Kernel.PIPE_WAKE),
        Measure.FAR: _far(usable),
        Measure.TIMER: _medians(usable, Kernel.TIMER_WAKE),
        Measure.SLICE: _medians(usable, Kernel.TIME_SLICE),
        Measure.STINT: _stints(usable),
        Measure.LATE: late,
        **storage_runs(usable),
    }
    runs = {measure: values for measure, values in candidates.items() if values}
    return NodeFigures(
        node=name,
        runs=runs,
        values={measure: _estimate(values) for measure, values in runs.items()},
        memory_bytes_per_s={scope: _estimate(values) for scope, values in memory.items()},
        numa_latency_s={cell: _estimate(values) for cell, values in _distances(usable).items()},
        flops_by_width={
            width: median_estimate([sum(rates) for rates in repetitions.values()])
            for width, repetitions in flops.items()
            if repetitions
        },
        blas=_blas(measured),
        noise=_noise(usable),
        conditions=conditions_of(measured),
        temperatures=temperatures_of(measured),
        wrong_bytes=sum(measurement.errors for measurement in measured),
        wrong=wrong,
        verified=sum(measurement.verified for measurement in measured),
    )


def _estimate(runs: Runs) -> Estimate:
    return median_estimate([*runs.values()])


def _memory(measured: Iterable[GroupMeasurement]) -> Mapping[str, Runs]:
    """Bytes per second as STREAM counts, by kernel and scope."""
    memory: dict[str, Runs] = defaultdict(dict)
    for measurement in measured:
        if traffic := TRAFFIC.get(measurement.shape.kernel):
            moved = traffic.counted * measurement.shape.message_bytes * len(measurement.nodes)
            scope = f"{measurement.shape.kernel} {measurement.variant}"
            memory[scope][measurement.repetition] = moved / median(measurement.times_s)
    return memory


def _rates(measured: Iterable[GroupMeasurement], width: int) -> dict[int, list[float]]:
    """Operations per second of each core, by repetition."""
    rates: dict[int, list[float]] = defaultdict(list)
    for measurement in measured:
        shape = measurement.shape
        if shape.kernel is Kernel.FMA and shape.message_bytes == width and measurement.variant == ALL:
            rates[measurement.repetition].append(shape.window * FLOPS_PER_BYTE * width / median(measurement.times_s))
    return rates


def _products(measured: Iterable[GroupMeasurement]) -> Runs:
    """Operations per second of DGEMM on all cores, by repetition."""
    rates: Runs = defaultdict(float)
    for measurement in measured:
        shape = measurement.shape
        if shape.kernel is Kernel.DGEMM:
            rows = math.isqrt(shape.message_bytes // DOUBLE_BYTES)
            rates[measurement.repetition] += 2 * rows**3 / median(measurement.times_s)
    return dict(rates)


def _blas(measured: Iterable[GroupMeasurement]) -> str | None:
    """The library that the cores of a node called; of several the last in the table."""
    tried = [one for one in measured if one.shape.kernel is Kernel.DGEMM]
    library = max((one.conditions.library for one in tried if one.conditions), default=0)
    return BLAS.get(library, "a BLAS") if library else ("" if tried else None)


def _medians(measured: Iterable[GroupMeasurement], kernel: Kernel) -> Runs:
    return {one.repetition: median(one.times_s) for one in measured if one.shape.kernel is kernel}


def _stints(measured: Iterable[GroupMeasurement]) -> Runs:
    """How long the thread works at once before the rank is back: a burst by how often the rank had to leave in it."""
    return {
        one.repetition: BURST_S * one.shape.iterations / one.conditions.switches
        for one in measured
        if one.shape.kernel is Kernel.TIME_SLICE and one.conditions and one.conditions.switches
    }


def _distances(measured: Iterable[GroupMeasurement]) -> Mapping[str, Runs]:
    """Seconds for a load, by the NUMA nodes of core and memory."""
    cells: dict[str, Runs] = defaultdict(dict)
    for measurement in measured:
        if measurement.shape.kernel is Kernel.CHASE_FAR:
            cells[measurement.variant][measurement.repetition] = median(measurement.times_s) / LOADS_PER_CHASE
    return cells


def _far(measured: Sequence[GroupMeasurement]) -> Runs:
    """Values from the first NUMA node to the last one, which every repetition measures."""
    cells = _distances(measured)
    from_first = [cell for cell in cells if cell.startswith(FAR.format(0, ""))]
    return cells[max(from_first, key=lambda cell: int(cell.rpartition(">")[2]))] if from_first else {}


def _noise(measured: Sequence[GroupMeasurement]) -> Noise | None:
    work: dict[str, list[float]] = defaultdict(list)
    sequences: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for measurement in measured:
        if measurement.shape.kernel is Kernel.NOISE_WORK:
            work[measurement.nodes[0]].extend(measurement.times_s)
            sequences[measurement.nodes[0]].append(measurement.times_s)
    detours = [
        time_s
        for measurement in measured
        if measurement.shape.kernel is Kernel.NOISE_DETOUR
        for time_s in measurement.times_s
    ]
    noise = noise_of(work, detours)
    recurring = recurrence_of(sequences[noise.worst_place]) if noise else None
    if noise is None or recurring is None:
        return noise
    return replace(noise, period_s=recurring.period_s, amplitude_s=recurring.amplitude_s)


def _noise_runs(measured: Sequence[GroupMeasurement]) -> Runs:
    """The noise of the noisiest core in each repetition."""
    work: dict[int, dict[str, list[float]]] = defaultdict(dict)
    for measurement in measured:
        if measurement.shape.kernel is Kernel.NOISE_WORK:
            work[measurement.repetition][measurement.nodes[0]] = list(measurement.times_s)
    noises = {repetition: noise_of(times, ()) for repetition, times in work.items()}
    return {repetition: noise.worst_fraction for repetition, noise in noises.items() if noise is not None}


def _others(measured: Iterable[GroupMeasurement]) -> Runs:
    """Processors that other processes of the node used in each repetition: 0.01 is 1 % of one."""
    used: dict[int, float] = defaultdict(float)
    lasted: dict[int, float] = defaultdict(float)
    for measurement in measured:
        conditions = measurement.conditions
        if conditions is not None and conditions.others_s is not None:
            used[measurement.repetition] += conditions.others_s
            lasted[measurement.repetition] += conditions.wall_s
    return {repetition: used[repetition] / wall_s for repetition, wall_s in lasted.items() if wall_s > 0}


def conditions_of(measured: Iterable[GroupMeasurement]) -> NodeConditions | None:
    """The conditions over all rounds of one node; None if the probe said nothing of them."""
    measured = [*measured]
    rounds = [one.conditions for one in measured if one.conditions is not None]
    wall_s = sum(one.wall_s for one in rounds)
    if not wall_s > 0:
        return None
    watched = [one for one in rounds if one.interrupts is not None]
    powered = [one for one in rounds if one.microjoules is not None]
    return NodeConditions(
        switches_per_s=sum(one.switches for one in rounds) / wall_s,
        faults_per_s=sum(one.faults for one in rounds) / wall_s,
        throttles=_total([one.throttles for one in rounds]),
        least_hz=min((1e3 * one.least_khz for one in rounds if one.least_khz), default=None),
        celsius=max(temperatures_of(measured).values(), default=None),
        interrupts_per_s=_rate([one.interrupts for one in watched], watched),
        watts=_rate([one.microjoules for one in powered], powered, 1e-6),
    )


def temperatures_of(measured: Iterable[GroupMeasurement]) -> Runs:
    """Degrees Celsius of the node's hottest zone, by repetition.

    Operations of several nodes have that of the hottest of these nodes, and do not count.
    """
    hottest: Runs = {}
    for group in measured:
        conditions, alone = group.conditions, group.shape.kernel not in COLLECTIVE_KERNELS
        if alone and conditions is not None and conditions.millicelsius:
            celsius = conditions.millicelsius / 1e3
            hottest[group.repetition] = max(celsius, hottest.get(group.repetition, celsius))
    return hottest


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _rate(counts: Sequence[int | None], rounds: Sequence[Conditions], unit: float = 1.0) -> float | None:
    total, wall_s = _total(counts), sum(one.wall_s for one in rounds)
    return total * unit / wall_s if total is not None and wall_s > 0 else None


def by_node(measured: GroupMeasurement) -> Iterator[tuple[str, GroupMeasurement]]:
    """The part of each node: its places, arrivals and wrong bytes; times are those of the whole group."""
    names = [*map(node_of, measured.nodes)]
    if len(set(names)) <= 1:
        yield names[0], measured
        return
    for number, name in enumerate(dict.fromkeys(names)):
        places = tuple(place for place, home in zip(measured.nodes, names, strict=True) if home == name)
        wrong = tuple(one for one in measured.corruptions if node_of(one.target) == name)
        yield (
            name,
            replace(
                measured,
                nodes=places,
                corruptions=wrong,
                errors=sum(one.wrong_bytes for one in wrong),
                arrivals=tuple(
                    one for one, home in zip(measured.arrivals, names, strict=False) if home == name
                ),
                conditions=measured.conditions if number == 0 else None,
            ),
        )  # fmt: skip


def meetings(measurements: Iterable[GroupMeasurement]) -> Iterator[GroupMeasurement]:
    """Barriers after work that several nodes came to."""
    for measured in measurements:
        together = measured.variant == MEETING and measured.shape.kernel in COLLECTIVE_KERNELS
        if together and measured.arrivals and len(set(map(node_of, measured.nodes))) > 1:
            yield measured


def late_runs(measurements: Iterable[GroupMeasurement]) -> dict[str, Runs]:
    """Delay of each node behind the first one, as a share of the time of a step: work and barrier.

    Nodes whose clocks are not known well enough have no value: of a clock that may be wrong by the practical effect,
    nothing follows.
    """
    late: dict[str, Runs] = defaultdict(dict)
    for measured in meetings(measurements):
        if measured.conditions is None or measured.errors:
            continue
        step_s = measured.conditions.wall_s / max(measured.shape.iterations, 1)
        for place, arrival in zip(measured.nodes, measured.arrivals, strict=True):
            if arrival.error_s < Measure.LATE.effect * step_s:
                name = node_of(place)
                share = max(arrival.late_s, 0.0) / step_s
                late[name][measured.repetition] = max(share, late[name].get(measured.repetition, 0.0))
    return dict(late)


def clocks_of(measurements: Iterable[GroupMeasurement]) -> tuple[Clock, ...]:
    """The clocks at the last barriers that several nodes came to: offsets change, by parts of a million of the time."""
    last = max(meetings(measurements), key=lambda one: one.repetition, default=None)
    if last is None:
        return ()
    return tuple(
        Clock(node=node_of(place), barriers=last.shape.iterations, **asdict(arrival))
        for place, arrival in zip(last.nodes, last.arrivals, strict=True)
    )


def collectives_of(measurements: Sequence[GroupMeasurement]) -> tuple[Collective, ...]:
    """One for each operation, size and group of nodes, without those after work."""
    medians: dict[tuple[str, int, tuple[str, ...], int], list[float]] = defaultdict(list)
    for measured in measurements:
        shape = measured.shape
        usable = measured.times_s and min(measured.times_s) > 0 and not measured.errors
        if usable and shape.kernel in COLLECTIVE_KERNELS and measured.variant != MEETING:
            nodes = tuple(natural_sorted(set(map(node_of, measured.nodes))))
            key = (str(shape.kernel), shape.message_bytes, nodes, len(measured.nodes))
            medians[key].append(median(measured.times_s))
    return tuple(
        Collective(kernel=kernel, message_bytes=message_bytes, nodes=nodes, ranks=ranks, time_s=median_estimate(values))
        for (kernel, message_bytes, nodes, ranks), values in medians.items()
    )
