"""What a comparison of two sets of runs says."""

import enum

import msgspec

from seatrial.drift.comparison import Value
from seatrial.model.measurement import Estimate
from seatrial.model.run_values import RunMetric, RunSummary
from seatrial.model.subject import Subject
from seatrial.model.verdict import ComparisonOutcome
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
    """The subject that lost most of those that are not decided and not listed, and which no test sets apart; None if
    none lost as much as matters."""
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
