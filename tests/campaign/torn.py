"""Trials in which a line of the journal is really cut: by a disk that is full, by a file server killed in mid-write."""

import math
import os
import random
import signal
import subprocess
import time
from pathlib import Path

from seatrial.archive.layout import JOURNAL_FILE
from seatrial.lab.cluster.host_argv import as_user
from seatrial.process.process import run
from tests.campaign.check_run import CheckRun
from tests.campaign.examination import examine
from tests.campaign.lane import Lane
from tests.campaign.trial import Outcome
from tests.campaign.victims import Kind
from tests.campaign.witness import cut_writes

PAGE = 4096
PAUSE_S = 0.04
STOP_S = 20.0
"""On a busy machine a check may end with fewer measurements than were waited for; some line of its is cut then."""
SYSTEM_PYTHON = "/usr/bin/python3"
"""Debian's, for which python3-fusepy is made."""
SLOW_FILES = Path(__file__).with_name("slow_files.py")


def full_disk(lane: Lane, folder: Path, number: int, draw: random.Random) -> Outcome:
    """The archive's file system, a tmpfs within the login node, is filled at a random moment down to a few pages."""
    outcome = Outcome(number=number, kind=Kind.DRIVER, title="disk full in mid-line")
    folder.mkdir(parents=True)
    space = folder / "space"
    space.mkdir()
    _within(lane, ["mount", "-t", "tmpfs", "-o", "size=4m", "small", str(space)])
    check = CheckRun(lane, folder, archive=space / "archive")
    _until(check, draw.randrange(1, 12))
    free = draw.randrange(0, 3)
    filler = f'head -c 4m /dev/zero >"$1"/filler; truncate -s -$(({free} * {PAGE})) "$1"/filler'
    _within(lane, ["sh", "-c", filler, "sh", str(space)])
    outcome.killed_at_s = check.seconds()
    check.wait()
    _within(lane, ["sh", "-c", 'rm "$1"/filler && cp -a "$1"/archive "$2"', "sh", str(space), str(folder)])
    _within(lane, ["umount", str(space)])
    check.archive = folder / "archive"
    examine(check, outcome, killed_driver=False)
    outcome.torn = cut_writes(check.trace())
    return outcome


def slow_disk(lane: Lane, folder: Path, number: int, draw: random.Random) -> Outcome:
    """Driver and file server are killed while half a line is written."""
    outcome = Outcome(number=number, kind=Kind.DRIVER, title="killed in mid-line on a slow disk")
    backing, point = folder / "backing", folder / "mounted"
    for path in (backing, point):
        path.mkdir(parents=True)
    stop = folder / "stop"
    server_argv = [SYSTEM_PYTHON, str(SLOW_FILES), str(backing), str(point), str(PAUSE_S), str(stop)]
    server = subprocess.Popen(as_server(lane, server_argv), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if not _mounted(lane, point, server):
            return Outcome(number=number, kind=Kind.DRIVER, title="no FUSE on this machine")
        check = CheckRun(lane, folder, archive=point / "archive")
        journal = backing / "archive" / "trial.partial" / JOURNAL_FILE
        _until(check, draw.randrange(1, 12), journal, most_s=STOP_S)
        stop.touch()
        time.sleep(2 * PAUSE_S)  # a line whose second half was on its way is whole by then
        while not check.over() and not _half_a_line(journal):
            time.sleep(0.001)
        os.kill(server.pid, signal.SIGKILL)
        if check.process is not None:
            check.process.kill()
        outcome.killed_at_s = check.seconds()
        outcome.torn = int(_half_a_line(journal))
    finally:
        server.kill()
        server.wait()
        _within(lane, ["umount", "-l", str(point)])
    check.wait()
    check.archive = backing / "archive"
    examine(check, outcome, killed_driver=True)
    return outcome


def as_server(lane: Lane, argv: list[str]) -> list[str]:
    """On the login node, and none of the lane's own processes."""
    return as_user(lane.plan, argv)


def possible() -> bool:
    """Whether slow_disk can be run here."""
    return Path("/dev/fuse").exists() and run([SYSTEM_PYTHON, "-c", "import fusepy"], timeout_s=60).ok


def _within(lane: Lane, argv: list[str]) -> None:
    lane.run(argv)


def _mounted(lane: Lane, point: Path, server: "subprocess.Popen[bytes]") -> bool:
    for _ in range(200):
        if lane.run(["mountpoint", "-q", str(point)]).ok:
            return True
        if server.poll() is not None:
            return False
        time.sleep(0.02)
    return False


def _until(check: CheckRun, measurements: int, journal: Path | None = None, most_s: float = math.inf) -> None:
    """Wait until this number of measurements is delivered, the check is over, or has gone on for that long."""
    while not check.over() and check.seconds() < most_s:
        if check.measured(journal) >= measurements:
            return
        time.sleep(0.005)


def _half_a_line(journal: Path) -> bool:
    content = journal.read_bytes() if journal.exists() else b""
    return bool(content) and not content.endswith(b"\n")
