"""Removes a lab, complete or partial, and checks that nothing of it remains."""

import math
import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

from seatrial.lab.cluster import state
from seatrial.lab.cluster.node_groups import remove_groups
from seatrial.lab.cluster.plan import check_name, own_space
from seatrial.lab.cluster.processes import SPACES, attempt, kill_all, kill_until_none, pids_marked, send, start_ticks
from seatrial.model.errors import SeatrialError
from seatrial.model.words import unescaped

PATIENCE_S = 15.0
"""Seconds for which as many parts of a lab may remain."""


def raze(name: str) -> None:
    """Remove a lab: processes, namespaces, mounts, files. Raises SeatrialError that names what remains."""
    check_name(name)
    _end_raiser(name)
    fewest, deadline = math.inf, 0.0
    while True:
        _sweep(name)
        left = remains(name)
        if not left:
            break
        if len(left) < fewest:
            fewest, deadline = len(left), time.monotonic() + PATIENCE_S
        if time.monotonic() > deadline:
            raise SeatrialError(f"Parts of the lab {name!r} remain: {', '.join(left)}.", "Run the command again.")
        time.sleep(0.1)
    with suppress(OSError):
        state.ROOT.rmdir()


def exists(name: str) -> bool:
    """Whether anything of a lab is there to remove."""
    return bool(remains(name))


def remains(name: str) -> list[str]:
    """What there still is of a lab: processes that raised it or were started so, namespaces, mounts, the folder."""
    home = state.folder(name)
    processes = [f"process {pid}" for pid in pids_marked(state.raised(name))]
    spaces = [f"namespace {space}" for space in spaces_of(name)]
    mounts = [f"mount {point}" for point in mounts_below(home)]
    return [*processes, *spaces, *mounts, *([f"folder {home}"] if home.exists() else [])]


def spaces_of(name: str) -> list[str]:
    """The network namespaces that belong to a lab, whether its state is readable or not."""
    return sorted(path.name for path in SPACES.iterdir() if own_space(name, path.name)) if SPACES.is_dir() else []


def mounts_below(home: Path) -> list[str]:
    """Mount points in or below a folder, the innermost first (proc(5), mountinfo)."""
    points = []
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        point = unescaped(line.split()[4])
        if Path(point).is_relative_to(home):
            points.append(point)
    return points[::-1]


def _end_raiser(name: str) -> None:
    """Stops the start of a lab that is still in progress."""
    lab = state.read(name)
    raiser = lab.raiser if lab else None
    if raiser and raiser.pid != os.getpid() and start_ticks(raiser.pid) == raiser.start_ticks:
        send([raiser.pid], signal.SIGKILL)


def _sweep(name: str) -> None:
    kill_until_none(lambda: pids_marked(state.raised(name)))
    spaces = spaces_of(name)
    kill_all(spaces)
    remove_groups(name)
    points = mounts_below(state.folder(name))
    if points:
        attempt(["umount", "-l", *points])
    if spaces:
        attempt(["ip", "-force", "-batch", "-"], stdin="".join(f"netns delete {space}\n" for space in spaces))
    if not mounts_below(state.folder(name)):
        shutil.rmtree(state.folder(name), ignore_errors=True)
