"""The one order in which names stand: n2 before n10."""

import re
from collections.abc import Iterable

_DIGITS = re.compile(r"([0-9]+)")

NaturalKey = tuple[tuple[tuple[int, int, str], ...], str]


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
