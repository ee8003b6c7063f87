"""Kinds of environments, and an environment as a user named it: how an argv is wrapped in it."""

import enum
from collections.abc import Callable, Sequence

import msgspec

Words = tuple[str, ...]
Wrap = Callable[[Words, Words, Sequence[str]], list[str]]
"""(words of the SPEC, folders that must be seen inside, argv) -> argv."""

SHELL = "/bin/sh"
"""The shell by its path, since a pure environment has no sh on PATH."""


class Where(enum.StrEnum):
    """What of a launch the environment is wrapped around."""

    INSIDE = "inside"
    """`srun ... WRAP probe`: every task enters it on its own node."""
    OUTSIDE = "outside"
    """`WRAP srun ... probe`: it is entered once, and its variables travel with the launch."""


class EnvironmentKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of environment: one file of this folder."""

    name: str
    """The word before the colon of a SPEC."""
    form: str
    """What comes after it, as shown in messages."""
    where: Where
    """The place at which it is entered by default."""
    wrap: Wrap
    takes_options: bool = False
    """Whether words may begin with -, for the program that is called."""
    name_last: bool = False
    """Whether the last word has to be the name: what comes behind it would be taken for the command."""
    keeping: str
    """What to do where variables of the launch get lost in it."""


def shell_wrap(text: str, name: str) -> Wrap:
    """Wrap with a fixed `text` for the shell: its parameters are the number of words, the words, and argv."""
    return lambda words, _, argv: [SHELL, "-c", text, name, str(len(words)), *words, *argv]


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """One kind with its words. Without a kind it wraps nothing."""

    spec: str = ""
    """The SPEC as the user wrote it."""
    kind: EnvironmentKind | None = None
    words: tuple[str, ...] = ()
    where: Where = Where.INSIDE
    folders: tuple[str, ...] = ()
    """Absolute; what must be seen inside, where a kind hides the file system."""

    def __bool__(self) -> bool:
        """Whether there is anything to enter."""
        return self.kind is not None

    def wrap(self, argv: Sequence[str]) -> list[str]:
        """`argv` as it runs inside; each of its words arrives there as it is."""
        return self.kind.wrap(self.words, self.folders, argv) if self.kind else list(argv)

    def around_program(self, argv: Sequence[str]) -> list[str]:
        """What srun or mpirun starts on each node."""
        return self.wrap(argv) if self.where is Where.INSIDE else list(argv)

    def around_launcher(self, argv: Sequence[str]) -> list[str]:
        """The command that starts srun or mpirun."""
        return self.wrap(argv) if self.where is Where.OUTSIDE else list(argv)

    def seeing(self, *folders: str) -> "Environment":
        """The environment in which these folders are visible, too."""
        return msgspec.structs.replace(self, folders=tuple(dict.fromkeys((*self.folders, *folders))))


NO_ENVIRONMENT = Environment()
