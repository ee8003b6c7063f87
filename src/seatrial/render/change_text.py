"""A change between two sets of runs in words and numbers, for views."""

import math

from seatrial.judgement.comparison.records import Changed
from seatrial.model import units
from seatrial.model.measurement import Estimate
from seatrial.model.units import share

BEYOND_COUNTING = 20
"""A percentage of a ratio above it says less than the factor."""


def change_text(row: Changed) -> str:
    """bandwidth 1 MiB x 4 10.1 % lower."""
    return f"{row.metric.name} {amount(row.ratio.value)}"


def speed_text(row: Changed) -> str:
    """25.3 % faster, of a rate; 8.3 % longer, of a time."""
    words = ("shorter", "longer") if row.metric.sign > 0 else ("slower", "faster")
    text = amount(row.ratio.value)
    return text.replace("lower", words[0]).replace("higher", words[1])


def amount(ratio: float) -> str:
    """10.1 % lower, 3.2 times as high."""
    if ratio >= 3:
        return f"{ratio:.1f} times as high"
    return f"{abs(ratio - 1) * 100:.{_decimals(ratio)}f} % {'higher' if ratio > 1 else 'lower'}"


def _decimals(ratio: float) -> int:
    return 1 if abs(ratio - 1) >= 0.01 else 2


def estimate_text(ratio: Estimate) -> str:
    """The interval of a ratio."""
    low, high = ratio.low, ratio.high
    if not math.isfinite(high) or low <= 0 or high > BEYOND_COUNTING:
        return "no interval over runs"
    return f"{share(ratio.confidence)} CI {percent(low)} to {percent(high)} %"


def percent(ratio: float) -> str:
    """-9.2 of 0.908."""
    return f"{(ratio - 1) * 100:+.{_decimals(ratio)}f}"


def interval_text(row: Changed) -> str:
    """95 % CI -11.0 to -9.2 %; why there is none."""
    return estimate_text(row.ratio)


def values_text(row: Changed) -> str:
    """12.3 GB/s → 11.1 GB/s."""
    return f"{units.quantity(row.before, row.metric.unit)} → {units.quantity(row.after, row.metric.unit)}"
