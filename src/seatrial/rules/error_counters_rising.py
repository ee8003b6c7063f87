"""error-counters-rising: a link that made errors while it was watched."""

from collections.abc import Iterator

from seatrial.model.facts import ETHERNET, NodeFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation

SERIOUS = (
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "port_xmit_discards",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "VL15_dropped",
)
"""Counters of an InfiniBand port (specification 16.1.3.5) that a good link does not move within minutes."""

WIRE = ("rx_errors", "tx_errors")
"""Of an Ethernet interface; dropped packets are left out, since a full buffer is no fault of the link."""

REMEDY = (
    "Seat the cable anew, then replace it, then the transceiver; look at the same counters of the switch's port, "
    "since an error is counted where it arrives, not where it is made (ibqueryerrors, ethtool -S)."
)


def look(readings: Readings) -> Iterator[Violation]:
    """Rises only: totals are since a time that nobody knows, and these counters stop at their greatest value."""
    for node, before, after in readings.read_twice():
        earlier = counters(before)
        for (part, counter), count in counters(after).items():
            grown = count - earlier.get((part, counter), count)
            if grown > 0:
                says = f"{counter} of {part} rose by {grown} during the run"
                yield Violation(node=node, says=says, key=counter, remedy=REMEDY)


def counters(facts: NodeFacts) -> dict[tuple[str, str], int]:
    """Part and counter -> its total."""
    found = {
        (f"port {hca.name}/{port.number}", name): port.counters[name]
        for hca in facts.hcas
        for port in hca.ports
        for name in SERIOUS
        if name in port.counters
    }
    for interface in facts.interfaces:
        if interface.link_type == ETHERNET:
            found |= {(interface.name, name): interface.errors[name] for name in WIRE if name in interface.errors}
    return found


RULE = Rule(kind=FindingKind.ERROR_COUNTERS_RISING, title="error counters rising", look=look)
