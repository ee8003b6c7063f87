"""memory-differs: less memory than the peers have."""

from collections.abc import Iterator
from operator import lt

from seatrial.model.units import memory
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike_values

EQUAL = 0.98
"""The kernel keeps a different few MiB for itself on each boot; the smallest module of a big node is 3 % of it."""

REMEDY = (
    "Find the module that is missing or switched off (dmidecode -t 17, the BMC's log), seat it anew or replace "
    "it. Look also for huge pages, crashkernel= and mem= on the kernel's command line."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Sizes within 2 % count as one."""
    for group in readings.peers:
        told = {name: size for name in group if (size := readings.facts[name].memory_bytes)}
        steps = stepped(set(told.values()))
        values = {name: steps[size] for name, size in told.items()}
        yield from unlike_values(values, "its memory", REMEDY, show=memory, worse=lt)


def stepped(sizes: set[int]) -> dict[int, int]:
    """Size -> the greatest of those that count as the same."""
    found: dict[int, int] = {}
    greatest = 0
    for size in sorted(sizes, reverse=True):
        if size < EQUAL * greatest or not greatest:
            greatest = size
        found[size] = greatest
    return found


RULE = Rule(kind=FindingKind.MEMORY_DIFFERS, title="memory missing", look=look)
