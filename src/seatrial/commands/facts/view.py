"""What nodes are: the report of `seatrial facts`. A summary for each kind of node, or everything that was read."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import structs

from seatrial.commands.facts import node_devices, node_hardware, node_settings
from seatrial.model import units
from seatrial.model.errors import ExitCode
from seatrial.model.facts import NodeFacts, PciKind
from seatrial.model.system import Library
from seatrial.model.verdict import INCOMPLETE, Verdict
from seatrial.model.words import by_text, count, few, natural_sorted, some
from seatrial.render.fact_text import interface_text, used_interfaces
from seatrial.render.gpu_node import device_map
from seatrial.render.plots import COLOURS, Axis, Plot, round_steps
from seatrial.render.report import Block, Lines, Paragraph, Report
from seatrial.render.run_plot import RunValue, in_order

Row = tuple[str, str]
Rows = tuple[Row, ...]
MOST_NAMES = 6
"""Devices, interfaces or mounts of a line."""
CARRYING = ("pml", "mtl", "btl", "device")
"""Frameworks of an MPI whose components carry messages."""
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
        fewer = len(facts.gpus) < (facts.attached_gpus or 0)
        attached = [f"{facts.attached_gpus} attached"] if fewer else []
        yield "GPUs", ", ".join((*models, *attached, *(f"driver {driver}" for driver in drivers)))


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


SECTIONS = (
    node_hardware.machine,
    node_hardware.processors,
    node_hardware.memory,
    node_hardware.numa,
    node_devices.devices,
    node_settings.kernel,
    node_settings.clock,
    node_settings.mounts,
    node_settings.sensors,
    node_settings.software,
    node_settings.not_read,
)
"""The sections of the report, in their order."""
MOST_LETTERS = 60
"""Characters of node names in a title."""
MOST_KINDS = 16
MOST_VALUES = 8
"""Different values of one fact among nodes that are otherwise alike."""
MEASURED = Verdict.MEASURED.value


class FactsFields(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of nodes; docs/facts.md describes each field. A word that is unknown is {"word": ...}."""

    nodes: dict[str, NodeFacts]


def facts_report(facts: Mapping[str, NodeFacts], *, full: bool = False, exit_code: ExitCode = ExitCode.PASS) -> Report:
    """What the nodes are; `full`: everything that was read of them."""
    kinds = alike({node: summary(known) for node, known in facts.items()})
    return Report(
        word=MEASURED if exit_code is ExitCode.PASS else INCOMPLETE,
        sentence=_sentence(facts, kinds, full=full),
        exit_code=exit_code,
        payload=lambda: FactsFields(nodes={node: facts[node] for node in natural_sorted(facts)}),
        terminal=lambda _: _terminal(facts, kinds, full=full),
        page=lambda: _page(facts, kinds),
    )


def _sentence(facts: Mapping[str, NodeFacts], kinds: tuple[Alike, ...], *, full: bool) -> str:
    if not facts:
        return "no node's facts were read"
    broken = natural_sorted(node for node, known in facts.items() if not known.complete)
    if len(facts) == 1:
        what = f"facts of {next(iter(facts))}"
    elif len(kinds) == 1:
        what = f"facts of {count(len(facts), 'node')}, alike in this summary"
    else:
        what = f"facts of {count(len(facts), 'node')} of {count(len(kinds), 'kind')}"
    if len(kinds) == 1 and not broken:
        alike_node = next(iter(facts.values()))
        what = "; ".join((what + _what_it_is(alike_node), *(_in_full(alike_node) if full else ())))
    what += f"; those of {few(broken, MOST_LETTERS)} broke off before their end" if broken else ""
    return f"{what}; --drift judges"


def _what_it_is(facts: NodeFacts) -> str:
    """`: 48 cores, 192 GiB, cache and quadrant mode`: what was read of the machine in a few words."""
    firmware = facts.system.firmware
    modes = " and ".join(filter(None, (firmware.memory_mode, firmware.cluster_mode)))
    parts = (
        count(facts.cores, "core") if facts.cores else "",
        units.memory(facts.memory_bytes) if facts.memory_bytes else "",
        f"{modes} mode" if modes else "",
    )
    return f": {', '.join(filter(None, parts))}" if any(parts) else ""


def _in_full(facts: NodeFacts) -> Iterator[str]:
    """What people look for in everything that was read: the clocks of this instant, and the MPI's transports."""
    if clocks := node_hardware.span("clocks now", facts.processor.present_hz):
        yield clocks
    for library in facts.software.libraries:
        if isinstance(library, Library) and (
            parts := [f"{kind} {' '.join(library.components[kind])}" for kind in CARRYING if kind in library.components]
        ):
            yield f"{library.name} {library.version}: {', '.join(parts)}"


def _terminal(facts: Mapping[str, NodeFacts], kinds: tuple[Alike, ...], *, full: bool) -> Iterator[Block]:
    yield from _summaries(kinds)
    if not full and kinds:
        yield Lines(rows=(("more", "--full prints everything that was read, and why the rest was not"),), indent=0)
    for kind in kinds if full else ():
        yield from _everything(facts, kind.nodes)


def _page(facts: Mapping[str, NodeFacts], kinds: tuple[Alike, ...]) -> Iterator[Block]:
    """The summary, and what else was read to unfold."""
    yield from _summaries(kinds)
    yield from filter(None, (_clocks(facts),))
    for kind in kinds[:MOST_KINDS]:
        if drawn := device_map(facts[kind.nodes[0]]):
            yield structs.replace(drawn, title=f"{_title(kind.nodes)}: {drawn.title}")
        yield from (structs.replace(block, folded=True) for block in _everything(facts, kind.nodes))


def _clocks(facts: Mapping[str, NodeFacts]) -> Plot | None:
    """The clock of each processor at the instant of reading, with the most that the hardware can do."""
    drawn = {node: facts[node].processor for node in natural_sorted(facts) if facts[node].processor.present_hz}
    shown = dict(list(drawn.items())[:COLOURS])
    if not shown:
        return None
    levels = {hertz for each in shown.values() for hertz in each.hardware_maximum_hz}
    last = max(len(each.present_hz) for each in shown.values()) - 1
    curves = [
        (
            node if len(shown) > 1 else "",
            [
                RunValue(run=node, date=f"processor {place}", value=hertz)
                for place, hertz in enumerate(known.present_hz)
            ],
        )
        for node, known in shown.items()
    ]
    return in_order(
        f"Clock of each processor at one instant, {len(shown)} of {count(len(facts), 'node')}",
        curves,
        units.frequency,
        Axis(
            low=0.0,
            high=float(max(last, 1)),
            logarithmic=False,
            ticks=tuple((place, f"{place:.0f}") for place in round_steps(last) if place % 1 == 0),
            title=f"processor, n = {last + 1}",
        ),
        "clock",
        tuple((hertz, f"hardware's most {units.frequency(hertz)}") for hertz in sorted(levels)),
    )


def _summaries(kinds: tuple[Alike, ...]) -> Iterator[Block]:
    for kind in kinds[:MOST_KINDS]:
        yield Lines(title=_title(kind.nodes), rows=kind.rows if kind is kinds[0] else _new(kind, kinds[0]))
    if len(kinds) > MOST_KINDS:
        rest = sum(len(kind.nodes) for kind in kinds[MOST_KINDS:])
        yield Paragraph(text=f"and {count(rest, 'more node')} of other kinds: name them, or see --json")


def _title(nodes: tuple[str, ...]) -> str:
    names = few(nodes, MOST_LETTERS)
    return names if len(nodes) == 1 or names.startswith(f"{len(nodes)} ") else f"{names}  {count(len(nodes), 'node')}"


def _new(kind: Alike, first: Alike) -> Rows:
    """Only the rows in which a kind differs from the first."""
    gone = [label for label in dict.fromkeys(label for label, _ in first.rows) if label not in dict(kind.rows)]
    rows: list[Row] = [row for row in kind.rows if row not in first.rows]
    rows += [("without", ", ".join(gone))] if gone else []
    same = len(rows) < len(kind.rows)
    return (*rows, ("else", f"as {few(first.nodes, MOST_LETTERS)}")) if same else tuple(rows)


def _everything(facts: Mapping[str, NodeFacts], nodes: tuple[str, ...]) -> Iterator[Block]:
    """All rows of nodes of one kind; where they differ, a line for each value."""
    rows_of = {node: tuple(row for section in SECTIONS for row in section(facts[node])) for node in nodes}
    common, differing = parted(rows_of, nodes)
    yield Lines(title=f"Everything: {_title(nodes)}", rows=common, indent=2)
    rows: list[Row] = []
    for label, texts in differing.items():
        nodes_of = list(by_text(texts).items())
        for place, (text, names) in enumerate(nodes_of[:MOST_VALUES]):
            rows.append((label if place == 0 else "", f"{few(names, MOST_LETTERS)}: {text or 'none'}"))
        if len(nodes_of) > MOST_VALUES:
            rows.append(("", f"and {count(len(nodes_of) - MOST_VALUES, 'other value')}: see --json"))
    yield Lines(title=f"Where {few(nodes, MOST_LETTERS)} differ", rows=tuple(rows), indent=2)
