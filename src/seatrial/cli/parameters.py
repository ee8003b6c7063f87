"""Options, arguments and groups of commands, as every command declares them: click's own, with checks and help.

The types below turn words into values, so that a command's function gets nodes, seconds and paths.
"""

import enum
import importlib
import math
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from seatrial.archive import layout, reader
from seatrial.files.owners import state_folder
from seatrial.model.errors import UsageError
from seatrial.model.words import natural_sorted
from seatrial.process import process
from seatrial.render import plot_style
from seatrial.slurm import argv

SETTINGS = "matplotlibrc"
MOST_SETTINGS_BYTES = 1 << 20


class CommandGroup(click.Group):
    """A group of commands, which help lists in the order of their declaration."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return list(self.commands)

    def summary(self, name: str) -> str:
        """What help says of a command."""
        return (self.commands[name].help or "").partition("\n\n")[0]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.summary(name)) for name in self.list_commands(ctx)])


class LazyGroup(CommandGroup):
    """A group that imports a command's module when the command is called; help and completion need only summaries.

    The module is called as the command, or as `modules` says; the command in it has its own name or that of the module.
    `headings`: the commands below each heading of the help.
    """

    def __init__(
        self,
        *words: object,
        summaries: Mapping[str, str],
        headings: Mapping[str, Sequence[str]],
        modules: Mapping[str, str],
        **named: object,
    ) -> None:
        super().__init__(*words, **named)  # type: ignore[arg-type]
        self._summaries = summaries
        self._headings = headings
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return [name for names in self._headings.values() for name in names]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each command, below the question that it answers."""
        for heading, names in self._headings.items():
            formatter.write(f"\n{heading}\n")
            with formatter.indentation():
                formatter.write_dl([(name, self.summary(name)) for name in names])

    def summary(self, name: str) -> str:
        """What help says of a command; equal to the first paragraph of its own help."""
        return self._summaries[name]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command; None where there is no such command."""
        if cmd_name not in self._summaries:
            return None
        name = self._modules.get(cmd_name, cmd_name)
        module = importlib.import_module(f"seatrial.cli.{name}")
        command: click.Command = getattr(module, cmd_name, None) or getattr(module, name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin so."""
        own = click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(name, help=self.summary(name))
            for name in self.list_commands(ctx)
            if name.startswith(incomplete)
        ] + own


WHOLE = re.compile(r"[+-]?[0-9]+")
REAL = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
MOST = 2**63 - 1
MOST_DIGITS = 20
LONGEST_NAME_BYTES = 255
LONGEST_PATH_BYTES = 4095
"""NAME_MAX and PATH_MAX of Linux, the latter without its NUL."""
PATIENCE_S = 3.0
"""Whoever asked for a completion does not wait longer for a controller."""
HARMLESS = re.compile(r"[\w.+:/-]+", re.ASCII)
"""Names that mean nothing special to a shell; zsh evaluates the answer."""


class StrictParameter(click.Parameter):
    """A parameter that refuses words which Python's int() and float() or a file system would take differently.

    Refused are bytes that are not UTF-8, control characters, digits other than 0 to 9, NaN, infinity, whole numbers of
    more than 64 bits, and paths that are empty or too long.
    """

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """The value of the words. Raises UsageError that shows them where they are refused."""
        for word in [value] if isinstance(value, str) else value or () if isinstance(value, list | tuple) else ():
            if isinstance(word, str) and (wrong := trouble(word, self.type, of_line=self.nargs == -1)):
                raise UsageError(f"{called(self)} {word!r}: {wrong}")
        try:
            return super().type_cast_value(ctx, value)
        except click.BadParameter as error:
            raise UsageError(f"{called(self)} {value!r}: {error.message}") from error


class Option(StrictParameter, click.Option):
    """An option, declared as help shows it: `--nodes NODES`. One for text is empty where it is not given.

    `modes`: those of its command with which it goes, see `refuse_options_of_other_modes`; none: all.
    """

    def __init__(self, param_decls: Sequence[str], *, modes: Sequence[str] = (), **settings: Any) -> None:
        self.modes = tuple(modes)
        metavars = [metavar for _, blank, metavar in (name.partition(" ") for name in param_decls) if blank]
        param_decls = [name.partition(" ")[0] for name in param_decls]
        kind = settings.get("type")
        empty = getattr(kind, "empty", kind is None) and not settings.keys() & {"is_flag", "multiple", "nargs"}
        if empty and not settings.get("required"):
            settings.setdefault("default", "")
        unsaid = "[default: " not in settings["help"]
        settings.setdefault("show_default", unsaid and settings.get("default") != "")
        settings |= {"metavar": metavars[0]} if metavars else {}
        super().__init__(param_decls, show_envvar=unsaid and "envvar" in settings, **settings)


class Argument(StrictParameter, click.Argument):
    """An argument."""


option = partial(click.option, cls=Option)
argument = partial(click.argument, cls=Argument)


def refuse_options_of_other_modes(mode: str) -> None:
    """Raises UsageError for an option of the command line that does not go with this mode of the command."""
    context = click.get_current_context()
    for param in context.command.params:
        modes = param.modes if isinstance(param, Option) else ()
        if not modes or mode in modes or context.get_parameter_source(param.name) is not ParameterSource.COMMANDLINE:
            continue
        others = " or ".join(other for other in modes if other != called(param))
        only = f", only with {others}" if others else ""
        raise UsageError(f"{called(param)} does not go with {mode}{only}.", "Leave it out.")


def trouble(word: str, kind: click.ParamType[Any], *, of_line: bool = False) -> str:
    """Why the word cannot be used as a value of that kind; empty where it can.

    `of_line`: it is part of another program's command line, which may have line breaks.
    """
    if any(unicodedata.category(character) == "Cs" for character in word):
        return "It has bytes that are not UTF-8. Write it in UTF-8."
    if "\0" in word or (not of_line and any(unicodedata.category(character) == "Cc" for character in word)):
        return "It has control characters. Leave them out."
    match kind:
        case click.types.IntParamType():
            return _not_whole(word.strip())
        case click.types.FloatParamType():
            return _not_real(word.strip())
        case click.Path():
            return path_trouble(word)
    return ""


def _not_whole(word: str) -> str:
    if not WHOLE.fullmatch(word):
        return "It is not a whole number. Write digits from 0 to 9."
    return "" if len(word) < MOST_DIGITS and abs(int(word)) <= MOST else f"It is beyond {MOST}. Give a smaller number."


def _not_real(word: str) -> str:
    if not REAL.fullmatch(word):
        return "It is not a number. Write digits from 0 to 9, as in 2.5."
    return "" if math.isfinite(float(word)) else "It is too large. Give a smaller number."


def path_trouble(word: str) -> str:
    """Why no file or folder can have that path; empty where one can."""
    if not word:
        return "It is empty. Name a file or folder, or leave the option out."
    parts = os.fsencode(word).split(b"/")
    if max(map(len, parts)) > LONGEST_NAME_BYTES or sum(map(len, parts)) + len(parts) > LONGEST_PATH_BYTES:
        return (
            f"It is too long: a name may have {LONGEST_NAME_BYTES} bytes, and a whole path {LONGEST_PATH_BYTES}. "
            "Give a shorter one."
        )
    return ""


def called(param: click.Parameter | None) -> str:
    """How messages name a parameter: `--budget`, `NODES`."""
    if param is None:
        return "The value"
    return param.opts[0] if isinstance(param, click.Option) else (param.metavar or param.opts[0]).strip("[]")


class Text(click.ParamType[Any]):
    """A text. A shell is offered the names that `names` finds, which gets the values before it on the command line."""

    name = "text"

    def __init__(
        self,
        parse: Callable[[str, str], Any] = lambda text, _: text,
        names: Callable[[dict[str, Any]], Sequence[str]] = lambda _: (),
        *,
        empty: bool = False,
    ) -> None:
        """`parse`: makes the value of the text and of the name of its parameter; it raises UsageError.

        `empty`: it takes the empty text, which an option has where it is not given.
        """
        self.parse = parse
        self.names = names
        self.empty = empty

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value of the text; what was a value already is returned."""
        return self.parse(value, called(param)) if isinstance(value, str) else value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """What the word could be; of a list with commas its last part is completed.

        A name that a shell would expand is never offered.
        """
        before, comma, last = incomplete.rpartition(",")
        fitting = [name for name in self.names(ctx.params) if name.startswith(last) and HARMLESS.fullmatch(name)]
        return [CompletionItem(f"{before}{comma}{name}") for name in fitting]


class Word(click.Choice[str]):
    """One of the words of an enumeration."""

    def __init__(self, words: type[enum.StrEnum]) -> None:
        super().__init__([word.value for word in words])
        self._words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> enum.StrEnum:
        """The member of the enumeration."""
        return self._words(super().convert(value, param, ctx))


class PathType(click.Path):
    """A path. `absolute`: from the root, since jobs may start elsewhere."""

    def __init__(self, *, absolute: bool = False) -> None:
        super().__init__(path_type=Path)
        self._absolute = absolute

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        path: Any = super().convert(value, param, ctx)
        return path.absolute() if self._absolute else path


class ReportFile(PathType):
    """A file for a report, refused before anything is measured if it cannot be written."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path. Raises UsageError."""
        path = Path(value)
        given = f"{called(param)} {str(path)!r}"
        if path.is_dir():
            raise UsageError(f"{given} is a folder.", "Name a file in it.")
        if path.is_socket() or path.is_block_device():
            raise UsageError(f"{given} is {'a socket' if path.is_socket() else 'a disk'}.", "Name another file.")
        if not path.parent.is_dir():
            raise UsageError(f"{given}: there is no folder {str(path.parent)!r}.", "Make it, or name another file.")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise UsageError(f"{given} cannot be written: permission denied.", "Name another file.")
        return path


class PlotFile(ReportFile):
    """A file for pictures, whose ending says in which form; refused if they cannot be drawn on this machine."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path. Raises UsageError."""
        path = super().convert(value, param, ctx)
        if plot_style.form_of(path) not in plot_style.FORMS:
            endings = ", ".join(f".{form}" for form in plot_style.FORMS)
            raise UsageError(f"{called(param)} {str(path)!r} has none of the endings {endings}.", "Name another file.")
        refuse_endless_settings()
        plot_style.require_library()
        return path


def refuse_endless_settings() -> None:
    """Raises UsageError for settings of matplotlib in a device, a pipe or a huge file: it would read them for ever."""
    for path in _settings_files():
        if _is_endless(path):
            what = f"--plot needs matplotlib, which reads its settings from {path}: that is not a file of settings."
            raise UsageError(what, "Remove it, unset MATPLOTLIBRC, or leave --plot out.")


def _settings_files() -> Iterator[Path]:
    """Files from which matplotlib may read its settings as it is loaded, in its order (matplotlib_fname)."""
    yield Path(SETTINGS)
    for variable in ("MATPLOTLIBRC", "MPLCONFIGDIR"):
        if named := os.environ.get(variable):
            yield from (Path(named), Path(named) / SETTINGS)


def _is_endless(path: Path) -> bool:
    """Whether something other than a folder, or a file of a size that settings have, is there: a device has no end."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return False
    if stat.S_ISDIR(status.st_mode):
        return False
    return not stat.S_ISREG(status.st_mode) or status.st_size > MOST_SETTINGS_BYTES


def archive_folder() -> Path:
    """The folder of runs where no option names one: $SEATRIAL_ARCHIVE, else XDG state; absolute."""
    named = os.environ.get("SEATRIAL_ARCHIVE")
    return Path(named).absolute() if named else state_folder() / "seatrial" / "runs"


def node_names(_: dict[str, Any]) -> list[str]:
    """The nodes that Slurm knows; none where it does not answer in time."""
    return _slurm_names(argv.NODE_NAMES)


def partition_names(_: dict[str, Any]) -> list[str]:
    """The partitions that Slurm knows."""
    return _slurm_names(argv.PARTITION_NAMES)


def _slurm_names(question: Sequence[str]) -> list[str]:
    done = process.run(question, timeout_s=PATIENCE_S)
    return natural_sorted(set(done.stdout.split())) if done.ok else []


def run_names(given: dict[str, Any]) -> list[str]:
    """The runs of the archive that the command line names, newest first, and `last`."""
    folders = reader.run_folders(given.get("archive") or archive_folder())
    return [*(layout.run_of(folder) for folder in reversed(folders)), "last"]
