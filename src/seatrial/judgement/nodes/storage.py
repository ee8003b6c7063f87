"""The trial of storage: the rates of each node, those of all nodes together, and what limits them, in words."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set

from msgspec.structs import replace

from seatrial.model.measurement import GroupMeasurement, Kernel, node_of
from seatrial.model.node_trials import Measure, NodeFigures, NodeLimits, Runs, Storage, StorageRates
from seatrial.model.units import bandwidth
from seatrial.model.words import MOST_NAMED, by_text, count, some
from seatrial.pairs.node_rounds import STORAGE_KERNELS, STREAM, STREAMS, TOTAL
from seatrial.statistics.estimates import median

RATES = {
    Measure.STREAM_WRITE: (Kernel.STORAGE_WRITE, STREAM),
    Measure.STREAM_READ: (Kernel.STORAGE_READ, STREAM),
    Measure.NODE_WRITE: (Kernel.STORAGE_WRITE, STREAMS),
    Measure.NODE_READ: (Kernel.STORAGE_READ, STREAMS),
}
ADDS_UP = 0.75
"""Share of what the nodes reach one by one; less of it together is a common limit."""
MORE_HELPS = 1.5
"""Times one stream: what several streams of a node reach where each stream has a limit of its own."""
FILE_SYSTEM = "the file system"
REASONS = {
    1: "not permitted",
    2: "the folder does not exist there",
    5: "input/output error",
    13: "permission denied",
    17: "a file of that name exists",
    27: "file too large (ulimit -f)",
    28: "no space left",
    30: "the file system is read-only",
    107: "the file system is not connected",
    108: "the file system was shut down",
    110: "the file system does not answer",
    116: "stale file handle",
    121: "remote input/output error",
    122: "the quota is exceeded",
}
"""errno of Linux (errno(3))."""
BROKEN = frozenset({5, 30, 107, 108, 110, 116, 121})
"""Error numbers of a file system that is out of order. Others are of a folder that a node cannot see or fill."""


def storage_runs(measured: Iterable[GroupMeasurement]) -> dict[Measure, Runs]:
    """The figures of one node, by repetition: bytes per second over the whole time, and seconds for a file."""
    runs: dict[Measure, Runs] = defaultdict(dict)
    wanted = {asked: measure for measure, asked in RATES.items()}
    for measurement in measured:
        if not _usable(measurement):
            continue
        shape = measurement.shape
        if measure := wanted.get((shape.kernel, measurement.variant)):
            runs[measure][measurement.repetition] = _rate(measurement)
        elif shape.kernel is Kernel.STORAGE_FILES and measurement.variant == STREAM:
            runs[Measure.FILES][measurement.repetition] = median(measurement.times_s) / shape.window
    return runs


def storage_of(measurements: Sequence[GroupMeasurement], figures: Sequence[NodeFigures]) -> Storage | None:
    """What is seen of the file system; None where it was not tried."""
    tried = [delivered for delivered in measurements if delivered.shape.kernel in STORAGE_KERNELS]
    if not tried:
        return None
    return Storage(
        write=_rates(tried, figures, Kernel.STORAGE_WRITE),
        read=_rates(tried, figures, Kernel.STORAGE_READ),
        cached=any(delivered.conditions is not None and delivered.conditions.cached for delivered in tried),
        failures=_failures(tried),
        broken=_failures(tried, BROKEN),
    )


def impossible(figures: NodeFigures, limits: NodeLimits) -> dict[Measure, str]:
    """Figures beyond what the node's memory does, each with a sentence: the page cache was measured, not storage."""
    triad, core = figures.values.get(Measure.TRIAD), figures.values.get(Measure.CORE_TRIAD)
    node_bytes_per_s = triad.value if triad else limits.memory_bytes_per_s
    core_bytes_per_s = core.value if core else node_bytes_per_s
    bounds = {STREAM: core_bytes_per_s, STREAMS: node_bytes_per_s}
    reasons = {}
    for measure, (_, scope) in RATES.items():
        value, bound = figures.values.get(measure), bounds[scope]
        if value and bound and value.value > bound:
            reasons[measure] = (
                f"INVALID: {measure.label} on {figures.node} is {bandwidth(value.value)}, faster than its memory "
                f"({bandwidth(bound)}). A cache was measured and not storage, so it is not compared."
            )
    return reasons


def without(figures: NodeFigures, measures: Iterable[Measure]) -> NodeFigures:
    """The figures but those."""
    left_out = set(measures)
    return replace(
        figures,
        values={measure: value for measure, value in figures.values.items() if measure not in left_out},
        runs={measure: runs for measure, runs in figures.runs.items() if measure not in left_out},
    )


def storage_notes(storage: Storage | None) -> Iterator[str]:
    """What did not go as it should."""
    if storage is None:
        return
    if storage.cached:
        yield (
            "The file system refuses O_DIRECT: each write includes fdatasync, and the node's cache was dropped before "
            "reading."
        )
    for why, names in by_text(storage.failures.items()).items():
        yield f"Storage was not measured on {some(names)}: {why}."
    yield from storage.invalid[:MOST_NAMED]


def broken_text(storage: Storage | None) -> str:
    """`storage failed on n3: input/output error`: the first reason, with its nodes; empty where none failed."""
    names_of = by_text(storage.broken.items()) if storage else {}
    return next((f"storage failed on {some(names)}: {why}" for why, names in names_of.items()), "")


def binding_limit(storage: Storage | None) -> str:
    """`writing: the file system limits 4 nodes to 420.0 MB/s (one stream …); reading: …`: the limits, for a first line.

    The limits are those of one stream, of a node (its client, link or gateway), and of the file system as a whole.
    """
    both = (storage.write, storage.read) if storage else ()
    said = [(("reading" if rates.reading else "writing"), _binding(rates)) for rates in both if rates is not None]
    if len(said) == 2 and said[0][1] == said[1][1]:
        return f"writing and reading: {said[0][1]}"
    return "; ".join(f"{what}: {words}" for what, words in said)


def _binding(rates: StorageRates) -> str:
    stream, node, total = rates.stream_bytes_per_s, rates.node_bytes_per_s, rates.total_bytes_per_s
    one_stream, one_node = f"one stream {bandwidth(stream)}", f"one node {bandwidth(node)}" if node else ""
    if total is not None and (common := common_limit(rates)):
        return f"{common} limits {count(rates.total_nodes, 'node')} to {bandwidth(total)}" + _beside(
            one_stream, one_node
        )
    together = f"{count(rates.total_nodes, 'node')} {bandwidth(total)}" if total is not None else ""
    if node and node >= MORE_HELPS * stream:
        return f"each stream is limited to {bandwidth(stream)}, a node reaches {bandwidth(node)}" + _beside(together)
    if node is None:
        return one_stream + _beside(together)
    added = ", and nodes add up" if together else ""
    return f"each node is limited to {bandwidth(node)}{added}" + _beside(one_stream, together)


def _beside(*rates: str) -> str:
    """` (one stream 120.0 MB/s, one node 410.0 MB/s)`: the rates that do not bind."""
    shown = [rate for rate in rates if rate]
    return f" ({', '.join(shown)})" if shown else ""


def common_limit(rates: StorageRates) -> str:
    """What limits all nodes together: the file system, or the slowest node; empty where nothing does."""
    total, each = rates.total_bytes_per_s, rates.node_bytes_per_s or rates.stream_bytes_per_s
    if total is None or total >= ADDS_UP * rates.total_nodes * each:
        return ""
    least = rates.slowest_bytes_per_s
    waiting = 0 < least < ADDS_UP * each and total >= ADDS_UP * rates.total_nodes * least
    return rates.slowest_node if waiting else FILE_SYSTEM


def _usable(measurement: GroupMeasurement) -> bool:
    broken = measurement.conditions is not None and measurement.conditions.failed
    return bool(measurement.times_s) and min(measurement.times_s) > 0 and not measurement.errors and not broken


def _rate(measurement: GroupMeasurement) -> float:
    shape = measurement.shape
    moved = len(measurement.nodes) * shape.window_bytes * len(measurement.times_s)
    return moved / sum(measurement.times_s)


def _rates(tried: Sequence[GroupMeasurement], figures: Sequence[NodeFigures], kernel: Kernel) -> StorageRates | None:
    """Medians over the nodes, and over the repetitions of all nodes at once."""
    of_scope = {scope: measure for measure, (asked, scope) in RATES.items() if asked is kernel}
    single, several = of_scope[STREAM], of_scope[STREAMS]
    streams, nodes = (
        {node.node: node.values[scope].value for node in figures if scope in node.values} for scope in (single, several)
    )
    if not streams:
        return None
    slowest = min(nodes or streams, key=(nodes or streams).__getitem__)
    usable = [delivered for delivered in tried if delivered.shape.kernel is kernel and _usable(delivered)]
    totals = [delivered for delivered in usable if delivered.variant == TOTAL]
    return StorageRates(
        reading=kernel is Kernel.STORAGE_READ,
        stream_bytes_per_s=median([*streams.values()]),
        node_bytes_per_s=median([*nodes.values()]) if nodes else None,
        slowest_node=slowest,
        slowest_bytes_per_s=(nodes or streams)[slowest],
        node_streams=max((len(group.nodes) for group in usable if group.variant == STREAMS), default=1),
        total_bytes_per_s=median([_rate(group) for group in totals]) if totals else None,
        total_streams=max((len(group.nodes) for group in totals), default=0),
        total_nodes=max((len({node_of(name) for name in group.nodes}) for group in totals), default=0),
    )


def _failures(tried: Iterable[GroupMeasurement], wanted: Set[int] = frozenset()) -> dict[str, str]:
    """Node -> why; `wanted`: only these errors, which all are where it is empty."""
    failed: dict[str, str] = {}
    for measurement in tried:
        number = measurement.conditions.failed if measurement.conditions is not None else 0
        if number and (number in wanted or not wanted) and measurement.variant != TOTAL:
            failed[node_of(measurement.nodes[0])] = REASONS.get(number, f"error {number}")
    return failed
