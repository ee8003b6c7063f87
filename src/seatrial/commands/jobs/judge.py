"""The judgement on the jobs of a period: nodes that make them slow or fail, and families that changed at a date."""

import math
from collections.abc import Mapping, Sequence, Set
from datetime import date
from functools import cache, partial
from statistics import NormalDist

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.commands.jobs.concurrent_failures import JobUses, p_beside, repeated_failures, sent_jobs
from seatrial.commands.jobs.families import JobFamily
from seatrial.commands.jobs.job_table import FAILURES, LEAST_S, ORDER, JobEnding, JobTable
from seatrial.commands.jobs.joint_nodes import INTERVAL_DEVIATIONS, JointNodes, as_failing, as_slow, joint_nodes
from seatrial.commands.jobs.outcomes import (
    FailingNode,
    FamilyChange,
    NodeComparison,
    PeriodChange,
    SlowNode,
    changed_word,
    jobs_findings,
)
from seatrial.model.errors import ExitCode
from seatrial.model.pair_table import Reals
from seatrial.model.verdict import ComparisonOutcome, Finding, Verdict, exit_code, worst
from seatrial.model.words import natural_sorted
from seatrial.statistics.change_points import find_changes
from seatrial.statistics.estimates import ERROR_RATE, robust_scale
from seatrial.statistics.paired_change import TESTS, changes_at, course, day_medians, pooled_change
from seatrial.statistics.strata import (
    ENDLESS,
    Failures,
    Members,
    Places,
    Shares,
    attainable,
    failures_of,
    present,
    shares_of,
    shift_of,
    slowness,
)

EFFECT = 0.02
"""Smallest share by which jobs take longer that matters, as of the nodes of a fleet."""
HIDDEN = 0.5
"""Share by which jobs may take longer without being named, on half of the nodes or after a date; beyond it nothing is
decided."""
POWER_DEVIATIONS = 1.645
FEWEST_TO_INFLATE = 20
"""Nodes of which one that is slow hardly moves the others."""
SKEWNESS, LEAST_SUSPICIOUS = 1.5, 2.0
"""Counts of rare failures are skewed to the right: their tails are heavier than a normal one, and never lighter by
as much as this, so that an excess further below the critical one is not named."""
FEWEST_ALONE = 6
"""Jobs by which a node is sized: as few as a median needs for an interval of 95 %."""
WAYS = 2 * len(FAILURES)
"""Tests of each node: each way to fail, by all families together and by one alone."""
Suspect = tuple[bool, float, int, Failures, int | None]
"""Whether users may have sent its failures there, p-value, the node that is named, counts of all nodes, and the only
family that counts; None: all do."""
MOST_NAMED = 40
"""Slow nodes after which the search ends: more of them are a population."""


class JobsResult(msgspec.Struct, frozen=True, kw_only=True):
    """All that the jobs of a period show."""

    verdict: Verdict
    slow: tuple[SlowNode, ...]
    failing: tuple[FailingNode, ...]
    comparison: NodeComparison
    change: PeriodChange | None
    """None: no date was given, and none was found."""
    families: tuple[JobFamily, ...]
    findings: tuple[Finding, ...]
    effect: float
    error_rate: float = ERROR_RATE

    @property
    def compared(self) -> bool:
        """Whether jobs of any two nodes, or of two sides of a date that was asked for, were compared."""
        return bool(self.comparison.compared or (self.change and self.change.families))

    @property
    def exit_code(self) -> ExitCode:
        """1 for findings, 2 where too little could be compared."""
        return exit_code(self.verdict)


def judge_jobs(table: JobTable, *, changed: date | None, effect: float = EFFECT) -> JobsResult:
    """The judgement. `changed`: the day from which on jobs may be slower; None: it is looked for."""
    since = changed.toordinal() if changed else 0
    slow, comparison = _slow_nodes(table, since, effect)
    change = _change(table, since, effect, {node.node for node in slow})
    if change and not since:
        since = date.fromisoformat(change.date).toordinal()
        slow, comparison = _slow_nodes(table, since, effect)
    failing = _failing_nodes(table, since)
    findings = jobs_findings(slow, failing, change)
    verdict = worst([finding.verdict for finding in findings]) if findings else _undecided(comparison, change)
    return JobsResult(
        verdict=verdict,
        slow=slow,
        failing=failing,
        comparison=msgspec.structs.replace(comparison, joint=_joint(table, since, slow)),
        change=change,
        families=table.families,
        findings=findings,
        effect=effect,
    )


def _undecided(comparison: NodeComparison, change: PeriodChange | None) -> Verdict:
    """The verdict where nothing is named: what was not compared hides any loss."""
    hidden = max(comparison.detectable, change.detectable if change and change.given else 0.0)
    return Verdict.PASS if hidden <= HIDDEN else Verdict.INCONCLUSIVE


def _tail(deviations: float) -> float:
    """Probability that a standard normal number is greater."""
    return 0.5 * math.erfc(deviations / math.sqrt(2))


def _critical(tests: int) -> float:
    """Deviations beyond which any of that many tests lies with the error rate at most."""
    return -NormalDist().inv_cdf(ERROR_RATE / max(tests, 1))


def _inflation(deviations: Reals, centre: float | None = None) -> float:
    """How many times as far the nodes lie apart as independent jobs would let them, at least once.

    Jobs of one campaign depend on each other and share nodes. What most nodes show of that is taken off all of them
    (genomic control: Devlin and Roeder, Biometrics 55, 1999), if there are enough nodes to know. `centre`: the median,
    below which several slow nodes move all others alike; 0 for counts of rare failures, of which the median is low.
    """
    compared = deviations[~np.isnan(deviations)]
    return max(1.0, robust_scale(compared, centre)) if len(compared) >= FEWEST_TO_INFLATE else 1.0


def _slow_nodes(table: JobTable, since: int, effect: float) -> tuple[tuple[SlowNode, ...], NodeComparison]:
    """The slow nodes, the slowest first, and how well nodes could be compared.

    The node with the most evidence is named, its jobs are left out, and the rest is compared again: a job is as slow as
    its slowest node, so a job on a slow node says nothing of its other nodes.
    """
    members, group, jobs = table.members(table.timed, since)
    logs = table.times()[jobs]
    shares = shares_of(members)
    deviations, error = slowness(logs, members, shares)
    unknown = np.isnan(deviations)
    compared = int((~unknown).sum())
    critical = _critical(compared)
    needed = critical * _inflation(deviations)
    error[attainable(members, shares) <= needed] = np.inf
    comparison = NodeComparison(
        nodes=len(present(members.member)),
        compared=compared,
        families=len(present(group[present(shares.stratum)])),
        jobs=len(jobs),
        detectable=_longer(needed * (1 + POWER_DEVIATIONS / critical) * np.nanmedian(error)) if compared else math.inf,
        alone=tuple(natural_sorted(table.nodes[place] for place in present(members.member[unknown[members.member]]))),
    )
    suspects: dict[int, float] = {}
    rest = members
    while len(suspects) < MOST_NAMED and compared:
        place = int(np.nanargmax(np.where(np.isnan(deviations), -np.inf, deviations)))
        significance = float(deviations[place]) / _inflation(deviations)
        if not significance > critical:
            break
        if (sent := sent_jobs(rest, place)).any():
            significance = float(slowness(logs, rest.without(sent))[0][place]) / _inflation(deviations)
            if not significance > critical:
                deviations[place] = np.nan
                continue
        suspects[place] = min(_tail(significance) * compared, 1.0)
        rest = rest.apart_from(place)
        deviations, _ = slowness(logs, rest)
    sized = [_slow_node(table, logs, members, place, suspects, group) for place in suspects]
    named = [node for node in sized if node.ratio >= 1 + effect]
    return tuple(sorted(named, key=lambda node: -node.ratio)), comparison


def _slow_node(
    table: JobTable, logs: Reals, members: Members, place: int, suspects: Mapping[int, float], group: Places
) -> SlowNode:
    """A node with its size, by jobs on no other suspect; by all, if few of its own jobs are without another.

    `suspects`: node -> p-value.
    """
    rest = members.apart_from(*suspects.keys() - {place})
    if len(rest.jobs_of(place)) < FEWEST_ALONE:
        rest = members
    shift = shift_of(logs, rest, place, INTERVAL_DEVIATIONS, group)
    return SlowNode(
        node=table.nodes[place],
        ratio=math.exp(shift.value),
        low=math.exp(shift.low),
        high=math.exp(shift.high),
        shrunk=math.exp(shift.shrunk),
        jobs=len(rest.jobs_of(place)),
        families=shift.groups,
        longer=shift.longer,
        p_value=suspects[place],
        ambiguous_with=tuple(table.nodes[other] for other in as_slow(logs, rest, place, shift.value, group)),
    )


def _joint(table: JobTable, since: int, slow: Sequence[SlowNode]) -> JointNodes | None:
    """What jobs on several of the slow nodes show; None where there are none."""
    if len(slow) < 2:
        return None
    members, _, jobs = table.members(table.timed, since)
    sizes = {table.nodes.index(node.node): math.log(node.ratio) for node in slow}
    return joint_nodes(table.times()[jobs], members, sizes)


def _failing_nodes(table: JobTable, since: int) -> tuple[FailingNode, ...]:
    """Nodes on which more jobs fail in some way than on others, the most certain first.

    As with slow nodes, the jobs of a node that is named are left out before the others are compared again: a job fails
    where one of its nodes does.
    """
    members, _, jobs = table.members(np.ones(len(table.jobs), bool), since)
    if not len(jobs):
        return ()
    shares = shares_of(members)
    users = np.unique([family.user for family in table.families], return_inverse=True)[1]
    uses = JobUses(
        user=users[table.family[jobs]],
        day=table.day[jobs],
        family=table.family[jobs],
        completed=table.ending[jobs] == ORDER[JobEnding.COMPLETED],
        began=cache(partial(table.began, jobs)),
    )
    named: list[FailingNode] = []
    tests = WAYS * len(present(members.member))
    for ending in FAILURES:
        failed = table.ending[jobs] == ORDER[ending]
        rest, meetings = members, shares
        program = ending is not JobEnding.NODE_FAILED
        while len(named) < MOST_NAMED:
            suspect = _most_failing(failed, rest, meetings, tests, uses, program)
            if not suspect or suspect[0]:
                alone = _most_breaking(failed, rest, meetings, uses, program)
                suspect = min(filter(None, (suspect, alone)), key=_certainty, default=None)
            if not suspect:
                break
            sent, p_value, place, counted, family = suspect
            named.append(
                FailingNode(
                    node=table.nodes[place],
                    ending=ending,
                    family="" if family is None else table.families[family].label,
                    failed=int(counted.failed[place]),
                    jobs=int(counted.jobs[place]),
                    expected=float(counted.expected[place]),
                    p_value=p_value,
                    perhaps_sent=sent,
                    ambiguous_with=tuple(table.nodes[other] for other in as_failing(failed, rest, place)),
                )
            )
            rest = rest.apart_from(place)
            meetings = shares_of(rest)
    return tuple(sorted(named, key=lambda node: (node.perhaps_sent, node.p_value)))


def _certainty(suspect: Suspect) -> tuple[bool, float]:
    return suspect[:2]


def _most_breaking(
    failed: NDArray[np.bool_], members: Members, shares: Shares, uses: JobUses, program: bool
) -> Suspect | None:
    """The most certain node by the jobs of one family alone, among which those of many others hide its failures."""
    touched = (np.bincount(members.stratum, failed) > 0)[members.stratum[members.job]]
    job = members.job[touched]
    pairs, member = np.unique(uses.family[job] * members.count + members.member[touched], return_inverse=True)
    tests = WAYS * len(pairs)
    paired = Members(stratum=members.stratum, job=job, member=member, count=len(pairs))
    counted = failures_of(failed, paired, suspicious=max(_critical(tests) - SKEWNESS, LEAST_SUSPICIOUS))
    suspects = []
    for family in np.unique(pairs[counted.p_value * tests <= ERROR_RATE] // members.count):
        of_family = uses.family == family
        if suspect := _most_failing(failed & of_family, members, shares, tests, uses, program):
            alone = failures_of(failed, members.without(~of_family), suspicious=math.inf)
            suspects.append((*suspect[:3], alone, int(family)))
    return min(suspects, key=_certainty, default=None)


def _most_failing(
    failed: NDArray[np.bool_], members: Members, shares: Shares, tests: int, uses: JobUses, program: bool
) -> Suspect | None:
    """The node with the largest excess of those that are named; None: none is.

    How far apart other nodes lie is taken from jobs on no suspect where most failures are on suspects: these move all
    others alike below what is expected, and that does not scatter them. A node whose jobs fail when those elsewhere do
    is not named: failed jobs free their node at once, and the next job of a bad campaign follows there.

    `program`: whether a program may be the cause, so that failures of users who try one count once: at first those that
    they may have sent there, then those that they did.
    """
    counted = failures_of(failed, members, shares, max(_critical(tests) - SKEWNESS, LEAST_SUSPICIOUS))
    suspects = np.flatnonzero(counted.p_value * tests <= ERROR_RATE)
    if not len(suspects):
        return None
    left = np.zeros(len(failed), bool)
    left[members.job[np.isin(members.member, suspects)]] = True
    are_most = 2 * np.count_nonzero(left & failed) >= np.count_nonzero(failed)
    others = failures_of(failed, members.without(left), suspicious=math.inf) if are_most else counted
    inflation = _inflation(others.deviations, 0.0)
    for sent in (False, True)[: 1 + program]:
        p_value = {int(place): float(counted.p_value[place]) for place in suspects}
        for node in p_value if program else ():
            if (repeated := repeated_failures(failed, members, shares, uses, node, sent=sent)).any():
                p_value[node] = float(failures_of(failed, members.without(repeated)).p_value[node])
        excess = {node: -NormalDist().inv_cdf(p) / inflation for node, p in p_value.items() if p < 1}
        p_value = {node: p for node, deviations in excess.items() if (p := _tail(deviations) * tests) <= ERROR_RATE}
        beside = (node for node in p_value if p_beside(failed, members, uses, node, suspects) <= ERROR_RATE)
        if (place := max(beside, key=lambda node: float(counted.deviations[node]), default=None)) is not None:
            return sent, p_value[place], place, counted, None
    return None


def _change(table: JobTable, since: int, effect: float, slow: Set[str]) -> PeriodChange | None:
    """What changed at a day, or at the day that the jobs themselves show; None where they show none.

    `slow`: nodes whose jobs are left out, since more or fewer of them on one side would be taken for a change.
    """
    chosen = np.flatnonzero(table.timed & (table.day > 0) & ~table.on_nodes(slow))
    if not len(chosen):
        return None
    count = len(table.families)
    ended = day_medians(table.logs[chosen], table.family[chosen], table.day[chosen])
    given = since > 0
    if not given:  # the day from which on all jobs together take longer
        dates, series = course(ended, count)
        longer = [change for change in find_changes(series).changes if change.after > change.before]
        if not longer:
            return None
        since = int(dates[max(longer, key=lambda change: change.after - change.before).index])
    medians = day_medians(table.times()[chosen], table.family[chosen], table.day[chosen])
    changes = changes_at(medians, since, count, ERROR_RATE, ended, LEAST_S)
    days = [medians.day < since, medians.day >= since]
    before, after = (np.bincount(medians.group[side], minlength=count) for side in days)
    compared = np.flatnonzero(~np.isnan(changes.change))
    families = [
        FamilyChange(
            family=table.families[place].label,
            outcome=changed_word(changes, int(place), effect),
            ratio=math.exp(changes.change[place]),
            low=math.exp(changes.low[place]),
            high=math.exp(changes.high[place]) if changes.high[place] < ENDLESS else math.inf,
            days_before=int(before[place]),
            days_after=int(after[place]),
            p_value=float(changes.p_value[place]),
        )
        for place in compared
    ]
    value, error = pooled_change(changes)
    return PeriodChange(
        date=date.fromordinal(since).isoformat(),
        given=given,
        families=tuple(sorted(families, key=lambda each: (each.outcome is not ComparisonOutcome.SLOWER, -each.ratio))),
        one_sided=tuple(table.families[place].label for place in np.flatnonzero((before > 0) != (after > 0))),
        few_days=int(((before > 0) & (after > 0)).sum()) - len(compared),
        ratio=math.exp(value) if len(compared) else math.nan,
        low=math.exp(value - INTERVAL_DEVIATIONS * error) if len(compared) else math.nan,
        high=math.exp(min(value + INTERVAL_DEVIATIONS * error, 1e2)) if len(compared) else math.nan,
        detectable=_detectable(changes.error[compared], before[compared], after[compared]),
    )


def _detectable(error: Reals, before: Places, after: Places) -> float:
    """Share by which jobs of half of the families may take longer without being named.

    `before`, `after`: days of each family; few days rank too little, however much longer jobs take.
    """
    if not len(error):
        return math.inf
    critical = _critical(2 * TESTS * len(error))
    error = np.where(np.sqrt(3 * before * after / (before + after + 1)) > critical, error, math.inf)
    return _longer((critical + POWER_DEVIATIONS) * np.median(error))


def _longer(log: float) -> float:
    """The share that a difference of logarithms is; infinite for one beyond all jobs."""
    return math.expm1(log) if log < ENDLESS else math.inf
