"""Which port of one node speaks with which port of another."""

import math
from collections.abc import Sequence

from seatrial.limits.pcie_path import MemoryAccess, pcie_terms
from seatrial.limits.ports import NodePort
from seatrial.model.hca import PortFamily

DEFAULT_PREFIX = "fe80:0000:0000:0000"
"""The subnet prefix before anybody set one: it tells no subnets apart (InfiniBand Architecture Specification 4.1.3)."""


def with_capacity(ports: Sequence[NodePort]) -> list[tuple[float, NodePort]]:
    """Each port of one node with its `capacity`, which no partner changes."""
    return [(capacity(port), port) for port in ports]


def best_shared(
    source: Sequence[tuple[float, NodePort]], target: Sequence[tuple[float, NodePort]]
) -> tuple[NodePort, NodePort] | None:
    """The pair of ports of one family and subnet that lets most through; None where the ends share no such network.

    Each port with its `capacity`. The first by order of devices among equals. Ports of a family that is not known are
    left out.
    """
    pairs = [(here, there) for here in source for there in target if _speak(here[1], there[1])]
    best = max(pairs, key=lambda pair: min(pair[0][0], pair[1][0]), default=None)
    return (best[0][1], best[1][1]) if best else None


def capacity(port: NodePort) -> float:
    """The least of the port's term and its PCIe links', bytes per second; 0 where its rate is not known."""
    terms = port.terms().terms
    if not terms:
        return 0.0
    bus = pcie_terms(port.device, port.node, port.label, MemoryAccess.WRITE).terms if port.device else ()
    return min((term.bytes_per_s for term in (*terms, *bus)), default=math.inf)


def _speak(here: NodePort, there: NodePort) -> bool:
    if not isinstance(here.port.family, PortFamily) or here.port.family is not there.port.family:
        return False
    prefixes = {here.port.subnet_prefix, there.port.subnet_prefix} - {"", DEFAULT_PREFIX}
    alike = here.port.subnet_prefix == there.port.subnet_prefix
    return alike or len(prefixes) < 2
