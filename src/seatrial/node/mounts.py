"""Mounts and whether they respond, from a frame; maps of the automounter, and why a path below them cannot be reached.

auto.master(5) and autofs(5): the master map has a line for each mount point and its map; the keys of an indirect map
are names below the mount point, those of a direct map (`/-`) are whole paths. A map by its name is a file in /etc or,
if that does not exist, a map of NIS; a line `+NAME` includes the lines of another map.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from seatrial.model.system import AutomountKey, Mount
from seatrial.model.words import unescaped
from seatrial.node.frame import Frame, answer

MASTER = "/etc/auto.master"
INCLUDED = re.compile(r"/etc/auto\.master\.d/[^/]+\.autofs")
DIRECT = "/-"
WILDCARD = "*"
MAP_TYPE = re.compile(r"(?:file|yp|nis)(?:,[a-z]+)?:")
NIS = "ypcat -k {}"
LONGEST_PATH = 4096
"""PATH_MAX of Linux."""
MOST_KEYS = 50_000


def read_automounts(frame: Frame) -> tuple[AutomountKey, ...]:
    """The entries in the order of the daemon: each mount point of the master map, then the keys of its map.

    The first MOST_KEYS: a map may be that of any number of mount points.
    """
    included = sorted(path for path in frame.files if INCLUDED.fullmatch(path))
    masters = [MASTER, *included] if MASTER in frame.files else included
    maps: dict[str, list[tuple[str, str]]] = {}
    lines = (line for master in masters for line in _lines(frame, master))
    keys = (key for line in lines for key in _of_mount_point(frame, line, maps))
    return tuple(itertools.islice((key for key in keys if len(key.path) <= LONGEST_PATH), MOST_KEYS))


def _of_mount_point(frame: Frame, line: str, maps: dict[str, list[tuple[str, str]]]) -> Iterator[AutomountKey]:
    """`maps`: those that were read already, name -> keys and where they lead."""
    words = line.split()
    if len(words) < 2 or not words[0].startswith("/"):
        return
    point, name = words[0].rstrip("/") or "/", MAP_TYPE.sub("", words[1])
    if words[0] != DIRECT:
        yield AutomountKey(path=point, map=name, whole=True)
    if name not in maps:
        entries = (entry.strip().partition(" ") for entry in _lines(frame, name))
        maps[name] = [(key, "".join(location.split()[-1:])) for key, _, location in entries]
    for key, place in maps[name]:
        if words[0] == DIRECT and key.startswith("/"):
            yield AutomountKey(path=key.rstrip("/"), map=name, location=place)
        elif words[0] != DIRECT and "/" not in key:
            path = point if key == WILDCARD else f"{point}/{key}"
            yield AutomountKey(path=path, map=name, location=place)


def _lines(frame: Frame, name: str) -> Iterator[str]:
    """The entries of a map, and of the maps of NIS that it includes."""
    path = name if name.startswith("/") else f"/etc/{name}"
    for line in frame.files[path] if path in frame.files else answer(frame, NIS.format(name)):
        if line.startswith("+"):
            yield from answer(frame, NIS.format("".join(line[1:].split()[:1])))
        else:
            yield line


def entries_of(path: str, keys: Sequence[AutomountKey]) -> tuple[AutomountKey, ...]:
    """The entries that take this path or a folder above it, in their order."""
    above = {path, *(path[:place] for place, letter in enumerate(path) if letter == "/")}
    return tuple(key for key in keys if key.path.rstrip("/") in above)


class Obstacle(NamedTuple):
    """Why a path cannot be reached, in a few words and as a clause."""

    brief: str
    clause: str


def obstacle_of(path: str, keys: Sequence[AutomountKey]) -> Obstacle | None:
    """The entry that takes a path away from the one that is meant for it; None where the maps do not explain it.

    The entry with the longest path is meant. A mount point that was taken before belongs to the automounter as a whole,
    so what a later map says of places below it is never asked.
    """
    entries = entries_of(path, keys)
    if not entries:
        return None
    meant = max(entries, key=lambda key: (len(key.path), not key.whole))
    first = entries[0]
    inside = [key for key in entries if key.map == first.map and not key.whole]
    if first.map != meant.map and len(first.path) <= len(meant.path):
        taken = inside[-1] if inside else first
        return Obstacle(
            f"{taken.path} of {first.map} takes it first",
            f"{taken.path} ({first.map}) comes first and takes it, so {meant.path} ({meant.map}) is never asked",
        )
    if first.whole and not inside and path != first.path:
        key = path.removeprefix(f"{first.path.rstrip('/')}/").partition("/")[0]
        return Obstacle(
            f"{first.map} has no key {key}", f"{first.path} is automounted, and {first.map} has no key {key}"
        )
    return None


MOUNTS = "/proc/mounts"
KERNELS_OWN = frozenset(
    {"proc", "sysfs", "devpts", "devtmpfs", "mqueue", "tracefs", "debugfs", "securityfs", "selinuxfs", "pstore", "bpf"}
    | {"fusectl", "configfs", "hugetlbfs", "rpc_pipefs", "nsfs", "binfmt_misc", "efivarfs", "cgroup", "cgroup2"}
)
"""Kinds of file system that hold no user files."""
OF_THE_MOMENT = ("fd=", "pgrp=", "pipe_ino=", "mountport=", "addr=", "clientaddr=", "mountaddr=")
"""Options that change with every mount, or whose value is not collected."""
MOST_PATHS = 256
ANSWERS = {"yes": True, "no": False, "no answer": False}


def read_mounts(frame: Frame) -> tuple[tuple[Mount, ...], dict[str, str]]:
    """All file systems but the kernel's own, in the order of /proc/mounts: the last one on a path is the visible one.

    `reachable` is known for network file systems only, and for the path as a whole. Second: "system.mounts" -> why none
    is known, or "system.mounts.PATH" -> why one is not reachable.
    """
    mounts: dict[Mount, None] = {}
    absent = {}
    for line in frame.files.get(MOUNTS, ()):
        words = line.split(" ")
        if len(words) < 4 or words[2] in KERNELS_OWN or words[1].startswith(("/proc/", "/sys/")):
            continue
        state = frame.values.get(f"mount {words[1]}")
        path = unescaped(words[1])
        reachable = ANSWERS.get(state or "") if words[2] != "autofs" else None
        if state == "no answer":
            absent[f"system.mounts.{path}"] = "no answer in 3 s"
        mount = Mount(
            path=path,
            source=unescaped(words[0]),
            kind=unescaped(words[2]),
            options=tuple(each for each in words[3].split(",") if not each.startswith(OF_THE_MOMENT)),
            reachable=reachable,
        )
        mounts[mount] = None
    if not mounts:
        absent["system.mounts"] = frame.reason(MOUNTS)
    return tuple(mounts), absent


def read_paths(frame: Frame) -> dict[str, bool]:
    """Path of $SEATRIAL_PATHS -> whether statfs(2) of it succeeded within 3 s; the first MOST_PATHS."""
    answers = sorted(each for each in frame.values.items() if each[0].startswith("reach /") and each[1] in ANSWERS)
    return {item.removeprefix("reach "): ANSWERS[answer] for item, answer in answers[:MOST_PATHS]}


# Transient mounts: differences in them are ignored.

PASSING = (
    "/boot",
    "/dev",
    "/media",
    "/proc",
    "/run",
    "/snap",
    "/sys",
    "/var/lib/containerd",
    "/var/lib/containers",
    "/var/lib/docker",
    "/var/lib/kubelet",
    "/var/lib/snapd",
    "/var/snap",
    "/var/spool/slurm[^/]*",
)
"""Regular expressions of folders: they, and all below, are made by sessions, jobs, containers, the kernel's helpers."""
KEPT = ("/dev/shm", "/dev/hugepages")  # noqa: S108 - a path that is only compared, not written to
"""Within these, what a job does depend on."""

FACT = r"system\.mounts\.(?!(?:{kept})(?:\.|$))(?:{passing})(?:[/.].*)?".format(
    kept="|".join(KEPT), passing="|".join(PASSING)
)
"""The dotted names of all facts of such a mount."""
_PATH = re.compile(rf"(?:{'|'.join(PASSING)})(?:/.*)?", re.DOTALL)


def is_passing(path: str) -> bool:
    """Whether a mount at that path is one."""
    return path not in KEPT and _PATH.fullmatch(path) is not None
