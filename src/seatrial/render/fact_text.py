"""Facts in words: one value by its unit, a node in a row of a table, and in which columns nodes differ."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping

from seatrial.model import units
from seatrial.model.facts import NetworkInterface, NodeFacts
from seatrial.model.words import natural_sorted

MISSING = "not reported"
THERE = "there"
NOT_THERE = "not there"

Value = str | int | float | bool | None


def value_text(fact: str, value: Value) -> str:
    """For a fact that ends in _hz, 2.1 GHz; numbers of facts without a unit, and words, as they are."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value or "without a value"
    if not math.isfinite(value):
        return str(value)
    return _number(fact, value)


def _number(fact: str, value: float) -> str:
    words = fact.split(".")
    unit = words[-2] if words[-1] in ("least", "most") and len(words) > 1 else words[-1]
    if unit.endswith("_bytes") and value < 0:
        return "unlimited"
    if fact.startswith("memory.") and unit.endswith("_transfers_per_s"):
        return memory_speed(value)
    for ending, text in _BY_UNIT:
        if unit.endswith(ending):
            return text(value)
    watts = " W" if len(words) > 1 and words[-2].endswith("_w") else ""
    return f"{value}{watts}" if isinstance(value, int) else f"{value:g}{watts}"


def hertz(value: float) -> str:
    """2.6 GHz."""
    return f"{value / 1e9:.4g} GHz" if value >= 0.9995e9 else f"{value / 1e6:.4g} MHz"


def lane_speed(transfers_per_s: float) -> str:
    """8 GT/s, as PCIe's speeds are named."""
    return f"{transfers_per_s / 1e9:g} GT/s"


def memory_speed(transfers_per_s: float) -> str:
    """3200 MT/s, as memory's speeds are named."""
    return f"{transfers_per_s / 1e6:g} MT/s"


_BY_UNIT: tuple[tuple[str, Callable[[float], str]], ...] = (
    ("_bytes", lambda value: units.size(int(value))),
    ("_bits_per_s", units.link_rate),
    ("_transfers_per_s", lane_speed),
    ("_hz", hertz),
    ("_s", units.duration),
)

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
