"""A node in about a dozen lines, and nodes that are alike as one. Nothing is judged."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from seatrial.commands.facts import node_devices, node_hardware, node_settings
from seatrial.model import units
from seatrial.model.facts import NodeFacts
from seatrial.model.hardware import PciKind
from seatrial.model.system import Library
from seatrial.model.words import by_text, count, natural_sorted, some
from seatrial.render.fact_text import interface_text, used_interfaces

Row = tuple[str, str]
Rows = tuple[Row, ...]
MOST_NAMES = 6
"""Devices, interfaces or mounts of a line."""
DEVICES = ((PciKind.GPU, "GPUs"), (PciKind.NVME, "NVMe"))


class Alike(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes with the same rows, in natural order."""

    nodes: tuple[str, ...]
    rows: Rows


def alike(rows_of: Mapping[str, Rows]) -> tuple[Alike, ...]:
    """Groups of nodes with the same rows: the largest first, then in the order of their first nodes."""
    nodes_of = by_text((node, rows_of[node]) for node in natural_sorted(rows_of))
    groups = (Alike(nodes=tuple(nodes), rows=rows) for rows, nodes in nodes_of.items())
    return tuple(sorted(groups, key=lambda group: -len(group.nodes)))


def summary(facts: NodeFacts) -> Rows:
    """Label and text of each line; what is not known has none."""
    return tuple(_rows(facts))


def _rows(facts: NodeFacts) -> Iterator[Row]:
    yield from node_hardware.machine(facts)
    yield from _labelled(node_hardware.processors(facts), "processors")
    yield from _labelled(node_hardware.memory(facts), "memory")
    if facts.topology.numa_nodes:
        yield "NUMA nodes", str(len(facts.topology.numa_nodes))
    if ports := [f"{hca.name} {port.rate_text or 'rate not reported'}" for hca in facts.hcas for port in hca.ports]:
        yield "adapters", some(ports, MOST_NAMES)
    if interfaces := used_interfaces(facts):
        yield "interfaces", some([interface_text(interface) for interface in interfaces], MOST_NAMES)
    yield from _gpus(facts)
    for kind, label in DEVICES:
        if kind is PciKind.GPU and facts.gpus:
            continue
        if names := [node_devices.device_name(device) for device in facts.pci if device.kind is kind]:
            yield label, f"{len(names)}: {some(names, MOST_NAMES)}"
    yield from _labelled(node_settings.kernel(facts), "kernel")
    if facts.system.limits.locked_memory_bytes is not None:
        size = facts.system.limits.locked_memory_bytes
        yield "limits", f"locked memory {'unlimited' if size < 0 else units.size(size)}"
    if facts.system.clock.synchronised is not None:
        yield "clock", "synchronised" if facts.system.clock.synchronised else "not synchronised"
    yield from _software(facts)
    if mounts := [mount for mount in facts.system.mounts if mount.kind not in node_settings.PSEUDO]:
        yield "mounts", some([f"{mount.path} ({mount.kind})" for mount in mounts], MOST_NAMES)
    if facts.absent:
        yield "not read", count(len(facts.absent), "fact")


def _gpus(facts: NodeFacts) -> Iterator[Row]:
    """`8 × NVIDIA H100, driver 550.54.15`: the models that the driver lists."""
    if facts.gpus:
        models = [f"{number} × {name or 'unnamed'}" for name, number in Counter(gpu.name for gpu in facts.gpus).items()]
        drivers = dict.fromkeys(gpu.driver for gpu in facts.gpus if gpu.driver)
        yield "GPUs", ", ".join((*models, *(f"driver {driver}" for driver in drivers)))


def _software(facts: NodeFacts) -> Iterator[Row]:
    yield from _labelled(node_settings.software(facts), "Slurm")
    libraries = [f"{one.name} {one.version}".strip() for one in facts.software.libraries if isinstance(one, Library)]
    if versions := list(dict.fromkeys((*facts.mpi_versions, *libraries))):
        yield "MPI", some(versions, MOST_NAMES)


def _labelled(rows: Iterable[Row], label: str) -> Iterator[Row]:
    return (row for row in rows if row[0] == label)


def parted(rows_of: Mapping[str, Rows], nodes: Sequence[str]) -> tuple[Rows, dict[str, Rows]]:
    """The rows that all these nodes have, and by label those of each node where they differ.

    Rows without a label continue the row above them, and belong to it.
    """
    by_node = {node: _by_label(rows_of[node]) for node in nodes}
    labels = list(dict.fromkeys(label for blocks in by_node.values() for label in blocks))
    common: list[Row] = []
    differing: dict[str, Rows] = {}
    for label in labels:
        texts = [by_node[node].get(label, ()) for node in nodes]
        if all(text == texts[0] for text in texts):
            common += [(label if place == 0 else "", text) for place, text in enumerate(texts[0])]
        else:
            differing[label] = tuple((node, "; ".join(text)) for node, text in zip(nodes, texts, strict=True))
    return tuple(common), differing


def _by_label(rows: Rows) -> dict[str, tuple[str, ...]]:
    blocks: dict[str, list[str]] = {}
    current = ""
    for label, text in rows:
        current = label or current
        blocks.setdefault(current, []).append(text)
    return {label: tuple(texts) for label, texts in blocks.items()}
