"""The keeper's own program: waits until its driver has ended in whatever way, then carries out what is left to do.

It is started by its path, with nothing but Python's own library, so that it needs neither the current folder nor
whatever else the driver needed. Standard input brings lists of duties, each a line of JSON; the last whole line counts.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any

LOOK_S = 0.1
READ_BYTES = 1 << 16
MOST_PASSES = 20
"""A process may start another one while it is looked for."""


def last_list(handle: int) -> list[dict[str, Any]]:
    """Read to the end of the driver, which is the end of the pipe; its last whole line. A torn line never counts."""
    rest, line = b"", b"[]"
    while piece := os.read(handle, READ_BYTES):
        *lines, rest = (rest + piece).split(b"\n")
        line = lines[-1] if lines else line
    duties: list[dict[str, Any]] = json.loads(line)
    return duties


def carry_out(duties: Iterable[Mapping[str, Any]]) -> bool:
    """All duties in their order; one that is needed and fails ends them. Whether all were carried out."""
    for duty in duties:
        if duty["type"] == "end":
            done = end_bearers(duty["words"], duty["patience_s"], duty["grace_s"])
        else:
            done = _succeeded(duty)
        if duty["needed"] and not done:
            return False
    return True


def _succeeded(duty: Mapping[str, Any]) -> bool:
    """Run a command until it succeeds, as often as is said."""
    time.sleep(duty["after_s"])
    for left in range(duty["tries"] - 1, -1, -1):
        try:
            done = subprocess.run(
                duty["argv"], stdin=subprocess.DEVNULL, timeout=duty["timeout_s"], check=False, start_new_session=True
            )
            if done.returncode == 0:
                return True
        except (OSError, subprocess.TimeoutExpired):
            pass
        if left:
            time.sleep(duty["pause_s"])
    return False


def end_bearers(texts: Iterable[str], patience_s: float, grace_s: float) -> bool:
    """End the processes that bear one of the words: by themselves, by SIGTERM, by SIGKILL. Whether none is left."""
    words = {text.encode() for text in texts}
    if _gone(words, patience_s):
        return True
    _send(words, signal.SIGTERM)
    if _gone(words, grace_s):
        return True
    for _ in range(MOST_PASSES):
        _send(words, signal.SIGKILL)
        if _gone(words, 2 * LOOK_S):
            return True
    return False


def _gone(words: Set[bytes], patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while bearers(words):
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_S)
    return True


def _send(words: Set[bytes], number: signal.Signals) -> None:
    for pid in bearers(words):
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def bearers(words: Set[bytes]) -> list[int]:
    """This user's processes on this machine that have one of the words among their arguments or variables."""
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        if int(folder.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if folder.stat().st_uid != os.geteuid():
                continue
            texts = [(folder / name).read_bytes().split(b"\0") for name in ("cmdline", "environ")]
            if not words.isdisjoint([*texts[0], *texts[1]]):
                pids.append(int(folder.name))
    return pids


def main() -> None:
    """Neither the terminal nor a signal to the driver's group ends it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    carry_out(last_list(sys.stdin.fileno()))


if __name__ == "__main__":
    main()
