"""What `perfquery` prints of a port, and which errors rose between two readings."""

import re
from collections.abc import Mapping, Sequence

from seatrial.fabric.link_problem import problem
from seatrial.model.subject import device
from seatrial.model.verdict import Finding, FindingKind

HEAD = re.compile(r"^# Port\w*\s?(?:extended )?[Cc]ounters: Lid (\d+) port (\d+)")
"""Of PortCounters, PortCountersExtended, PortRcvErrorDetails (perfquery -E) and PortXmitDiscardDetails (-D)."""
LINE = re.compile(r"^(\w+):\.*(0x[0-9a-fA-F]+|\d+)\s*$")
ERRORS = (
    "SymbolErrorCounter",
    "LinkErrorRecoveryCounter",
    "LinkDownedCounter",
    "PortRcvErrors",
    "PortRcvRemotePhysicalErrors",
    "PortXmitDiscards",
    "PortXmitConstraintErrors",
    "PortRcvConstraintErrors",
    "LocalLinkIntegrityErrors",
    "ExcessiveBufferOverrunErrors",
    "VL15Dropped",
    "QP1Dropped",
    "PortLocalPhysicalErrors",
    "PortMalformedPktErrors",
    "PortBufferOverrunErrors",
    "PortDLIDMappingErrors",
    "PortVLMappingErrors",
    "PortLoopingErrors",
    "PortInactiveDiscards",
    "PortNeighborMTUDiscards",
    "PortSwLifetimeLimitDiscards",
    "PortSwHOQLifetimeLimitDiscards",
)
"""InfiniBand specification 16.1.3.5 (PortCounters), 16.1.4 (PortRcvErrorDetails, PortXmitDiscardDetails). They
saturate, and their start is unknown. PortRcvSwitchRelayErrors is left out: multicast raises it without any error.
"""
FORMER = {
    "SymbolErrors": "SymbolErrorCounter",
    "LinkRecovers": "LinkErrorRecoveryCounter",
    "LinkDowned": "LinkDownedCounter",
    "RcvErrors": "PortRcvErrors",
    "RcvRemotePhysErrors": "PortRcvRemotePhysicalErrors",
    "XmtDiscards": "PortXmitDiscards",
    "XmtConstraintErrors": "PortXmitConstraintErrors",
    "RcvConstraintErrors": "PortRcvConstraintErrors",
    "LinkIntegrityErrors": "LocalLinkIntegrityErrors",
    "ExcBufOverrunErrors": "ExcessiveBufferOverrunErrors",
}
"""Names that perfquery printed before infiniband-diags 1.5."""
Port = tuple[int, int]
"""LID and number."""
Counters = Mapping[Port, Mapping[str, int]]


def parse_counters(text: str) -> dict[Port, dict[str, int]]:
    """Blocks of `# Port counters: Lid 4 port 1`, one counter a line. Lines of other form are passed over.

    Several blocks of one port, such as its counters and its PortRcvErrorDetails, are read together.
    """
    by_port: dict[Port, dict[str, int]] = {}
    counters: dict[str, int] = {}
    for line in text.splitlines():
        if head := HEAD.match(line):
            counters = by_port.setdefault((int(head[1]), int(head[2])), {})
        elif line.startswith("#"):
            counters = {}
        elif counter := LINE.match(line):
            counters[FORMER.get(counter[1], counter[1])] = int(counter[2], 0)
    return by_port


def rising(before: Counters, after: Counters, names: Mapping[Port, str] | None = None) -> tuple[Finding, ...]:
    """Ports of which an error counter is higher in the second reading; one that fell was reset and means nothing."""
    problems = []
    for port in sorted(before.keys() & after.keys()):
        grown = [
            f"{name} +{after[port][name] - before[port][name]}"
            for name in ERRORS
            if name in before[port] and after[port].get(name, 0) > before[port][name]
        ]
        if grown:
            called = (names or {}).get(port, f"lid {port[0]}[{port[1]}]")
            problems.append(_problem(called, grown))
    return tuple(problems)


def _problem(called: str, grown: Sequence[str]) -> Finding:
    return problem(
        kind=FindingKind.LINK_ERRORS_RISING,
        subject=device(called),
        statement=f"Error counters rise at {called}: {', '.join(grown)}.",
        remedy="Clean or replace the cable or transceiver at that port; if errors continue, the port is at fault.",
    )
