"""Numbers and units in text from outside (GFLOP/s, MB/sec, GiB/s, usec), with bounded digits, to base units."""

import math
import re
from functools import lru_cache
from typing import NamedTuple

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


MOST_COLUMNS = 1000
"""Columns of one line of numbers."""


def is_row(text: str, *, words: frozenset[str] = frozenset()) -> bool:
    """Whether a line consists of numbers, and of these words behind the first."""
    cells = text.split(None, MOST_COLUMNS + 1)
    if not cells or len(cells) > MOST_COLUMNS or not is_number(cells[0]):
        return False
    return all(cell in words or is_number(cell) for cell in cells[1:])


class Unit(NamedTuple):
    """A base unit, and how many of it the unit is: GB/s is 10⁹ B/s, µs is 10⁻⁶ s."""

    base: str
    factor: float


_DECIMAL = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15, "e": 1e18}
"""Factors by prefix in lower case: m is 10⁶ as well, since nobody counts thousandths of a byte or of an operation."""
_BINARY = {f"{prefix}i": 2.0 ** (10 * power) for power, prefix in enumerate("kmgtpe", 1)}
_SMALL = {"m": 1e-3, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "n": 1e-9}
_PER_S = r"(?:(?:/|_?per_?|_)(?:s|sec|second)|ps)"
_FLOPS = re.compile(rf"(?P<prefix>[kKmMgGtTpPE]?)(?i:flops?)(?P<per>{_PER_S}?)")
_BYTES = re.compile(rf"(?P<prefix>[kKmMgGtTpPE]?i?)(?P<unit>B|[Bb]ytes?|b|[Bb]its?)(?P<per>{_PER_S})?")
_TIMES = re.compile(r"(?P<prefix>[muµμn]?)(?:s|sec|secs)")
_WORDS = {
    "second": 1.0, "seconds": 1.0, "millisecond": 1e-3, "milliseconds": 1e-3, "microsecond": 1e-6, "microseconds": 1e-6,
    "nanosecond": 1e-9, "nanoseconds": 1e-9, "min": 60.0, "minute": 60.0, "minutes": 60.0, "h": 3600.0, "hr": 3600.0,
    "hour": 3600.0, "hours": 3600.0,
}  # fmt: skip
_COUNTS = re.compile(
    r"(?P<prefix>[kKMGT]?)(?:(?:[oO]ps?|OPS?|it|iterations?|updates?|up|messages?|msgs?)(?:/s|/sec)|IOPS|iops|Hz)"
)
_PER_TIME = {"1/s": 1.0, "/s": 1.0, "1/sec": 1.0, "1/min": 1 / 60, "1/h": 1 / 3600}
_POWERS = re.compile(r"(?P<prefix>[mkKMG]?)(?P<unit>W|J)")
_WHOLE_UNITS = {
    "": Unit("", 1.0), "%": Unit("", 0.01), "percent": Unit("", 0.01),
    **dict.fromkeys(("°C", "degC", "deg_C", "Celsius", "celsius"), Unit("°C", 1.0)),
}  # fmt: skip
LONGEST = 24
"""Characters of a unit."""
_RATE = re.compile(r"(?P<value>\d{1,18}(?:\.\d{1,18})?(?:[eE]\d{1,2})?) ?(?P<unit>\S{0,12})")
_LINK = re.compile(r"(?P<prefix>[kKmMgGtT])(?:bits?|b?E?)")
"""Rates of links as `tc`, the lab and data sheets write them, in bits without a word for the second: gbit, G, GbE."""
KNOWN = "s, ms, us, ns, min, h, B/s, MB/s, MiB/s, GB/s, Gbit/s, flop/s, Gflop/s, 1/s, IOPS, Hz, B, MiB, W, J, °C, %"


@lru_cache(maxsize=1 << 12)
def unit_of(text: str) -> Unit | None:
    """The unit that the text names, or None.

    M is 10⁶, Mi is 2²⁰; B is a byte, b a bit. `GFLOPS` is a rate. Spaces are passed over.
    """
    name = text.replace(" ", "")[: LONGEST + 1]
    if len(name) > LONGEST:
        return None
    if name in _WHOLE_UNITS:
        return _WHOLE_UNITS[name]
    if name in _PER_TIME:
        return Unit("1/s", _PER_TIME[name])
    if name.lower() in _WORDS:
        return Unit("s", _WORDS[name.lower()])
    return _with_prefix(re.sub(r"^([GTP])F(?:/s)?$", r"\1FLOPS", name))


def _with_prefix(name: str) -> Unit | None:
    if match := _FLOPS.fullmatch(name):
        rate = match["per"] or name.lower().endswith("flops")
        return Unit("flop/s", _DECIMAL[match["prefix"].lower()]) if rate else None
    if match := _TIMES.fullmatch(name):
        return Unit("s", _SMALL[match["prefix"]] if match["prefix"] else 1.0)
    if match := _COUNTS.fullmatch(name):
        return Unit("1/s", _DECIMAL[match["prefix"].lower()])
    if match := _POWERS.fullmatch(name):
        return Unit(match["unit"], 1e-3 if match["prefix"] == "m" else _DECIMAL[match["prefix"].lower()])
    match = _BYTES.fullmatch(name)
    factor = {**_DECIMAL, **_BINARY}.get(match["prefix"].lower()) if match else None
    if match is None or factor is None:
        return None
    bits = match["unit"] == "b" or match["unit"].lower().startswith("bit")
    return Unit("B/s" if match["per"] else "B", factor / 8 if bits else factor)


def rate_of(text: str) -> float | None:
    """Bytes per second of `12.5e9`, `12.5GB/s`, `100Gbit/s`, `1gbit`, `100G` or `25GbE`; None for any other text."""
    match = _RATE.fullmatch(text.strip())
    if match is None or not float(match["value"]):
        return None
    if link := _LINK.fullmatch(match["unit"]):
        return float(match["value"]) * _DECIMAL[link["prefix"].lower()] / 8
    unit = unit_of(match["unit"] or "B/s")
    return float(match["value"]) * unit.factor if unit is not None and unit.base == "B/s" else None


def unit_named(text: str) -> Unit:
    """The unit of a name that a program is known to print. Raises ValueError for any other."""
    unit = unit_of(text)
    if unit is None:
        raise ValueError(f"{text[:LONGEST]!r} is not a unit")
    return unit
