"""What a driver delivered, noted outside of the archive: its writes to the journal, as strace sees them return."""

import re
import shutil
import subprocess
import time
from pathlib import Path

from seatrial.archive.layout import JOURNAL_FILE

WRITE = re.compile(r'write\(\d+<([^>]*)>, "((?:[^"\\]|\\.)*)", (\d+)\)\s+= (\d+)')
ATTACH_S = 5.0


class Witness:
    """An strace attached to a driver. Without strace it has seen nothing, and says so in `blind`."""

    def __init__(self, pid: int, note: Path) -> None:
        self.note = note
        self.blind = shutil.which("strace") is None
        self._strace: subprocess.Popen[bytes] | None = None
        if self.blind:
            return
        argv = ["strace", "-qq", "-e", "trace=write", "-y", "-s", "10000000", "-o", str(note), "-p", str(pid)]
        self._strace = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + ATTACH_S
        while not _traced(pid) and time.monotonic() < deadline and self._strace.poll() is None:
            time.sleep(0.005)

    def delivered(self) -> list[bytes]:
        """The whole lines whose writes to the journal had returned in full, in order; ends the tracing."""
        if self._strace is not None:
            try:
                self._strace.wait(timeout=1.0)
            except subprocess.TimeoutExpired:
                self._strace.terminate()
                self._strace.wait()
        return lines_written(self.note.read_text(encoding="latin-1")) if self.note.exists() else []


def lines_written(trace: str) -> list[bytes]:
    """The lines that went to a journal as a whole, from what `strace -y` wrote."""
    lines = []
    for found in WRITE.finditer(trace):
        path, text, asked, written = found.groups()
        if path.endswith(f"/{JOURNAL_FILE}") and asked == written:
            lines += [line for line in unquoted(text).splitlines(keepends=True) if line.endswith(b"\n")]
    return lines


def cut_writes(trace: str) -> int:
    """How often a part of a line alone went to a journal."""
    found = [one.groups() for one in WRITE.finditer(trace)]
    return sum(path.endswith(f"/{JOURNAL_FILE}") and asked != written for path, _, asked, written in found)


def unquoted(text: str) -> bytes:
    """The bytes of a string as strace quotes it: C's escapes, octal for what cannot be printed."""
    return text.encode("latin-1").decode("unicode_escape").encode("latin-1")


def whole_lines(journal: Path) -> list[bytes]:
    """The whole lines that a journal holds now; none where there is no journal."""
    try:
        content = journal.read_bytes()
    except OSError:
        return []
    return [line for line in content.splitlines(keepends=True) if line.endswith(b"\n")]


def _traced(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    return "TracerPid:\t0" not in status
