"""Facts of nodes in words: the plain name of a fact, and its value by its unit."""

import math
import re
from collections.abc import Callable

from seatrial.model import units

MISSING = "not reported"
THERE = "there"
NOT_THERE = "not there"

Value = str | int | float | bool | None

NAMES: tuple[tuple[str, str], ...] = (
    (r"processor\.governors", "frequency governor"),
    (r"processor\.energy_preferences", "energy preference"),
    (r"processor\.turbo", "turbo"),
    (r"processor\.smt_active", "SMT"),
    (r"processor\.microcode", "microcode"),
    (r"processor\.maximum_hz", "highest frequency"),
    (r"interfaces\.(.+)\.mtu_bytes", "MTU of {}"),
    (r"interfaces\.(.+)\.speed_bits_per_s", "speed of {}"),
    (r"hcas\.([^.]+)\.firmware", "firmware of {}"),
    (r"hcas\.([^.]+)\.ports\.(\d+)\.rate_text", "rate of {} port {}"),
    (r"settings\.scheduler\.(.+)", "scheduler setting {}"),
    (r"settings\.sysctls\.(.+)", "sysctl {}"),
    (r"settings\.command_line\.(.+)", "kernel parameter {}"),
    (r"settings\.transparent_huge_pages", "transparent huge pages"),
    (r"software\.mpi_settings\.(.+)", "MPI setting {}"),
    (r"system\.firmware\.bios_version", "BIOS version"),
    (r"cpu_model", "processor model"),
    (r"processor\.quota_processors", "processor quota"),
    (r"memory_bytes", "memory"),
)
"""Dotted names of facts, and how people say them; a fact that is not in the table keeps its dotted name."""


def fact_name(fact: str) -> str:
    """`processor.governors` -> frequency governor."""
    for pattern, words in NAMES:
        if match := re.fullmatch(pattern, fact, re.DOTALL):
            return words.format(*match.groups())
    return fact


def value_text(fact: str, value: Value) -> str:
    """A value for people: 2.1 GHz for a fact that ends in _hz; numbers without a unit, and words, are unchanged."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value or "without a value"
    if not math.isfinite(value):
        return str(value)
    return _number(fact, value)


def _number(fact: str, value: float) -> str:
    words = fact.split(".")
    unit = words[-2] if words[-1] in ("least", "most") and len(words) > 1 else words[-1]
    if unit.endswith("_bytes") and value < 0:
        return "unlimited"
    if fact.startswith("memory.") and unit.endswith("_transfers_per_s"):
        return memory_speed(value)
    for ending, text in _BY_UNIT:
        if unit.endswith(ending):
            return text(value)
    watts = " W" if len(words) > 1 and words[-2].endswith("_w") else ""
    return f"{value}{watts}" if isinstance(value, int) else f"{value:g}{watts}"


def hertz(value: float) -> str:
    """2.6 GHz."""
    return f"{value / 1e9:.4g} GHz" if value >= 0.9995e9 else f"{value / 1e6:.4g} MHz"


def lane_speed(transfers_per_s: float) -> str:
    """8 GT/s, as PCIe's speeds are named."""
    return f"{transfers_per_s / 1e9:g} GT/s"


def memory_speed(transfers_per_s: float) -> str:
    """3200 MT/s, as memory's speeds are named."""
    return f"{transfers_per_s / 1e6:g} MT/s"


_BY_UNIT: tuple[tuple[str, Callable[[float], str]], ...] = (
    ("_bytes", lambda value: units.size(int(value))),
    ("_bits_per_s", units.link_rate),
    ("_transfers_per_s", lane_speed),
    ("_hz", hertz),
    ("_s", units.duration),
)
