"""What is said of nodes, of families at a date, and of the comparison: records for JSON, and findings."""

import math
from collections.abc import Sequence

import msgspec

from seatrial.commands.jobs.job_table import JobEnding
from seatrial.commands.jobs.joint_nodes import JointNodes
from seatrial.model import subject
from seatrial.model.subject import CLUSTER
from seatrial.model.verdict import ComparisonOutcome, Finding, FindingKind, Verdict
from seatrial.model.words import count, some, verb
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
    """Nodes that may be slow in its place: they had the same jobs, or nearly so."""


class FailingNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node on which more jobs fail in one way than of the same families elsewhere."""

    node: str
    ending: JobEnding
    family: str
    """The only family that is counted; empty: all are."""
    failed: int
    jobs: int
    expected: float
    """Failures if the node were like the others."""
    p_value: float
    """Adjusted for the number of nodes and ways to fail, and of families if one is counted alone."""
    perhaps_sent: bool
    """Whether a user may have sent the failed ones there: its other jobs are as many as on other nodes."""
    ambiguous_with: tuple[str, ...]
    """Nodes on which jobs may fail in its place."""

    @property
    def cause(self) -> str:
        """What else may be the cause, to follow the number of failures."""
        return ", by the node or by what one user sent there" if self.perhaps_sent else ""


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


MOST_LISTED = 5
SLOW_REMEDY = (
    "Measure the node beside others: seatrial nodes {node} and a few peers; what differs: seatrial facts --drift. "
    "Until then jobs avoid it with --exclude={node}."
)
FAILING_REMEDY = (
    "Read the node's log and its hardware errors (seatrial facts {node}), and try it: seatrial nodes {node}."
)
SENT_REMEDY = "Run the program that failed on this node and on another one, at the same time. {node} alone fails: " + (
    FAILING_REMEDY
)
CHANGE_REMEDY = (
    "Look at what changed on that day: seatrial history and seatrial compare with runs from before, images, firmware, "
    "power settings, library versions."
)


def jobs_findings(
    slow: Sequence[SlowNode], failing: Sequence[FailingNode], change: PeriodChange | None
) -> tuple[Finding, ...]:
    """Slow nodes, families that became slower, and failing nodes."""
    return (
        *map(_slow, slow),
        *([_slower(change)] if change and change.changed(ComparisonOutcome.SLOWER) else []),
        *map(_failing, failing),
    )


def times(ratio: float) -> str:
    """1.9 times as long; for small effects 1.15 times."""
    return f"{ratio:.2f} times" if ratio < 1.5 else f"{ratio:.1f} times"


def _slow(node: SlowNode) -> Finding:
    families = count(node.families, "family", "families")
    return Finding(
        kind=FindingKind.SLOW_JOBS,
        subject=subject.node(node.node),
        verdict=FindingKind.SLOW_JOBS.verdict,
        brief=f"jobs take {times(node.ratio)} as long there; {node.longer} of {families}",
        statement=(
            f"Jobs take {times(node.ratio)} as long there as jobs of the same families elsewhere (95 % CI "
            f"{node.low:.2f}–{node.high:.2f}; {times(node.shrunk)} without chance's share), in {node.longer} of "
            f"{families} and {count(node.jobs, 'job')}."
        ),
        remedy=SLOW_REMEDY.format(node=node.node),
        ambiguous_with=tuple(map(subject.node, node.ambiguous_with)),
    )


def _failing(node: FailingNode) -> Finding:
    return Finding(
        kind=FindingKind.FAILING_JOBS,
        subject=subject.node(node.node),
        verdict=Verdict.INCONCLUSIVE if node.perhaps_sent else FindingKind.FAILING_JOBS.verdict,
        brief=f"{node.failed} of {count(node.jobs, 'job')} {node.ending.value} there{node.cause}",
        statement=(
            f"{node.failed} of {count(node.jobs, 'job')}{node.family and f' of {node.family}'} {node.ending.value} "
            f"there{node.cause}; {node.expected:.1f} would have if the node were like the others that ran jobs of "
            f"these families on the same days (p = {node.p_value:.2g}, all nodes and ways to fail counted)."
        ),
        remedy=(SENT_REMEDY if node.perhaps_sent else FAILING_REMEDY).format(node=node.node),
        ambiguous_with=tuple(map(subject.node, node.ambiguous_with)),
    )


def _slower(change: PeriodChange) -> Finding:
    slower = change.changed(ComparisonOutcome.SLOWER)
    listed = some([f"{each.family} {times(each.ratio)}" for each in slower], MOST_LISTED)
    families = count(len(change.families), "family", "families")
    together = ""
    if math.isfinite(change.ratio):
        ends = f"{change.low:.2f}–{change.high:.2f}"
        together = f" All families together take {times(change.ratio)} as long (95 % CI {ends})."
    return Finding(
        kind=FindingKind.JOBS_SLOWER,
        subject=CLUSTER,
        verdict=FindingKind.JOBS_SLOWER.verdict,
        brief=change_brief(change),
        statement=(
            f"Since {change.date} jobs of {len(slower)} of {families} {verb(len(slower), 'takes', 'take')} longer than "
            f"before: {listed}.{together}"
        ),
        remedy=CHANGE_REMEDY,
    )


def change_brief(change: PeriodChange) -> str:
    """3 of 20 families take longer since 2026-11-02, up to 4.0 times."""
    slower = change.changed(ComparisonOutcome.SLOWER)
    families = count(len(change.families), "family", "families")
    longest = times(max(each.ratio for each in slower))
    take = verb(len(slower), "takes", "take")
    return f"{len(slower)} of {families} {take} longer since {change.date}, up to {longest}"
