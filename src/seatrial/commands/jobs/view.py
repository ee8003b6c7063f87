"""The report of `seatrial jobs`."""

import math
from collections.abc import Iterator, Sequence

import msgspec

from seatrial.commands.jobs.families import JobFamily
from seatrial.commands.jobs.joint_nodes import joint_text
from seatrial.commands.jobs.outcomes import (
    FailingNode,
    FamilyChange,
    NodeComparison,
    PeriodChange,
    SlowNode,
    change_brief,
    times,
)
from seatrial.commands.jobs.pictures import BAR, distributions, histograms, ratios, time_text
from seatrial.commands.jobs.run import DayCall, JobsOutcome
from seatrial.commands.jobs.single_family import FamilyTimes, JobPlace, NodeTime
from seatrial.model.node_list import node_list
from seatrial.model.units import share
from seatrial.model.verdict import ComparisonOutcome, Verdict
from seatrial.model.words import count, natural_sorted, some
from seatrial.render.finding_text import fitting_sentence
from seatrial.render.json import filled
from seatrial.render.report import Block, Case, Cells, Copy, Findings, Lines, Report, record_table

SLOW: Cells[SlowNode] = {
    "node": lambda node: node.node,
    "#times as long": lambda node: f"{node.ratio:.2f}",
    "#95 % CI": lambda node: f"{node.low:.2f}–{node.high:.2f}",
    "#families": lambda node: f"{node.longer} of {node.families}",
    "#jobs": lambda node: str(node.jobs),
}
CHANGED: Cells[FamilyChange] = {
    "family": lambda change: change.family,
    "outcome": lambda change: change.outcome.value,
    "#times as long": lambda change: f"{change.ratio:.2f}",
    "#interval": lambda change: (
        f"{change.low:.2f}–{change.high:.2f}" if math.isfinite(change.high) else f"{change.low:.2f} or more"
    ),
    "#days before": lambda change: str(change.days_before),
    "#days after": lambda change: str(change.days_after),
}
FAMILIES: Cells[JobFamily] = {
    "family": lambda family: family.label,
    "partition": lambda family: family.partition,
    "#nodes": lambda family: str(family.size),
    "#jobs": lambda family: str(family.jobs),
}
NODES: Cells[NodeTime] = {
    "node": lambda node: node.node,
    "#completed": lambda node: str(node.jobs),
    "#failed": lambda node: str(node.failed),
    "#times the family's median": lambda node: f"{node.ratio:.2f}",
}
MOST_NAMES = 5
MOST_HIDDEN = 10.0
"""Share by which jobs take longer that first lines print."""
STARTING = (4, 2, 1)
"""Names that a first line tries to hold."""


class JobsFields(msgspec.Struct, frozen=True, kw_only=True):
    """What accounting shows of nodes, dates and families of jobs; docs/jobs.md describes each field."""

    slow: tuple[SlowNode, ...]
    failing: tuple[FailingNode, ...]
    comparison: NodeComparison
    change: PeriodChange | None
    families: tuple[JobFamily, ...]
    patterns: tuple[str, ...]
    effect: float
    error_rate: float
    exclude: str
    exclude_share: float
    records: int
    used: int
    left_out: dict[str, int]
    unreadable_lines: tuple[int, ...]
    without_nodes: int
    clock_jumps: int
    own_only: str
    calls: tuple[DayCall, ...]
    family: FamilyTimes | None


def jobs_report(outcome: JobsOutcome, *, listed: bool = False) -> Report:
    """The whole report. `listed`: with all families."""
    result = outcome.result
    return Report(
        word=result.verdict.value,
        sentence=_sentence(outcome) + (_of_family(outcome.family) if outcome.family else ""),
        exit_code=result.exit_code,
        payload=lambda: _fields(outcome),
        terminal=lambda _: _blocks(outcome, listed=listed),
        page=lambda: (*ratios(outcome), *_blocks(outcome, listed=listed, pictures=True)),
        findings=result.findings,
        cases=() if result.findings else (Case(name="jobs", verdict=result.verdict, reason=_unnamed(outcome)[0]),),
    )


def _fields(outcome: JobsOutcome) -> JobsFields:
    return filled(
        JobsFields,
        outcome.result,
        outcome,
        exclude=node_list(_named(outcome)) if _named(outcome) else "",
        exclude_share=_share(outcome),
        records=outcome.table.records,
        used=len(outcome.table.jobs),
        left_out=outcome.table.left_out,
        unreadable_lines=outcome.table.unreadable,
        without_nodes=outcome.table.without_nodes,
    )


def _named(outcome: JobsOutcome) -> list[str]:
    """The nodes that are slow or on which jobs fail, and those that may be in their place."""
    failing = (node for node in outcome.result.failing if not node.perhaps_sent)
    named: list[SlowNode | FailingNode] = [*outcome.result.slow, *failing]
    return natural_sorted({name for node in named for name in (node.node, *node.ambiguous_with)})


def _share(outcome: JobsOutcome) -> float:
    """Share of the time of all nodes in jobs that is that of the named ones."""
    named = set(_named(outcome))
    return outcome.table.node_time(named) if named else 0.0


def _sentence(outcome: JobsOutcome) -> str:
    """Slow nodes, families that became slower and failing nodes, as far as a line has room; else what was seen."""
    result = outcome.result
    parts = [_slow_text(result.slow, STARTING[0])] if result.slow else []
    if result.change and result.change.changed(ComparisonOutcome.SLOWER):
        parts.append(change_brief(result.change))
    failing = [
        f"{_either(node)}: {node.failed} of {count(node.jobs, 'job')} {node.ending.value}{node.cause}"
        for node in result.failing
    ]
    parts += [f"{failing[0]}{'' if len(failing) == 1 else f' and {len(failing) - 1} more'}"] if failing else []
    if not parts:
        return fitting_sentence(result.verdict, _unnamed(outcome), needed=True)
    ways = ["; ".join(parts[:number]) for number in range(len(parts), 0, -1)]
    if result.slow:
        ways += [_slow_text(result.slow, names) for names in STARTING[1:]]
        ways += [f"{_either(result.slow[0])}: {times(result.slow[0].ratio)} as long"] if len(result.slow) == 1 else []
    return fitting_sentence(result.verdict, ways, needed=True)


def _of_family(family: FamilyTimes) -> str:
    """`; 98 % of 436 jobs of this family completed, median 18.1 h`: without the names of users and jobs."""
    median = f", median {time_text(family.median_s)}" if math.isfinite(family.median_s) else ""
    return f"; {share(family.completed)} of {count(family.family.jobs, 'job')} of this family completed{median}"


def _either(node: SlowNode | FailingNode) -> str:
    """n3 or n4; of several others only how many they are."""
    others = node.ambiguous_with
    return " or ".join([node.node, *(others if len(others) < 2 else [count(len(others), "other")])])


def _slow_text(slow: tuple[SlowNode, ...], names: int) -> str:
    if len(slow) == 1:
        (node,) = slow
        families = count(node.families, "family", "families")
        return f"{_either(node)}: jobs take {times(node.ratio)} as long there; {node.longer} of {families}"
    listed = some([f"{_either(node)} {times(node.ratio)}" for node in slow], names)
    return f"jobs take longer on {count(len(slow), 'node')}: {listed}"


def _unnamed(outcome: JobsOutcome) -> list[str]:
    """Texts for a result without a named node: what would have been named, the longer sentence first."""
    comparison, change = outcome.result.comparison, outcome.result.change
    if not outcome.result.compared:
        return _uncompared(outcome)
    match outcome.result.verdict:
        case Verdict.INCONCLUSIVE if change and change.given and change.detectable > comparison.detectable:
            return [_undated(change)]
        case Verdict.INCONCLUSIVE:
            return [_undecided(comparison)]
    longer, nodes = share(comparison.detectable), count(comparison.compared, "node")
    if change and change.given:
        families = count(len(change.families), "family", "families")
        return [
            f"since {change.date} none of {families} slower by {share(change.detectable)}, no node of "
            f"{comparison.compared} by {longer}",
            f"none of {families} slower by {share(change.detectable)}; {nodes} alike",
        ]
    families = count(comparison.families, "family", "families")
    return [
        f"{nodes} alike in {families}; one where jobs take {longer} longer would be named",
        f"{nodes} alike; {longer} longer would be named",
    ]


def _uncompared(outcome: JobsOutcome) -> list[str]:
    """Texts for a result in which nothing could be compared."""
    table = outcome.table
    if not table.records:
        return [f"accounting has no record of this period{' that you may see' if outcome.own_only else ''}"]
    if not table.jobs:
        records = count(table.records, "record")
        return [f"no job can be used of {records}; most: {next(iter(table.left_out))}"]
    jobs, unknown = count(len(table.jobs), "job"), table.without_nodes == len(table.jobs)
    why = "their nodes are not known" if unknown else "no family has different run times on several nodes"
    return [f"{jobs}, and {why}", f"{jobs}, too few to compare"]


def _undecided(comparison: NodeComparison) -> str:
    """Text for nodes that cannot show whether jobs take longer there."""
    if math.isinf(comparison.detectable):
        jobs = f"{count(comparison.jobs, 'job')} on {count(comparison.compared, 'node')}"
        return f"{jobs} are too few to name any, however slow"
    return f"the scatter hides a node on which jobs take less than {_hidden(comparison.detectable)} longer"


def _undated(change: PeriodChange) -> str:
    """Text for families that cannot show whether jobs became slower at the day."""
    if not change.families:
        return f"no family ran on enough days on both sides of {change.date}"
    if math.isinf(change.detectable):
        return f"too few days before or after {change.date} to name a family"
    return f"the scatter hides families slower by less than {_hidden(change.detectable)} since {change.date}"


def _hidden(detectable: float) -> str:
    return "1,000 %" if detectable > MOST_HIDDEN else share(detectable)


def _blocks(outcome: JobsOutcome, *, listed: bool, pictures: bool = False) -> Iterator[Block]:
    """`pictures`: a page draws histograms; a terminal and Markdown have bars of characters."""
    result = outcome.result
    if result.findings:
        yield Findings(findings=result.findings)
        yield record_table(SLOW, result.slow)
        if named := _named(outcome):
            yield Copy(lines=(f"--exclude={node_list(named)}",))
            cost = f"{len(named)} of {count(len(outcome.table.nodes), 'node')}, which ran {share(_share(outcome))}"
            yield Lines(rows=(("excluded", f"{cost} of the node hours of these jobs"),))
    if outcome.family:
        yield from _family_lines(outcome.family, _named(outcome))
        yield from distributions(outcome, outcome.family) if pictures else histograms(outcome.family)
        yield record_table(NODES, outcome.family.nodes, BAR)
    yield record_table(CHANGED, result.change.families if result.change else ())
    if listed:
        yield record_table(FAMILIES, result.families)
        yield Lines(rows=(("a family", _rule(outcome.patterns)),))
    yield Lines(rows=tuple(_lines(outcome)))


def _rule(patterns: Sequence[str]) -> str:
    """What jobs of one family have in common."""
    more = f"; so is what matches {', '.join(patterns)}" if patterns else ""
    return (
        "jobs of one user, partition, number of nodes and processors, and time limit, whose names and submit lines are "
        f"equal without folders and with # for numbers{more}"
    )


def _family_lines(family: FamilyTimes, named: Sequence[str]) -> Iterator[Block]:
    """One family: endings, run times, and the place of a job. `named`: nodes with findings."""
    endings = ", ".join(f"{number} {ending}" for ending, number in family.endings.items())
    rows = [("family", f"{family.family.label}: {share(family.completed)} of its jobs completed ({endings})")]
    if math.isfinite(family.median_s):
        low, high = map(time_text, family.quartiles_s)
        rows.append(("run times", f"median {time_text(family.median_s)}, half of them from {low} to {high}"))
    if family.job:
        rows.append(("job", _job_text(family.job, named)))
    yield Lines(rows=tuple(rows))


def _job_text(job: JobPlace, named: Sequence[str]) -> str:
    where = f" on {some(job.nodes, MOST_NAMES)}" if job.nodes else ""
    among = f"; longer than {share(job.longer_than)} of its peers" if math.isfinite(job.longer_than) else ""
    compared = f", {job.ratio:.2f} times the family's median{among}" if math.isfinite(job.ratio) else ""
    own = [node for node in named if node in job.nodes]
    above = f"; named above: {some(own, MOST_NAMES)}" if own else ""
    return f"{job.job} {job.ending.value} after {time_text(job.elapsed_s)}{where}{compared}{above}"


def _lines(outcome: JobsOutcome) -> Iterator[tuple[str, str]]:
    """What was compared and could have been seen, and how many records were read, used and left out."""
    comparison, table = outcome.result.comparison, outcome.table
    families = count(comparison.families, "family", "families")
    yield (
        "compared",
        f"{count(comparison.compared, 'node')} of {comparison.nodes} in {families} and "
        f"{count(comparison.jobs, 'job')}; jobs of one family on one day with each other, each as slow as its slowest "
        "node",
    )
    if comparison.joint:
        yield "together", joint_text(comparison.joint)
    if math.isfinite(comparison.detectable):
        yield (
            "would see",
            f"a node on which jobs take {share(comparison.detectable)} longer, on half of the nodes; any node is "
            f"named by chance in {share(outcome.result.error_rate)} of reports",
        )
    if comparison.alone:
        yield (
            "alone",
            f"{some(comparison.alone, MOST_NAMES)}: no job of the same family and day ran elsewhere, so a slow "
            "node and a slow family cannot be distinguished",
        )
    yield from _change_lines(outcome.result.change)
    left = "; ".join(f"{reason} {number}" for reason, number in table.left_out.items())
    yield "records", f"{table.records} read, {len(table.jobs)} used{left and ', left out: '}{left}"
    if table.unreadable:
        numbers = some([str(number) for number in table.unreadable], MOST_NAMES)
        yield "unreadable", f"lines {numbers}" if len(table.unreadable) > 1 else f"line {numbers}"
    if table.without_nodes:
        yield "no nodes", f"of {count(table.without_nodes, 'job')} the nodes are not known: not used to compare nodes"
    if outcome.clock_jumps:
        yield (
            "clock",
            f"{count(outcome.clock_jumps, 'job')} began or ended across a change of the clock or time zone; run times "
            "are those that accounting counted, not differences of times of day",
        )
    if outcome.own_only and not table.records:
        yield "rights", "accounting may hide the jobs of other users from you (PrivateData of slurmdbd.conf)"
    elif outcome.own_only:
        yield "rights", f"only jobs of {outcome.own_only} are visible: peers of other users are not compared"
    if outcome.calls:
        slowest = max(outcome.calls, key=lambda call: call.seconds)
        spent = f"{count(len(outcome.calls), 'call')}, {sum(call.seconds for call in outcome.calls):.1f} s in all"
        yield "sacct", f"{spent}; the longest {slowest.seconds:.1f} s for {slowest.day}"


def _change_lines(change: PeriodChange | None) -> Iterator[tuple[str, str]]:
    if change is None:
        yield (
            "change",
            "the jobs show no day from which on they take longer; --changed DATE compares before and after one",
        )
        return
    how = "as asked" if change.given else "found in the jobs' run times of each day"
    numbers = [f"{len(change.changed(outcome))} {outcome.value}" for outcome in ComparisonOutcome]
    together = ""
    if math.isfinite(change.ratio):
        together = f"; all together {times(change.ratio)} as long (95 % CI {change.low:.2f}–{change.high:.2f})"
    yield (
        "change",
        f"{change.date}, {how}: of {count(len(change.families), 'family', 'families')} {', '.join(numbers)}{together}",
    )
    if math.isfinite(change.detectable):
        yield "", f"a family whose jobs take {share(change.detectable)} longer would have been named"
    if change.one_sided:
        yield "one side", f"{some(change.one_sided, MOST_NAMES)} ran only before or only after it: not used"
    if change.few_days:
        yield "few days", f"{count(change.few_days, 'family', 'families')} with too few days on one side: not used"
