"""The first lines of every command: signal handlers and the standard streams, before anything large is loaded.

Loading takes a tenth of a second. A signal that comes meanwhile has nothing to undo, and must not end in a traceback.
"""

import os
import signal
import sys

TYPE_CHECKING = False  # typing itself takes milliseconds to load
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
INCOMPLETE = 2
INTERNAL = 70
"""The value of model.errors.ExitCode, which is not loaded yet."""
UNKNOWN = 3
"""The exit code of a monitoring plugin, which must not say CRITICAL (2)."""


def main() -> "NoReturn":
    """Run the command line and leave with one of ExitCode."""
    for number in ENDINGS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, leave_at_once)
    try:
        from seatrial.frame import lazy

        lazy.install()
        from seatrial.frame import streams

        output = streams.secure()
        from seatrial.frame.command_line import leave
    except BaseException as error:
        _say(f"seatrial: {_cannot_load(error)}")
        os._exit(_code(INCOMPLETE if isinstance(error, MemoryError | ImportError | OSError) else INTERNAL))
    leave(output)


def leave_at_once(*_: "int | FrameType | None") -> "NoReturn":
    """The answer to a signal while nothing runs that would have to be ended in order."""
    _say("seatrial: Interrupted.")
    os._exit(_code(INCOMPLETE))


def _code(code: int) -> int:
    """What the process leaves with."""
    return UNKNOWN if "--nagios" in sys.argv else code


def _cannot_load(error: BaseException) -> str:
    """Why not even the program's own modules could be loaded; the memory of this shell may be limited."""
    try:
        from seatrial.frame.memory import REMEDY, starved

        said = starved(error)
        said = said and f"{said} {REMEDY}"
    except BaseException:
        said = ""
    return said or f"The program cannot be loaded ({type(error).__name__}: {error}). Install it again."


def _say(text: str) -> None:
    try:  # noqa: SIM105 - contextlib is one more module to load
        os.write(2, text.encode("utf-8", "replace") + b"\n")
    except OSError:  # nobody reads it
        pass
