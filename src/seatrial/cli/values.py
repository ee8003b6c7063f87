"""What every value on a command line must be, whichever option it belongs to."""

import math
import os
import re
import unicodedata
from collections.abc import Iterator
from functools import partial
from typing import Any

import typer

WHOLE = re.compile(r"[+-]?[0-9]+")
REAL = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
MOST = 2**63 - 1
MOST_DIGITS = 20
LONGEST_NAME_BYTES = 255
LONGEST_PATH_BYTES = 4095
"""NAME_MAX and PATH_MAX of Linux, the latter without its NUL."""


def strict(command: Any) -> Any:  # noqa: ANN401 - Typer's own class of commands
    """The same command, which refuses values that Python's int() and float() or a file system would take differently.

    Refused are bytes that are not UTF-8, control characters, digits other than 0 to 9, NaN, infinity, whole numbers of
    more than 64 bits, and paths that are empty or too long.
    """
    for leaf in _leaves(command):
        for parameter in leaf.params:
            parameter.type_cast_value = partial(_checked, parameter, parameter.type_cast_value)
    return command


def _leaves(command: Any) -> Iterator[Any]:  # noqa: ANN401
    yield command
    for child in getattr(command, "commands", {}).values():
        yield from _leaves(child)


def _checked(parameter: Any, cast: Any, context: Any, value: Any) -> Any:  # noqa: ANN401
    kinds = getattr(parameter.type, "types", (parameter.type,))
    values = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    for place, word in enumerate(values):
        if isinstance(word, str) and (wrong := trouble(word, kinds[place % len(kinds)].name, parameter.nargs == -1)):
            raise typer.BadParameter(wrong, ctx=context, param=parameter)
    return cast(context, value)


def trouble(word: str, kind: str, of_line: bool = False) -> str:
    """Why the word cannot be used as a value of that kind (int, float, path, ...); empty where it can.

    `of_line`: it is part of another program's command line, which may have line breaks.
    """
    if any(unicodedata.category(character) == "Cs" for character in word):
        return "It has bytes that are not UTF-8. Write it in UTF-8."
    if "\0" in word or (not of_line and any(unicodedata.category(character) == "Cc" for character in word)):
        return "It has control characters. Leave them out."
    if kind.startswith("int"):
        return _not_whole(word.strip())
    if kind.startswith("float"):
        return _not_real(word.strip())
    return path_trouble(word) if kind in ("path", "file", "directory") else ""


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
