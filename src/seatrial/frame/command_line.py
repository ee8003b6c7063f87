"""One command line, carried out: how errors become sentences and exit codes."""

import errno
import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

import click

from seatrial.archive import contents
from seatrial.cli import completion, operation
from seatrial.cli.json_output import JSON_OUTPUT, NAGIOS, is_wanted
from seatrial.cli.main import ASKED, seatrial
from seatrial.frame import memory, streams
from seatrial.frame.entry import UNKNOWN, leave_at_once
from seatrial.frame.signals import Interruptions
from seatrial.model.errors import FULL, ErrorKind, ExitCode, SeatrialError, UsageError
from seatrial.render.envelope import Failure, failure_of
from seatrial.render.escape import clean

LONG_WORD = re.compile(r"(\S{200})\S{40,}(\S{60})")
LONG_WORD_CUT = r"\1…\2"
"""A value of thousands of characters would hide what is wrong with it."""
SURPLUS = re.compile(r"\A(Got unexpected extra arguments \((?:\S+ ){7}\S+) .*\)", re.DOTALL)
"""Arguments that are too many, such as the files of a shell's pattern."""
REFUSED = (
    errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.ESTALE, errno.EREMOTEIO, errno.ENOTCONN, errno.ETIMEDOUT,
    errno.EHOSTDOWN, errno.ENOTDIR, errno.ELOOP, errno.EMFILE, errno.ENFILE,
)  # fmt: skip
"""What an open file or folder answers that may not be used, or whose file system fails."""

INTERRUPTIONS = Interruptions()


def leave(output: streams.Outlet) -> NoReturn:
    """Run the process's command line and leave with one of ExitCode.

    It leaves without the interpreter's own end, in which a signal or a closed stream would decide about the exit code.
    """
    arguments = sys.argv[1:]
    code = int(UNKNOWN if is_wanted(arguments, NAGIOS) else ExitCode.INCOMPLETE)
    try:
        INTERRUPTIONS.listen()
        if ASKED in os.environ:
            completion.answer()
            os._exit(ExitCode.PASS)
        code = run(arguments)
        code = streams.settled(code, output, arguments)
    except KeyboardInterrupt:
        if INTERRUPTIONS.count == 1:  # just before the command began or after it had ended
            leave_at_once()
    os._exit(code)


def run(arguments: list[str]) -> int:
    """The exit code of one command line; errors are printed on standard error.

    click's own main would turn Ctrl-C and a closed pipe into 1, which is not what ours means.
    """
    try:
        return invoke(arguments)
    except (Exception, KeyboardInterrupt) as error:
        failure = explain(error)
        if failure.kind is ErrorKind.INTERNAL and INTERRUPTIONS.count:  # what a library made of the interrupt
            failure = explain(KeyboardInterrupt())
        if failure.kind is ErrorKind.INTERNAL and os.environ.get("SEATRIAL_DEBUG"):
            traceback.print_exception(error)
        usage = failure.what.startswith("Usage:")
        text = failure.what if usage else f"seatrial: {clean(failure.sentence)}"
        print(LONG_WORD.sub(LONG_WORD_CUT, text), file=sys.stderr)
        return JSON_OUTPUT.print_error(failure)


def invoke(arguments: Sequence[str]) -> int:
    """Carry out one command line; its exit code. Errors are raised as they are."""
    JSON_OUTPUT.begin(arguments)
    if JSON_OUTPUT.wanted and JSON_OUTPUT.nagios:
        raise UsageError("--json and --nagios print different things.", "Give one of them.")
    of_closing = vars(contents)  # empty until a command closes a run
    of_closing.get("CLOSED", []).clear()
    try:
        with seatrial.make_context("seatrial", list(arguments)) as context:
            memory.make_do()
            result = seatrial.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    finally:
        if of_closing.get("CLOSED"):
            operation.keep_all(of_closing["CLOSED"])
            operation.leave_verdicts(of_closing["CLOSED"])
    return result if isinstance(result, int) else ExitCode.PASS


def explain(error: BaseException) -> Failure:
    """What ended a command, and the exit code that follows."""
    match error:
        case SeatrialError():
            return failure_of(error)
        case click.Abort() | KeyboardInterrupt():
            return _incomplete(ErrorKind.INTERRUPTED, "Interrupted.")
        case click.UsageError():
            what = SURPLUS.sub(r"\1 …)", error.format_message())
            where = error.ctx.command_path if error.ctx else "seatrial"
            remedy = "" if what.startswith("Usage:") else f"Try `{where} --help`."
            return Failure(exit_code=ExitCode.USAGE, kind=ErrorKind.USAGE, what=what, remedy=remedy)
    if (outside := _scarce(error) or _refused(error)) is not None:
        return outside
    return Failure(
        exit_code=ExitCode.INTERNAL,
        kind=ErrorKind.INTERNAL,
        what=f"seatrial itself failed ({type(error).__name__}: {error}); this is a bug.",
        remedy="SEATRIAL_DEBUG=1 shows where; please report it.",
    )


def _scarce(error: BaseException) -> Failure | None:
    """The failure of an error that a full disk or too little memory caused."""
    if isinstance(error, OSError) and error.errno in FULL:
        what = f"Writing failed: {error.strerror}."
        return _incomplete(ErrorKind.NO_SPACE, what, "Free some space, and run the command again.")
    said = memory.starved(error)
    return _incomplete(ErrorKind.NO_MEMORY, said, memory.REMEDY) if said else None


def _refused(error: BaseException) -> Failure | None:
    """The failure of a file or folder that the system refuses, or of a current folder that was removed (getcwd(3))."""
    if isinstance(error, FileNotFoundError) and error.filename is None:
        return _incomplete(ErrorKind.FAILED, "The current folder does not exist any more.", "Change to another one.")
    if not (isinstance(error, OSError) and (error.filename or error.errno in REFUSED)):
        return None
    name = os.fsdecode(error.filename) if error.filename else "A file that was open"
    what = f"{name} cannot be used: {error.strerror}."
    return _incomplete(ErrorKind.FAILED, what, "Check its permissions and its file system, or name another.")


def _incomplete(kind: ErrorKind, what: str, remedy: str = "") -> Failure:
    return Failure(exit_code=ExitCode.INCOMPLETE, kind=kind, what=what, remedy=remedy)
