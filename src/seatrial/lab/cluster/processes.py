"""Programs that build the lab, what they require, and the processes of a lab, found by their network namespace."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from seatrial.model.errors import SeatrialError
from seatrial.process.process import Completed, run

TIMEOUT_S = 120.0
"""Time limit: on a busy machine, or in a virtual one, mounts and namespaces take long."""
PACKAGES = {
    "slurmctld": "slurm-wlm",
    "slurmd": "slurm-wlm",
    "srun": "slurm-wlm",
    "sinfo": "slurm-wlm",
    "mpirun": "openmpi-bin",
    "ip": "iproute2",
    "tc": "iproute2",
    "nft": "nftables",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "mount": "mount",
}


def call(argv: Sequence[str], *, stdin: str = "", timeout_s: float = TIMEOUT_S) -> str:
    """Run a program that must succeed and return its standard output. Raises SeatrialError with its output."""
    done = run(argv, timeout_s=timeout_s, stdin=stdin)
    if not done.ok:
        raise SeatrialError(f"{' '.join(argv[:6])} failed: {reason(done)}.")
    return done.stdout


def attempt(argv: Sequence[str], *, stdin: str = "") -> Completed:
    """Run a program that may fail, where the result is looked at afterwards."""
    return run(argv, timeout_s=TIMEOUT_S, stdin=stdin)


def batch(program: str, space: str | None, lines: Sequence[str]) -> None:
    """Give `lines` to one `ip` or `tc`, within a network namespace if one is named."""
    where = ["-n", space] if space else []
    call([program, *where, "-batch", "-"], stdin="\n".join([*lines, ""]))


def reason(done: Completed) -> str:
    """The last line that a program printed, or how it ended."""
    if done.timed_out:
        return "it did not end in time"
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else f"exit status {done.returncode}"


SPACES = Path("/run/netns")
SIGNAL_S = 10.0
"""Seconds for which processes are signalled again: one that waits for a disk or a server ends, or stops, late."""


def pids_in(spaces: Iterable[str]) -> list[int]:
    """Every process whose network namespace is one of `spaces`, whatever started it."""
    wanted = {identity for space in spaces if (identity := _identity(SPACES / space))}
    return _those(lambda pid: _identity(Path(f"/proc/{pid}/ns/net")) in wanted) if wanted else []


def pids_marked(setting: str) -> list[int]:
    """Every other process that was started with that environment setting, "NAME=value", wherever it lives now."""
    mark = f"{setting}\0".encode()
    return _those(lambda pid: pid != os.getpid() and mark in _environment(pid))


def _those(fits: Callable[[int], bool]) -> list[int]:
    """The processes that fit, looked for until no new one shows: a daemon forks and its parent has gone when asked."""
    seen: set[int] = set()
    pids = []
    while new := set(all_pids()) - seen:
        pids += [pid for pid in sorted(new) if fits(pid)]
        seen |= new
    return pids


def all_pids() -> list[int]:
    """Every process of the machine."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def named(pids: Iterable[int], name: str) -> list[int]:
    """Members of `pids` that run the program of that name, or were called by it.

    Daemons of Slurm 23.11 and later start their own file again when they are reconfigured, which Debian names
    slurmd-wlm; the kernel names a process after its file.
    """
    return [pid for pid in pids if name in (program(pid), _first_argument(pid))]


def _first_argument(pid: int) -> str:
    """The word by which a process was called, without a path."""
    try:
        text = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text.partition("\0")[0].rpartition("/")[2]


def program(pid: int) -> str:
    """The short name of a process, empty when it has gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def state_letter(pid: int) -> str:
    """R, S, D, T (stopped), Z (ended, not yet collected), or empty when it has gone."""
    return (_stat_fields(pid) or [""])[0]


def start_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot, or None when it has gone."""
    fields = _stat_fields(pid)
    return int(fields[19]) if fields else None


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Signal each process that is still there."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def kill_all(spaces: Iterable[str]) -> list[int]:
    """Kill every process in `spaces`, those they start meanwhile too; return the ones that would not die."""
    wanted = list(spaces)
    return kill_until_none(lambda: pids_in(wanted))


def kill_until_none(look: Callable[[], list[int]]) -> list[int]:
    """Kill what `look` finds until it finds nothing; return the processes that would not die.

    One that was found and has ended since counts as found: it may have left a child behind. What has ended and is not
    yet collected has neither namespace nor environment (proc(5)), so it cannot be found.
    """
    return _signalled(look, signal.SIGKILL)


def end_marked(setting: str, node: str) -> None:
    """Kill the processes with that environment setting. Raises SeatrialError with those that would not die."""
    if left := kill_until_none(lambda: pids_marked(setting)):
        raise SeatrialError(f"The processes {', '.join(map(str, left))} on {node} could not be ended.")


def stop_all(space: str) -> list[int]:
    """Freeze every process in a namespace; return the ones that still run."""
    over = ("", "T", "Z")
    return _signalled(lambda: [pid for pid in pids_in([space]) if state_letter(pid) not in over], signal.SIGSTOP)


def _signalled(look: Callable[[], list[int]], number: signal.Signals) -> list[int]:
    """Signal what `look` finds until it finds nothing, or for some seconds; what is left."""
    deadline = time.monotonic() + SIGNAL_S
    while (pids := look()) and time.monotonic() <= deadline:
        send(pids, number)
        time.sleep(0.02)
    return pids


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _environment(pid: int) -> bytes:
    """What a process was started with, a zero byte after each setting; empty when it has gone or is another's.

    Others could start any number of processes with the mark of a lab, and root read them.
    """
    try:
        own = Path(f"/proc/{pid}").stat().st_uid == os.geteuid()
        return Path(f"/proc/{pid}/environ").read_bytes() if own else b""
    except OSError:
        return b""


def _stat_fields(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat after the name, so that [0] is the state and [19] the start time (proc(5))."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def lacking(programs: Mapping[str, str], what: str = "A lab") -> SeatrialError | None:
    """Which Debian packages are missing: program -> its package. None where all programs are there."""
    packages = sorted({package for program, package in programs.items() if shutil.which(program) is None})
    what = f"{what} needs packages that are not installed: {', '.join(packages)}."
    return SeatrialError(what, f"Run: apt-get install {' '.join(packages)}") if packages else None


def why_not() -> SeatrialError | None:
    """Why a lab cannot start here, or None."""
    if os.geteuid() != 0:
        return SeatrialError("A lab needs network namespaces and mounts of its own.", "Run seatrial lab as root.")
    return lacking(PACKAGES)


def require_root() -> None:
    """Raise SeatrialError unless run as root: no other user may see or change a lab's state."""
    if os.geteuid() != 0:
        raise SeatrialError("Only root can see and change labs.", "Run seatrial lab as root.")


def require_lab() -> None:
    """Raise SeatrialError unless a lab can be raised here."""
    problem = why_not()
    if problem:
        raise problem
