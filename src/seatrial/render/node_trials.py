"""Trials of nodes in reports: their tables, what could have been seen, and their fields in JSON."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import structs

from seatrial.judgement.nodes.limits import clock_text, memory_text
from seatrial.judgement.nodes.storage import FILE_SYSTEM, MORE_HELPS, common_limit
from seatrial.model import units
from seatrial.model.node_trials import (
    Clock,
    Collective,
    Heat,
    Measure,
    NodeFigures,
    NodeLimits,
    NodeTrials,
    Noise,
    PeerComparison,
    Storage,
    StorageRates,
)
from seatrial.model.units import SHARE
from seatrial.model.verdict import Finding, Verdict
from seatrial.model.words import by_text, count, some
from seatrial.render.distribution import Distribution, Reference, of_verdicts
from seatrial.render.json import filled
from seatrial.render.matrix import Panels
from seatrial.render.report import Cells, Lines, Table, record_table, rows_table

MAIN = (Measure.TRIAD, Measure.CHASE, Measure.FMA, Measure.NOISE)
"""Memory bandwidth and latency, arithmetic, and noise of a node."""
Heads = Mapping[Measure, tuple[str, str]]
"""The columns of a table: the head of each and, where that is too short, what it is in one line."""
NODE: Heads = {
    Measure.TRIAD: ("triad", ""),
    Measure.CORE_TRIAD: ("one core", ""),
    Measure.CHASE: ("latency", ""),
    Measure.FMA: ("arithmetic", ""),
    Measure.SLOWEST_CORE: ("slowest core", ""),
    Measure.NOISE: ("noise", ""),
    Measure.OTHERS: ("others", ""),
}
SCHEDULER: Heads = {
    Measure.SWITCH: ("switch", "a byte to another process on the same core, and back"),
    Measure.WAKE: ("wake", "a byte to a process on another core, and back"),
    Measure.TIMER: ("timer", "how late a process wakes up from a sleep of 1 ms"),
    Measure.SLICE: ("slice", "longest time off a core that a process shares with another thread"),
    Measure.STINT: ("stint", "how long that thread has the core at once"),
    Measure.LATE: ("late", "how late a node comes to a barrier, as a share of the work before it"),
}
STORAGE: Heads = {
    Measure.STREAM_WRITE: ("write", "one stream, into a new file of its own"),
    Measure.STREAM_READ: ("read", "one stream"),
    Measure.NODE_WRITE: ("node writes", "several streams of the node together"),
    Measure.NODE_READ: ("node reads", "the same, reading"),
    Measure.FILES: ("file", "time to make an empty file, look at it and remove it"),
}
MOST_ROWS, MOST_UNKNOWN, MOST_CLOCKS = 40, 4, 4
FEWEST_DRAWN = 2
"""Nodes that have a distribution."""
READING = "The median of the nodes, and the value from which on a node is named, are drawn in."
LIMIT_HEAD = ("node", "#triad", "#of channels", "#arithmetic", "#of peak", "#frequency")
PRODUCT_HEAD = ("node", "#rate", "#of arithmetic", "library")
NUMA_HEAD = ("node", "core of", "#memory of NUMA node: latency")
NOISE_HEAD = ("node", "#mean", "#worst core", "#largest", "#1,000 ranks", "#10,000 ranks", "recurs")


class NodeTrialFields(NodeFigures, frozen=True, kw_only=True):
    """Figures and limits of one node; docs/nodes.md describes each field."""

    limits: NodeLimits


class TrialFields(msgspec.Struct, frozen=True, kw_only=True):
    """What the trials of the nodes of a run show; docs/nodes.md describes each field."""

    nodes: tuple[NodeTrialFields, ...]
    comparisons: tuple[PeerComparison, ...]
    collectives: tuple[Collective, ...]
    clocks: tuple[Clock, ...]
    heat: tuple[Heat, ...]
    storage: Storage | None


def main_figures(trials: NodeTrials | None) -> dict[str, dict[Measure, float]]:
    """The figures of each node that its page in a site draws over time, as far as measured."""
    return {
        figures.node: {measure: figures.values[measure].value for measure in MAIN if measure in figures.values}
        for figures in (trials.figures if trials else ())
    }


def trial_fields(trials: NodeTrials) -> TrialFields:
    """What programs read of the trials; the fields of reports of nodes begin with them."""
    nodes = [filled(NodeTrialFields, figures, limits=trials.limits[figures.node]) for figures in trials.figures]
    return filled(TrialFields, trials, nodes=nodes)


def trial_pictures(trials: NodeTrials, findings: Sequence[Finding]) -> Iterator[Panels]:
    """The distribution of each figure over the nodes, with what nodes are compared with; none for a single node."""
    panels = [panel for measure in (*NODE, *SCHEDULER, *STORAGE) if (panel := _spread(trials, measure, findings))]
    if panels:
        yield Panels(title="How the nodes differ", aside=READING, panels=tuple(panels))


def _spread(trials: NodeTrials, measure: Measure, findings: Sequence[Finding]) -> Distribution | None:
    """One figure: nodes with a finding of its kind have the colour of that; None for fewer than two nodes."""
    verdicts = {finding.subject.name: finding.verdict for finding in findings if finding.kind is measure.kind}
    values = [
        (figures.values[measure].value, verdicts.get(figures.node, Verdict.PASS))
        for figures in trials.figures
        if measure in figures.values
    ]
    if len(values) < FEWEST_DRAWN or not max(value for value, _ in values) > 0:
        return None
    peers = [one for one in trials.comparisons if one.measure is measure]
    runs = max(figures.values[measure].runs for figures in trials.figures if measure in figures.values)
    return of_verdicts(
        f"{measure.label.capitalize()} of {count(len(values), 'node')}, medians of {count(runs, 'run')}",
        values,
        tuple(_references(measure, peers[0])) if len(peers) == 1 else (),
        lambda value: units.quantity(value, measure.metric),
        "nodes",
    )


def _references(measure: Measure, peers: PeerComparison) -> Iterator[Reference]:
    """The median of the nodes, and the value from which on a node is named."""
    sign = -1 if measure.more_is_better else 1
    named = peers.peers + sign * peers.resolution * (1 if measure.metric == SHARE else peers.peers)
    yield Reference(value=peers.peers, style="peers", text=f"median {units.quantity(peers.peers, measure.metric)}")
    if named > 0:
        yield Reference(value=named, style="threshold", text=f"named from {units.quantity(named, measure.metric)}")


def trial_tables(trials: NodeTrials, title: str = "") -> Iterator[Table | Lines]:
    """The figures of each node with what their peers do, limits, and noise; a legend where heads are too short."""
    for name, heads in ((title, NODE), ("Scheduler", SCHEDULER), ("Storage", STORAGE)):
        yield from _figures(trials, name, heads)
    yield rows_table(LIMIT_HEAD, _limit_rows(trials), None, "Limits")
    yield rows_table(PRODUCT_HEAD, _product_rows(trials), None, "Product of matrices (DGEMM)")
    yield rows_table(NOISE_HEAD, _noise_rows(trials), None, "Noise, and what it costs 1,000 and 10,000 ranks")
    yield rows_table(NUMA_HEAD, _numa_rows(trials), None, "Memory latency between NUMA nodes")
    yield record_table(COLLECTIVES, trials.collectives[:MOST_ROWS], None, "Collective operations")
    latest = sorted(trials.clocks, key=lambda each: (-each.last, each.node))[:MOST_ROWS]
    yield record_table(CLOCKS, latest, None, "Clocks, and who comes last to a barrier after a millisecond of work")


def _figures(trials: NodeTrials, title: str, heads: Heads) -> Iterator[Table | Lines]:
    """The figures of each node, with what their peers do, and a legend; nothing if none was measured."""
    shown = {
        measure: texts for measure, texts in heads.items() if any(measure in each.values for each in trials.figures)
    }
    if not shown:
        return
    table = rows_table(
        ("node", *(f"#{head}" for head, _ in shown.values())),
        ((each.node, *(_value(each, measure) for measure in shown)) for each in trials.figures),
        MOST_ROWS,
        title,
    )
    yield structs.replace(table, rows=(*table.rows, *_peers(trials, [*shown])))
    yield Lines(rows=tuple(shown.values()), tight=True)


def heat_lines(trials: NodeTrials) -> Iterator[tuple[str, str]]:
    """What nodes of each model had under the same work, and from which temperature on one would be named."""
    for heat in trials.heat:
        named_from = heat.peers_celsius + heat.resolution_celsius
        unknown = f"; unknown: {some(heat.unknown, MOST_UNKNOWN)}" if heat.unknown else ""
        yield (
            "heat",
            f"median of {count(len(heat.nodes), 'node')} {heat.peers_celsius:.0f} °C, hottest {heat.hottest} at "
            f"{heat.hottest_celsius:.0f} °C; a node is named from {named_from:.0f} °C on{unknown}",
        )


def clock_lines(trials: NodeTrials) -> Iterator[tuple[str, str]]:
    """The clock of each node while all of its cores work, and how many cores its memory feeds; of the first nodes."""
    for label, text_of in (("clock", clock_text), ("memory", memory_text)):
        texts = by_text((figures.node, text_of(trials.limits[figures.node])) for figures in trials.figures)
        shown = [(words, nodes) for words, nodes in texts.items() if words]
        for words, nodes in shown[:MOST_CLOCKS]:
            yield label, f"{some(nodes, MOST_UNKNOWN)}: {words}"
        if len(shown) > MOST_CLOCKS:
            yield label, f"and {len(shown) - MOST_CLOCKS} more: --json has all"


ALIKE = 1.2
"""Times one stream: up to this, more streams are not faster."""


def storage_lines(storage: Storage | None) -> Iterator[tuple[str, str]]:
    """What writing and reading of the file system show, in words."""
    for rates in (storage.write, storage.read) if storage else ():
        if rates is not None:
            yield "reading" if rates.reading else "writing", in_words(rates)


def in_words(rates: StorageRates) -> str:
    """`one stream 120 MB/s, 8 streams of a node 410 MB/s, all 4 nodes 420 MB/s: ...`."""
    parts = [f"one stream {units.bandwidth(rates.stream_bytes_per_s)}"]
    if rates.node_bytes_per_s:
        parts.append(f"{count(rates.node_streams, 'stream')} of a node {units.bandwidth(rates.node_bytes_per_s)}")
    if rates.total_bytes_per_s:
        parts.append(f"all {rates.total_nodes} nodes {units.bandwidth(rates.total_bytes_per_s)}")
    binding = "; ".join(_limits(rates))
    return f"{', '.join(parts)}{': ' if binding else ''}{binding}"


def _limits(rates: StorageRates) -> Iterator[str]:
    node = rates.node_bytes_per_s
    if node and node >= MORE_HELPS * rates.stream_bytes_per_s:
        part = units.share(rates.stream_bytes_per_s / node)
        yield f"one stream reaches {part} of what a node does, a limit of each stream"
    elif node and node <= ALIKE * rates.stream_bytes_per_s:
        yield "more streams of a node are not faster"
    if common := common_limit(rates):
        alone = "not of the nodes" if common == FILE_SYSTEM else "for which all others wait"
        yield f"the total limit is that of {common}, {alone}"
    elif rates.total_bytes_per_s is not None:
        yield "the nodes add up, no common limit is reached"


def resolution(trials: NodeTrials) -> str:
    """What could have been seen; empty where nothing was compared."""
    return ", ".join(_smallest(measure, value) for measure, value in trials.resolutions.items())


def _smallest(measure: Measure, value: float) -> str:
    points = " (points)" if measure.metric == SHARE else ""
    return f"{measure.label} by {units.share(value)}{points}"


def _peers(trials: NodeTrials, measures: list[Measure]) -> Iterator[tuple[str, ...]]:
    """What nodes are compared with, and by how much a node must be worse to be named; for a single group of peers."""
    only = {one.measure: one for one in trials.comparisons}
    if not only or len(only) != len(trials.comparisons):
        return
    known = [(measure, only.get(measure)) for measure in measures]
    yield "peers", *(units.quantity(one.peers, measure.metric) if one else "" for measure, one in known)
    yield "named from", *(_line(measure, one.resolution) if one else "" for measure, one in known)


def _line(measure: Measure, value: float) -> str:
    sign = "-" if measure.more_is_better else "+"
    return f"{sign}{units.share(value)}"


def _value(figures: NodeFigures, measure: Measure) -> str:
    value = figures.values.get(measure)
    return units.quantity(value.value, measure.metric) if value else ""


def _limit_rows(trials: NodeTrials) -> Iterator[tuple[str, ...]]:
    for figures in trials.figures[:MOST_ROWS]:
        limits = trials.limits[figures.node]
        if limits.memory_share is None and limits.arithmetic_share is None:
            continue
        yield (
            figures.node,
            units.bandwidth(limits.memory_bytes_per_s),
            units.share(limits.memory_share),
            units.flops(limits.flops_per_s),
            units.share(limits.arithmetic_share),
            units.frequency(limits.observed_hz or None),
        )


def _product_rows(trials: NodeTrials) -> Iterator[tuple[str, ...]]:
    """Rates of matrix products, with the share of what the same cores do without a library."""
    for figures in trials.figures[:MOST_ROWS]:
        rate, arithmetic = figures.values.get(Measure.PRODUCT), figures.values.get(Measure.FMA)
        if rate is not None:
            part = units.share(rate.value / arithmetic.value if arithmetic else None)
            yield figures.node, units.flops(rate.value), part, figures.blas or units.UNKNOWN


def _noise_rows(trials: NodeTrials) -> Iterator[tuple[str, ...]]:
    for figures in trials.figures[:MOST_ROWS]:
        if figures.noise is None:
            continue
        yield (
            figures.node,
            units.share(figures.noise.fraction),
            units.share(figures.noise.worst_fraction),
            units.duration(figures.noise.largest_s),
            *(units.share(cost) for cost in figures.noise.slowdown.values()),
            _recurs(figures.noise),
        )


def _recurs(noise: Noise) -> str:
    """`every 100 ms for 1.00 ms`; empty where delays do not recur."""
    if noise.period_s is None:
        return ""
    return f"every {units.duration(noise.period_s)} for {units.duration(noise.amplitude_s)}"


def _numa_rows(trials: NodeTrials) -> Iterator[tuple[str, ...]]:
    """One row for each NUMA node of cores: the latency of the memory of each."""
    for figures in trials.figures[:MOST_ROWS]:
        cells = figures.numa_latency_s
        for core in dict.fromkeys(cell.partition(">")[0] for cell in cells):
            row = {cell.partition(">")[2]: value for cell, value in cells.items() if cell.startswith(f"{core}>")}
            latencies = (f"{memory}: {units.duration(value.value)}" for memory, value in row.items())
            yield figures.node, core, ", ".join(latencies)


COLLECTIVES: Cells[Collective] = {
    "operation": lambda operation: operation.kernel,
    "#message": lambda operation: units.size(operation.message_bytes),
    "#ranks": lambda operation: str(operation.ranks),
    "~of": lambda operation: operation.nodes[0] if len(operation.nodes) == 1 else f"{len(operation.nodes)} nodes",
    "#time": lambda operation: units.duration(operation.time_s.value),
}
CLOCKS: Cells[Clock] = {
    "node": lambda clock: clock.node,
    "#clock offset": lambda clock: f"{'-' if clock.offset_s < 0 else ''}{units.duration(abs(clock.offset_s))}",
    "#wrong by at most": lambda clock: units.duration(clock.error_s),
    "#late": lambda clock: units.duration(max(clock.late_s, 0.0)),
    "#last of": lambda clock: f"{clock.last} of {clock.barriers}",
}
