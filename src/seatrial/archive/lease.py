"""lease.json of an open run: which process writes the run, and a counter that shows that the process still lives.

Locks are not used: NFS, Lustre and GPFS do not all support them. The file is one line of a fixed length that is
overwritten in place, so that the counter goes on when the disk is full.

Whether a run is still being written shows the process that its lease names, else a watch on its files. No clock is
compared with another one, so that a wrong one closes no run. From another host a run counts as dead when neither its
lease nor its journal changed while this process watched them for several beats.
"""

import contextlib
import enum
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.files.owners import user_name
from seatrial.files.writing import OLD, Foreign, boot_id, home_of_processes, is_process, own_folder, pid_namespace
from seatrial.model.words import utc_text

BEAT_S = 5.0
"""Seconds between two beats."""
LINE_BYTES = 1024
LONGEST_WORD = 64


class Holder(enum.StrEnum):
    """What the process does with the run."""

    DRIVER = "driver"
    RECOVER = "recover"


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The content of lease.json; docs/archive.md describes each field."""

    format: int = 1
    holder: Holder
    token: str
    host: str
    boot_id: str
    pid_namespace: str
    pid: int
    started_ticks: int
    """When the process started, in clock ticks since boot, as in /proc/PID/stat; 0 where that is not known."""
    user: str
    since: str
    """UTC, ISO 8601."""
    beat_s: float
    """Seconds between two beats; 0: the process could not start the thread that beats."""
    beats: int = 0


class Held(enum.Enum):
    """The state of a lease for the process that wrote it."""

    OURS = enum.auto()
    """Or it cannot be read just now."""
    TAKEN = enum.auto()
    MISSING = enum.auto()


def started_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None: the process does not exist, or cannot be seen."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        state, *rest = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return None if state in (b"Z", b"X") else int(rest[18])
    return None


def claim_of(folder: Path) -> Path:
    """A name for an open run that this process closes and that no other one can choose."""
    tag = f"{home_of_processes()}-{os.getpid()}-{started_ticks(os.getpid()) or 0}-{secrets.token_hex(4)}"
    return folder.with_name(f"{layout.run_of(folder)}.{tag}{layout.CLOSING}")


def is_claimed(folder: Path) -> bool:
    """Whether the process that gave an open run its name is seen to live: it may not have written its lease yet."""
    claim = layout.CLAIM.fullmatch(folder.name)
    if claim is None or claim["home"] != home_of_processes():
        return False
    return started_ticks(int(claim["pid"])) == int(claim["ticks"])


def new_lease(holder: Holder) -> Lease:
    """A lease of this process."""
    return Lease(
        holder=holder,
        token=secrets.token_hex(16),
        host=_word(socket.gethostname()),
        boot_id=boot_id(),
        pid_namespace=pid_namespace(),
        pid=os.getpid(),
        started_ticks=started_ticks(os.getpid()) or 0,
        user=_word(user_name(os.geteuid())),
        since=utc_text(datetime.now(UTC)),
        beat_s=BEAT_S,
    )


def read_bytes(folder: Path) -> bytes:
    """The content of lease.json, opened again each time, so that NFS asks the server. Raises OSError."""
    handle = os.open(folder / layout.LEASE_FILE, os.O_RDONLY | OLD)
    try:
        return os.read(handle, 4 * LINE_BYTES)
    finally:
        os.close(handle)


def parse(content: bytes) -> Lease | None:
    """The lease; None for other content, as while it is being written on another host."""
    try:
        return msgspec.json.decode(content, type=Lease)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def read_lease(folder: Path) -> Lease | None:
    """The lease of an open run; None without a readable one."""
    with contextlib.suppress(OSError):
        return parse(read_bytes(folder))
    return None


class Hold:
    """The lease that this process has on the run in a folder, and the thread that beats.

    The thread is a daemon: it goes on while the driver waits for Slurm, and does not keep the process alive.
    """

    def __init__(self, folder: Path, holder: Holder, with_beat: Callable[[], None] = lambda: None) -> None:
        """Write lease.json, in place of another one if there is one. Raises OSError.

        `with_beat` is called by the thread before every beat; its OSError is ignored.
        """
        self.folder = folder
        self._with_beat = with_beat
        self.lease = new_lease(holder)
        self.suspect = False
        """Set by the thread when the lease is gone or belongs to another process."""
        self.taken_by: Lease | None = None
        self._stop = threading.Event()
        thread = threading.Thread(target=self._beat_on, name="lease", daemon=True)
        with own_folder(folder) as own:
            own.replace(layout.LEASE_FILE, _line(self.lease))
        try:
            thread.start()
        except RuntimeError:  # ulimit -u
            self.lease = msgspec.structs.replace(self.lease, beat_s=0.0)
            self.beat()

    def beat(self) -> None:
        """Count one further, unless the lease is no longer ours; errors of the file system are ignored."""
        try:
            with own_folder(self.folder) as own:
                handle = own.open_file(layout.LEASE_FILE, os.O_RDWR)
        except (FileNotFoundError, NotADirectoryError, Foreign):
            self.suspect = True
            return
        except OSError:
            return
        try:
            if self._belongs(os.read(handle, 4 * LINE_BYTES)):
                self.lease = msgspec.structs.replace(self.lease, beats=self.lease.beats + 1)
                os.pwrite(handle, _line(self.lease), 0)
        except OSError:
            return
        finally:
            with contextlib.suppress(OSError):  # NFS reports here what it could not write
                os.close(handle)

    def look(self) -> Held:
        """The current content of the file."""
        try:
            content = read_bytes(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return Held.MISSING
        except OSError:
            return Held.OURS
        return Held.OURS if self._belongs(content) else Held.TAKEN

    def release(self) -> None:
        """Beat no more. The file stays until the run is closed."""
        self._stop.set()

    def _belongs(self, content: bytes) -> bool:
        """Whether it is our lease; also for an unreadable one, which the next beat may repair."""
        lease = parse(content)
        if lease is None or lease.token == self.lease.token:
            return True
        self.suspect, self.taken_by = True, lease
        return False

    def _beat_on(self) -> None:
        while not self._stop.wait(self.lease.beat_s):
            with contextlib.suppress(OSError):
                self._with_beat()
            self.beat()


def _line(lease: Lease) -> bytes:
    return msgspec.json.encode(lease).ljust(LINE_BYTES - 1) + b"\n"


def _word(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")[:LONGEST_WORD]


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
    started = started_ticks(held.pid)
    if started and started == held.started_ticks:
        return True
    if not held.pid_namespace or held.pid_namespace != pid_namespace():
        return None
    if not is_process(held.pid):
        return False
    identified = held.started_ticks and Path(f"/proc/{held.pid}").exists() and started_ticks(os.getpid())
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
    held = read_lease(folder)
    if not folder.exists():
        return OpenRun(folder=folder, life=Life.GONE)
    if is_claimed(folder):
        return OpenRun(folder=folder, life=Life.CLOSING, lease=held)
    alive = proof(held) if held else None
    if alive is None and not _beats(held) and (quiet_s := _quiet_s(folder)) is not None and quiet_s < LATELY_S:
        alive = True
    return None if alive is None else _found(folder, held, alive=alive)


def presumed(folder: Path) -> OpenRun:
    """The result of `glance`; OPEN if it does not decide."""
    return glance(folder) or OpenRun(folder=folder, life=Life.OPEN, lease=read_lease(folder))


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
    leases = {folder: read_lease(folder) for folder in folders}
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
                held = read_lease(folder) or leases[folder]
                dead = not changed and (_beats(held) or (_quiet_s(folder) or 0.0) >= LATELY_S)
                found[folder] = _found(folder, held, alive=not dead)
    return found


def _beat_s(held: Lease | None) -> float:
    given = held.beat_s if held and held.beat_s > 0 else BEAT_S
    return min(max(given, LEAST_BEAT_S), MOST_BEAT_S)


def _sight(folder: Path) -> _Sight:
    """The files as they are now. They are opened: `stat` may answer from the cache of a network file system."""
    content, size, written = b"", -1, -1
    with contextlib.suppress(OSError):
        content = read_bytes(folder)
    with contextlib.suppress(OSError):
        handle = os.open(folder / layout.JOURNAL_FILE, os.O_RDONLY | OLD)
        try:
            status = os.fstat(handle)
            size, written = status.st_size, status.st_mtime_ns
        finally:
            os.close(handle)
    return _Sight(content, size, written)
