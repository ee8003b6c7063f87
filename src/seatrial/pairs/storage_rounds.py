"""The rounds of a trial of storage: one stream, the streams of one node, and all nodes at once; how much they write."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from seatrial.model.measurement import GroupRound, Kernel, Phase, Shape
from seatrial.pairs.node_places import NodePlaces, in_turn

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
    streams = max((_streams_at_once(nodes, scope) for scope in extent.scopes), default=0)
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
                    yield _round(repetition, kernel, scope, groups, extent, folder)


def _round(
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
    for turn in _turns(able):
        yield tuple(node.cores[:most] for node in turn)


def _turns(nodes: Sequence[NodePlaces]) -> list[Sequence[NodePlaces]]:
    size = max(-(-len(nodes) // MOST_TURNS), 1)
    return [nodes[first : first + size] for first in range(0, len(nodes), size)]


def _streams_at_once(nodes: Sequence[NodePlaces], scope: str) -> int:
    return max((sum(len(group) for group in groups) for groups in _groups(nodes, scope)), default=0)
