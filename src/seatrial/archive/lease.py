"""lease.json of an open run: which process writes the run, and a counter that shows that the process still lives.

Locks are not used: NFS, Lustre and GPFS do not all support them. The file is one line of a fixed length that is
overwritten in place, so that the counter goes on when the disk is full.
"""

import contextlib
import enum
import os
import secrets
import socket
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.files.owners import user_name
from seatrial.files.writing import OLD, Foreign, boot_id, home_of_processes, own_folder, pid_namespace
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
