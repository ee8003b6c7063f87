"""A change between two sets of runs in words and numbers, for views."""

import math

from seatrial.drift.fact_words import value_text
from seatrial.judgement.comparison.records import Changed, ChangedFact, Suspect
from seatrial.model import units
from seatrial.model.measurement import Estimate
from seatrial.model.units import share
from seatrial.model.words import count, some

MOST_NAMES = 4
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


def fact_values(changed: ChangedFact) -> str:
    """`1500 → 600`: a fact before and after."""
    return " → ".join(value_text(changed.fact, value) for value in (changed.before, changed.after))


def suspect_text(suspect: Suspect) -> str:
    """settings.sysctls.vm.swappiness: 60 → 10, on 1 of 8 nodes, which is all 1 of the slower ones; ..."""
    named = suspect.facts[0]
    text = f"{named.fact}: {fact_values(named)}, on {len(suspect.nodes)} of {count(suspect.of, 'node')}"
    if suspect.all_slower:
        text += f", {suspect.slower_nodes} of the {suspect.all_slower} slower ones among them"
    if suspect.mechanism:
        text += f"; known to matter: {suspect.mechanism}"
    if suspect.adjusted_p is not None:
        text += f"; these nodes are slower than the others with p = {suspect.adjusted_p:.2g} (adjusted)"
    others = [each.fact for each in suspect.facts[1:]]
    if others:
        text += f"; changed together with it: {some(others, MOST_NAMES)}"
    return text
