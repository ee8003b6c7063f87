"""Counters of ports as different tools print them, and which errors rose between two readings.

The text shows which tool it is: `perfquery` (infiniband-diags; also -x, -E and -D), `ibqueryerrors`, the .pm file of
`ibdiagnet`, or Omni-Path's `opapmaquery`. The names of counters become those of the InfiniBand specification, as
perfquery prints them.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.fabric.link_problem import problem
from seatrial.model.subject import device
from seatrial.model.unit_text import count_of
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import some

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
QUERY_ERRORS_NODE = re.compile(r'^Errors for (?:0x[0-9a-fA-F]+ )?"(.*)"\s*$')
QUERY_ERRORS_PORT = re.compile(r"^\s+GUID 0x([0-9a-fA-F]{1,16}) port (\w+):(.*)$")
QUERY_ERRORS_COUNTER = re.compile(r"\b(\w{1,64}+) == (\d{1,20})")
IBDIAGNET_PORT = re.compile(
    r"^Port=(\d{1,9}) Lid=(0x[0-9a-fA-F]{1,8}|\d{1,9}) GUID=0x([0-9a-fA-F]{1,16})(?: Device=\d{1,9})?"
    r"(?: Port Name=(.*))?"
)
IBDIAGNET_COUNTER = re.compile(r"^(\w+)=(0x[0-9a-fA-F]{1,16})\s*$")
EXTENDED = "_extended"
IBDIAGNET_NAMES = {
    "symbol_error_counter": "SymbolErrorCounter",
    "link_error_recovery_counter": "LinkErrorRecoveryCounter",
    "link_down_counter": "LinkDownedCounter",
    "link_downed_counter": "LinkDownedCounter",
    "port_rcv_errors": "PortRcvErrors",
    "port_rcv_remote_physical_errors": "PortRcvRemotePhysicalErrors",
    "port_xmit_discard": "PortXmitDiscards",
    "port_xmit_discards": "PortXmitDiscards",
    "port_xmit_constraint_errors": "PortXmitConstraintErrors",
    "port_rcv_constraint_errors": "PortRcvConstraintErrors",
    "local_link_integrity_errors": "LocalLinkIntegrityErrors",
    "excessive_buffer_errors": "ExcessiveBufferOverrunErrors",
    "excessive_buffer_overrun_errors": "ExcessiveBufferOverrunErrors",
    "vl15_dropped": "VL15Dropped",
    "qp1_dropped": "QP1Dropped",
    "port_local_physical_errors": "PortLocalPhysicalErrors",
    "port_malformed_packet_errors": "PortMalformedPktErrors",
    "port_buffer_overrun_errors": "PortBufferOverrunErrors",
    "port_dlid_mapping_errors": "PortDLIDMappingErrors",
    "port_vl_mapping_errors": "PortVLMappingErrors",
    "port_looping_errors": "PortLoopingErrors",
    "port_inactive_discards": "PortInactiveDiscards",
    "port_neighbor_mtu_discards": "PortNeighborMTUDiscards",
    "port_sw_lifetime_limit_discards": "PortSwLifetimeLimitDiscards",
    "port_sw_hoq_lifetime_limit_discards": "PortSwHOQLifetimeLimitDiscards",
}
"""Counters of ibdiagnet2.pm. With the suffix `_extended` they have 64 bits and do not saturate."""
OMNI_PATH_PORT = re.compile(r"^\s*Port Number\s+(\d{1,18})\s*$")
OMNI_PATH_LANE = re.compile(r"^\s+VL Number\s+\d{1,18}\s*$")
"""What follows counts the packets of one virtual lane, which the port's own counters contain."""
OMNI_PATH_COUNTER = re.compile(r"^\s+([A-Z][\w.]{0,60}+(?: [\w.]{1,60}+){0,9}+)\s{2,}+(\d{1,20})\s*$")
OMNI_PATH_NAMES = {
    "Uncorrectable Errors": "UncorrectableErrors",
    "Link Downed": "LinkDownedCounter",
    "Rcv Errors": "PortRcvErrors",
    "Exc. Buffer Overrun": "ExcessiveBufferOverrunErrors",
    "FM Config Errors": "FMConfigErrors",
    "Link Error Recovery": "LinkErrorRecoveryCounter",
    "Rcv Rmt Phys Err": "PortRcvRemotePhysicalErrors",
    "Xmit Constraint": "PortXmitConstraintErrors",
    "Rcv Constraint": "PortRcvConstraintErrors",
    "Xmit Discards": "PortXmitDiscards",
}
"""Errors that `opapmaquery` prints. "Local Link Integ Err" is left out: Omni-Path counts there each packet that
the link sent once more, which costs nothing and is usual (LTP replay).
"""


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
    """Ports of which an error counter is higher in the second reading, or fell and is not 0: it rose since a reset.

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
    """`SymbolErrorCounter +5` for each counter that rose, also since a reset between the readings."""
    grown = []
    for name in ERRORS:
        if name not in after or (name not in before and not errors_only):
            continue
        rise = after[name] - before.get(name, 0)
        if rise > 0:
            grown.append(f"{name} +{rise}" if name in before else f"{name} up to {after[name]}")
        elif rise < 0 and after[name]:
            grown.append(f"{name} {after[name]} since a reset")
    return grown


def _problem(called: str, grown: Sequence[str]) -> Finding:
    return problem(
        kind=FindingKind.LINK_ERRORS_RISING,
        subject=device(called),
        statement=f"Error counters rise at {called}: {', '.join(grown)}.",
        remedy="Clean or replace the cable or transceiver at that port; if errors continue, the port is at fault.",
        brief=f"errors rise, {some(grown, 1)}",
    )


class CounterReading(msgspec.Struct, frozen=True, kw_only=True):
    """Counters by port; a port is a LID, or a GUID in 16 hex digits, and its number."""

    ports: dict[Port, dict[str, int]]
    names: dict[Port, str] = {}
    """Names that the tool gives ports."""
    errors_only: bool = False
    """Whether the tool leaves out counters that are 0 or below its thresholds, and ports without errors."""


def read_counter_text(text: str) -> CounterReading:
    """Whichever tool printed it. No ports where the text is of none of them."""
    lines = text.splitlines()
    if any(IBDIAGNET_PORT.match(line) for line in lines):
        return _ibdiagnet(lines)
    if any(line.startswith("## Summary:") or QUERY_ERRORS_NODE.match(line) for line in lines):
        return _query_errors(lines)
    if any(OMNI_PATH_PORT.match(line) for line in lines):
        return _omni_path(lines)
    return CounterReading(ports=parse_counters(text))


def _ibdiagnet(lines: list[str]) -> CounterReading:
    """Blocks of `Port=1 Lid=0x0004 GUID=0x... Device=4123 Port Name=n1/U1/P1`, then `name=0x...` each line."""
    ports: dict[Port, dict[str, int]] = {}
    names: dict[Port, str] = {}
    counters: dict[str, int] = {}
    for line in lines:
        if head := IBDIAGNET_PORT.match(line):
            port = (count_of(head[2]), int(head[1]))
            counters = ports.setdefault(port, {})
            if head[4]:
                names[port] = head[4].strip()
        elif (counter := IBDIAGNET_COUNTER.match(line)) and (
            name := IBDIAGNET_NAMES.get(counter[1].removesuffix(EXTENDED))
        ):
            counters[name] = max(count_of(counter[2]), counters.get(name, 0))
    return CounterReading(ports=ports, names=names)


def _query_errors(lines: list[str]) -> CounterReading:
    """`   GUID 0x100005 port 1: [PortRcvErrors == 7] ...` below `Errors for "n3"`; `port ALL` is a sum."""
    ports: dict[Port, dict[str, int]] = {}
    names: dict[Port, str] = {}
    device = ""
    for line in lines:
        if node := QUERY_ERRORS_NODE.match(line):
            device = node[1]
        elif (head := QUERY_ERRORS_PORT.match(line)) and head[2].isdecimal():
            port = (f"{int(head[1], 16):016x}", int(head[2]))
            ports[port] = {name: int(value) for name, value in QUERY_ERRORS_COUNTER.findall(head[3])}
            if device:
                names[port] = f"{device}[{port[1]}]"
    return CounterReading(ports=ports, names=names, errors_only=True)


def _omni_path(lines: list[str]) -> CounterReading:
    """Blocks of `Port Number  1`, then a counter each line. The tool does not say whose port it is."""
    ports: dict[Port, dict[str, int]] = {}
    names: dict[Port, str] = {}
    counters: dict[str, int] = {}
    for line in lines:
        if head := OMNI_PATH_PORT.match(line):
            port = ("Omni-Path", int(head[1]))
            counters = ports.setdefault(port, {})
            names[port] = f"Omni-Path port {port[1]}"
        elif OMNI_PATH_LANE.match(line):
            counters = {}
        elif (counter := OMNI_PATH_COUNTER.match(line)) and (name := OMNI_PATH_NAMES.get(counter[1])):
            counters[name] = int(counter[2])
    return CounterReading(ports=ports, names=names)
