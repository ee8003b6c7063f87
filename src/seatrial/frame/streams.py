"""Standard input, output and error that are always open and never fail: output that nobody can read does not end a run.

A reader may go away (`| head`), a terminal be closed, a disk be full, a daemon start the program with closed streams.
Whether output was lost is known at the end, when the exit code is decided: see docs/exit-codes.md.
"""

import codecs
import contextlib
import errno
import io
import os
import select
import sys
from collections.abc import Sequence

from seatrial.cli.json_output import JSON_OUTPUT, NAGIOS, is_wanted
from seatrial.frame.entry import UNKNOWN
from seatrial.model.errors import ExitCode
from seatrial.render.escape import PLAIN

GONE = (errno.EPIPE, errno.EIO, errno.EBADF)
"""The reader went away, the terminal was closed, or the stream never was open: nobody waits for the text."""


PLAINLY = "seatrial-plain"


class Outlet(io.FileIO):
    """A standard stream for writing. What it cannot write is dropped, and the first error is kept."""

    failure: OSError | None = None

    def __init__(self, number: int, *, whole: bool) -> None:
        """`whole`: after an error nothing more is written, so that the text has no hole."""
        super().__init__(number, "wb", closefd=False)
        self._whole = whole

    def write(self, data: "io.ReadableBuffer", /) -> int:  # type: ignore[name-defined]
        """The bytes that were written, or dropped."""
        size = memoryview(data).nbytes
        if self.failure is not None and self._whole:
            return size
        try:
            while (written := super().write(data)) is None:  # another process made the stream non-blocking
                select.select([], [self.fileno()], [])
        except OSError as error:
            self.failure = self.failure or error
            return size
        return written


def _in_other_letters(error: UnicodeError) -> tuple[str, int]:
    """An error handler of `codecs`: it replaces characters that an encoding lacks, `70.0-70.5` for `70.0–70.5`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(PLAIN.get(letter, "?") for letter in error.object[error.start : error.end]), error.end


def secure() -> Outlet:
    """Open the standard streams that are closed, and make those for text never fail; the one for output.

    Otherwise the next file that is opened, such as a run's journal, would take the number of a standard stream, and
    messages would be written into it.
    """
    closed = [number for number in (0, 1, 2) if not _is_open(number)]
    for number in closed:
        os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one
        os.set_inheritable(number, True)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
    output = Outlet(1, whole=True)
    if 1 in closed:
        output.failure = OSError(errno.EBADF, os.strerror(errno.EBADF))
    codecs.register_error(PLAINLY, _in_other_letters)
    sys.stdout = _text(output, sys.stdout, PLAINLY)
    sys.stderr = _text(Outlet(2, whole=False), sys.stderr, "backslashreplace")
    return output


def settled(code: int, output: Outlet, arguments: Sequence[str]) -> int:
    """Write what is left, and return the exit code that the command leaves with.

    It is the command's own, except where a program was to read a JSON object or numbers and cannot have read them: then
    a PASS is INCOMPLETE.
    """
    with contextlib.suppress(ValueError):  # a command may have closed it
        sys.stdout.flush()
    lost = output.failure
    for_program = JSON_OUTPUT.printed or is_wanted(arguments) or is_wanted(arguments, NAGIOS)
    without_reader = UNKNOWN if is_wanted(arguments, NAGIOS) else ExitCode.INCOMPLETE
    if lost is not None and lost.errno not in GONE:
        print(f"seatrial: The result could not be written to standard output: {lost.strerror}.", file=sys.stderr)
    with contextlib.suppress(ValueError):
        sys.stderr.flush()
    return int(without_reader) if lost is not None and for_program and code == ExitCode.PASS else int(code)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _text(outlet: Outlet, like: "io.TextIOWrapper | object | None", errors: str) -> io.TextIOWrapper:
    """Text over the stream, in the encoding that Python chose; characters that it does not have do not fail."""
    return io.TextIOWrapper(
        io.BufferedWriter(outlet),
        encoding=getattr(like, "encoding", None) or "utf-8",
        errors=errors,
        line_buffering=errors == "backslashreplace" or outlet.isatty(),
    )
