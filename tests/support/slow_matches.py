"""Texts on which a regular expression may take more than linear time, made from the expression itself."""

import math
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

BASIC = "1a A.-_:,/\"'([{<=\t\n|#e"
"""Characters that numbers, names, rows and rules consist of."""
TAILS = ("\0", "\n\0")
"""What makes a match fail at the end, or not."""
SHORT_S = 0.0004
"""Processor time for `SIZE` repetitions below which growth is not measured: quadratic growth takes longer."""
TELLING_S = 0.004
"""For `LONGER` times as many, below which a time tells nothing."""
LONGER = 4
SIZE = 1000
UNBOUNDED = 1000
"""Repetitions from which on a bound is like none."""
LARGE = 100
"""Those from which on several in a row, whose product counts, take long."""
SHORT_TEXT, MOST_S = 1500, 0.1
"""Characters on which an expression with bounds must not take longer."""
LONGEST_S = 0.3
MOST_GROWTH = 8.0
"""Of the time for `LONGER` times as many characters, where 4 is linear and 16 is quadratic."""
LEAVES = (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY)
MOST_DIGITS = 4300
REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)


class TooSlow(Exception):
    """A match was ended because of its time."""


def attacks(pattern: str, flags: int, least: int = UNBOUNDED) -> list[tuple[str, str]]:
    """Beginnings and pieces to repeat behind them."""
    tree = parser.parse(pattern, flags)
    leaves = list(_leaves(tree))
    letters_of_all = dict.fromkeys([*_literals(tree), *BASIC])
    alike = {tuple(_matches_item(*leaf, letter) for leaf in leaves): letter for letter in letters_of_all}
    basic = list(alike.values())
    found = {("", letter): None for letter in basic}
    for before, body in _repeats(tree, "", least):
        letters = [letter for letter in basic if _matches_letter(body, letter)]
        word = _witness(body)
        for piece in (*letters, word, *(word + letter for letter in letters[:4])):
            found[before, piece] = None
            found["", before + piece] = None
    return [(before, piece) for before, piece in found if piece]


def _leaves(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Items that match one character; letters that all of them treat alike need not be tried twice."""
    for kind, value in tree:
        if kind in LEAVES:
            yield kind, value
        for part in _parts(kind, value):
            yield from _leaves(part)


def _literals(tree: Any) -> Iterator[str]:
    for kind, value in tree:
        if kind in (op.LITERAL, op.NOT_LITERAL):
            yield chr(value)
        elif kind is op.IN:
            for inner, what in value:
                if inner is op.LITERAL:
                    yield chr(what)
                elif inner is op.RANGE:
                    yield chr(what[0])
        else:
            for part in _parts(kind, value):
                yield from _literals(part)


def _parts(kind: Any, value: Any) -> Sequence[Any]:
    """The expressions inside of one."""
    if kind in REPEATS:
        return (value[2],)
    if kind is op.SUBPATTERN:
        return (value[3],)
    if kind is op.BRANCH:
        return tuple(value[1])
    if kind is op.ATOMIC_GROUP:
        return (value,)
    if kind in (op.ASSERT, op.ASSERT_NOT):
        return (value[1],)
    return ()


def _repeats(tree: Any, before: str, least: int) -> Iterator[tuple[str, Any]]:
    """Each repetition that `least` or more may be of: a text that leads to it, and its body."""
    for place, (kind, value) in enumerate(tree):
        if kind in REPEATS and value[1] >= least:
            yield before, value[2]
        for part in _parts(kind, value):
            yield from _repeats(part, before, least)
        before += _witness(tree[place : place + 1])


def _witness(tree: Any) -> str:
    """A text that the expression matches, most likely."""
    text = ""
    for kind, value in tree:
        if kind is op.LITERAL:
            text += chr(value)
        elif kind in (op.IN, op.ANY, op.NOT_LITERAL, op.CATEGORY):
            text += next((letter for letter in BASIC if _matches_item(kind, value, letter)), _first(value))
        elif kind is op.BRANCH:
            text += _witness(value[1][0])
        elif kind in REPEATS:
            text += _witness(value[2]) * max(value[0], 1)
        elif kind in (op.SUBPATTERN, op.ATOMIC_GROUP):
            text += _witness(_parts(kind, value)[0])
    return text


def _first(value: Any) -> str:
    """The first character of a class of letters and ranges."""
    for kind, what in value if isinstance(value, list) else ():
        if kind is op.LITERAL:
            return chr(what)
        if kind is op.RANGE:
            return chr(what[0])
    return "x"


def _matches_letter(body: Any, letter: str) -> bool:
    """Whether some item of the body matches a letter."""
    for kind, value in body:
        if kind in LEAVES:
            if _matches_item(kind, value, letter):
                return True
        elif any(_matches_letter(part, letter) for part in _parts(kind, value)):
            return True
    return False


CATEGORIES = {
    op.CATEGORY_DIGIT: re.compile(r"\d"), op.CATEGORY_NOT_DIGIT: re.compile(r"\D"),
    op.CATEGORY_SPACE: re.compile(r"\s"), op.CATEGORY_NOT_SPACE: re.compile(r"\S"),
    op.CATEGORY_WORD: re.compile(r"\w"), op.CATEGORY_NOT_WORD: re.compile(r"\W"),
}  # fmt: skip


def _matches_item(kind: Any, value: Any, letter: str) -> bool:
    if kind is op.ANY:
        return letter != "\n"
    if kind is op.LITERAL:
        return chr(value) == letter
    if kind is op.NOT_LITERAL:
        return chr(value) != letter
    if kind is op.CATEGORY:
        return CATEGORIES[value].match(letter) is not None
    if kind is op.RANGE:
        return bool(value[0] <= ord(letter) <= value[1])
    wanted = value[0][0] is not op.NEGATE
    inside = any(_matches_item(what, how, letter) for what, how in value if what is not op.NEGATE)
    return inside is wanted


def application(pattern: str, flags: int, method: str) -> Callable[[str], object]:
    """A function that applies the expression to a text, to its end."""
    compiled = re.compile(pattern, flags)
    if method in ("sub", "subn"):
        return lambda text: compiled.sub("", text)
    if method == "finditer":
        return lambda text: sum(1 for _ in compiled.finditer(text))
    apply: Callable[[str], object] = getattr(compiled, method)
    return apply


def processor_s(apply: Callable[[str], object], text: str, tries: int = 1) -> float:
    """The least processor time of some applications, in seconds; infinite beyond `LONGEST_S`."""

    def over(*_: object) -> None:
        raise TooSlow

    least = float("inf")
    before = signal.signal(signal.SIGVTALRM, over)
    try:
        for _ in range(tries):
            signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_S)
            began = time.thread_time()
            try:
                apply(text)
                least = min(least, time.thread_time() - began)
            except TooSlow:
                break
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    finally:
        signal.signal(signal.SIGVTALRM, before)
    return least


def slow_text(pattern: str, flags: int, method: str) -> tuple[str, str, str] | None:
    """Beginning, repeated piece and tail of a text on which the time grows faster than the text; None if none does."""
    apply = application(pattern, flags, method)
    if not any(_repeats(parser.parse(pattern, flags), "", UNBOUNDED)):
        return _heavy_text(pattern, flags, apply)
    for before, piece in attacks(pattern, flags):
        for tail in TAILS:
            times = round(SIZE / math.sqrt(len(piece)))  # whose square, times the piece, is the same for all pieces
            text = before + piece * times + tail
            if processor_s(apply, text) < SHORT_S or processor_s(apply, text, 2) < SHORT_S:
                continue
            longer = before + piece * (LONGER * times) + tail
            if _grows(apply, text, longer, tries=1) and _grows(apply, text, longer, tries=3):
                return before, piece, tail
    return None


def _heavy_text(pattern: str, flags: int, apply: Callable[[str], object]) -> tuple[str, str, str] | None:
    """The same where the product of bounds makes a short text take long."""
    bounds = any(_repeats(parser.parse(pattern, flags), "", LARGE))
    for before, piece in attacks(pattern, flags, LARGE) if bounds else ():
        third, text = (before + piece * (size // len(piece)) + TAILS[0] for size in (SHORT_TEXT // 3, SHORT_TEXT))
        if processor_s(apply, third) < MOST_S / 15:
            continue  # three times the size takes at most 27 times as long, and less where bounds are smaller
        if processor_s(apply, text) > MOST_S and processor_s(apply, text, 3) > MOST_S:
            return before, piece, TAILS[0]
    return None


def _grows(apply: Callable[[str], object], text: str, longer: str, tries: int) -> bool:
    """Whether a text of `LONGER` times the length takes more than `MOST_GROWTH` times the time, or `LONGEST_S`."""
    small = processor_s(apply, text, tries)
    if small == float("inf"):
        return True
    large = processor_s(apply, longer, tries)
    return large == float("inf") or (large > TELLING_S and large > MOST_GROWTH * small)


def unbounded_number(pattern: str, flags: int) -> bool:
    """Whether it reads a number without a bound: int() refuses more than 4,300 digits, and others overflow."""
    return any(_unbounded_numbers(parser.parse(pattern, flags), inside=False))


def _unbounded_numbers(tree: Any, *, inside: bool) -> Iterator[bool]:
    for kind, value in tree:
        group = inside or (kind is op.SUBPATTERN and value[0] is not None)
        if kind in REPEATS and value[1] >= MOST_DIGITS and group:
            yield all(_matches_letter(value[2], digit) for digit in "059") and not any(
                _matches_letter(value[2], other) for other in "a., :-_"
            )
        for part in _parts(kind, value):
            yield from _unbounded_numbers(part, inside=group)
