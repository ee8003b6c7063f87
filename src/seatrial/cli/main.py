"""The command `seatrial`: its parts, and how errors become sentences and exit codes."""

import errno
import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

import click

from seatrial import __version__
from seatrial.archive import closing
from seatrial.cli import archived_headlines, completion, memory, streams
from seatrial.cli.entry import UNKNOWN
from seatrial.cli.groups import LazyGroup
from seatrial.cli.json_output import JSON_OUTPUT, NAGIOS, is_wanted
from seatrial.cli.signals import Interruptions
from seatrial.model.errors import ErrorKind, ExitCode, SeatrialError, UsageError
from seatrial.render.envelope import Failure, failure_of
from seatrial.render.escape import clean

SUMMARIES = {
    "check": "Measure latency and bandwidth over all pairs of nodes, judge them, and name what is at fault.",
    "report": "Print a run's verdicts and findings, or write them into files; exit code as of the command that "
    "measured.",
    "compare": "Say what became slower, faster or stayed the same between two sets of runs, and which facts changed "
    "with it.",
    "plan": "Say how many runs, nodes and node-hours it takes to show a change, from the variance of the runs "
    "there are.",
    "history": "Print a metric over the runs of the archive, where it changed, and which facts changed at that time.",
    "import": "Write values that were measured elsewhere into the archive, for compare, history, plan, fleet, "
    "changepoints.",
    "baseline": "Keep runs under a name, with which later runs are compared.",
    "facts": "Print what nodes are; with --drift, --since or --with-login what differs, and exit 1 where there are "
    "findings.",
    "limits": "Print the limit of every path inside the nodes and between them, and which term binds.",
    "locate": "Name the slow and late nodes, uplinks and cables in an n×n table of latency or bandwidth measured "
    "elsewhere.",
    "changepoints": "Find where a series of values changes: position, size with interval and p-value, in noise that is "
    "correlated.",
    "fleet": "Judge one benchmark's values from many nodes: which are slow, which had single bad runs, what would be "
    "found.",
    "curve": "Measure a pair over message sizes: pieces of the latency, protocol switches, plateau against the limit.",
    "saturate": "Let 1, 2, 4, ... ranks of one node send to another node at once: how many drive the port.",
    "transports": "Find out which transport carries the data: take each away, slow it, force it, and see what changes.",
    "placement": "Start a launch line with the probe in place of its program: where its ranks are, and what would be "
    "better.",
    "swap": "Find a faulty part by exchanging parts: which one it is, and which exchange reveals most.",
    "nodes": "Try memory, arithmetic, noise, scheduler and storage of each node, and compare the nodes.",
    "soak": "Keep all nodes busy for some minutes, and name what fails or becomes slower under load.",
    "run": "Run a benchmark on the nodes, judge its output by evidence of work and gates, and keep it.",
    "parse": "Read one output of a benchmark and judge it: numbers, evidence of work, validity gates.",
    "acceptance": "Run a site's list of benchmarks and compare them with thresholds.",
    "scale": "Judge scaling of a benchmark, by runs or by outputs: speed-up, efficiency, and whether all did the same "
    "work.",
    "benchmarks": "Known benchmarks: metrics, evidence of work, gates.",
    "gather": "Record raw facts of the nodes, for `--from` and to share with others.",
    "doctor": "Try a launch step by step, cheapest first, and name what blocks it and what to do about it.",
    "fabric": "The InfiniBand fabric: its map, and what is wrong with its cables.",
    "runs": "List, show, export, recover and collect archived runs.",
    "lab": "A virtual cluster on this machine, planted faults, and trials of `check` against them.",
    "completion": "Print a script that lets the shell complete commands, options, nodes, partitions and runs.",
}
"""What help says of each command, repeated here so that --help loads no command."""


@click.group(
    cls=LazyGroup,
    summaries=SUMMARIES,
    modules={"import": "import_values"},
    context_settings={"help_option_names": ["--help", "-h"]},
)
@click.version_option(
    __version__, "--version", "-V", message="%(prog)s %(version)s", help="Print the version and exit."
)
def seatrial() -> None:
    """Measure a cluster through its own Slurm and MPI, judge every number, name what is at fault."""
    memory.make_do()


LONG_WORD = re.compile(r"(\S{200})\S{40,}(\S{60})")
LONG_WORD_CUT = r"\1…\2"
"""A value of thousands of characters would hide what is wrong with it."""
SURPLUS = re.compile(r"\A(Got unexpected extra arguments \((?:\S+ ){7}\S+) .*\)", re.DOTALL)
"""Such as the files of a shell's pattern."""
FULL = (errno.ENOSPC, errno.EDQUOT)
REFUSED = (
    errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.ESTALE, errno.EREMOTEIO, errno.ENOTCONN, errno.ETIMEDOUT,
    errno.EHOSTDOWN, errno.ENOTDIR, errno.ELOOP, errno.EMFILE, errno.ENFILE,
)  # fmt: skip
"""What a file or folder answers that may not be used, or whose file system fails."""

INTERRUPTIONS = Interruptions()


def command_line(output: streams.Outlet) -> NoReturn:
    """Run the process's command line and leave with one of ExitCode.

    It leaves without the interpreter's own end, in which a signal or a closed stream would decide about the exit code.
    """
    arguments = sys.argv[1:]
    code = int(UNKNOWN if is_wanted(arguments, NAGIOS) else ExitCode.INCOMPLETE)
    try:
        INTERRUPTIONS.listen()
        if completion.ASKED in os.environ:
            completion.answer(seatrial)
            os._exit(ExitCode.PASS)
        code = run(arguments)
        code = streams.settled(code, output, arguments)
    except KeyboardInterrupt:  # once more, while the command was ending
        os._exit(code)
    os._exit(code)


def run(arguments: list[str]) -> int:
    """The exit code of one command line; errors are printed on standard error.

    click's own main would turn Ctrl-C and a closed pipe into 1, which is not what ours means.
    """
    try:
        return invoke(arguments)
    except (Exception, KeyboardInterrupt) as error:
        failure = explain(error, arguments)
        if failure.kind is ErrorKind.INTERNAL and INTERRUPTIONS.count:  # what a library made of the interrupt
            failure = explain(KeyboardInterrupt())
        if failure.kind is ErrorKind.INTERNAL and os.environ.get("SEATRIAL_DEBUG"):
            traceback.print_exception(error)
        harmless = failure.what if failure.what.startswith("Usage:") else clean(failure.sentence)
        print(f"seatrial: {LONG_WORD.sub(LONG_WORD_CUT, harmless)}", file=sys.stderr)
        return JSON_OUTPUT.print_error(failure)


def invoke(arguments: Sequence[str]) -> int:
    """Carry out one command line; its exit code. Errors are raised as they are."""
    JSON_OUTPUT.begin(arguments)
    if JSON_OUTPUT.wanted and JSON_OUTPUT.nagios:
        raise UsageError("--json and --nagios print different things.", "Give one of them.")
    of_closing = vars(closing)  # empty until a command closes a run
    of_closing.get("CLOSED", []).clear()
    try:
        with seatrial.make_context("seatrial", list(arguments)) as context:
            result = seatrial.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    finally:
        if of_closing.get("CLOSED"):
            archived_headlines.keep_all(of_closing["CLOSED"])
    return result if isinstance(result, int) else ExitCode.PASS


def explain(error: BaseException, arguments: Sequence[str] = ()) -> Failure:
    """What ended a command, and the exit code that follows."""
    match error:
        case SeatrialError():
            return failure_of(error)
        case click.Abort() | KeyboardInterrupt():
            return _incomplete(ErrorKind.INTERRUPTED, "Interrupted.")
    if (outside := _scarce(error) or _refused(error)) is not None:
        return outside
    if (
        isinstance(error, click.BadParameter)
        and error.param
        and (given := _given(error.param.opts, arguments)) is not None
    ):
        return _wrong_use(f"{error.param.opts[0]} {given!r}: {error.message.rstrip('.')}.")
    if isinstance(error, click.UsageError):
        said = SURPLUS.sub(r"\1 …)", error.format_message())
        return _wrong_use(said, "" if said.startswith("Usage:") else f"Try `{_where(error)} --help`.")
    return Failure(
        exit_code=ExitCode.INTERNAL,
        kind=ErrorKind.INTERNAL,
        what=f"seatrial itself failed ({type(error).__name__}: {error}); this is a bug.",
        remedy="SEATRIAL_DEBUG=1 shows where; please report it.",
    )


def _scarce(error: BaseException) -> Failure | None:
    """For an error caused by a full disk or too little memory."""
    if isinstance(error, OSError) and error.errno in FULL:
        what = f"Writing failed: {error.strerror}."
        return _incomplete(ErrorKind.NO_SPACE, what, "Free some space, and run the command again.")
    said = memory.starved(error)
    return _incomplete(ErrorKind.NO_MEMORY, said, memory.REMEDY) if said else None


def _refused(error: BaseException) -> Failure | None:
    """For a file or folder that the system does not let us use."""
    if not (isinstance(error, OSError) and error.errno in REFUSED):
        return None
    name = os.fsdecode(error.filename) if error.filename else "A file that was open"
    what = f"{name} cannot be used: {error.strerror}."
    return _incomplete(ErrorKind.FAILED, what, "Check its permissions and its file system, or name another.")


def _incomplete(kind: ErrorKind, what: str, remedy: str = "") -> Failure:
    return Failure(exit_code=ExitCode.INCOMPLETE, kind=kind, what=what, remedy=remedy)


def _wrong_use(what: str, remedy: str = "") -> Failure:
    return Failure(exit_code=ExitCode.USAGE, kind=ErrorKind.USAGE, what=what, remedy=remedy)


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
