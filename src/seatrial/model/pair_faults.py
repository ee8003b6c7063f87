"""What a table of pairs shows: faulty parts, parts that cannot be distinguished, unstable pairs, changes over time."""

import enum

import msgspec

from seatrial.model.subject import Direction, Subject, SubjectKind
from seatrial.model.verdict import Verdict


class LocatedFault(msgspec.Struct, frozen=True, kw_only=True):
    """One part that explains slow or late pairs.

    `loss_ratio` is the share of what peers do that is missing: 0.05 for 5 % less bandwidth; of latency, the share by
    which it is longer. `low` and `high` enclose it with the table's confidence; `evidence` are pairs, "source>target".
    """

    subject: Subject
    metric: str
    direction: Direction
    loss_ratio: float
    low: float
    high: float
    evidence: tuple[str, ...]
    pairs: int
    """Ordered pairs that show it."""
    p: float
    """Probability that any healthy part of such a table would look like this: all parts counted. 0 for a dead part."""
    dead: bool = False
    """It was measured and gave 0, NaN, infinity, or a number of no network. `loss_ratio` is then 1."""

    @property
    def kind(self) -> str:
        """node, uplink, link, spine, pair or fabric: the kind of its subject."""
        return self.subject.kind.value


class Undecided(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of which at least one is at fault; these pairs cannot show which."""

    subjects: tuple[Subject, ...]
    metric: str
    loss_ratio: float
    evidence: tuple[str, ...]


class Instability(enum.StrEnum):
    """How the numbers of a pair or node disagree."""

    REPETITIONS = "repetitions"
    """The repetitions of one pair differ by more than noise."""
    SINGLE = "single"
    """Bad once, in one direction or in a table without directions: a passing disturbance or a fault."""
    SOME_PARTNERS = "some-partners"
    """A node is bad with some of its partners and good with the others."""


class Unstable(msgspec.Struct, frozen=True, kw_only=True):
    """A pair or node whose numbers disagree. `pairs`: how many ordered pairs of it are bad or vary."""

    subject: Subject
    metric: str
    cause: Instability
    loss_ratio: float
    """The loss ratio of the worst of its pairs."""
    gross: bool
    """Beyond the tail of all values of the table: it withholds a PASS even if it was seen only once."""
    pairs: int
    evidence: tuple[str, ...]

    @property
    def of_node(self) -> bool:
        """Whether it is a node with several bad pairs, and not a single pair."""
        return self.subject.kind is SubjectKind.NODE


MOST_BETTER = 10
"""A pair of nodes is never that many times as good as the others: links in one table differ by less."""


class TooGood(msgspec.Struct, frozen=True, kw_only=True):
    """The best value of a metric, `MOST_BETTER` times as good as the median or better; `values`: how many are."""

    subject: Subject
    metric: str
    value: float
    median: float
    values: int


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """A node that clearly differs from its peers, by less than the practical effect; so it is not reported."""

    subject: Subject
    metric: str
    direction: Direction
    loss_ratio: float
    low: float
    high: float
    decided: bool
    """False: the interval reaches beyond the largest practical effect, so that more measurements are needed."""


class Population(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes of like pace where the table has two paces; `ratio`: their pace over that of the faster population."""

    metric: str
    nodes: tuple[str, ...]
    ratio: float


class Method(enum.StrEnum):
    """How one metric of a table was judged."""

    ADDITIVE = "additive"
    """Row and column effects, fitted to a complete or nearly complete table."""
    GROUP_TEST = "group-test"
    """Most pairs of each part beside the others, of a table with few nodes or few partners per node."""


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """What one metric of the table can show.

    `effect_ratio`: the practical effect that a node must reach to be named. `detectable_ratio`: the smallest loss of
    one node, both directions, that would have been named with 95 % power; None where no loss would have been.
    `hidden_ratio`: the part of it that is due to noise, independent of the practical effect. `detectable_value_ratio`:
    the smallest loss of one value of a pair that would have withheld a PASS.
    """

    metric: str
    method: Method
    effect_ratio: float
    pair_scatter: float
    node_scatter: float | None = None
    detectable_ratio: float | None = None
    detectable_one_way_ratio: float | None = None
    detectable_value_ratio: float | None = None
    hidden_ratio: float | None = None
    enough: bool = False
    """Whether noise would have let it show a loss of 10 %."""
    majority: bool = True
    """False where many pairs are clearly better than the median, so that the median may be the level of slow nodes."""
    measured_pairs: int
    expected_pairs: int
    """Ordered pairs of a complete table; half of them where every pair was measured in one direction only."""
    directed: bool
    """False: the table holds each pair once, or the same number for both directions, and so has no directions."""
    complete: bool
    """False where a table that is nearly complete lacks pairs, and where a sparse one has far more of some nodes."""
    median: float
    """Median over pairs, in the metric's unit."""


class Located(msgspec.Struct, frozen=True, kw_only=True):
    """All of it, worst first. `resolutions`: one for each metric that has numbers."""

    verdict: Verdict
    faults: tuple[LocatedFault, ...]
    ambiguous: tuple[Undecided, ...]
    unstable: tuple[Unstable, ...]
    """Nodes, and the worst of the single pairs: of each metric at most a fixed number."""
    observations: tuple[Observation, ...]
    populations: tuple[Population, ...]
    too_good: tuple[TooGood, ...] = ()
    """The best value of each metric that has such: of another unit, or not measured at all."""
    unjudged: tuple[Subject, ...]
    """Nodes with too few pairs to be judged: measured at all, or with others than those at fault."""
    resolutions: tuple[Resolution, ...]
    confidence: float
    """Confidence of all names and intervals together."""
    unlisted_pairs: int = 0
    """Single pairs at fault beyond the worst ones, which are in `faults`."""
    unstable_pairs: int = 0
    """Ordered pairs that are bad once or vary, by metric and summed: those of `unstable`, and those not listed."""

    @property
    def low_once(self) -> bool:
        """Whether a pair of a table without directions was bad in its only value."""
        undirected = {one.metric for one in self.resolutions if not one.directed}
        return not undirected.isdisjoint(one.metric for one in self.unstable)
