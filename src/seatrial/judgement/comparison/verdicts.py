"""Outcomes of columns of values: what is slower, faster, the same, or not decided."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.drift.changes import FactDrift, changes
from seatrial.drift.severity import REST
from seatrial.judgement.comparison.records import Changed, ChangedFact, Counts, MetricChange, Suspect
from seatrial.judgement.comparison.subjects import Columns, ComparedSubjects, compare_subjects, pairs_of_one
from seatrial.judgement.peer_suspects import adjusted_known, by_rank, cost_of, heaviest_first
from seatrial.model.facts import NodeFacts
from seatrial.model.pair_table import Flags
from seatrial.model.run_values import MetricTable, RunMetric
from seatrial.model.subject import FABRIC, Subject, SubjectKind
from seatrial.model.verdict import ComparisonOutcome
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import fact_findings
from seatrial.statistics.estimates import ERROR_RATE, MOST_LOG, runs_to_decide
from seatrial.statistics.run_comparison import RunComparison, SubjectChange
from seatrial.statistics.strata import adjusted, adjusted_together

MOST_LISTED = 50
"""Changed subjects that are listed for each metric; the rest is counted."""
MOST_OF_CHANGE = 0.5
"""The middle run shows at least this part of the mean change."""
OUTCOMES = tuple(ComparisonOutcome)
SLOWER, FASTER, SAME, INCONCLUSIVE = range(len(OUTCOMES))
Codes = NDArray[np.int8]


class JudgedSubjects(msgspec.Struct, frozen=True, kw_only=True):
    """Subjects of one kind in one metric, and the outcome of each."""

    kind: SubjectKind
    columns: Columns
    comparison: RunComparison
    outcomes: Codes
    """Places in `OUTCOMES`."""
    deviates: Flags


def judge_metrics(
    tables: Sequence[MetricTable], first: int, threshold: float, leaf_of: Mapping[str, str]
) -> tuple[MetricChange, ...]:
    """Every metric that both sets have. The first `first` rows of each table are the first set.

    The family of tests is all pairs and nodes of all metrics; the tests of all pairs together are a family of their
    own, one a metric. Main figures of benchmarks are families apart, since they are chosen before any run.
    """
    families = ([table for table in tables if table.metric.main is main] for main in (True, False))
    return tuple(change for family in families for change in _family(family, first, threshold, leaf_of))


def _family(
    tables: Sequence[MetricTable], first: int, threshold: float, leaf_of: Mapping[str, str]
) -> tuple[MetricChange, ...]:
    both = [(table, compare_subjects(table, first, leaf_of)) for table in tables]
    both = [(table, kinds) for table, kinds in both if any(kinds)]
    compared = [(table.metric, each) for table, kinds in both for each in kinds if each]
    judged = iter(_judged(compared, threshold))
    of_kinds = [tuple(next(judged) if each else None for each in kinds) for _, kinds in both]
    together = [next(each for each in kinds if each).comparison.together for kinds in of_kinds]
    chance = adjusted(np.array([float(change.p_value[0]) for change in together]))
    return tuple(
        _metric_change(table, pairs, nodes, first, float(p_value), threshold)
        for (table, _), (pairs, nodes), p_value in zip(both, of_kinds, chance, strict=True)
    )


def _judged(compared: Sequence[tuple[RunMetric, ComparedSubjects]], threshold: float) -> Iterator[JudgedSubjects]:
    changes = [each.comparison.subjects for _, each in compared]
    absolute = adjusted_together([change.p_value for change in changes])
    relative = adjusted_together([change.relative_p for change in changes])
    for (metric, subjects), change, p_value, relative_p in zip(compared, changes, absolute, relative, strict=True):
        deviates: Flags = relative_p <= ERROR_RATE
        outcomes = _outcomes(change, p_value, deviates, metric.sign, threshold)
        as_all = ~deviates & subjects.comparison.together.within(threshold)  # a change that does not matter
        shown = _repeated(subjects.columns, change.change) & ~as_all
        outcomes[(outcomes != SAME) & ~shown] = INCONCLUSIVE
        yield JudgedSubjects(
            kind=subjects.kind,
            columns=subjects.columns,
            comparison=subjects.comparison,
            outcomes=outcomes,
            deviates=deviates,
        )


def _repeated(columns: Columns, change: NDArray[np.float64]) -> Flags:
    """Columns in which most runs show the change: a single bad run of several is instability, and one run of a pair may
    have shared its cables. One run of a node may do, since it is seen over several pairs.
    """
    usual, later = np.log(columns.first), np.log(columns.second)
    counts = np.minimum((~np.isnan(usual)).sum(axis=0), (~np.isnan(later)).sum(axis=0))
    typical = np.nanmedian(later, axis=0) - np.nanmedian(usual, axis=0)
    repeated: Flags = (counts >= columns.fewest_runs) & (typical * np.sign(change) >= MOST_OF_CHANGE * np.abs(change))
    return repeated


def _outcomes(
    change: SubjectChange, p_value: NDArray[np.float64], deviates: Flags, sign: int, threshold: float
) -> Codes:
    """Sameness counts before a change that is certain and does not matter."""
    certain = change.certain(p_value, deviates)
    codes = np.full(len(change.change), INCONCLUSIVE, dtype=np.int8)
    codes[certain & (sign * change.change > 0)] = SLOWER
    codes[certain & (sign * change.change < 0)] = FASTER
    codes[change.within(threshold)] = SAME
    return codes


def _metric_change(
    table: MetricTable,
    pairs: JudgedSubjects | None,
    nodes: JudgedSubjects | None,
    first: int,
    chance: float,
    threshold: float,
) -> MetricChange:
    leading = pairs or nodes
    assert leading is not None  # noqa: S101 - every metric has one of them
    together = _together(table.metric, leading, chance, threshold)
    rows, unlisted = _noteworthy(table.metric, pairs, nodes, together.outcome, threshold)
    return MetricChange(
        metric=table.metric,
        together=together,
        nodes=_counts(nodes),
        pairs=_counts(pairs),
        changed=rows,
        unlisted=unlisted,
        undecided=_undecided(table.metric, nodes or leading, rows, threshold),
        pairs_of_one=pairs_of_one(table, first),
        levels=leading.comparison.levels,
        iteration_spread=_middle(table.iteration_spread),
        round_spread=_middle(table.round_spread),
        before_deviation=_deviation(leading.columns.first, together.before),
        after_deviation=_deviation(leading.columns.second, together.after),
    )


def _deviation(values: NDArray[np.float64], level: float) -> float | None:
    """The deviation over whole runs, each subject relative to its own mean."""
    if len(values) < 2:
        return None
    logs = np.log(values)
    return level * float(np.nanstd(np.nanmean(logs - np.nanmean(logs, axis=0), axis=1), ddof=1))


def _middle(numbers: NDArray[np.float64]) -> float:
    finite = numbers[~np.isnan(numbers)]
    return float(np.median(finite)) if len(finite) else math.nan


def _counts(judged: JudgedSubjects | None) -> Counts:
    if judged is None:
        return Counts()
    numbers = np.bincount(judged.outcomes, minlength=len(OUTCOMES))
    return Counts(**{outcome.value: int(number) for outcome, number in zip(OUTCOMES, numbers, strict=True)})


def _together(metric: RunMetric, judged: JudgedSubjects, chance: float, threshold: float) -> Changed:
    change = judged.comparison.together
    certain = np.array([chance if not math.isnan(chance) else 1.0])
    code = int(_outcomes(change, certain, np.zeros(1, np.bool_), metric.sign, threshold)[0])
    middle = float(np.exp(np.nanmedian(np.nanmean(np.log(judged.columns.first), axis=0))))
    names = judged.columns.names
    subject = FABRIC if len(names) > 1 else Subject(kind=judged.kind, name=names[0])
    return _row(metric, subject, judged.comparison, change, 0, OUTCOMES[code], middle, threshold, deviates=False)


def _noteworthy(
    metric: RunMetric,
    pairs: JudgedSubjects | None,
    nodes: JudgedSubjects | None,
    together: ComparisonOutcome,
    threshold: float,
) -> tuple[tuple[Changed, ...], int]:
    """Changed nodes, and pairs that no changed node explains; those that lost most first.

    `together`: the outcome of all pairs together, which those that changed no otherwise do not repeat.
    """
    chosen: list[tuple[float, JudgedSubjects, int]] = []
    explained: set[tuple[str, bool]] = set()
    for judged in (nodes, pairs):
        if judged is None:
            continue
        subjects = judged.comparison.subjects
        changed = (judged.outcomes == SLOWER) | (judged.outcomes == FASTER)
        matters = np.abs(subjects.relative) >= -math.log1p(-threshold)
        open_runs = judged.deviates & (judged.outcomes == INCONCLUSIVE) & matters
        for number in np.flatnonzero(changed | open_runs):
            loss = metric.sign * float(subjects.change[number])
            names = judged.columns.names[number].split(">")
            if judged.kind is SubjectKind.NODE:
                explained.add((names[0], loss > 0))
            elif any((name, loss > 0) in explained for name in names):
                continue
            if not judged.deviates[number] and OUTCOMES[judged.outcomes[number]] is together:
                continue  # it changed as all others did
            chosen.append((loss, judged, int(number)))
    chosen.sort(key=lambda each: (-each[0], each[1].columns.names[each[2]]))
    return tuple(_subject_row(metric, judged, number, threshold) for _, judged, number in chosen[:MOST_LISTED]), max(
        len(chosen) - MOST_LISTED, 0
    )


def _undecided(
    metric: RunMetric, judged: JudgedSubjects, listed: Sequence[Changed], threshold: float
) -> Changed | None:
    """The subject that lost most among those that are not decided, if it lost as much as matters."""
    losses = metric.sign * judged.comparison.subjects.change
    shown = {row.subject.name for row in listed}
    lost = (judged.outcomes == INCONCLUSIVE) & (losses >= -math.log1p(-threshold)) & (len(losses) > 1)
    open_ones = [number for number in np.flatnonzero(lost) if judged.columns.names[number] not in shown]
    worst = max(open_ones, key=lambda number: float(losses[number]), default=None)
    return None if worst is None else _subject_row(metric, judged, int(worst), threshold)


def _subject_row(metric: RunMetric, judged: JudgedSubjects, number: int, threshold: float) -> Changed:
    columns = judged.columns
    subject = Subject(kind=judged.kind, name=columns.names[number])
    before = float(np.exp(np.nanmean(np.log(columns.first[:, number]))))
    outcome = OUTCOMES[int(judged.outcomes[number])]
    return _row(
        metric, subject, judged.comparison, judged.comparison.subjects, number, outcome, before, threshold,
        deviates=bool(judged.deviates[number]),
    )  # fmt: skip


def _row(
    metric: RunMetric,
    subject: Subject,
    comparison: RunComparison,
    column: SubjectChange,
    number: int,
    outcome: ComparisonOutcome,
    before: float,
    threshold: float,
    *,
    deviates: bool,
) -> Changed:
    change, ratio = float(column.change[number]), column.ratio(number, comparison.runs)
    return Changed(
        subject=subject,
        metric=metric,
        outcome=outcome,
        before=before,
        after=before * ratio.value,
        ratio=ratio,
        beyond_others=math.exp(min(float(column.relative[number]), MOST_LOG)),
        deviates=deviates,
        more_runs=0
        if outcome is not ComparisonOutcome.INCONCLUSIVE
        else _more_runs(change, comparison, subject, threshold),
    )


def _more_runs(change: float, comparison: RunComparison, subject: Subject, threshold: float) -> int | None:
    error = float(comparison.together.error[0])
    if subject == FABRIC and not math.isnan(error):
        deviation = error / math.sqrt(sum(1 / runs for runs in comparison.runs))
    else:
        deviation = comparison.levels.one_run
    existing = min(comparison.runs)
    needed = runs_to_decide(change, threshold, max(deviation, 1e-9), held=existing)
    return None if needed is None else needed - existing


MOST_FACTS = 20
"""Facts of one group that are listed."""


def find_suspects(
    before: Mapping[str, NodeFacts],
    after: Mapping[str, NodeFacts],
    losses: Mapping[str, float],
    slower: Set[str],
    *,
    all_slower: bool,
) -> tuple[Suspect, ...]:
    """Groups of facts that changed, the most likely cause first.

    `losses`: by node, how much slower it became, on any rising scale; `slower`: nodes that are slower; `all_slower`:
    all of them together are. Order: groups that touch a slower node before others, then by the known cost of their
    facts, then by how well their nodes match the slower ones.
    """
    groups: dict[tuple[str, ...], list[FactDrift]] = defaultdict(list)
    for change in changes(before, after):
        groups[change.nodes].append(change)
    suspects = [_suspect(nodes, facts, losses, slower) for nodes, facts in groups.items()]
    shares = adjusted_known([each.p_value for each in suspects])
    suspects = [msgspec.structs.replace(each, adjusted_p=share) for each, share in zip(suspects, shares, strict=True)]
    return tuple(sorted(suspects, key=lambda each: _order(each, all_slower=all_slower)))


def _suspect(
    nodes: tuple[str, ...], facts: Sequence[FactDrift], losses: Mapping[str, float], slower: Set[str]
) -> Suspect:
    change_of = {each.fact: each for each in facts}
    ordered = [change_of[fact] for fact in heaviest_first({each.fact: each.weight for each in facts})]
    leading = ordered[0]
    weight, mechanism = cost_of(leading.fact)
    return Suspect(
        facts=tuple(ChangedFact(fact=each.fact, before=each.before, after=each.after) for each in ordered[:MOST_FACTS]),
        nodes=nodes,
        of=leading.of,
        weight=weight,
        mechanism=mechanism,
        slower_nodes=len(slower & set(nodes)),
        all_slower=len(slower),
        p_value=by_rank(nodes, losses),
        adjusted_p=None,
    )


def _order(suspect: Suspect, *, all_slower: bool) -> tuple[bool, bool, int, int, float, str]:
    everywhere = len(suspect.nodes) == suspect.of
    touches = suspect.slower_nodes > 0 or (all_slower and everywhere)
    missed = suspect.all_slower - suspect.slower_nodes + len(suspect.nodes) - suspect.slower_nodes
    chance = 1.0 if suspect.adjusted_p is None else suspect.adjusted_p
    return not touches, suspect.weight <= REST, -suspect.weight, missed, chance, suspect.facts[0].fact


def new_problems(before: Mapping[str, NodeFacts], after: Mapping[str, NodeFacts]) -> tuple[str, ...]:
    """What the rules find wrong with the facts afterwards, and not before: subject and statement."""
    old = {(finding.kind, finding.subject) for finding in fact_findings(Readings(facts=before))}
    return tuple(
        f"{finding.subject.text}  {finding.kind}: {finding.statement}"
        for finding in fact_findings(Readings(facts=after))
        if (finding.kind, finding.subject) not in old
    )
