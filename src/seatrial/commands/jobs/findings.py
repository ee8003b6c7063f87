"""Findings on jobs: the sentences of slow nodes, failing nodes and families that became slower."""

import math
from collections.abc import Sequence

from seatrial.commands.jobs.outcomes import FailingNode, PeriodChange, SlowNode
from seatrial.model import subject
from seatrial.model.subject import CLUSTER
from seatrial.model.verdict import ComparisonOutcome, Finding, FindingKind
from seatrial.model.words import count, some, verb

MOST_LISTED = 5
SLOW_REMEDY = (
    "Measure the node beside others: seatrial nodes {node} and a few peers; what differs: seatrial facts --drift. "
    "Until then jobs avoid it with --exclude={node}."
)
FAILING_REMEDY = (
    "Read the node's log and its hardware errors (seatrial facts {node}), and try it: seatrial nodes {node}."
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
        verdict=FindingKind.FAILING_JOBS.verdict,
        brief=f"{node.failed} of {count(node.jobs, 'job')} {node.ending.value} there",
        statement=(
            f"{node.failed} of {count(node.jobs, 'job')} {node.ending.value} there; {node.expected:.1f} would have if "
            f"the node were like the others that ran jobs of these families on the same days (p = {node.p_value:.2g}, "
            "all nodes and ways to fail counted)."
        ),
        remedy=FAILING_REMEDY.format(node=node.node),
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
