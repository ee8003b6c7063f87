"""What every kind of environment is: a name, and how an argv is wrapped in it."""

import enum
from collections.abc import Callable, Sequence

import msgspec

Words = tuple[str, ...]
Wrap = Callable[[Words, Words, Sequence[str]], list[str]]
"""(words of the SPEC, folders that must be seen inside, argv) -> argv."""

SHELL = "/bin/sh"
"""By its path, since a pure environment has no sh on PATH."""
FAILED = 96
"""Exit code of our own shell texts where the environment could not be entered."""


class Where(enum.StrEnum):
    """What of a launch the environment is wrapped around."""

    INSIDE = "inside"
    """`srun ... WRAP probe`: every task enters it on its own node."""
    OUTSIDE = "outside"
    """`WRAP srun ... probe`: it is entered once, and its variables travel with the launch."""


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of environment: one file of this folder."""

    name: str
    """The word before the colon of a SPEC."""
    form: str
    """What comes after it, as shown in messages."""
    where: Where
    """Where it is entered unless told otherwise."""
    wrap: Wrap
    takes_options: bool = False
    """Whether words may begin with -, for the program that is called."""
    name_last: bool = False
    """Whether the last word has to be the name: what comes behind it would be taken for the command."""
    keeping: str
    """What to do where variables of the launch get lost in it."""


def shell_argv(text: str, name: str, words: Sequence[str], argv: Sequence[str]) -> list[str]:
    """A fixed `text` for the shell, which finds how many words there are, the words, and argv as its parameters."""
    return [SHELL, "-c", text, name, str(len(words)), *words, *argv]
