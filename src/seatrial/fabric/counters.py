"""What `perfquery` prints of a port, and which errors rose between two readings."""

import re
from collections.abc import Mapping, Sequence

from seatrial.fabric.link_problem import problem
from seatrial.model.number_text import count_of
from seatrial.model.subject import device
from seatrial.model.verdict import Finding, FindingKind

HEAD = re.compile(r"^# Port\w*\s?(?:extended )?[Cc]ounters: Lid (\d{1,18}) port (\d{1,18})")
"""Head of PortCounters, PortCountersExtended, PortRcvErrorDetails (perfquery -E) and PortXmitDiscardDetails (-D)."""
LINE = re.compile(r"^(\w+):\.*(0x[0-9a-fA-F]{1,16}|\d{1,18})\s*$")
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
    "UncorrectableErrors",
    "FMConfigErrors",
)
"""InfiniBand specification 16.1.3.5 (PortCounters), 16.1.4 (PortRcvErrorDetails, PortXmitDiscardDetails). They
saturate, and their start is unknown. PortRcvSwitchRelayErrors is left out: multicast raises it without any error. The
last two are Omni-Path's.
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
Port = tuple[int | str, int]
"""LID, or GUID in 16 hex digits where a tool prints that, and number."""
Counters = Mapping[Port, Mapping[str, int]]
MOST_DIGITS = 16
"""Hexadecimal digits of a GUID."""


def parse_counters(text: str) -> dict[Port, dict[str, int]]:
    """Blocks of `# Port counters: Lid 4 port 1`, one counter a line. Lines of other form are passed over.

    Several blocks of one port, such as its counters and its PortRcvErrorDetails, are read together; of a counter that
    is in two of them the higher value counts, since that of 64 bits (-x) does not saturate.
    """
    by_port: dict[Port, dict[str, int]] = {}
    counters: dict[str, int] = {}
    for line in text.splitlines():
        if head := HEAD.match(line):
            counters = by_port.setdefault((int(head[1]), int(head[2])), {})
        elif line.startswith("#"):
            counters = {}
        elif counter := LINE.match(line):
            name = FORMER.get(counter[1], counter[1])
            counters[name] = max(count_of(counter[2]), counters.get(name, 0))
    return by_port


def rising(
    before: Counters, after: Counters, names: Mapping[Port, str] | None = None, *, errors_only: bool = False
) -> tuple[Finding, ...]:
    """Ports of which an error counter is higher in the second reading; one that fell was reset and means nothing.

    `errors_only`: the tool leaves out counters that are 0, and ports without errors.
    """
    problems = []
    ports = after.keys() if errors_only else before.keys() & after.keys()
    for port in sorted(ports, key=lambda port: (str(port[0]).rjust(MOST_DIGITS), port[1])):
        grown = _grown(before.get(port, {}), after[port], errors_only=errors_only)
        if grown:
            where = f"lid {port[0]}" if isinstance(port[0], int) else f"GUID 0x{port[0]}"
            problems.append(_problem((names or {}).get(port, f"{where}[{port[1]}]"), grown))
    return tuple(problems)


def _grown(before: Mapping[str, int], after: Mapping[str, int], *, errors_only: bool) -> list[str]:
    """`SymbolErrorCounter +5` for each counter that rose."""
    grown = []
    for name in ERRORS:
        if name not in after or (name not in before and not errors_only):
            continue
        rise = after[name] - before.get(name, 0)
        if rise > 0:
            grown.append(f"{name} +{rise}" if name in before else f"{name} up to {after[name]}")
    return grown


def _problem(called: str, grown: Sequence[str]) -> Finding:
    return problem(
        kind=FindingKind.LINK_ERRORS_RISING,
        subject=device(called),
        statement=f"Error counters rise at {called}: {', '.join(grown)}.",
        remedy="Clean or replace the cable or transceiver at that port; if errors continue, the port is at fault.",
    )
