"""Numbers, names and times in texts, the natural order of names, and unknown words."""

import re
import shlex
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from seatrial.model.errors import UsageError

T = TypeVar("T", bound=Hashable)
MOMENT = (
    r"(?:\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}|\w{3} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,18})?"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,18})?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\d\d:\d\d:\d\d(?:[.,]\d{1,18})?|\d{10}\.\d{1,18})"
)
"""Expression for the times that ts, journals and launchers put before each line of an output."""
QUOTED = r"(?:>(?!=) ?){1,9}"
"""Expression for what a mail puts before each line that it quotes."""
_ESCAPE = re.compile(r"\\([0-7]{3})")
_LAST_NUMBER = re.compile(r"(.*?)([0-9]{1,15})([^0-9]*)", re.DOTALL)
NameKind = tuple[str, str, int]
"""The text before and after a number, and its width where it is padded with zeros (0: it is not)."""


def count(number: int, noun: str, several: str = "") -> str:
    """1 node, 2 nodes; `several`: the plural where it does not end in s."""
    return f"{number} {noun}" if number == 1 else f"{number} {several or noun + 's'}"


def verb(number: int, singular: str = "is", plural: str = "are") -> str:
    """The form that agrees with a number: 1 run has, 2 runs have."""
    return singular if number == 1 else plural


MOST_NAMED = 4
"""Names that a sentence lists, unless it says otherwise."""


def some(names: Sequence[str], most: int = MOST_NAMED, unlisted: int = 0) -> str:
    """n1, n2, n3 and 61 more: the first `most` of them, and the number of the rest and of the `unlisted`."""
    rest = max(len(names) - most, 0) + unlisted
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def ranges(values: Iterable[int], width: int = 0) -> str:
    """0-3,8: whole numbers in order, each run of them as its first and last, filled up to `width` digits with zeros."""
    runs: list[list[int]] = []
    for value in sorted(set(values)):
        if runs and value == runs[-1][1] + 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return ",".join(
        f"{first:0{width}}-{last:0{width}}" if last > first else f"{first:0{width}}" for first, last in runs
    )


def by_text(said: Iterable[tuple[str, T]]) -> dict[T, list[str]]:
    """Groups (name, text) by text: every text once, with the names that have it, in their order."""
    names_of: dict[T, list[str]] = {}
    for name, text in said:
        names_of.setdefault(text, []).append(name)
    return names_of


def shell_words(text: str, what: str) -> tuple[str, ...]:
    """A text as words, divided as a shell divides them, though none sees it. Raises UsageError."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{what} {text!r} cannot be divided into words: {error}.", "Close all quotes.") from error


_DIGITS = re.compile(r"([0-9]+)")

NaturalKey = tuple[tuple[tuple[int, int, str], ...], str]


def utc_text(moment: datetime, timespec: str = "seconds") -> str:
    """A moment in UTC as ISO 8601. `timespec`: as in `datetime.isoformat`."""
    return moment.isoformat(timespec=timespec).replace("+00:00", "Z")


def moment_of(text: str) -> datetime:
    """A date or a time in ISO 8601, in UTC unless it says otherwise. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError as error:
        raise ValueError(f"{text!r} is in UTC in a year that no calendar has") from error


def age_s(time: str, at: datetime) -> float:
    """Seconds from a time in ISO 8601 until now; 0 where the clock says that it is still to come."""
    return max((at - datetime.fromisoformat(time)).total_seconds(), 0.0)


def unescaped(text: str) -> str:
    r"""\040 and the like: blank, tab, newline, backslash and # in three octal digits (proc(5), getmntent(3))."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)


def name_form(name: str) -> str:
    """A name with all its numbers alike: n17 and n4 have one form."""
    return re.sub(r"\d+", "0", name)


def natural_key(name: str) -> NaturalKey:
    """Sort key that compares runs of digits by value. Total: names that differ never compare equal."""
    parts = []
    for part in _DIGITS.split(name):
        digits = part.lstrip("0") if _DIGITS.fullmatch(part) else ""
        is_number = bool(_DIGITS.fullmatch(part))
        parts.append((0, len(digits), digits) if is_number else (1, 0, part))
    return tuple(parts), name


def natural_sorted(names: Iterable[str]) -> list[str]:
    """The names in natural order."""
    return sorted(names, key=natural_key)


def leaf_order(leaf: str, name: str) -> tuple[bool, NaturalKey, NaturalKey]:
    """Sort key of a node: by leaf, those of unknown leaf last, then by name."""
    return leaf == "", natural_key(leaf), natural_key(name)


class Unknown(msgspec.Struct, frozen=True, kw_only=True):
    """The word itself, as it was read."""

    word: str

    def __str__(self) -> str:
        """The word for people."""
        return f"unknown {self.word!r}"


def folded(names: Iterable[str]) -> str:
    """n1, n2, n3, n7, login -> login,n[1-3,7]; by the last number in a name, as ClusterShell and Slurm write it."""
    of_kind: defaultdict[NameKind, list[int]] = defaultdict(list)
    texts: list[str] = []
    parted = {name: _LAST_NUMBER.fullmatch(name) for name in set(names)}
    filled = {(match[1], match[3], len(match[2])) for match in parted.values() if match and re.match("0.", match[2])}
    for name, match in parted.items():
        if match is None:
            texts.append(name)
            continue
        before, digits, after = match.groups()
        width = len(digits) if (before, after, len(digits)) in filled else 0
        of_kind[before, after, width].append(int(digits))
    for (before, after, width), found in of_kind.items():
        spans = ranges(found, width)
        texts.append(f"{before}{spans}{after}" if len(found) == 1 else f"{before}[{spans}]{after}")
    return ",".join(natural_sorted(texts))


def few(names: Iterable[str], most: int) -> str:
    """The folded names; where these are longer than `most`, the number of nodes, the first and the last."""
    unfolded = sorted(set(names), key=natural_key)
    text = folded(unfolded)
    return text if len(text) <= most else f"{count(len(unfolded), 'node')}, {unfolded[0]} to {unfolded[-1]}"
