"""clock-source-differs: the kernel reads its time from another clock than the peers'."""

from collections.abc import Iterator

from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation
from seatrial.rules.peers import unlike

REMEDY = (
    'Look in the kernel\'s log why it gave up the tsc (dmesg: clocksource, "Marking TSC unstable"), then restart; '
    "reading hpet or acpi_pm takes a microsecond and a system call, and every timed MPI call does it."
)


def look(readings: Readings) -> Iterator[Violation]:
    """The kernel's current clocksource."""
    return unlike(readings, "the kernel's clock source", lambda facts: facts.system.clock.kernel_clock, REMEDY)


RULE = Rule(kind=FindingKind.CLOCK_SOURCE_DIFFERS, title="clock source differs", look=look)
