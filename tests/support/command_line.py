"""Command lines as a test writes them: what they print, or words and keywords with errors raised as they are."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import click
import pytest

from seatrial.cli.main import seatrial as program
from seatrial.frame.command_line import invoke, run
from tests.support.json_objects import frame, parsed

FLAGS = {"as_json": "json"}
"""Parameters whose option has another name."""
Value = str | int | float | Path | bool | None


def commands(command: click.Command = program, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that is no group, with the words that call it."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        assert child
        yield from commands(child, *path, name)


def default_of(option: click.Parameter) -> Any:
    """The default of an option, None where it has none."""
    return option.to_info_dict()["default"]


class Printed(NamedTuple):
    """What one command line printed."""

    code: int
    out: str
    err: str

    @property
    def object(self) -> dict[str, Any]:
        """The object that --json prints."""
        return frame(self.out)

    @property
    def data(self) -> dict[str, Any]:
        """The printed object, with the fields of the command's data beside those that all objects have."""
        return parsed(self.out)


class Text(NamedTuple):
    """A word of a command line that is the path of a file with this text."""

    text: str
    name: str


class Seatrial:
    """Carries out command lines in this process. The fixture `seatrial` is one."""

    def __init__(self, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        """`folder`: where files of texts are."""
        self._capsys = capsys
        self._folder = folder

    def __call__(self, *given: str | Path | Text, code: int | None = 0) -> Printed:
        """Carry out `seatrial WORDS`, and fail if it exits with another code; None permits any."""
        words = [self._file(word) if isinstance(word, Text) else str(word) for word in given]
        self._capsys.readouterr()
        with mock.patch.dict(os.environ):  # what a process sets for its children ends with it
            ended = run(words)
        printed = Printed(ended, *self._capsys.readouterr())
        assert code in (None, ended), f"seatrial {' '.join(words)} exits with {ended}, not {code}: {printed.err}"
        return printed

    def _file(self, given: Text) -> str:
        path = self._folder / given.name
        path.write_text(given.text)
        return str(path)


def words_of(options: dict[str, Value]) -> list[str]:
    """`{"as_json": True, "node_hours": 2}` -> `--json --node-hours 2`; nothing for None and False."""
    words: list[str] = []
    for name, value in options.items():
        option = f"--{FLAGS.get(name, name).replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += [option, str(value)]
    return words


def call(command: str, *arguments: str, **options: Value) -> int:
    """Carry out `seatrial COMMAND ARGUMENTS OPTIONS`; its exit code.

    Raises SeatrialError and the parser's own errors, which `seatrial.frame.command_line.run` would print.
    """
    with mock.patch.dict(os.environ):
        return invoke([command, *arguments, *words_of(options)])


def link(*arguments: str, **options: Value) -> int:
    """`seatrial link`."""
    return call("link", *arguments, **options)
