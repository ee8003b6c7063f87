"""The rounds of a trial of nodes: which kernel on which ranks, in which order."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from seatrial.model.measurement import GroupRound, Kernel, Phase, Shape
from seatrial.model.settings import Trial
from seatrial.pairs.node_places import LEAST_ARRAY_BYTES, LINE_BYTES, NodePlaces, in_turn

STREAM, STREAMS, TOTAL = "one stream", "streams of a node", "all nodes"
"""Variants: the first rank of a node, some ranks of a node, and these ranks of all nodes together."""
STORAGE_KERNELS = frozenset((Kernel.STORAGE_WRITE, Kernel.STORAGE_READ, Kernel.STORAGE_FILES))
BLOCK_BYTES = 1 << 20
MOST_STREAMS = 8
"""Streams of one node. More show nothing new: a limit of each stream, and one of the node."""
MOST_TURNS = 16
"""Nodes are tried in this many turns at most, so that large clusters are done in time; several in each."""
MOST_BYTES, MOST_NODE_BYTES = 512 << 20, 16 << 20
"""Bytes of all files that exist at one time; on large clusters for each node."""
FREE_PART = 20
"""At most one part of this many of the free space is used."""


class StorageExtent(msgspec.Struct, frozen=True, kw_only=True):
    """How much is written and read. Each file exists only during its round."""

    blocks: int
    """Blocks of one iteration."""
    iterations: int
    files: int
    """Made and removed in one iteration."""
    scopes: tuple[str, ...] = (STREAM, STREAMS, TOTAL)

    @property
    def file_bytes(self) -> int:
        """Bytes of one stream's file."""
        return self.blocks * self.iterations * BLOCK_BYTES


FULL_STORAGE = StorageExtent(blocks=4, iterations=4, files=16)
QUICK_STORAGE = StorageExtent(blocks=1, iterations=4, files=8, scopes=(STREAM,))
"""Extent as part of a check: at most 16 MiB at one time on up to 64 nodes."""
LEAST_STORAGE = StorageExtent(blocks=1, iterations=2, files=4)


def bytes_at_once(nodes: Sequence[NodePlaces], extent: StorageExtent) -> int:
    """What all files of the largest round have together."""
    at_once = (groups for scope in extent.scopes for groups in _groups(nodes, scope))
    streams = max((sum(map(len, groups)) for groups in at_once), default=0)
    return streams * extent.file_bytes


def fitting(nodes: Sequence[NodePlaces], extent: StorageExtent, free_bytes: int) -> StorageExtent | None:
    """This or a smaller extent that uses little of the free space; None: even the smallest one uses too much."""
    allowed = min(max(MOST_BYTES, MOST_NODE_BYTES * len(nodes)), free_bytes // FREE_PART)
    smaller = [
        msgspec.structs.replace(extent, blocks=blocks, iterations=iterations)
        for blocks in range(extent.blocks, 0, -1)
        for iterations in sorted({extent.iterations, LEAST_STORAGE.iterations}, reverse=True)
    ]
    smaller += [msgspec.structs.replace(smaller[-1], scopes=(STREAM,))]
    return next((part for part in smaller if bytes_at_once(nodes, part) <= allowed), None)


def least_bytes(nodes: Sequence[NodePlaces]) -> int:
    """What the smallest trial has in files at one time."""
    return bytes_at_once(nodes, msgspec.structs.replace(LEAST_STORAGE, scopes=(STREAM,)))


def storage_rounds(
    nodes: Sequence[NodePlaces], repetitions: Iterable[int], extent: StorageExtent, folder: str, *, total: bool
) -> Iterator[GroupRound]:
    """All rounds, in each repetition in another order of the nodes: those before have filled the caches.

    `total`: also with all nodes at once, which is a figure of the file system and not of a node.
    """
    for repetition in repetitions:
        for kernel in (Kernel.STORAGE_WRITE, Kernel.STORAGE_READ, Kernel.STORAGE_FILES):
            for scope in extent.scopes:
                if scope == TOTAL and not total:
                    continue
                if scope == STREAMS and kernel is Kernel.STORAGE_FILES:
                    continue
                for groups in in_turn([*_groups(nodes, scope)], repetition):
                    yield _storage_round(repetition, kernel, scope, groups, extent, folder)


def _storage_round(
    repetition: int, kernel: Kernel, scope: str, groups: tuple[tuple[str, ...], ...], extent: StorageExtent, folder: str
) -> GroupRound:
    files = kernel is Kernel.STORAGE_FILES
    shape = Shape(
        kernel=kernel,
        message_bytes=0 if files else BLOCK_BYTES,
        window=extent.files if files else extent.blocks,
        warmup=0,
        iterations=extent.iterations,
    )
    return GroupRound(
        phase=Phase.NODES, repetition=repetition, shape=shape, groups=groups, variant=scope, folder=folder
    )


def _groups(nodes: Sequence[NodePlaces], scope: str) -> Iterator[tuple[tuple[str, ...], ...]]:
    """The groups of each round of a scope."""
    if scope == TOTAL:
        if len(nodes) > 1:
            yield (tuple(place for node in nodes for place in node.cores[:MOST_STREAMS]),)
        return
    most = MOST_STREAMS if scope == STREAMS else 1
    able = [node for node in nodes if scope == STREAM or len(node.cores) > 1]
    size = max(-(-len(able) // MOST_TURNS), 1)
    for first in range(0, len(able), size):
        yield tuple(node.cores[:most] for node in able[first : first + size])


NODE, CORE, ALL = "node", "core", "all cores"
"""Variants: all ranks of a node together, its first rank alone, and all of them at the same time, each by itself."""
NUMA = "NUMA node {}"
WIDTHS = (16, 32, 64)
NODE_KERNELS = (Kernel.MEMORY_TRIAD, Kernel.MEMORY_COPY, Kernel.MEMORY_READ)
"""Scale and add are like copy and triad, and are measured once."""
ONCE_KERNELS = (Kernel.MEMORY_SCALE, Kernel.MEMORY_ADD)
FMA_WINDOW = 128
PRODUCTS, PRODUCT_ROWS, PRODUCT_ROWS_OF_SHARED = 4, 512, 256
"""Calls of DGEMM, and rows of its matrices. A library that is not made for the processor takes 100 ms for 512."""
DOUBLE_BYTES = 8
FAR = "{}>{}"
"""Variant of chase_far: the NUMA node of the core, and that of the memory."""
COLLECTIVE_KERNELS = frozenset((Kernel.BARRIER, Kernel.ALLREDUCE, Kernel.ALLTOALL))
COLLECTIVES = ((Kernel.BARRIER, 0), (Kernel.ALLREDUCE, 8), (Kernel.ALLREDUCE, 1 << 20), (Kernel.ALLTOALL, 1 << 10))
"""Kernels and bytes: what solvers wait for, a large vector, and a transpose."""
MEETING = "after work"
"""Variant of a barrier to which ranks come after about a millisecond of work."""
MEETING_WINDOW = 101
OPERATIONS, SLICES, SLEEPS = 50, 5, 100
MEMORY_PASSES, FMA_BATCHES, QUANTA, ROUND_TRIPS, CHASES = 4, 20, 500, 1000, 20
CHASED_PART = 2
"""Part of one core's array: twice the last-level cache, since laying it out takes longer than measuring in it."""
LONG_BATCHES = 200
"""0.15 to 0.4 s: a pause at the end is not seen, so a window of a few pauses makes a quota look generous."""
WARM_SHARE = 4
"""A quarter of the batches comes first, as a warm-up: a node that has rested spends what its quota saved, 10 ms."""
MORE_QUANTA = 10
"""Warm-up of the noise kernels: the processor may have slept."""

TRIAL_KERNELS = {
    Trial.MEMORY: frozenset((*NODE_KERNELS, *ONCE_KERNELS, Kernel.CHASE, Kernel.CHASE_FAR)),
    Trial.ARITHMETIC: frozenset((Kernel.FMA, Kernel.DGEMM)),
    Trial.NOISE: frozenset((Kernel.NOISE_WORK, Kernel.NOISE_DETOUR)),
    Trial.PIPE: frozenset((Kernel.PIPE_SWITCH, Kernel.PIPE_WAKE)),
    Trial.SCHEDULER: frozenset((Kernel.TIMER_WAKE, Kernel.TIME_SLICE)),
    Trial.COLLECTIVES: COLLECTIVE_KERNELS,
    Trial.STORAGE: STORAGE_KERNELS,
}
MAY_LACK = frozenset({Kernel.DGEMM})
"""Not every node has a BLAS: without these a trial is complete."""

Groups = tuple[tuple[str, ...], ...]


class Extent(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a trial is carried out."""

    whole: bool = True
    """All kernels and scopes; else one that shows most of each trial."""
    passes: int = MEMORY_PASSES
    batches: int = FMA_BATCHES
    quanta: int = QUANTA
    round_trips: int = ROUND_TRIPS
    operations: int = OPERATIONS
    slices: int = SLICES
    sleeps: int = SLEEPS
    array_part: int = 1
    """One part of this many of the usual arrays."""


FULL = Extent(batches=LONG_BATCHES)
FULL_OF_SHARED = Extent(batches=LONG_BATCHES, array_part=3)
"""Nodes that share a kernel also share caches and memory, and are tried one after the other: smaller arrays."""
QUICK_TRIALS = (Trial.MEMORY, Trial.ARITHMETIC, Trial.NOISE, Trial.PIPE, Trial.STORAGE)
"""What `check` tries: the other trials take longer than its seconds, or show little on a node by itself."""
QUICK = Extent(whole=False, array_part=3)
"""About a second of each node for three repetitions. All three arrays together have four times the caches' bytes."""
SHORT = Extent(whole=False, passes=3, batches=4, quanta=200, round_trips=200, array_part=3)
"""A third of it, for nodes that are tried one after the other; noise is still watched for a tenth of a second."""

LOAD = Extent(passes=8, batches=LONG_BATCHES)
"""Extent of a soak: longer, so that nodes are hot and quotas are spent."""
LOAD_OF_SHARED = Extent(whole=False, passes=3, batches=60, quanta=300, round_trips=500, array_part=3)
"""Extent of a soak of nodes that are tried one after the other: longer than the 100 ms of a CPU quota."""


def rounds_of(
    trials: Iterable[Trial],
    nodes: Sequence[NodePlaces],
    repetitions: Iterable[int],
    *,
    at_once: bool,
    extent: Extent = FULL,
) -> tuple[GroupRound, ...]:
    """All rounds but those of storage, repetition by repetition.

    `at_once`: all nodes in one round, else one node after the other, in each repetition in another order.
    """
    sets = [tuple(nodes)] if at_once else [(one,) for one in nodes]
    wanted = tuple(trials)
    return tuple(
        one
        for repetition in repetitions
        for together in in_turn(sets, repetition)
        for trial in Trial
        if trial in wanted and trial in _ROUNDS
        for one in _ROUNDS[trial](together, repetition, extent)
    )


def _round(
    repetition: int, kernel: Kernel, variant: str, groups: Groups, *, iterations: int, message_bytes: int = 0,
    window: int = 1, warmup: int = 1,
) -> GroupRound:  # fmt: skip
    shape = Shape(kernel=kernel, message_bytes=message_bytes, window=window, warmup=warmup, iterations=iterations)
    return GroupRound(phase=Phase.NODES, repetition=repetition, shape=shape, groups=groups, variant=variant)


def _memory(nodes: Sequence[NodePlaces], repetition: int, extent: Extent) -> Iterator[GroupRound]:
    once = ONCE_KERNELS if repetition == 0 else ()
    kernels = (*NODE_KERNELS, *once) if extent.whole else NODE_KERNELS[:1]
    node_bytes = min(one.node_array_bytes for one in nodes) // extent.array_part // LINE_BYTES * LINE_BYTES
    whole = tuple(one.cores for one in nodes)
    for kernel in kernels:
        yield _round(repetition, kernel, NODE, whole, iterations=extent.passes, message_bytes=node_bytes)
    if extent.whole:
        yield from _memory_parts(nodes, repetition, node_bytes, extent)


def _memory_parts(
    nodes: Sequence[NodePlaces], repetition: int, node_bytes: int, extent: Extent
) -> Iterator[GroupRound]:
    """NUMA nodes, and one core."""
    core_bytes = min(one.core_array_bytes for one in nodes) // extent.array_part // LINE_BYTES * LINE_BYTES
    for number in range(max(len(one.numa) for one in nodes)):
        groups = tuple(one.numa[number] for one in nodes if number < len(one.numa))
        triad, variant = Kernel.MEMORY_TRIAD, NUMA.format(number)
        yield _round(repetition, triad, variant, groups, iterations=MEMORY_PASSES, message_bytes=node_bytes)
    yield from _numa_distances(nodes, repetition, core_bytes)
    firsts = tuple(one.cores[:1] for one in nodes)
    triad = Kernel.MEMORY_TRIAD
    yield _round(repetition, triad, CORE, firsts, iterations=MEMORY_PASSES, message_bytes=core_bytes)
    chased = _chased_bytes(core_bytes)
    yield _round(repetition, Kernel.CHASE, CORE, firsts, iterations=CHASES, message_bytes=chased)


def _chased_bytes(core_bytes: int) -> int:
    return max(core_bytes // CHASED_PART, LEAST_ARRAY_BYTES) // LINE_BYTES * LINE_BYTES


def _numa_distances(nodes: Sequence[NodePlaces], repetition: int, core_bytes: int) -> Iterator[GroupRound]:
    """Rounds from each NUMA node to the memory of each; after the first repetition only from first to last."""
    most = max(len(one.numa) for one in nodes)
    cells = [(core, memory) for core in range(most) for memory in range(most)] if repetition == 0 else [(0, most - 1)]
    for core, memory in cells if most > 1 else ():
        groups = tuple(
            tuple(dict.fromkeys((one.numa[core][0], one.numa[memory][0])))
            for one in nodes
            if max(core, memory) < len(one.numa)
        )
        chased, variant = _chased_bytes(core_bytes), FAR.format(core, memory)
        yield _round(repetition, Kernel.CHASE_FAR, variant, groups, iterations=CHASES, message_bytes=chased)


def _arithmetic(nodes: Sequence[NodePlaces], repetition: int, extent: Extent) -> Iterator[GroupRound]:
    """The widest vectors first; a processor without them delivers times of 0."""
    warmup = extent.batches // WARM_SHARE if extent.whole else 1
    for width in reversed(WIDTHS):
        yield _round(
            repetition, Kernel.FMA, ALL, _each(nodes), iterations=extent.batches, message_bytes=width,
            window=FMA_WINDOW, warmup=warmup,
        )  # fmt: skip
    if extent.whole:
        rows = PRODUCT_ROWS if extent.array_part == 1 else PRODUCT_ROWS_OF_SHARED
        matrix = rows * rows * DOUBLE_BYTES
        yield _round(repetition, Kernel.DGEMM, ALL, _each(nodes), iterations=PRODUCTS, message_bytes=matrix)


def _noise(nodes: Sequence[NodePlaces], repetition: int, extent: Extent) -> Iterator[GroupRound]:
    for kernel in (Kernel.NOISE_WORK, Kernel.NOISE_DETOUR)[: 2 if extent.whole else 1]:
        yield _round(repetition, kernel, ALL, _each(nodes), iterations=extent.quanta, warmup=MORE_QUANTA)


def _pipe(nodes: Sequence[NodePlaces], repetition: int, extent: Extent) -> Iterator[GroupRound]:
    pairs = tuple(one.cores[:2] for one in nodes if len(one.cores) > 1)
    for kernel in (Kernel.PIPE_SWITCH, Kernel.PIPE_WAKE) if pairs else ():
        yield _round(repetition, kernel, CORE, pairs, iterations=extent.round_trips, warmup=MORE_QUANTA)


def _scheduler(nodes: Sequence[NodePlaces], repetition: int, extent: Extent) -> Iterator[GroupRound]:
    firsts = tuple(one.cores[:1] for one in nodes)
    yield _round(repetition, Kernel.TIMER_WAKE, CORE, firsts, iterations=extent.sleeps, warmup=MORE_QUANTA)
    yield _round(repetition, Kernel.TIME_SLICE, CORE, firsts, iterations=extent.slices)


def _collectives(nodes: Sequence[NodePlaces], repetition: int, extent: Extent) -> Iterator[GroupRound]:
    """Rounds over one core of each node; nodes that are measured one after the other meet nobody: over the cores of
    one.
    """
    ranks = tuple(one.cores[0] for one in nodes) if len(nodes) > 1 else nodes[0].cores
    variant = NODE if len(nodes) > 1 else ALL
    for kernel, message_bytes in COLLECTIVES if len(ranks) > 1 else ():
        yield _round(
            repetition,
            kernel,
            variant,
            (ranks,),
            iterations=extent.operations,
            message_bytes=message_bytes,
            warmup=MORE_QUANTA,
        )
    if len(ranks) > 1:
        window, barrier = MEETING_WINDOW, Kernel.BARRIER
        yield _round(repetition, barrier, MEETING, (ranks,), iterations=extent.operations, window=window)


def _each(nodes: Sequence[NodePlaces]) -> Groups:
    return tuple((place,) for one in nodes for place in one.cores)


_ROUNDS = {
    Trial.MEMORY: _memory, Trial.ARITHMETIC: _arithmetic, Trial.NOISE: _noise, Trial.PIPE: _pipe,
    Trial.SCHEDULER: _scheduler, Trial.COLLECTIVES: _collectives,
}  # fmt: skip
"""Rounds of storage are in `storage_rounds`: a file system is shared by all nodes."""
