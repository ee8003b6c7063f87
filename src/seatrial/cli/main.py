"""The command `seatrial`: its parts, and how errors become sentences and exit codes."""

import os
import signal
import sys
from typing import Any, NoReturn

import typer

from seatrial.cli import check, lab, report, runs
from seatrial.model.errors import ExitCode, SeatrialError

app = typer.Typer(
    help="Measure a cluster through its own Slurm and MPI, judge every number, name what is at fault.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("check")(check.check)
app.command("report")(report.report)
app.add_typer(runs.app, name="runs")
app.add_typer(lab.app, name="lab")


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        from seatrial import __version__

        print(f"seatrial {__version__}")
        raise typer.Exit


WRONG_USE: Any = typer.BadParameter.__base__
"""The parser's usage error; Typer brings its parser along and names only this child of it."""


def main() -> NoReturn:
    """Run the command line and exit with one of ExitCode."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """The exit code of one command line; what went wrong is said on standard error."""
    try:
        result = typer.main.get_command(app).main(arguments, prog_name="seatrial", standalone_mode=False)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.INCOMPLETE
    except (Exception, KeyboardInterrupt) as error:
        code, sentence = explain(error)
        if code is ExitCode.INTERNAL and os.environ.get("SEATRIAL_DEBUG"):
            raise
        print(f"seatrial: {sentence}", file=sys.stderr)
        return code
    return result if isinstance(result, int) else ExitCode.PASS


def explain(error: BaseException) -> tuple[ExitCode, str]:
    """The exit code and the sentence for whatever ended a command."""
    match error:
        case SeatrialError():
            return error.exit_code, str(error)
        case typer.Abort() | KeyboardInterrupt():
            return ExitCode.INCOMPLETE, "Interrupted."
    if isinstance(error, WRONG_USE):
        said = error.format_message()
        return ExitCode.USAGE, said if said.startswith("Usage:") else f"{said} Try `{_where(error)} --help`."
    what = f"seatrial itself failed ({type(error).__name__}: {error}); this is a bug."
    return ExitCode.INTERNAL, f"{what} SEATRIAL_DEBUG=1 shows where; please report it."


def _where(error: object) -> str:
    context = getattr(error, "ctx", None)
    return str(context.command_path) if context else "seatrial"
