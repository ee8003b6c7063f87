"""Numbers in text from outside: what counts as one, with bounded digits, so that no text takes long or overflows."""

import math
import re

MOST_DIGITS = 64
"""Digits before or behind the point of a number: no tool prints more, and int() refuses more than 4,300."""
MOST_WHOLE_DIGITS = 18
"""Digits of a whole number: all such numbers fit into 64 bits."""
LARGEST, LEAST = 1e150, 1e-150
"""No tool measures more, or less."""
_DIGITS = rf"[0-9]{{1,{MOST_DIGITS}}}+"
_EXPONENT = r"(?:[eEdD][-+]?[0-9]{1,6}+)?+"
NUMBER = (
    rf"[-+]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?+)?+{_EXPONENT}|\.{_DIGITS}{_EXPONENT}"
    r"|(?:nan|NaN|NAN|inf|Inf|INF)(?:inity)?+)"
)
"""A number as C, C++ and Fortran print it. Its repetitions are possessive: a match is never tried again shorter."""
_ONLY_NUMBER = re.compile(NUMBER)
_WHOLE = re.compile(rf"[-+]?\d{{1,{MOST_WHOLE_DIGITS}}}")
_LONGEST_SHOWN = 60


def is_number(text: str) -> bool:
    """Whether the text is a number and nothing else; infinite and NaN are numbers."""
    return _ONLY_NUMBER.fullmatch(text) is not None


def number_of(text: str) -> float:
    """The number; infinite or NaN where it says so. Raises ValueError for any other text.

    Beyond `LARGEST` it is infinite, and nearer to 0 than `LEAST` it is 0, so that products and ratios of two stay
    numbers: 1e-320 is more than 0, and 0 in another unit.
    """
    number = _float(text.strip())
    size = abs(number)
    return number * math.inf if size > LARGEST else 0.0 if size < LEAST else number


def _float(stripped: str) -> float:
    if is_number(stripped):
        return float(stripped.replace("D", "e").replace("d", "e"))
    try:
        return float("" if "_" in stripped or len(stripped) > _LONGEST_SHOWN else stripped)  # float() takes 1_000
    except ValueError:
        raise ValueError(f"{stripped[:_LONGEST_SHOWN]!r} is not a number") from None


def whole_number(text: str) -> int:
    """The number of at most `MOST_WHOLE_DIGITS` digits. Raises ValueError for any other text."""
    if not _WHOLE.fullmatch(text.strip()):
        raise ValueError(f"{text[:_LONGEST_SHOWN]!r} is not a whole number of at most {MOST_WHOLE_DIGITS} digits")
    return int(text)


def count_of(text: str) -> int:
    """A count in decimal digits, leading zeros included, or in hexadecimal ones behind `0x`. Raises ValueError."""
    return int(text, 16) if text[:2].lower() == "0x" else whole_number(text)


def finite(text: str) -> bool:
    """Whether the text is a number, and neither infinite nor NaN."""
    try:
        return math.isfinite(number_of(text))
    except ValueError:
        return False


def is_row(text: str, *, words: frozenset[str] = frozenset(), most: int = 1000) -> bool:
    """Whether a line consists of numbers, and of these words behind the first; at most `most` columns."""
    cells = text.split(None, most + 1)
    if not cells or len(cells) > most or not is_number(cells[0]):
        return False
    return all(cell in words or is_number(cell) for cell in cells[1:])
