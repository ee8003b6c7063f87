"""How many bytes each device of a node has counted, from its facts."""

from collections.abc import Mapping

from seatrial.node.frame import WHOLE_NUMBER, parse_frame
from seatrial.node.hcas import read_hcas
from seatrial.node.interfaces import SOCKETS

BOTH_WAYS = ("port_rcv_data", "port_xmit_data")
PORT_UNIT_BYTES = 4
"""Ports of HCAs count data octets divided by four: InfiniBand specification 16.1.3.5, PortXmitData."""
RECEIVED, SENT = 0, 8
"""Columns of /proc/net/dev behind the name."""

Traffic = Mapping[str, tuple[int, int]]
"""Device -> bytes received and sent, totals since some time unknown."""


def read_traffic(text: str) -> Traffic:
    """Interfaces of this network namespace (/proc/net/dev) and ports of HCAs; raises FactsFormatError for no facts."""
    frame = parse_frame(text)
    totals: dict[str, tuple[int, int]] = {}
    for row in frame.files.get(SOCKETS, ()):
        name, colon, numbers = row.partition(":")
        columns = numbers.split()
        if colon and len(columns) > SENT and all(map(WHOLE_NUMBER.fullmatch, (columns[RECEIVED], columns[SENT]))):
            totals[name.strip()] = int(columns[RECEIVED]), int(columns[SENT])
    for hca in read_hcas(frame)[0]:
        for port in hca.ports:
            ways = [port.counters.get(name) for name in BOTH_WAYS]
            if ways[0] is not None and ways[1] is not None:
                totals[f"{hca.name}/{port.number}"] = ways[0] * PORT_UNIT_BYTES, ways[1] * PORT_UNIT_BYTES
    return totals


def passed_between(before: Traffic, after: Traffic) -> dict[str, int]:
    """Device -> bytes that it counted meanwhile, the greater of both ways; one that was reset counted nothing."""
    passed = {}
    for name, (received, sent) in after.items():
        if name in before:
            passed[name] = max(received - before[name][0], sent - before[name][1], 0)
    return passed
