"""What is said of nodes, of families at a date, and of the comparison as a whole: the records that JSON prints."""

import math

import msgspec

from seatrial.commands.jobs.job_table import JobEnding
from seatrial.commands.jobs.joint_nodes import JointNodes
from seatrial.model.verdict import ComparisonOutcome
from seatrial.statistics.paired_change import GroupChanges


class SlowNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node on which jobs of the same family take longer."""

    node: str
    ratio: float
    """Run time there over that elsewhere."""
    low: float
    high: float
    """Upper end of the 95 % interval of `ratio`."""
    shrunk: float
    """The ratio without the part that chance explains."""
    jobs: int
    families: int
    """Families that have jobs there and elsewhere."""
    longer: int
    """Families whose jobs take longer on this node than elsewhere."""
    p_value: float
    """Adjusted for the number of nodes."""
    ambiguous_with: tuple[str, ...]
    """Nodes that had the same jobs."""


class FailingNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node on which more jobs fail in one way than of the same families elsewhere."""

    node: str
    ending: JobEnding
    failed: int
    jobs: int
    expected: float
    """Failures if the node were like the others."""
    p_value: float
    """Adjusted for the number of nodes and ways to fail."""


class NodeComparison(msgspec.Struct, frozen=True, kw_only=True):
    """How many nodes could be compared, and what would have been named."""

    nodes: int
    compared: int
    families: int
    """Families with jobs on different nodes."""
    jobs: int
    detectable: float
    """Share by which jobs take longer on a node that is named in 95 % of cases: that of half of the nodes."""
    joint: JointNodes | None = None
    """Jobs on several named nodes; None: there is none that could be compared."""
    alone: tuple[str, ...]
    """Nodes whose jobs nothing compares with those of others: a slow node and a slow family look alike there."""


class FamilyChange(msgspec.Struct, frozen=True, kw_only=True):
    """One family before and after a date."""

    family: str
    outcome: ComparisonOutcome
    ratio: float
    """Run time after over before."""
    low: float
    high: float
    """Upper end of the interval of `ratio`, for all named families together; infinite if most jobs were cut off."""
    days_before: int
    days_after: int
    p_value: float


class PeriodChange(msgspec.Struct, frozen=True, kw_only=True):
    """All families before and after a date."""

    date: str
    given: bool
    """Whether the command line named it; else the jobs show it."""
    families: tuple[FamilyChange, ...]
    one_sided: tuple[str, ...]
    """Families that ran before or after it only."""
    few_days: int
    """Families on both sides with too few days to compare."""
    ratio: float
    """Run time after over before, all compared families together."""
    low: float
    high: float
    """Upper end of the 95 % interval of `ratio`."""
    detectable: float
    """Share by which jobs of a family take longer that is named in 95 % of cases: that of half of the families."""

    def changed(self, outcome: ComparisonOutcome) -> tuple[FamilyChange, ...]:
        """The families that became slower, faster, or stayed."""
        return tuple(change for change in self.families if change.outcome is outcome)


def changed_word(changes: GroupChanges, place: int, effect: float) -> ComparisonOutcome:
    """Whether a family became slower, faster, or is shown to have stayed within the practical effect."""
    change, bound = float(changes.change[place]), math.log1p(effect)
    if changes.named[place] and abs(change) >= bound:
        return ComparisonOutcome.SLOWER if change > 0 else ComparisonOutcome.FASTER
    within = changes.low[place] > -bound and changes.high[place] < bound
    return ComparisonOutcome.SAME if within else ComparisonOutcome.INCONCLUSIVE
