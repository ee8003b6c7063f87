"""Mounts and whether they respond, from a frame; which mounts are transient."""

import re

from seatrial.model.system import Mount
from seatrial.node.frame import Frame

MOUNTS = "/proc/mounts"
KERNELS_OWN = frozenset(
    {"proc", "sysfs", "devpts", "devtmpfs", "mqueue", "tracefs", "debugfs", "securityfs", "selinuxfs", "pstore", "bpf"}
    | {"fusectl", "configfs", "hugetlbfs", "rpc_pipefs", "nsfs", "binfmt_misc", "efivarfs", "cgroup", "cgroup2"}
)
"""Kinds of file system that hold no user files."""
ESCAPE = re.compile(r"\\([0-7]{3})")
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
        path = _unescaped(words[1])
        reachable = ANSWERS.get(state or "") if words[2] != "autofs" else None
        if state == "no answer":
            absent[f"system.mounts.{path}"] = "no answer in 3 s"
        mount = Mount(
            path=path,
            source=_unescaped(words[0]),
            kind=_unescaped(words[2]),
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


def _unescaped(text: str) -> str:
    r"""\040 and the like: blank, tab, newline, backslash and # in three octal digits (proc(5), getmntent(3))."""
    return ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)


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
