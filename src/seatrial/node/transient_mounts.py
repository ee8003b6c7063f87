"""The one list of mounts that come and go, or mean nothing to a job: nothing follows from where they differ."""

import re

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
KEPT = ("/dev/shm", "/dev/hugepages")  # noqa: S108 - a place that is looked at, not written to
"""Within these, what a job does depend on."""

FACT = r"system\.mounts\.(?!(?:{kept})(?:\.|$))(?:{passing})(?:[/.].*)?".format(
    kept="|".join(KEPT), passing="|".join(PASSING)
)
"""The dotted names of all facts of such a mount."""
_PATH = re.compile(rf"(?:{'|'.join(PASSING)})(?:/.*)?", re.DOTALL)


def is_passing(path: str) -> bool:
    """Whether a mount at that path is one."""
    return path not in KEPT and _PATH.fullmatch(path) is not None
