"""All rules: first what is broken, then what is slower than it could be, finally what only differs.

A new rule is one row in the table of its subject; its `order` places it here.
"""

from collections.abc import Mapping

from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import Finding
from seatrial.rules.base import Readings, Rule, findings_of, one_place_per_host
from seatrial.rules.gpus import GPUS
from seatrial.rules.hardware import HARDWARE, HARDWARE_NOTES, KERNEL_LOG, PCIE_ERRORS
from seatrial.rules.kernel import KERNEL
from seatrial.rules.memory import MEMORY, MEMORY_ERRORS
from seatrial.rules.mounts import MOUNTS
from seatrial.rules.network import NETWORK, NETWORK_NOTES, RISING_COUNTERS
from seatrial.rules.pcie import GPU_NOTES, PCIE
from seatrial.rules.processors import PROCESSOR_NOTES, PROCESSORS, THROTTLED
from seatrial.rules.ranks import RANKS
from seatrial.rules.software import SOFTWARE, SOFTWARE_NOTES

TABLES = (PCIE, GPUS, NETWORK, HARDWARE, PROCESSORS, MEMORY, MOUNTS, RANKS, KERNEL, SOFTWARE)

RULES: tuple[Rule, ...] = tuple(sorted((rule for table in TABLES for rule in table), key=lambda rule: rule.order))

NOTES: tuple[Rule, ...] = (*HARDWARE_NOTES, *GPU_NOTES, *PROCESSOR_NOTES, *SOFTWARE_NOTES, *NETWORK_NOTES)
"""What is worth knowing of a machine and no fault by itself."""

READ_TWICE = (RISING_COUNTERS, MEMORY_ERRORS, THROTTLED, PCIE_ERRORS, KERNEL_LOG)
"""Rules about what happened between two readings."""


def fact_findings(readings: Readings) -> list[Finding]:
    """The findings of all rules, in the catalogue's order; places of one host are judged once."""
    hosts = one_place_per_host(readings)
    return [finding for rule in RULES for finding in findings_of(rule, hosts)]


def fact_notes(readings: Readings) -> list[Finding]:
    """What is worth knowing, and no fault."""
    hosts = one_place_per_host(readings)
    return [note for rule in NOTES for note in findings_of(rule, hosts)]


def findings_during(before: Mapping[str, NodeFacts], after: Mapping[str, NodeFacts]) -> list[Finding]:
    """What the hardware reported between two readings: errors that rose, throttling, lines of the kernel's log."""
    hosts = one_place_per_host(Readings(facts=before, after=after, during=True))
    return [finding for rule in READ_TWICE for finding in findings_of(rule, hosts)]
