"""Shell completion: the script that makes a shell ask, and the answer: commands, options, nodes, partitions and runs.

A shell asks with environment variables: which shell it is, and the words so far. The answer is only names, and nothing
at all where something fails, since a shell would print an error into the line that is being typed.
"""

import contextlib
import enum
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

import typer
from typer import completion as typer_completion

from seatrial.archive import layout, reader
from seatrial.cli.options import archive_folder
from seatrial.model.words import natural_sorted
from seatrial.process import process
from seatrial.slurm import argv

ASKED = "_SEATRIAL_COMPLETE"
"""Set by the script: `complete_bash`."""
WORDS = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")
"""The words so far, as the scripts for bash and for other shells pass them on."""
PATIENCE_S = 3.0
"""Whoever pressed the key does not wait longer for a controller."""
HARMLESS = re.compile(r"[\w.+:/-]+", re.ASCII)
"""Names that mean nothing special to a shell; zsh evaluates the answer."""


class Shell(enum.StrEnum):
    """Shells for which there is a script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


class Word(NamedTuple):
    """A possible next word, with the fields that Typer prints."""

    value: str
    help: str | None = None
    type: str = "plain"


def completion(shell: Annotated[Shell, typer.Argument(help="bash, zsh or fish.")]) -> int:
    """Print a script that lets the shell complete commands, options, nodes, partitions and runs."""
    make = typer_completion.get_completion_script  # type: ignore[attr-defined]  # not declared there
    print(make(prog_name="seatrial", complete_var=ASKED, shell=shell.value))
    return 0


def answer(parser: Callable[[Sequence[str]], Any]) -> None:
    """Print the possible next words for the shell that asks. `parser`: makes the parser of what arguments name."""
    line = next((os.environ[name] for name in WORDS if name in os.environ), "")
    words = line.split()
    named = words[1:2] if len(words) > 2 or line[-1:].isspace() else []
    with contextlib.suppress(Exception):  # see above
        command = with_names(parser(named or ["--help"]))
        typer_completion.completion_init()  # type: ignore[attr-defined]  # the same
        typer_completion.shell_complete(command, {}, "seatrial", ASKED, os.environ[ASKED])
    with contextlib.suppress(OSError):
        sys.stdout.flush()


def with_names(command: Any) -> Any:  # noqa: ANN401 - Typer's own class of commands
    """The same command, whose parameters know the names of nodes, partitions and runs."""
    for child in getattr(command, "commands", {}).values():
        with_names(child)
    for parameter in command.params:
        names = NAMES.get((parameter.param_type_name, parameter.name))
        if names and parameter.type.name == "str":
            parameter.shell_complete = partial(complete, names)
    return command


def complete(names: Callable[[Mapping[str, Any]], Sequence[str]], context: Any, incomplete: str) -> list[Word]:  # noqa: ANN401
    """What the word could be; of a list with commas its last part is completed. Never a name that a shell expands."""
    before, comma, last = incomplete.rpartition(",")
    fitting = [name for name in names(context.params) if name.startswith(last) and HARMLESS.fullmatch(name)]
    return [Word(f"{before}{comma}{name}") for name in fitting]


def nodes(_: Mapping[str, Any]) -> list[str]:
    """The nodes that Slurm knows; none where it does not answer in time."""
    return _slurm_names(argv.NODE_NAMES)


def partitions(_: Mapping[str, Any]) -> list[str]:
    """The partitions that Slurm knows."""
    return _slurm_names(argv.PARTITION_NAMES)


def _slurm_names(question: Sequence[str]) -> list[str]:
    done = process.run(question, timeout_s=PATIENCE_S)
    return natural_sorted(set(done.stdout.split())) if done.ok else []


def runs(given: Mapping[str, Any]) -> list[str]:
    """The runs of the archive that the command line names, newest first, and `last`."""
    folders = reader.run_folders(archive_folder(given.get("archive")))
    return [*(layout.run_of(folder) for folder in reversed(folders)), "last"]


NAMES = {
    **{("option", name): nodes for name in ("exclude", "node", "nodes", "hosts")},
    **{("argument", name): nodes for name in ("nodes", "source", "target")},
    ("option", "partition"): partitions,
    ("option", "replay"): runs,
    ("option", "since"): runs,
    **{("argument", name): runs for name in ("run", "first", "second")},
}
"""By kind and name of the parameter; `--run` names a new run."""
