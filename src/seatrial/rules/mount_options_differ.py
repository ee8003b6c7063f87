"""mount-options-differ: the same path, mounted in another way."""

from collections.abc import Iterator

from seatrial.drift.peer_groups import usual
from seatrial.model.system import Mount
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.lasting_mounts import mounts_by_node
from seatrial.rules.peers import different, split

OWN = (
    "addr",
    "clientaddr",
    "mountaddr",
    "mountport",
    "size",
    "nr_inodes",
    "nr_blocks",
    "fd",
    "pgrp",
    "pipe_ino",
    "lowerdir",
    "upperdir",
    "workdir",
    "subvolid",
    "stripe",
    "sunit",
    "swidth",
)
"""Options with addresses, sizes and numbers of the node's own."""

REMEDY = (
    "Mount it alike on all nodes (fstab, autofs maps), then mount it anew. A file system that became read-only by "
    "itself has had errors: look in the kernel's log."
)
Options = tuple[str, frozenset[str]]


def look(readings: Readings) -> Iterator[Violation]:
    """Path by path; kind of file system and options."""
    for group in readings.peers:
        mounts = mounts_by_node(readings, group)
        kinds = different(mounts.values())
        for path in dict.fromkeys(path for table in kinds for path in table):
            if len({options(table[path]) for table in kinds if path in table}) > 1:
                yield from _unlike(
                    path, {node: options(table[path]) for node, table in mounts.items() if path in table}
                )


def _unlike(path: str, values: dict[str, Options]) -> Iterator[Violation]:
    most = usual(values)
    if most is None:
        says = split(values, f"the mount of {path}", lambda value: f"{value[0]} {','.join(sorted(value[1]))}".strip())
        yield Violation(node=None, says=says, key=path, remedy=REMEDY)
        return
    for node, value in values.items():
        if value != most:
            says = f"{path} is mounted as {described(value, most)} than on most of its peers"
            yield Violation(node=node, says=says, key=says, remedy=REMEDY)


def options(mount: Mount) -> Options:
    """Kind and options, those of the node's own left out."""
    return mount.kind, frozenset(word for word in mount.options if word.partition("=")[0] not in OWN)


def described(value: Options, most: Options) -> str:
    """nfs4 with ro instead of rw, otherwise."""
    kind = f"{value[0]} instead of {most[0]}" if value[0] != most[0] else value[0]
    more, fewer = sorted(value[1] - most[1]), sorted(most[1] - value[1])
    changes = [f"with {','.join(more)}"] if more else []
    changes += [f"without {','.join(fewer)}"] if fewer else []
    return f"{kind} {' and '.join(changes)}, otherwise"


RULE = Rule(kind=FindingKind.MOUNT_OPTIONS_DIFFER, title="mount options differ", look=look)
