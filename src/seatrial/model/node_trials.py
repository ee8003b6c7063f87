"""What trials show of each node: figures that are compared, noise, limits, and how alike the nodes of a group are."""

import enum
from collections.abc import Mapping

import msgspec

from seatrial.model.measurement import Arrival, Estimate, Kernel
from seatrial.model.settings import Trial
from seatrial.model.units import BANDWIDTH, CELSIUS, FLOP_RATE, LATENCY, SHARE
from seatrial.model.verdict import Finding, FindingKind

USEFUL = 0.25
"""A figure with a coarser resolution shows little: the nodes differ too much, or too much else was running."""
GAINS = ("stint",)
"""Times of which more is better."""
Runs = dict[int, float]
"""One value of a figure for each repetition, by its number."""


class Measure(enum.StrEnum):
    """What is compared between nodes: its word in JSON, and how it is judged."""

    trial: Trial
    kind: FindingKind
    metric: str
    label: str
    more_is_better: bool
    effect: float
    """Smallest difference that matters: a share of the peers' value; of a share, the difference itself."""

    def __new__(cls, word: str, trial: Trial, kind: FindingKind, metric: str, label: str, effect: float) -> "Measure":
        """A member is its word."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.trial, member.kind, member.metric, member.label = trial, kind, metric, label
        member.more_is_better, member.effect = metric in (BANDWIDTH, FLOP_RATE) or word in GAINS, effect
        return member

    @property
    def fine(self) -> bool:
        """Whether it shows, by half of `USEFUL` or less, what a node itself can do."""
        return self.effect <= USEFUL / 2 and self is not Measure.OTHERS

    TRIAD = "triad", Trial.MEMORY, FindingKind.LOW_MEMORY_BANDWIDTH, BANDWIDTH, "STREAM triad of all cores", 0.05
    COPY = "copy", Trial.MEMORY, FindingKind.LOW_MEMORY_BANDWIDTH, BANDWIDTH, "STREAM copy of all cores", 0.05
    READ = "read", Trial.MEMORY, FindingKind.LOW_MEMORY_BANDWIDTH, BANDWIDTH, "memory reading of all cores", 0.05
    CORE_TRIAD = (
        "core_triad", Trial.MEMORY, FindingKind.LOW_MEMORY_BANDWIDTH, BANDWIDTH, "STREAM triad of one core", 0.10,
    )  # fmt: skip
    CHASE = "memory_latency", Trial.MEMORY, FindingKind.HIGH_MEMORY_LATENCY, LATENCY, "memory latency", 0.10
    FAR = (
        "far_memory_latency", Trial.MEMORY, FindingKind.HIGH_MEMORY_LATENCY, LATENCY,
        "latency of the last NUMA node's memory from the first one", 0.10,
    )  # fmt: skip
    FMA = "arithmetic", Trial.ARITHMETIC, FindingKind.SLOW_ARITHMETIC, FLOP_RATE, "arithmetic of all cores", 0.03
    SLOWEST_CORE = (
        "slowest_core", Trial.ARITHMETIC, FindingKind.SLOW_ARITHMETIC, FLOP_RATE, "arithmetic of the slowest core",
        0.05,
    )  # fmt: skip
    PRODUCT = "dgemm", Trial.ARITHMETIC, FindingKind.SLOW_ARITHMETIC, FLOP_RATE, "DGEMM of all cores", 0.05
    NOISE = "noise", Trial.NOISE, FindingKind.HIGH_NOISE, SHARE, "noise of the noisiest core", 0.005
    OTHERS = "others", Trial.NOISE, FindingKind.HIGH_NOISE, SHARE, "processor time of other processes", 0.005
    SWITCH = ("pipe_switch", Trial.PIPE, FindingKind.SLOW_SCHEDULER, LATENCY, "pipe round trip on one core", 0.15)
    WAKE = "pipe_wake", Trial.PIPE, FindingKind.SLOW_SCHEDULER, LATENCY, "pipe round trip on two cores", 0.25
    TIMER = "timer_wake", Trial.SCHEDULER, FindingKind.SLOW_SCHEDULER, LATENCY, "delay of a wake-up from sleep", 0.25
    SLICE = (
        "time_slice", Trial.SCHEDULER, FindingKind.SLOW_SCHEDULER, LATENCY, "time off a core shared with a thread",
        0.25,
    )  # fmt: skip
    STINT = (
        "stint", Trial.SCHEDULER, FindingKind.SLOW_SCHEDULER, LATENCY, "time of a thread on a shared core at once",
        0.25,
    )  # fmt: skip
    HEAT = "temperature", Trial.ARITHMETIC, FindingKind.HOTTER_THAN_PEERS, CELSIUS, "hottest reading of a soak", 0.05
    """Compared between soaks only: short trials warm no node as their predecessors did."""
    LATE = (
        "late", Trial.COLLECTIVES, FindingKind.DELAYS_OTHERS, SHARE, "delay at a barrier, of the work before it", 0.05,
    )  # fmt: skip
    STREAM_WRITE = "stream_write", Trial.STORAGE, FindingKind.SLOW_STORAGE, BANDWIDTH, "writing of one stream", 0.25
    STREAM_READ = "stream_read", Trial.STORAGE, FindingKind.SLOW_STORAGE, BANDWIDTH, "reading of one stream", 0.25
    NODE_WRITE = "node_write", Trial.STORAGE, FindingKind.SLOW_STORAGE, BANDWIDTH, "writing of several streams", 0.25
    NODE_READ = "node_read", Trial.STORAGE, FindingKind.SLOW_STORAGE, BANDWIDTH, "reading of several streams", 0.25
    FILES = "file", Trial.STORAGE, FindingKind.SLOW_STORAGE, LATENCY, "time to make and remove a file", 0.25


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """What was observed on the processors of one node."""

    quantum_s: float
    """The shortest time of the quantum of work."""
    quanta: int
    fraction: float
    """Time beyond the shortest, as a share of it, on average over all processors."""
    worst_fraction: float
    """Time beyond the shortest, as a share of it, on the processor on which it is largest."""
    worst_place: str
    largest_s: float
    """The largest delay of a quantum."""
    detours_per_s: float | None = None
    """Milliseconds of each second in which the clock showed an interruption of at least `DETOUR_S`."""
    largest_detour_s: float | None = None
    period_s: float | None = None
    """Time from one delay to the next, where they recur; None: they do not, or too few were seen."""
    amplitude_s: float | None = None
    """What one of these takes."""
    slowdown: dict[int, float] = {}
    """Number of ranks -> expected time of a quantum of the slowest rank, as a share of the quantum beyond 1."""
    core_quantum_s: dict[str, float] = {}
    """Place (node and rank) -> the shortest time of the quantum on its core, while all cores work."""


class Clock(Arrival, frozen=True, kw_only=True):
    """The clock of a node beside that of the first node, and how it came to the barriers of one round."""

    node: str
    barriers: int


class Collective(msgspec.Struct, frozen=True, kw_only=True):
    """One collective operation over the nodes of the run, or over the cores of each node."""

    kernel: str
    message_bytes: int
    nodes: tuple[str, ...]
    ranks: int
    time_s: Estimate
    """Time of the median iteration, on the rank that took longest."""


class NodeConditions(msgspec.Struct, frozen=True, kw_only=True):
    """What else happened on a node while its kernels ran; None: not known there."""

    switches_per_s: float
    """How often a rank had to leave its processor, per second of measuring and for all ranks of a round together."""
    faults_per_s: float
    throttles: int | None = None
    """How often its cores were throttled for heat, in all."""
    least_hz: float | None = None
    """Least frequency of a core at the end of a round."""
    celsius: float | None = None
    """Temperature of the node's hottest thermal zone."""
    interrupts_per_s: float | None = None
    watts: float | None = None


class Heat(msgspec.Struct, frozen=True, kw_only=True):
    """Temperatures of nodes of one model that did the same work: of each node its hottest zone, in the median."""

    nodes: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    """Nodes of the model that did the work and have no temperature."""
    peers_celsius: float
    """Median of the nodes."""
    hottest: str
    hottest_celsius: float
    resolution_celsius: float
    """Degrees above the median from which a node is named."""


class WrongResult(msgspec.Struct, frozen=True, kw_only=True):
    """Results of one kernel that are known to be wrong."""

    kernel: Kernel
    ranks: tuple[str, ...]
    """The ranks of the node that got them."""
    nodes: tuple[str, ...]
    """All nodes that took part: the data came from any of them."""


class NodeFigures(msgspec.Struct, frozen=True, kw_only=True):
    """All figures of one node."""

    node: str
    values: dict[Measure, Estimate]
    runs: dict[Measure, Runs] = {}
    memory_bytes_per_s: dict[str, Estimate] = {}
    """Kernel and scope -> bandwidth: `memory_triad node`, `memory_triad NUMA node 1`, `memory_triad core`."""
    numa_latency_s: dict[str, Estimate] = {}
    """NUMA node of the core and that of the memory, `0>1` -> latency; empty if there is only one, or if it is unknown.
    """
    flops_by_width: dict[int, Estimate] = {}
    """All cores, by the bytes of a vector."""
    blas: str | None = None
    """The library that DGEMM was called of; empty: none was found, None: it was not tried."""
    noise: Noise | None = None
    temperatures: Runs = {}
    """Degrees Celsius of the hottest thermal zone in each repetition; empty where they cannot be read."""
    conditions: NodeConditions | None = None
    wrong_bytes: int = 0
    wrong: tuple[WrongResult, ...] = ()
    """One for each kernel whose results were wrong."""
    verified: int = 0
    """Iterations whose results were compared."""


class NodeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one node; None: not known, for the reason in `unknown`."""

    memory_bytes_per_s: float | None = None
    memory_source: str = ""
    memory_share: float | None = None
    """Share of `memory_bytes_per_s` that STREAM triad reached, the lines that stores read first included."""
    observed_hz: float | None = None
    """Frequency from the shortest quantum of dependent operations."""
    core_hz: dict[str, float] = {}
    """Place of a core -> its frequency from the shortest quantum of dependent operations."""
    base_hz: float | None = None
    most_hz: float | None = None
    """Highest frequency of a single core: cpuinfo_max_freq, or the table of processors."""
    cores: int | None = None
    """Cores of the node."""
    filling_cores: int | None = None
    """Cores that together need all of the memory bandwidth that was measured, each as much as one core alone has; None
    where all cores have less than that, or not both were measured."""
    flops_per_s: float | None = None
    flops_source: str = ""
    arithmetic_share: float | None = None
    unknown: tuple[str, ...] = ()


class StorageRates(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes per second in one direction: of one stream, of the streams of one node, and of all nodes at once."""

    reading: bool
    stream_bytes_per_s: float
    """Median of the nodes."""
    node_bytes_per_s: float | None = None
    """Rate of the streams of one node, the median of the nodes; None: a node has only one core."""
    node_streams: int = 1
    slowest_node: str = ""
    slowest_bytes_per_s: float = 0.0
    """Rate of the node that does least by itself."""
    total_bytes_per_s: float | None = None
    """None: one node only, or not measured."""
    total_streams: int = 0
    total_nodes: int = 0


class Storage(msgspec.Struct, frozen=True, kw_only=True):
    """What the trial of storage shows of the file system as a whole."""

    write: StorageRates | None = None
    read: StorageRates | None = None
    cached: bool = False
    """Data went through the page cache on some rank, since the file system refuses O_DIRECT."""
    failures: dict[str, str] = {}
    """Node -> why it could not use the folder."""
    broken: dict[str, str] = {}
    """Node -> error of the file system itself, of input or output for example."""
    invalid: tuple[str, ...] = ()
    """Figures that cannot be those of storage, in sentences."""


class PeerComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One figure over the nodes of a peer group."""

    measure: Measure
    nodes: tuple[str, ...]
    peers: float
    """Median of the nodes."""
    scatter: float
    """Robust standard deviation of the nodes, in the figure's unit."""
    ratios: Mapping[str, Estimate] = {}
    """Ratios of each node to the median of the nodes in the same repetition; for a share, the excess."""
    resolution: float
    """Smallest difference from the peers that is reported, as a share of their value; of a share, a difference."""


class NodeTrials(msgspec.Struct, frozen=True, kw_only=True):
    """All that is derived from the trials of a run."""

    figures: tuple[NodeFigures, ...]
    limits: Mapping[str, NodeLimits]
    comparisons: tuple[PeerComparison, ...]
    findings: tuple[Finding, ...] = ()
    collectives: tuple[Collective, ...] = ()
    clocks: tuple[Clock, ...] = ()
    """The clocks at the last round of collective operations over several nodes."""
    storage: Storage | None = None
    """None: not tried."""
    heat: tuple[Heat, ...] = ()
    """The heat of each model; empty if too few nodes have temperatures."""
    suspected: tuple[tuple[str, Measure], ...] = ()
    """Nodes that are worse than their peers in a figure which too few repetitions have to prove it."""

    untried: tuple[Trial, ...] = ()
    """Trials that were begun and in which not all nodes were compared of which enough are alike."""

    @property
    def out_of_line(self) -> tuple[str, ...]:
        """Nodes with an open suspicion: it withholds a PASS, and no finding names them."""
        named = {finding.subject.name for finding in self.findings}
        return tuple(dict.fromkeys(node for node, _ in self.suspected if node not in named))

    @property
    def useful(self) -> tuple[Measure, ...]:
        """Figures in which a node that is worse by `USEFUL` would have been named."""
        return tuple(dict.fromkeys(one.measure for one in self.comparisons if one.resolution <= USEFUL))

    @property
    def undecided(self) -> tuple[Trial, ...]:
        """Trials that were compared and of which no figure would have shown such a node.

        Trials of which all figures are reported only from larger changes on, such as pipes and storage, do not count.
        What other processes use is known exactly, but shows nothing of what the node itself can do.
        """
        compared = {one.measure.trial for one in self.comparisons if one.measure.fine}
        shown = {measure.trial for measure in self.useful if measure is not Measure.OTHERS}
        return tuple(trial for trial in Trial if trial in compared - shown)

    @property
    def resolutions(self) -> Mapping[Measure, float]:
        """The coarsest resolution of each figure in its groups: what a node could lack without being named."""
        coarsest: dict[Measure, float] = {}
        for comparison in self.comparisons:
            coarsest[comparison.measure] = max(comparison.resolution, coarsest.get(comparison.measure, 0.0))
        return coarsest
