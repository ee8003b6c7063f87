"""The command `seatrial`: its parts, and how errors become sentences and exit codes."""

import errno
import os
import re
import sys
import traceback
from collections.abc import Sequence
from functools import cache
from typing import Any, NoReturn

import typer

from seatrial.cli import (
    check,
    curve,
    doctor,
    fabric,
    facts,
    gather,
    lab,
    limits,
    locate,
    memory,
    placement,
    report,
    runs,
    saturate,
    streams,
    transports,
)
from seatrial.cli.signals import Interruptions
from seatrial.cli.values import strict
from seatrial.model.errors import ExitCode, SeatrialError
from seatrial.render.escape import clean

app = typer.Typer(
    help="Measure a cluster through its own Slurm and MPI, judge every number, name what is at fault.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("check")(check.check)
app.command("report")(report.report)
app.command("facts")(facts.facts)
app.command("limits")(limits.limits)
app.command("locate")(locate.locate)
app.command("curve")(curve.curve)
app.command("saturate")(saturate.saturate)
app.command("transports")(transports.transports)
app.command("placement", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})(
    placement.placement
)
app.command("gather")(gather.gather)
app.command("doctor")(doctor.doctor)
app.add_typer(fabric.app, name="fabric")
app.add_typer(runs.app, name="runs")
app.add_typer(lab.app, name="lab")


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        from seatrial import __version__

        print(f"seatrial {__version__}")
        raise typer.Exit
    memory.make_do()


LONG_WORD = re.compile(r"(\S{200})\S{40,}(\S{60})")
LONG_WORD_CUT = r"\1…\2"
"""A value of thousands of characters would hide what is wrong with it."""
FULL = (errno.ENOSPC, errno.EDQUOT)
WRONG_USE: Any = typer.BadParameter.__base__
"""The parser's usage error; Typer brings its parser along and names only this child of it."""


INTERRUPTIONS = Interruptions()


def command_line(output: streams.Outlet) -> NoReturn:
    """Run the process's command line and leave with one of ExitCode.

    It leaves without the interpreter's own end, in which a signal or a closed stream would decide about the exit code.
    """
    code = int(ExitCode.INCOMPLETE)
    arguments = sys.argv[1:]
    try:
        INTERRUPTIONS.listen()
        code = run(arguments)
        code = streams.settled(code, output, arguments)
    except KeyboardInterrupt:  # once more, while the command was ending
        os._exit(code)
    os._exit(code)


def run(arguments: list[str]) -> int:
    """The exit code of one command line; what went wrong is said on standard error.

    Typer's own main would turn Ctrl-C into 130 and a closed pipe into 1, which are not what ours mean.
    """
    try:
        with _command().make_context("seatrial", list(arguments)) as context:
            result = context.command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    except (Exception, KeyboardInterrupt) as error:
        code, sentence = explain(error, arguments)
        if code is ExitCode.INTERNAL and INTERRUPTIONS.count:  # what a library made of the interrupt
            code, sentence = explain(KeyboardInterrupt())
        if code is ExitCode.INTERNAL and os.environ.get("SEATRIAL_DEBUG"):
            traceback.print_exception(error)
        harmless = sentence if sentence.startswith("Usage:") else clean(sentence)
        print(f"seatrial: {LONG_WORD.sub(LONG_WORD_CUT, harmless)}", file=sys.stderr)
        return code
    return result if isinstance(result, int) else ExitCode.PASS


@cache
def _command() -> Any:  # noqa: ANN401 - Typer's own class of commands
    return strict(typer.main.get_command(app))


def explain(error: BaseException, arguments: Sequence[str] = ()) -> tuple[ExitCode, str]:
    """The exit code and the sentence for whatever ended a command."""
    match error:
        case SeatrialError():
            return error.exit_code, str(error)
        case typer.Abort() | KeyboardInterrupt():
            return ExitCode.INCOMPLETE, "Interrupted."
    if said := _full(error) or memory.starved(error):
        return ExitCode.INCOMPLETE, said
    if (
        isinstance(error, typer.BadParameter)
        and error.param
        and (given := _given(error.param.opts, arguments)) is not None
    ):
        return ExitCode.USAGE, f"{error.param.opts[0]} {given!r}: {error.message.rstrip('.')}."
    if isinstance(error, WRONG_USE):
        said = error.format_message()
        return ExitCode.USAGE, said if said.startswith("Usage:") else f"{said} Try `{_where(error)} --help`."
    what = f"seatrial itself failed ({type(error).__name__}: {error}); this is a bug."
    return ExitCode.INTERNAL, f"{what} SEATRIAL_DEBUG=1 shows where; please report it."


def _full(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno in FULL:
        return f"Nothing more can be written: {error.strerror}. Make room, and do it again."
    return ""


def _where(error: object) -> str:
    context = getattr(error, "ctx", None)
    return str(context.command_path) if context else "seatrial"


def _given(options: Sequence[str], arguments: Sequence[str]) -> str | None:
    """The value that the command line gives to an option; None where it gives none."""
    for place, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name in options and (equals or place + 1 < len(arguments)):
            return value if equals else arguments[place + 1]
    return None
