"""What a comparison of two sets of runs says."""

import enum
import math
from collections.abc import Callable, Iterable, Sequence

import msgspec
import numpy as np

from seatrial.drift.comparison import Value
from seatrial.model.imported import Sense
from seatrial.model.measurement import Estimate
from seatrial.model.run_values import MetricTable, RunMetric, RunSummary
from seatrial.model.subject import Subject
from seatrial.model.units import size
from seatrial.model.verdict import ComparisonOutcome
from seatrial.model.words import natural_sorted, some
from seatrial.statistics.run_comparison import Levels


class Unlike(msgspec.Struct, frozen=True, kw_only=True):
    """A condition that is not the same in both sets."""

    condition: str
    """One word, as `--across` takes it."""
    first: str
    second: str


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """One subject in one metric."""

    subject: Subject
    metric: RunMetric
    outcome: ComparisonOutcome
    before: float
    """Geometric mean over the runs of the first set; seconds or bytes per second."""
    after: float
    ratio: Estimate
    """After over before; without bounds where one run each cannot give any."""
    beyond_others: float
    """The ratio beyond what all subjects changed by together; 1 for all subjects."""
    deviates: bool
    """Whether it changed otherwise than all others did, which one run each can show."""
    more_runs: int | None
    """More runs of each set that would decide; 0: decided; None: more than are worth planning."""

    @property
    def unit(self) -> str:
        """`latency_s` or `bandwidth_bytes_per_s`."""
        return self.metric.unit

    @property
    def loss(self) -> float:
        """Loss of speed, as a share: 0.1 for 10 % less bandwidth, or a latency of 1/0.9 times; negative: a gain."""
        return 1 - (1 / self.ratio.value if self.metric.sign > 0 else self.ratio.value)

    @property
    def certainty(self) -> float:
        """The logarithm of the ratio in widths of its interval; 0 without bounds."""
        if not 0 < self.ratio.low < self.ratio.high < math.inf:
            return 0.0
        return abs(math.log(self.ratio.value)) / math.log(self.ratio.high / self.ratio.low)


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many subjects have each outcome."""

    slower: int = 0
    faster: int = 0
    same: int = 0
    inconclusive: int = 0


class MetricChange(msgspec.Struct, frozen=True, kw_only=True):
    """One metric: all its pairs together, and the nodes and pairs that changed, those that lost most first."""

    metric: RunMetric
    together: Changed
    nodes: Counts
    pairs: Counts
    changed: tuple[Changed, ...]
    """Nodes, and pairs that no changed node explains."""
    unlisted: int
    """How many more there are."""
    undecided: Changed | None
    """The subject that lost most of those that are not decided and not listed, if it lost as much as matters."""
    pairs_of_one: tuple[int, int]
    """Pairs that only the first, and only the second set has."""
    levels: Levels
    iteration_spread: float
    """Standard deviation of the logarithm over iterations of a round; NaN where unknown."""
    round_spread: float
    """Standard deviation of the logarithm over the rounds of a pair in one run; NaN if unknown."""
    before_deviation: float | None
    """Standard deviation of what all have together over the runs of the first set, in base units; None: one run."""
    after_deviation: float | None
    """Standard deviation of what all have together over the runs of the second set, in base units; None: one run."""

    @property
    def rows(self) -> tuple[Changed, ...]:
        """All together, what changed, and what is not decided."""
        return (self.together, *self.changed, *((self.undecided,) if self.undecided else ()))


class ChangedFact(msgspec.Struct, frozen=True, kw_only=True):
    """A fact with its values before and after."""

    fact: str
    before: Value
    after: Value


class Suspect(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that changed on the same nodes, which these runs cannot separate; the one with the greatest known cost is
    named first."""

    facts: tuple[ChangedFact, ...]
    nodes: tuple[str, ...]
    of: int
    """Nodes that both readings have."""
    weight: int
    """Known cost, as `seatrial.drift.severity` has it."""
    mechanism: str
    """How it can change performance; empty where nothing is known."""
    slower_nodes: int
    """How many of its nodes are slower."""
    all_slower: int
    """How many nodes are slower in all."""
    p_value: float | None
    """Result of a permutation test: are its nodes slower than the others? None: the nodes cannot say."""
    adjusted_p: float | None
    """The p-value adjusted for all suspects together."""


class FileSetting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting of a node: alternatives of where it is, its present content, and the one before the change."""

    fact: str
    places: tuple[tuple[str, ...], ...]
    """Each alternative is a list of files with the same content."""
    present: str
    earlier: str


class ProofOutcome(enum.StrEnum):
    """What taking a suspect back has shown."""

    CONFIRMED = "confirmed"
    """The subject is faster without the change, by at least half of what it had lost."""
    REFUTED = "refuted"
    """The subject gains less than half of that."""
    UNTESTABLE = "untestable"
    PLANNED = "planned"
    """A dry run (--dry-run): nothing was changed or measured."""


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """One suspect that was taken back, or why it was not."""

    facts: tuple[ChangedFact, ...]
    """What was taken back, or all of the suspect where nothing was."""
    nodes: tuple[str, ...]
    outcome: ProofOutcome
    statement: str
    """What was done or would be done, or why nothing was."""
    subject: Subject | None = None
    metric: RunMetric | None = None
    """What was measured again."""
    ratio: Estimate | None = None
    """The ratio of this subject in this metric, with the change over without it."""
    with_change: tuple[str, ...] = ()
    without_change: tuple[str, ...] = ()
    """Runs."""


class RankShare(msgspec.Struct, frozen=True, kw_only=True):
    """What one rank has of a node's limit, where the sets ran with unlike numbers of ranks a node."""

    of: str
    """`memory`, or `link`: to another node."""
    before_bytes_per_s: float
    after_bytes_per_s: float


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is known of the second set compared with the first."""

    first: str
    second: str
    """The second set as the command line names it."""
    first_runs: tuple[RunSummary, ...]
    second_runs: tuple[RunSummary, ...]
    outcome: ComparisonOutcome
    worst: Changed | None
    """What the first line names."""
    undecided: Changed | None
    """The subject that lost most, at least as much as matters, of those that the runs do not decide on."""
    metrics: tuple[MetricChange, ...]
    suspects: tuple[Suspect, ...]
    new_problems: tuple[str, ...]
    """Known problems of settings that only the second set has."""
    across: tuple[Unlike, ...]
    """Conditions that differ and were permitted."""
    threshold: float
    notes: tuple[str, ...]
    proofs: tuple[Proof, ...] = ()
    rank_shares: tuple[RankShare, ...] = ()


CROWDED = 2.0
"""Numbers of pairs at once that differ by this factor or more are another load on the fabric."""
COMMAND = "command"
OF_RUNS: dict[str, Callable[[RunSummary], str]] = {
    COMMAND: lambda run: run.kind,
    "benchmark": lambda run: run.benchmark,
    "cluster": lambda run: run.cluster,
    "launcher": lambda run: run.launcher,
    "mpi-library": lambda run: run.mpi_library,
    "mpi": lambda run: run.mpi,
    "start": lambda run: run.started_by,
    "mpirun-options": lambda run: " ".join(run.mpirun_options),
    "environment": lambda run: run.environment,
    "wrap": lambda run: run.wrap,
    "ranks-per-node": lambda run: "" if run.ranks_per_node is None else f"{run.ranks_per_node:g}",
}
"""Conditions by the word that `--across` takes. An empty value is one that the run does not record."""
OPTIONAL = ("cluster", "mpi-library", "ranks-per-node")
"""Conditions that are not compared if a run does not record them."""
MESSAGES, METRICS, NODES, PAIRS_AT_ONCE, VERIFICATION = "messages", "metrics", "nodes", "pairs-at-once", "verification"
CONDITIONS = (*OF_RUNS, PAIRS_AT_ONCE, VERIFICATION)
"""What `--across` can permit. Without common messages, metrics or nodes there is nothing to compare."""


def unlike_runs(first: Sequence[RunSummary], second: Sequence[RunSummary]) -> tuple[Unlike, ...]:
    """Conditions of whole runs that differ between the sets, or within one."""
    unlike = []
    for condition, value_of in OF_RUNS.items():
        absent = {""} if condition in OPTIONAL else set()
        values = [sorted({value_of(run) for run in runs} - absent) for runs in (first, second)]
        mixed = len(values[0]) > 1 and condition != COMMAND  # of several commands, each is compared with its own
        if values[0] and values[1] and (values[0] != values[1] or mixed):
            unlike.append(Unlike(condition=condition, first=_text(values[0]), second=_text(values[1])))
    return tuple(unlike)


def _text(values: Sequence[str]) -> str:
    return " and ".join(value or "none" for value in values)


def unlike_tables(tables: Sequence[MetricTable], first: int) -> tuple[Unlike, ...]:
    """Conditions of the measurements that differ; the first `first` rows of each table are the first set.

    Only metrics that both sets have are compared.
    """
    shared = [table for table in tables if _measured(table, 0, first) and _measured(table, first, len(table.values))]
    if not shared:
        return (_nothing_shared(tables, first),) if tables else ()
    has = [~np.isnan(table.values) for table in shared]
    common = any((of[:first].any(axis=0) & of[first:].any(axis=0)).any() for of in has)
    if not common and not any(_nodes([table], 0, first) & _nodes([table], first, None) for table in shared):
        nodes = [some(natural_sorted(_nodes(shared, *ends))) for ends in ((0, first), (first, None))]
        return (Unlike(condition=NODES, first=nodes[0], second=nodes[1]),)
    unlike = {}
    for table in shared:
        most = [float(np.nanmax(part)) for part in (table.pairs_at_once[:first], table.pairs_at_once[first:])]
        if max(most) >= CROWDED * min(most):
            unlike[PAIRS_AT_ONCE] = Unlike(condition=PAIRS_AT_ONCE, first=f"{most[0]:g}", second=f"{most[1]:g}")
        levels = [{str(level) for level in part if level} for part in (table.compared[:first], table.compared[first:])]
        if levels[0] != levels[1]:
            texts = [_text(sorted(level)) for level in levels]
            unlike[VERIFICATION] = Unlike(condition=VERIFICATION, first=texts[0], second=texts[1])
    return tuple(unlike.values())


def _measured(table: MetricTable, begin: int, end: int) -> bool:
    return any(level is not None for level in table.compared[begin:end])


def _nodes(tables: Iterable[MetricTable], begin: int, end: int | None) -> set[str]:
    nodes = set()
    for table in tables:
        has = np.any(~np.isnan(table.values[begin:end]), axis=0)
        nodes |= {node for place in np.flatnonzero(has) for node in table.pairs[place]}
    return nodes


def _nothing_shared(tables: Sequence[MetricTable], first: int) -> Unlike:
    texts = []
    for begin, end in ((0, first), (first, None)):
        names = {
            f"{table.metric.name}{' (lower is better)' if table.metric.kernel is Sense.LOWER else ''}"
            if table.metric.of_nodes
            else f"{table.metric.kernel.value} of {table.metric.window_messages} x {size(table.metric.message_bytes)}"
            for table in tables
            if any(level is not None for level in table.compared[begin:end])
        }
        texts.append(some(natural_sorted(names)) or "nothing")
    condition = METRICS if any(table.metric.of_nodes for table in tables) else MESSAGES
    return Unlike(condition=condition, first=texts[0], second=texts[1])
