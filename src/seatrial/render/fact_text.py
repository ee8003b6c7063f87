"""Nodes in words: a node in a row of a table, and in which columns nodes differ."""

from collections import defaultdict
from collections.abc import Mapping

from seatrial.model import units
from seatrial.model.facts import NetworkInterface, NodeFacts
from seatrial.model.words import natural_sorted

_LOOPBACK = 772
_MOST_NAMED = 4


def columns(facts: NodeFacts) -> dict[str, str]:
    """Column title -> text for one node; "not read" where it is not known."""
    cpu = facts.cpu_model or "not read"
    return {
        "kernel": facts.kernel or "not read",
        "CPU": cpu if facts.sockets is None else f"{facts.sockets} × {cpu}",
        "cores": "not read" if facts.cores is None else str(facts.cores),
        "memory": "not read" if facts.memory_bytes is None else units.memory(facts.memory_bytes),
        "interfaces": "; ".join(map(interface_text, used_interfaces(facts))) or "none up",
        "HCAs": ", ".join(hca.name for hca in facts.hcas) or "none",
        "MPI": ", ".join(facts.mpi_versions) or "not read",
    }


def used_interfaces(facts: NodeFacts) -> list[NetworkInterface]:
    """Interfaces that can carry data: not loopback, not part of a bond or bridge, not down."""
    return [
        interface
        for interface in facts.interfaces
        if interface.link_type != _LOOPBACK and not interface.enslaved and interface.state != "down"
    ]


def interface_text(interface: NetworkInterface) -> str:
    """eth0 1 Gb/s MTU 1500."""
    rate = "" if interface.speed_bits_per_s is None else f" {units.link_rate(interface.speed_bits_per_s)}"
    mtu = "" if interface.mtu_bytes is None else f" MTU {interface.mtu_bytes}"
    return f"{interface.name}{rate}{mtu}"


def differences(facts: Mapping[str, NodeFacts]) -> list[str]:
    """One sentence for each column in which nodes differ; the rarest value, which is suspect, comes first."""
    values: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for node in natural_sorted(facts):
        for column, value in columns(facts[node]).items():
            values[column][value].append(node)
    found = []
    for column, nodes_of in values.items():
        if len(nodes_of) > 1:
            groups = sorted(nodes_of.items(), key=lambda group: len(group[1]))
            shown = "; ".join(f"{value} on {_named(nodes)}" for value, nodes in groups[:_MOST_NAMED])
            rest = len(groups) - _MOST_NAMED
            found.append(f"{column}: {shown}" + (f"; and {rest} more" if rest > 0 else ""))
    return found


def _named(nodes: list[str]) -> str:
    return ", ".join(nodes) if len(nodes) <= _MOST_NAMED else f"{len(nodes)} nodes"
