"""The script that sets up a host: its hostname, its own mounts, and our files over those of the machine."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath

SETTINGS = {
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/ipv4/tcp_no_metrics_save": "1",
    "net/ipv4/tcp_congestion_control": "reno",
    "net/ipv4/tcp_rmem": "4096 131072 33554432",
}
SCRATCH = "/tmp/lab-scratch"  # noqa: S108 - every host has a /tmp of its own


def dress_script(host: str, *, stage: str, folders: Sequence[str], overlay: Mapping[str, str]) -> str:
    """POSIX sh, to be run within the host's new namespaces.

    `stage` is an empty folder to hold mounts aside, `folders` what must stay visible under the private /tmp, `overlay`
    path -> our file to be seen there. The host's copies of handles of network namespaces are dropped, since they would
    keep a lab alive after its end. TCP gets the one congestion control that every kernel allows in a namespace, does
    not remember one measurement's losses in the next, and may fill as much memory as newer kernels let it.
    """
    lines = ["set -eu", "mount --make-rprivate /", f"hostname {host}", "umount -l -R /run/netns 2>/dev/null || true"]
    lines += [f"echo {value} > /proc/sys/{key} || true" for key, value in SETTINGS.items()]
    lines += [
        *own_sysfs(stage),
        *own_tmp(stage, folders),
        "mkdir -p /dev/shm",
        "mount -t tmpfs -o mode=1777 tmpfs /dev/shm",
        mount_scratch(),
    ]
    lines += [lay(path, source) for path, source in sorted(overlay.items())]
    return "\n".join([*lines, ""])


def own_sysfs(stage: str) -> list[str]:
    """A sysfs that shows the host's own network devices, with the machine's cgroups, which slurmd needs."""
    held = shlex.quote(stage)
    return [
        f"mount --rbind /sys/fs/cgroup {held}",
        "mount -t sysfs sysfs /sys",
        f"mount --rbind {held} /sys/fs/cgroup",
        f"umount -l -R {held}",
    ]


def own_tmp(stage: str, folders: Sequence[str]) -> list[str]:
    """An empty /tmp in which `folders` are as they were."""
    held = shlex.quote(stage)
    lines = [f"mount --rbind /tmp {held}", "mount -t tmpfs -o mode=1777 tmpfs /tmp"]
    for folder in outermost(folders):
        source = PurePath(stage) / PurePath(folder).relative_to("/tmp")  # noqa: S108
        lines.append(
            f"mkdir -p {shlex.quote(folder)} && mount --rbind {shlex.quote(str(source))} {shlex.quote(folder)}"
        )
    return [*lines, f"umount -l -R {held}"]


def mount_scratch() -> str:
    """The one file system that a host mounts as a cluster's nodes do, so that a node can lack it."""
    return f"mkdir -p {SCRATCH} && mount -t tmpfs -o size=16m,mode=1777 scratch {SCRATCH}"


def outermost(folders: Sequence[str]) -> list[str]:
    """Those folders below /tmp that lie in no other one, sorted."""
    kept: list[PurePath] = []
    for folder in sorted({PurePath(text) for text in folders}):
        below_tmp = folder.is_relative_to("/tmp") and folder != PurePath("/tmp")  # noqa: S108
        if below_tmp and not any(folder.is_relative_to(other) for other in kept):
            kept.append(folder)
    return [str(folder) for folder in kept]


def lay(path: str, source: str) -> str:
    """Show `source` at `path`. A path that this machine does not have is left out."""
    target, ours = shlex.quote(path), shlex.quote(source)
    return f"if [ -e {target} ]; then mount --bind {ours} {target}; fi"


def sees(folders: Sequence[str], folder: str) -> bool:
    """Whether `folder` can be seen from within the lab."""
    path = PurePath(folder)
    if not path.is_relative_to("/tmp"):  # noqa: S108
        return True
    return any(path.is_relative_to(other) for other in outermost(folders))
