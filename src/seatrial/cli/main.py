"""The command `seatrial`: its parts, and how errors become sentences and exit codes."""

import errno
import os
import re
import sys
import traceback
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

import typer

from seatrial import __version__
from seatrial.archive import closing
from seatrial.cli import (
    acceptance,
    archived_headlines,
    baseline,
    benchmarks,
    changepoints,
    check,
    compare,
    completion,
    curve,
    doctor,
    fabric,
    facts,
    fleet,
    gather,
    history,
    import_values,
    lab,
    limits,
    locate,
    memory,
    nodes,
    parse,
    placement,
    plan,
    report,
    runs,
    saturate,
    scale,
    soak,
    streams,
    swap,
    transports,
)
from seatrial.cli import run as run_command
from seatrial.cli.entry import UNKNOWN
from seatrial.cli.json_output import JSON_OUTPUT, NAGIOS, is_wanted
from seatrial.cli.signals import Interruptions
from seatrial.cli.values import strict
from seatrial.model.errors import ErrorKind, ExitCode, SeatrialError, UsageError
from seatrial.render.envelope import Failure, failure_of
from seatrial.render.escape import clean


class Command(NamedTuple):
    """A command, or a group of them, and where it is declared."""

    module: ModuleType
    """Its function has the module's name; a group is its `app`."""
    help: str
    """Same as the docstring of the function or group; repeated here so that --help executes no command's module."""
    context: dict[str, Any] | None = None
    word: str = ""
    """Where a module cannot be called as the command is."""

    @property
    def name(self) -> str:
        """As it is typed."""
        return self.word or self._module_name

    @property
    def _module_name(self) -> str:
        return self.module.__name__.rpartition(".")[2]

    def load(self) -> Any:  # noqa: ANN401 - a function, or a Typer
        """Execute the module; what it declares."""
        return getattr(self.module, self._module_name, None) or self.module.app

    def command_class(self) -> Any:  # noqa: ANN401 - a class of Typer's
        """Of Typer's `cls`: a command with shared options, where the module declares some."""
        shared = getattr(self.module, "SHARED", None)
        return shared.command_class() if shared else None


HELP = "Measure a cluster through its own Slurm and MPI, judge every number, name what is at fault."
HELP_OPTIONS = ["--help", "-h"]
"""Of every command: subcommands take them over."""
NAMES_ALONE = [[option] for option in (*HELP_OPTIONS, "--version")]
"""Command lines for which names and summaries of all commands are enough."""
LINE_FOLLOWS = {"ignore_unknown_options": True, "allow_interspersed_args": False}
"""For a command whose arguments are a user's command line."""
COMMANDS = (
    Command(check, "Measure latency and bandwidth over all pairs of nodes, judge them, and name what is at fault."),
    Command(
        report,
        "Print a run's verdicts and findings, or write them into files; exit code as of the command that measured.",
    ),
    Command(
        compare,
        "Say what became slower, faster or stayed the same between two sets of runs, and which facts changed with it.",
    ),
    Command(
        plan,
        "Say how many runs, nodes and node-hours it takes to show a change, from the variance of the runs there are.",
    ),
    Command(
        history,
        "Print a metric over the runs of the archive, where it changed, and which facts changed at that time.",
    ),
    Command(
        import_values,
        "Write values that were measured elsewhere into the archive, for compare, history, plan, fleet, changepoints.",
        word="import",
    ),
    Command(baseline, "Keep runs under a name, with which later runs are compared."),
    Command(
        facts,
        "Print what nodes are; with --drift, --since or --with-login what differs, and exit 1 where there are "
        "findings.",
    ),
    Command(limits, "Print the limit of every path inside the nodes and between them, and which term binds."),
    Command(
        locate,
        "Name the slow and late nodes, uplinks and cables in an n×n table of latency or bandwidth measured elsewhere.",
    ),
    Command(
        changepoints,
        "Find where a series of values changes: position, size with interval and p-value, in noise that is correlated.",
    ),
    Command(
        fleet,
        "Judge one benchmark's values from many nodes: which are slow, which had single bad runs, what would be found.",
    ),
    Command(
        curve,
        "Measure a pair over message sizes: pieces of the latency, protocol switches, plateau against the limit.",
    ),
    Command(saturate, "Let 1, 2, 4, ... ranks of one node send to another node at once: how many drive the port."),
    Command(
        transports,
        "Find out which transport carries the data: take each away, slow it, force it, and see what changes.",
    ),
    Command(
        placement,
        "Start a launch line with the probe in place of its program: where its ranks are, and what would be better.",
        LINE_FOLLOWS,
    ),
    Command(swap, "Find a faulty part by exchanging parts: which one it is, and which exchange reveals most."),
    Command(nodes, "Try memory, arithmetic, noise, scheduler and storage of each node, and compare the nodes."),
    Command(soak, "Keep all nodes busy for some minutes, and name what fails or becomes slower under load."),
    Command(run_command, "Run a benchmark on the nodes, judge its output by evidence of work and gates, and keep it."),
    Command(parse, "Read one output of a benchmark and judge it: numbers, evidence of work, validity gates."),
    Command(acceptance, "Run a site's list of benchmarks and compare them with thresholds."),
    Command(
        scale,
        "Judge scaling of a benchmark, by runs or by outputs: speed-up, efficiency, and whether all did the same work.",
    ),
    Command(benchmarks, "Known benchmarks: metrics, evidence of work, gates."),
    Command(gather, "Record raw facts of the nodes, for `--from` and to share with others."),
    Command(doctor, "Try a launch step by step, cheapest first, and name what blocks it and what to do about it."),
    Command(fabric, "The InfiniBand fabric: its map, and what is wrong with its cables."),
    Command(runs, "List, show, export, recover and collect archived runs."),
    Command(lab, "A virtual cluster on this machine, planted faults, and trials of `check` against them."),
    Command(completion, "Print a script that lets the shell complete commands, options, nodes, partitions and runs."),
)
SHORT = {
    ("account", "str"): "-A",
    ("constraint", "str"): "-C",
    ("exclude", "str"): "-x",
    ("nodes", "str"): "-w",
    ("partition", "str"): "-p",
    ("qos", "str"): "-q",
    ("ranks", "int range"): "-n",
}
"""Short forms of options by name and type, as Slurm has them."""
COMPLETION_ASKED = "_SEATRIAL_COMPLETE"
"""As in `completion`, which is loaded only when a shell asks."""


def application(arguments: Sequence[str] = ()) -> typer.Typer:
    """The command that the arguments name; all where they name none, as for --help.

    This is where commands are loaded: with `lazy`, a module of the table is executed when its name is looked up here.
    """
    app = typer.Typer(
        help=HELP,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": HELP_OPTIONS},
    )
    app.callback(invoke_without_command=True)(_version)
    named = [one for one in COMMANDS if arguments and one.name == arguments[0]]
    for command in named or COMMANDS:
        if list(arguments) in NAMES_ALONE:
            app.command(command.name, help=command.help)(_nothing)
            continue
        function = command.load()
        if isinstance(function, typer.Typer):
            app.add_typer(function, name=command.name)
        else:
            app.command(command.name, cls=command.command_class(), help=command.help, context_settings=command.context)(
                function
            )
    return app


def _nothing() -> None:
    """In place of every command where only their names and help are printed."""


def _version(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        print(f"seatrial {__version__}")
        raise typer.Exit
    memory.make_do()


LONG_WORD = re.compile(r"(\S{200})\S{40,}(\S{60})")
LONG_WORD_CUT = r"\1…\2"
"""A value of thousands of characters would hide what is wrong with it."""
SURPLUS = re.compile(r"(extra argument\(s\) \((?:\S+ ){7}\S+) .*\)", re.DOTALL)
"""Such as the files of a shell's pattern."""
FULL = (errno.ENOSPC, errno.EDQUOT)
REFUSED = (
    errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.ESTALE, errno.EREMOTEIO, errno.ENOTCONN, errno.ETIMEDOUT,
    errno.EHOSTDOWN, errno.ENOTDIR, errno.ELOOP, errno.EMFILE, errno.ENFILE,
)  # fmt: skip
"""What a file or folder answers that may not be used, or whose file system fails."""
WRONG_USE: Any = typer.BadParameter.__base__
"""The parser's usage error; Typer brings its parser along and names only this child of it."""


INTERRUPTIONS = Interruptions()


def command_line(output: streams.Outlet) -> NoReturn:
    """Run the process's command line and leave with one of ExitCode.

    It leaves without the interpreter's own end, in which a signal or a closed stream would decide about the exit code.
    """
    arguments = sys.argv[1:]
    code = int(UNKNOWN if is_wanted(arguments, NAGIOS) else ExitCode.INCOMPLETE)
    try:
        INTERRUPTIONS.listen()
        if COMPLETION_ASKED in os.environ:
            completion.answer(command)
            os._exit(ExitCode.PASS)
        code = run(arguments)
        code = streams.settled(code, output, arguments)
    except KeyboardInterrupt:  # once more, while the command was ending
        os._exit(code)
    os._exit(code)


def run(arguments: list[str]) -> int:
    """The exit code of one command line; errors are printed on standard error.

    Typer's own main would turn Ctrl-C into 130 and a closed pipe into 1, which are not what ours mean.
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
    parser = command(arguments)
    JSON_OUTPUT.command = path_of(parser, arguments)
    if JSON_OUTPUT.wanted and JSON_OUTPUT.nagios:
        raise UsageError("--json and --nagios print different things.", "Give one of them.")
    of_closing = vars(closing)  # empty until a command closes a run
    of_closing.get("CLOSED", []).clear()
    try:
        with parser.make_context("seatrial", list(arguments)) as context:
            result = context.command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    finally:
        if of_closing.get("CLOSED"):
            archived_headlines.keep_all(of_closing["CLOSED"])
    return result if isinstance(result, int) else ExitCode.PASS


def command(arguments: Sequence[str] = ()) -> Any:  # noqa: ANN401 - Typer's own class of commands
    """The parser of what the arguments name, see `application`."""
    return abbreviated(summarised(strict(typer.main.get_command(application(arguments)))))


def abbreviated(group: Any) -> Any:  # noqa: ANN401
    """The same group; options of all its commands have their short forms."""
    for child in getattr(group, "commands", {}).values():
        abbreviated(child)
    for option in group.params:
        short = SHORT.get((option.name, option.type.name))
        if short and option.param_type_name == "option":
            option.opts.append(short)
    return group


def path_of(group: Any, arguments: Sequence[str]) -> str:  # noqa: ANN401
    """The command that the first arguments name: `check`, `fabric check`; empty where they name none."""
    names: list[str] = []
    for word in arguments:
        group = getattr(group, "commands", {}).get(word)
        if group is None:
            break
        names.append(word)
    return " ".join(names)


def summarised(group: Any) -> Any:  # noqa: ANN401
    """The same group; its help has the whole first paragraph of each command, where the parser would cut it."""
    for child in getattr(group, "commands", {}).values():
        child.short_help = child.short_help or (child.help or "").partition("\n\n")[0]
        summarised(child)
    return group


def explain(error: BaseException, arguments: Sequence[str] = ()) -> Failure:
    """What ended a command, and the exit code that follows."""
    match error:
        case SeatrialError():
            return failure_of(error)
        case typer.Abort() | KeyboardInterrupt():
            return _incomplete(ErrorKind.INTERRUPTED, "Interrupted.")
    if (outside := _scarce(error) or _refused(error)) is not None:
        return outside
    if (
        isinstance(error, typer.BadParameter)
        and error.param
        and (given := _given(error.param.opts, arguments)) is not None
    ):
        return _wrong_use(f"{error.param.opts[0]} {given!r}: {error.message.rstrip('.')}.")
    if isinstance(error, WRONG_USE):
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
    """For a file or folder that the system does not let us use, or a current folder that was removed (getcwd(3))."""
    if isinstance(error, FileNotFoundError) and error.filename is None:
        return _incomplete(ErrorKind.FAILED, "The current folder does not exist any more.", "Change to another one.")
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
