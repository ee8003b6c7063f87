"""The rounds of a trial of nodes: which kernel on which ranks, in which order."""

from collections.abc import Iterable, Iterator, Sequence

from seatrial.commands.nodes.places import LEAST_ARRAY_BYTES, LINE_BYTES, NodePlaces
from seatrial.model.measurement import GroupRound, Kernel, Phase, Shape
from seatrial.model.settings import Trial

NODE, CORE, ALL = "node", "core", "all cores"
"""Variants: all ranks of a node together, its first rank alone, and all of them at the same time, each by itself."""
NUMA = "NUMA node {}"
WIDTHS = (16, 32, 64)
NODE_KERNELS = (Kernel.MEMORY_TRIAD, Kernel.MEMORY_COPY, Kernel.MEMORY_READ)
"""Scale and add are like copy and triad, and are measured once."""
ONCE_KERNELS = (Kernel.MEMORY_SCALE, Kernel.MEMORY_ADD)
FMA_WINDOW = 128
MEMORY_PASSES, FMA_BATCHES, QUANTA, ROUND_TRIPS, CHASES = 4, 20, 500, 1000, 20
CHASED_PART = 2
"""Of the array of one core: twice the last-level cache, since laying it out takes longer than measuring in it."""
MORE_QUANTA = 10
"""Warm-up of the noise kernels: the processor may have slept."""

TRIAL_KERNELS = {
    Trial.MEMORY: frozenset((*NODE_KERNELS, *ONCE_KERNELS, Kernel.CHASE)),
    Trial.ARITHMETIC: frozenset((Kernel.FMA,)),
    Trial.NOISE: frozenset((Kernel.NOISE_WORK, Kernel.NOISE_DETOUR)),
    Trial.PIPE: frozenset((Kernel.PIPE_SWITCH, Kernel.PIPE_WAKE)),
}

Groups = tuple[tuple[str, ...], ...]


def rounds_of(
    trials: Iterable[Trial], nodes: Sequence[NodePlaces], repetitions: int, *, at_once: bool
) -> tuple[GroupRound, ...]:
    """All rounds, repetition by repetition. `at_once`: all nodes in one round, else one node after the other."""
    sets = [tuple(nodes)] if at_once else [(one,) for one in nodes]
    wanted = tuple(trials)
    return tuple(
        one
        for repetition in range(repetitions)
        for together in sets
        for trial in Trial
        if trial in wanted
        for one in _ROUNDS[trial](together, repetition)
    )


def _round(
    repetition: int, kernel: Kernel, variant: str, groups: Groups, *, iterations: int, message_bytes: int = 0,
    window: int = 1, warmup: int = 1,
) -> GroupRound:  # fmt: skip
    shape = Shape(kernel=kernel, message_bytes=message_bytes, window=window, warmup=warmup, iterations=iterations)
    return GroupRound(phase=Phase.NODES, repetition=repetition, shape=shape, groups=groups, variant=variant)


def _memory(nodes: Sequence[NodePlaces], repetition: int) -> Iterator[GroupRound]:
    once = ONCE_KERNELS if repetition == 0 else ()
    node_bytes = min(one.node_array_bytes for one in nodes)
    core_bytes = min(one.core_array_bytes for one in nodes)
    whole = tuple(one.cores for one in nodes)
    for kernel in (*NODE_KERNELS, *once):
        yield _round(repetition, kernel, NODE, whole, iterations=MEMORY_PASSES, message_bytes=node_bytes)
    for number in range(max(len(one.numa) for one in nodes)):
        groups = tuple(one.numa[number] for one in nodes if number < len(one.numa))
        triad, variant = Kernel.MEMORY_TRIAD, NUMA.format(number)
        yield _round(repetition, triad, variant, groups, iterations=MEMORY_PASSES, message_bytes=node_bytes)
    firsts = tuple(one.cores[:1] for one in nodes)
    triad = Kernel.MEMORY_TRIAD
    yield _round(repetition, triad, CORE, firsts, iterations=MEMORY_PASSES, message_bytes=core_bytes)
    chased = max(core_bytes // CHASED_PART, LEAST_ARRAY_BYTES) // LINE_BYTES * LINE_BYTES
    yield _round(repetition, Kernel.CHASE, CORE, firsts, iterations=CHASES, message_bytes=chased)


def _arithmetic(nodes: Sequence[NodePlaces], repetition: int) -> Iterator[GroupRound]:
    """The widest vectors first; a processor without them delivers times of 0."""
    for width in reversed(WIDTHS):
        yield _round(
            repetition, Kernel.FMA, ALL, _each(nodes), iterations=FMA_BATCHES, message_bytes=width, window=FMA_WINDOW
        )


def _noise(nodes: Sequence[NodePlaces], repetition: int) -> Iterator[GroupRound]:
    for kernel in (Kernel.NOISE_WORK, Kernel.NOISE_DETOUR):
        yield _round(repetition, kernel, ALL, _each(nodes), iterations=QUANTA, warmup=MORE_QUANTA)


def _pipe(nodes: Sequence[NodePlaces], repetition: int) -> Iterator[GroupRound]:
    pairs = tuple(one.cores[:2] for one in nodes if len(one.cores) > 1)
    for kernel in (Kernel.PIPE_SWITCH, Kernel.PIPE_WAKE) if pairs else ():
        yield _round(repetition, kernel, CORE, pairs, iterations=ROUND_TRIPS, warmup=MORE_QUANTA)


def _each(nodes: Sequence[NodePlaces]) -> Groups:
    return tuple((place,) for one in nodes for place in one.cores)


_ROUNDS = {Trial.MEMORY: _memory, Trial.ARITHMETIC: _arithmetic, Trial.NOISE: _noise, Trial.PIPE: _pipe}
