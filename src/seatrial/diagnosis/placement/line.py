"""A launch line (`srun -n 4 --cpu-bind=none ./app -x`) taken apart: launcher, its options, the program."""

import re
from collections.abc import Sequence

import msgspec

from seatrial.diagnosis.placement.line_options import OPTIONS, Dialect, Options
from seatrial.model.errors import UsageError

LAUNCHERS = re.compile(r"(srun|mpirun|mpiexec|orterun|prterun)([._-].*)?")
DOUBTFUL = "If another word of the line is the program, name it by --program."


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One option with its values, as it was written; `name` without dashes."""

    name: str
    words: tuple[str, ...]
    value: str = ""


class LaunchLine(msgspec.Struct, frozen=True, kw_only=True):
    """`before`: words in front of the launcher (`env A=1`), kept as they are."""

    dialect: Dialect
    before: tuple[str, ...]
    launcher: str
    options: tuple[Option, ...]
    program: tuple[str, ...]

    @property
    def ranks(self) -> int | None:
        """As many as the line asks for; None where it leaves that to the launcher."""
        return self._number(OPTIONS[self.dialect].count)

    @property
    def cores_each(self) -> int | None:
        """Processors that the line asks for each rank; None where it does not."""
        bind = next((one.value for one in self.options if one.name == "map-by"), "")
        found = re.search(r"(?i)\bPE=(\d{1,4})", bind)
        return int(found[1]) if found else self._number(OPTIONS[self.dialect].cores_each)

    def _number(self, names: frozenset[str]) -> int | None:
        values = [one.value for one in self.options if one.name in names and one.value.isascii()]
        return int(values[-1]) if values and values[-1].isdigit() and 0 < len(values[-1]) < 8 else None

    def option(self, *names: str) -> str:
        """The value of the last option of these names; empty without one."""
        return next((one.value for one in reversed(self.options) if one.name in names), "")

    def argv(
        self, program: Sequence[str], *, add: Sequence[str] = (), bound: bool = True, piped: bool = True
    ) -> list[str]:
        """The line with another program, and `add` after its options.

        `bound`: with the options that bind; `piped`: with those that turn standard input and output elsewhere.
        """
        known = OPTIONS[self.dialect]
        left = [
            word
            for one in self.options
            if (bound or one.name not in known.binds) and (piped or one.name not in known.pipes)
            for word in one.words
        ]
        return [*self.before, self.launcher, *left, *add, *program]


def launcher_place(words: Sequence[str]) -> int:
    """Where in the line the launcher stands. Raises UsageError where there is none."""
    for place, word in enumerate(words):
        if LAUNCHERS.fullmatch(word.rpartition("/")[2]):
            return place
    shown = " ".join(words) or "nothing"
    raise UsageError(f"{shown!r} is no launch line.", "Write -- srun -n 4 ./app, or -- mpirun -np 4 ./app.")


def parse_line(words: Sequence[str], dialect: Dialect, program: str = "") -> LaunchLine:
    """The line taken apart. `program`: the word that is the program, where options that we do not know hide it.

    Raises UsageError for a line without a launcher or a program, and for one that starts several programs.
    """
    place = launcher_place(words)
    rest = tuple(words[place + 1 :])
    if program and program not in rest:
        raise UsageError(f"--program {program!r} is no word of the launch line.", "Write it as it stands in the line.")
    options, first = _options(rest, OPTIONS[dialect], rest.index(program) if program else None)
    names = {one.name for one in options}
    if "multi-prog" in names or "configfile" in names or "app" in names or ":" in rest[first:]:
        raise UsageError("The launch line starts several programs.", "Give one that starts a single one.")
    if first >= len(rest):
        raise UsageError(f"The launch line {' '.join(words)!r} has no program.", "Write -- srun -n 4 ./app.")
    return LaunchLine(
        dialect=dialect,
        before=tuple(words[:place]),
        launcher=words[place],
        options=options,
        program=rest[first:],
    )


def _options(rest: Sequence[str], known: Options, program: int | None) -> tuple[tuple[Option, ...], int]:
    """The options, and where the program begins."""
    found: list[Option] = []
    place = 0
    while place < len(rest) and (program is None or place < program):
        word = rest[place]
        if word == "--":
            return tuple(found), place + 1
        if not word.startswith("-") or word == "-":
            if program is None:
                break
            found.append(Option(name="", words=(word,)))
            place += 1
            continue
        one, taken = _option(rest[place:], known)
        end = place + taken
        if program is not None and end > program:
            end = program
            one = msgspec.structs.replace(one, words=tuple(rest[place:end]))
        found.append(one)
        place = end
    return tuple(found), place if program is None else program


def _option(rest: Sequence[str], known: Options) -> tuple[Option, int]:
    """The option that `rest` begins with, and how many words it takes."""
    word = rest[0]
    name, equals, value = word.lstrip("-").partition("=")
    if equals:
        return Option(name=name, words=(word,), value=value), 1
    if name not in known.values and known is OPTIONS[Dialect.SRUN] and not word.startswith("--") and len(name) > 1:
        return Option(name=name[0], words=(word,), value=name[1:] if name[0] in known.values else ""), 1
    values = known.values.get(name, 0)
    words = tuple(rest[: 1 + values])
    return Option(name=name, words=words, value=" ".join(words[1:])), len(words)
