"""Whether an open run is still being written: by the process that its lease names, else by watching its files.

No clock is compared with another one, so that a wrong one closes no run. From another host a run counts as dead when
neither its lease nor its journal changed while this process watched them for several beats.
"""

import contextlib
import enum
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from seatrial.archive import layout, lease
from seatrial.archive.lease import Holder, Lease
from seatrial.files.writing import OLD, boot_id, is_process, own_folder, pid_namespace

WATCHED_BEATS = 6
"""Runs are watched for this many beats; fewer could be lost while a file server is slow."""
LEAST_BEAT_S, MOST_BEAT_S = 0.01, 30.0
"""A beat that a lease gives is taken to be within these."""
LOOKS = 4
"""Looks in each beat of a lease that is watched, at most one a second."""
LATELY_S = 300.0
"""A run without a lease that wrote its journal within this time is left alone: rounds take minutes at most."""


Waiting = Callable[[float, int], None]
"""Called before runs are watched, with the maximum time in seconds and the number of runs."""


class Life(enum.StrEnum):
    """How an open run is."""

    RUNNING = "running"
    """The driver of the run writes it."""
    CLOSING = "closing"
    """Another `runs recover` is closing it."""
    CUT_OFF = "cut-off"
    """No process writes it any more."""
    OPEN = "open"
    """Another host writes it, or wrote it: that shows only while it is watched, see `examine`."""
    GONE = "gone"
    """It no longer exists: another process has closed it meanwhile."""


class OpenRun(msgspec.Struct, frozen=True, kw_only=True):
    """An open run, its state, and its owner where known."""

    folder: Path
    life: Life
    lease: Lease | None = None


class _Sight(msgspec.Struct, frozen=True):
    """What is compared between two looks."""

    lease: bytes
    journal_bytes: int
    journal_written_ns: int


def proof(held: Lease) -> bool | None:
    """Whether the process that a lease names lives, where this host can prove it; None: it cannot."""
    if not held.boot_id or held.boot_id != boot_id():
        return None
    started = lease.started_ticks(held.pid)
    if started and started == held.started_ticks:
        return True
    if not held.pid_namespace or held.pid_namespace != pid_namespace():
        return None
    if not is_process(held.pid):
        return False
    identified = held.started_ticks and Path(f"/proc/{held.pid}").exists() and lease.started_ticks(os.getpid())
    return False if identified else None  # /proc may hide the processes of others (hidepid)


def examine(
    folders: Sequence[Path], waiting: Callable[[float, int], None] = lambda _seconds, _runs: None
) -> list[OpenRun]:
    """The state of each of these open runs, in order. Runs that need watching are watched all at once.

    `waiting` is called once before that.
    """
    states = {folder: glance(folder) for folder in folders}
    undecided = [folder for folder, one in states.items() if one is None]
    if undecided:
        states |= _watch(undecided, waiting)
    return [one for one in states.values() if one is not None]


def glance(folder: Path) -> OpenRun | None:
    """The state of an open run, if it shows immediately; None: its files must be watched."""
    held = lease.read_lease(folder)
    if not folder.exists():
        return OpenRun(folder=folder, life=Life.GONE)
    if lease.is_claimed(folder):
        return OpenRun(folder=folder, life=Life.CLOSING, lease=held)
    alive = proof(held) if held else None
    if alive is None and not _beats(held) and (quiet_s := _quiet_s(folder)) is not None and quiet_s < LATELY_S:
        alive = True
    return None if alive is None else _found(folder, held, alive=alive)


def presumed(folder: Path) -> OpenRun:
    """The result of `glance`; OPEN if it does not decide."""
    return glance(folder) or OpenRun(folder=folder, life=Life.OPEN, lease=lease.read_lease(folder))


def _beats(held: Lease | None) -> bool:
    return held is not None and held.beat_s > 0


def _found(folder: Path, held: Lease | None, *, alive: bool) -> OpenRun:
    holds = Life.CLOSING if held and held.holder is Holder.RECOVER else Life.RUNNING
    return OpenRun(folder=folder, life=holds if alive else Life.CUT_OFF, lease=held)


def _quiet_s(folder: Path) -> float | None:
    """Seconds since the youngest of the files changed, by the clock of the file server: that of a file made just now.

    None where no file can be made: this user does not own the run.
    """
    try:
        with own_folder(folder) as own:
            now_s = own.time_of_new_file_s()
    except OSError:
        return None
    ages = []
    for name in (layout.LEASE_FILE, layout.JOURNAL_FILE, layout.RUN_FILE):
        with contextlib.suppress(OSError):
            ages.append(abs(now_s - (folder / name).stat().st_mtime))
    return min(ages, default=float("inf"))


def _watch(folders: Sequence[Path], waiting: Waiting) -> Mapping[Path, OpenRun]:
    leases = {folder: lease.read_lease(folder) for folder in folders}
    beats = {folder: _beat_s(held) for folder, held in leases.items()}
    waiting(WATCHED_BEATS * max(beats.values()), len(folders))
    first = {folder: _sight(folder) for folder in folders}
    began = time.monotonic()
    found: dict[Path, OpenRun] = {}
    while len(found) < len(folders):
        time.sleep(min(1.0, min(beats[folder] for folder in folders if folder not in found) / LOOKS))
        for folder in folders:
            if folder in found:
                continue
            patience_s = WATCHED_BEATS * beats[folder]
            changed = _sight(folder) != first[folder]
            if changed and not folder.exists():
                found[folder] = OpenRun(folder=folder, life=Life.GONE)
            elif changed or time.monotonic() - began >= patience_s:
                held = lease.read_lease(folder) or leases[folder]
                dead = not changed and (_beats(held) or (_quiet_s(folder) or 0.0) >= LATELY_S)
                found[folder] = _found(folder, held, alive=not dead)
    return found


def _beat_s(held: Lease | None) -> float:
    given = held.beat_s if held and held.beat_s > 0 else lease.BEAT_S
    return min(max(given, LEAST_BEAT_S), MOST_BEAT_S)


def _sight(folder: Path) -> _Sight:
    """The files as they are now. They are opened: `stat` may answer from the cache of a network file system."""
    content, size, written = b"", -1, -1
    with contextlib.suppress(OSError):
        content = lease.read_bytes(folder)
    with contextlib.suppress(OSError):
        handle = os.open(folder / layout.JOURNAL_FILE, os.O_RDONLY | OLD)
        try:
            status = os.fstat(handle)
            size, written = status.st_size, status.st_mtime_ns
        finally:
            os.close(handle)
    return _Sight(content, size, written)
