"""Rules about file systems: dead, missing, or mounted with other options than on the peers."""

from collections.abc import Iterable, Iterator, Sequence

from seatrial.drift.peer_groups import usual
from seatrial.model.facts import NodeFacts
from seatrial.model.system import Mount
from seatrial.model.verdict import FindingKind
from seatrial.model.words import some
from seatrial.node.mounts import entries_of, is_passing, obstacle_of
from seatrial.rules.base import Readings, Rule, Violation, on_each_node
from seatrial.rules.peers import compare_tables, distinct_tables, split

AUTOFS = "autofs"
MOUNTED, MISSING = "mounted", "missing"
OPTIONS_OF_NODE = (
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
"""Options whose addresses, sizes and numbers belong to the single node."""

Options = tuple[str, frozenset[str]]
"""Kind of file system and mount options."""


def mounts_by_node(readings: Readings, group: Sequence[str]) -> dict[str, dict[str, Mount]]:
    """Node -> path -> mount, of the nodes that report their mounts; equal tables are the same object."""
    automatic = autofs_places(readings.facts.values())
    tables: dict[str, dict[str, Mount]] = {}
    last: tuple[Mount, ...] = ()
    table: dict[str, Mount] = {}
    for node in group:
        facts = readings.facts[node]
        if facts.system.mounts and facts.complete:
            if facts.system.mounts != last:
                last, table = facts.system.mounts, lasting_mounts(facts.system.mounts, automatic)
            tables[node] = table
    return tables


def autofs_places(facts: Iterable[NodeFacts]) -> tuple[str, ...]:
    """Paths, with a slash at the end, at and below which mounts come and go with their use."""
    places = {mount.path for known in facts for mount in known.system.mounts if mount.kind == AUTOFS}
    return tuple(sorted(f"{place.rstrip('/')}/" for place in places))


def lasting_mounts(mounts: Iterable[Mount], automatic: tuple[str, ...]) -> dict[str, Mount]:
    """Path -> the last mount there, of permanent mounts only; autofs' own mounts are permanent."""
    lasting = {}
    for mount in mounts:
        folder = f"{mount.path}/"
        triggered = mount.kind != AUTOFS and folder.startswith(automatic)
        if not is_passing(mount.path) and not triggered:
            lasting[mount.path] = mount
    return lasting


def dead_mounts(node: str, facts: NodeFacts) -> Iterator[Violation]:
    """Each path once, whether it comes from the table of mounts or was asked for by name."""
    dead = [mount.path for mount in facts.system.mounts if mount.reachable is False]
    for path in dict.fromkeys(dead):
        yield Violation(node=node, clause=f"{path} is mounted and does not answer", key=path, details=MOUNTED)
    for path, answered in facts.system.paths.items():
        if not answered and path not in dead:
            obstacle = obstacle_of(path, facts.system.automounts)
            clause = f"the path {path} does not exist or does not answer"
            if obstacle is None:
                yield Violation(node=node, clause=clause, key=path, details=MISSING)
                continue
            yield Violation(
                node=node,
                clause=f"{clause}: {obstacle.clause}",
                key=(path, obstacle),
                details=MISSING,
                remedy=f"{AUTOMOUNT_REMEDY} Entries for it: {_entries(path, facts)}.",
                brief=f"{path}: {obstacle.brief}",
            )


AUTOMOUNT_REMEDY = (
    "Put the entry that is meant first in the master map (auto.master(5)), or its key into the map of the entry that "
    "takes the path, then reload the automounter (systemctl reload autofs); remounting does not help."
)
MOST_ENTRIES = 6


def _entries(path: str, facts: NodeFacts) -> str:
    """`/home (/etc/auto.home), /home/work = server:/work (/etc/auto.work)`, in their order."""
    entries = entries_of(path, facts.system.automounts)
    return some([f"{key.path}{f' = {key.location}' if key.location else ''} ({key.map})" for key in entries],
                MOST_ENTRIES)  # fmt: skip


def missing_mounts(readings: Readings) -> Iterator[Violation]:
    """Path by path, among nodes that report their mounts."""
    for group in readings.peers:
        mounts = mounts_by_node(readings, group)
        somewhere = {f"the file system {path}": MISSING for paths in mounts.values() for path in paths}
        tables = {
            node: somewhere | dict.fromkeys((f"the file system {path}" for path in paths), MOUNTED)
            for node, paths in mounts.items()
        }
        yield from compare_tables(tables, worse=is_missing)


def is_missing(own: str, peers: str) -> bool:
    """Only a missing file system is wrong; one mount more than the peers have is not."""
    return own == MISSING and peers == MOUNTED


def unlike_options(readings: Readings) -> Iterator[Violation]:
    """Path by path: kind of file system and options."""
    for group in readings.peers:
        mounts = mounts_by_node(readings, group)
        tables = distinct_tables(mounts.values())
        for path in dict.fromkeys(path for table in tables for path in table):
            if len({options(table[path]) for table in tables if path in table}) > 1:
                yield from _unlike(
                    path, {node: options(table[path]) for node, table in mounts.items() if path in table}
                )


def _unlike(path: str, values: dict[str, Options]) -> Iterator[Violation]:
    most = usual(values)
    if most is None:
        clause = split(values, f"the mount of {path}", lambda value: f"{value[0]} {','.join(sorted(value[1]))}".strip())
        yield Violation(node=None, clause=clause, key=path, details=tuple(values.items()))
        return
    for node, value in values.items():
        if value != most:
            clause = f"{path} is mounted as {described(value, most)} than on most of its peers"
            yield Violation(node=node, clause=clause, key=(path, value), details=most)


def options(mount: Mount) -> Options:
    """Kind and options, without those that belong to the single node."""
    return mount.kind, frozenset(word for word in mount.options if word.partition("=")[0] not in OPTIONS_OF_NODE)


def described(value: Options, most: Options) -> str:
    """nfs4 with ro instead of rw, otherwise."""
    kind = f"{value[0]} instead of {most[0]}" if value[0] != most[0] else value[0]
    more, fewer = sorted(value[1] - most[1]), sorted(most[1] - value[1])
    changes = [f"with {','.join(more)}"] if more else []
    changes += [f"without {','.join(fewer)}"] if fewer else []
    return f"{kind} {' and '.join(changes)}, otherwise"


MOUNTS = (
    Rule(
        kind=FindingKind.MOUNT_DEAD,
        order=220,
        look=on_each_node(dead_mounts),
        knows=lambda facts: (
            bool(facts.system.paths) or any(mount.reachable is not None for mount in facts.system.mounts)
        ),
        remedy="Check whether its server answers (ping, rpcinfo, lfs check servers) and whether processes wait for it "
        "(state D); remount it with umount -l and mount, or restart the node if that fails.",
    ),
    Rule(
        kind=FindingKind.MOUNT_MISSING,
        order=230,
        look=missing_mounts,
        remedy="Mount it (mount PATH) and find out why it was not: the line in fstab, the server's answer, the order "
        "of services at boot. What jobs wrote to the path meanwhile is in the node's own file system.",
    ),
    Rule(
        kind=FindingKind.MOUNT_OPTIONS_DIFFER,
        order=460,
        look=unlike_options,
        remedy="Mount it alike on all nodes (fstab, autofs maps), then remount it. A file system that became read-only "
        "by itself has had errors: read the kernel's log.",
    ),
)
