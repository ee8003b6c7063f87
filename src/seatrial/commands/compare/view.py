"""The report of a comparison, for a terminal and as JSON."""

from collections.abc import Iterable, Sequence

import msgspec

from seatrial.commands.compare.wording import (
    counts_text,
    in_one_text,
    levels_text,
    needed_text,
    proof_text,
    sentence,
    shares_text,
    subject_name,
    sum_of,
)
from seatrial.judgement.comparison.records import (
    ChangedFact,
    Comparison,
    Counts,
    MetricChange,
    ProofOutcome,
    RankShare,
    Suspect,
    Unlike,
)
from seatrial.model.errors import ExitCode
from seatrial.model.measurement import Estimate
from seatrial.model.run_values import RunSummary
from seatrial.model.subject import Subject
from seatrial.model.units import share
from seatrial.model.verdict import ComparisonOutcome
from seatrial.model.words import count
from seatrial.render.change_text import amount, interval_text, suspect_text, values_text
from seatrial.render.forest import forest
from seatrial.render.json import MetricName, filled
from seatrial.render.report import Block, Items, Lines, Report, Table, columns

EXIT_CODES = {
    ComparisonOutcome.SLOWER: ExitCode.FINDINGS,
    ComparisonOutcome.FASTER: ExitCode.PASS,
    ComparisonOutcome.SAME: ExitCode.PASS,
    ComparisonOutcome.INCONCLUSIVE: ExitCode.INCOMPLETE,
}
MOST_SHOWN = 20
MOST_DRAWN = 6
"""Subjects of one metric whose intervals are drawn."""
READING = "A bar is the interval, the line in it the value. Within the grey band a difference does not matter."
MOST_SUSPECTS = 10
MOST_METRICS = 10


class RunSetFields(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two sets of runs."""

    name: str
    runs: tuple[str, ...]


class ChangedSubject(msgspec.Struct, frozen=True, kw_only=True):
    """One subject in one metric, before and after."""

    subject: Subject
    metric: MetricName
    outcome: ComparisonOutcome
    before: float
    after: float
    unit: str
    ratio: Estimate
    beyond_others: float
    deviates: bool
    more_runs: int | None


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Standard deviations of the logarithm, by what varies."""

    iteration_spread: float = msgspec.field(name="iteration")
    round_spread: float = msgspec.field(name="round")
    run: float
    subject_run: float
    subject: float


class MetricFields(msgspec.Struct, frozen=True, kw_only=True):
    """One metric: all its pairs together, and what changed."""

    metric: MetricName
    together: ChangedSubject
    nodes: Counts
    pairs: Counts
    changed: tuple[ChangedSubject, ...]
    unlisted: int
    undecided: ChangedSubject | None
    only_in_first: int
    only_in_second: int
    spread: Spread
    before_deviation: float | None
    after_deviation: float | None


class ProofFields(msgspec.Struct, frozen=True, kw_only=True):
    """One suspect that was taken back, or why it was not."""

    outcome: ProofOutcome
    facts: tuple[ChangedFact, ...]
    nodes: tuple[str, ...]
    statement: str
    subject: Subject | None
    metric: MetricName | None
    ratio: Estimate | None
    with_change: tuple[str, ...]
    without_change: tuple[str, ...]


class ComparisonFields(msgspec.Struct, frozen=True, kw_only=True):
    """The second set of runs compared with the first; docs/compare.md describes each field."""

    outcome: ComparisonOutcome
    first: RunSetFields
    second: RunSetFields
    threshold: float
    worst: ChangedSubject | None
    undecided: ChangedSubject | None
    metrics: tuple[MetricFields, ...]
    suspects: tuple[Suspect, ...]
    proofs: tuple[ProofFields, ...]
    rank_shares: tuple[RankShare, ...]
    new_problems: tuple[str, ...]
    across: tuple[Unlike, ...]
    notes: tuple[str, ...]


def comparison_report(comparison: Comparison) -> Report:
    """Everything that is known of the second set compared with the first."""
    code = EXIT_CODES[comparison.outcome]
    return Report(
        word=comparison.outcome.value.upper(),
        sentence=sentence(comparison),
        exit_code=ExitCode.INCOMPLETE if code is ExitCode.PASS and comparison.undecided else code,
        payload=lambda: comparison_fields(comparison),
        terminal=lambda _: _blocks(comparison),
        page=lambda: [*_intervals(comparison), *_blocks(comparison)],
    )


def _intervals(comparison: Comparison) -> Iterable[Block]:
    """What changed, drawn: after over before with its interval; nothing where nothing was measured in both."""
    rows = [
        (f"{metric.metric.name}, {subject_name(row, sum_of(metric))}", row)
        for metric in _changed_first(comparison)
        for row in metric.rows[:MOST_DRAWN]
    ][:MOST_SHOWN]
    if not rows:
        return
    yield forest(
        "Intervals",
        READING,
        [
            (
                name,
                f"{amount(row.ratio.value)} ({interval_text(row)})",
                row.outcome.value,
                (row.ratio.low, row.ratio.value, row.ratio.high),
            )
            for name, row in rows
        ],
        matters=1 / (1 - comparison.threshold),
        column="after over before",
    )


def _blocks(comparison: Comparison) -> Iterable[Block]:
    heads = columns("metric", "subject", "verdict", "change", "before → after")
    hidden = sum(metric.unlisted + max(len(metric.changed) - MOST_SHOWN, 0) for metric in comparison.metrics)
    left_out = f"{count(hidden, 'more changed subject')} in the JSON or counted there." if hidden else ""
    yield Table(columns=heads, rows=tuple(_rows(comparison)), left_out=left_out)
    if comparison.suspects:
        shown = tuple(suspect_text(each) for each in comparison.suspects[:MOST_SUSPECTS])
        yield Items(title="Suspects: facts that differ, the most likely first", items=_numbered(shown))
    if comparison.proofs:
        yield Items(title="Proof", items=_numbered(tuple(proof_text(each) for each in comparison.proofs)))
    yield Items(title="Known problems that only the second set has", items=comparison.new_problems[:MOST_SUSPECTS])
    yield Lines(title="Subjects", rows=_shortened(_counted(comparison)))
    spreads = ((metric.metric.name, levels_text(metric)) for metric in _changed_first(comparison))
    yield Lines(title="Spread (standard deviation)", rows=_shortened(spreads))
    yield Lines(title="Compared", rows=tuple(_about(comparison)))


def _changed_first(comparison: Comparison) -> list[MetricChange]:
    """Main figures of benchmarks come first, and metrics in which everything is the same last."""
    return sorted(
        comparison.metrics,
        key=lambda change: (not change.metric.main, all(row.outcome is ComparisonOutcome.SAME for row in change.rows)),
    )


def _shortened(rows: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The lines of the first metrics, and how many more there are."""
    lines = tuple(rows)
    more = len(lines) - MOST_METRICS
    if more <= 1:
        return lines
    return (*lines[:MOST_METRICS], ("more", f"{count(more, 'metric')} in the JSON."))


def _numbered(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{place}  {item}" for place, item in enumerate(items, start=1))


def _rows(comparison: Comparison) -> Iterable[tuple[str, ...]]:
    for metric in _changed_first(comparison):
        undecided = (metric.undecided,) if metric.undecided else ()
        for row in (metric.together, *metric.changed[:MOST_SHOWN], *undecided):
            yield (
                metric.metric.name,
                subject_name(row, sum_of(metric)),
                row.outcome.value,
                f"{amount(row.ratio.value)} ({interval_text(row)})",
                values_text(row),
            )


def _counted(comparison: Comparison) -> Iterable[tuple[str, str]]:
    """How many pairs and nodes have each outcome, and what would decide."""
    for metric in _changed_first(comparison):
        kinds = (("nodes", metric.nodes), ("pairs", metric.pairs))
        texts = [f"{name}: {counts_text(counts)}" for name, counts in kinds if counts_text(counts)]
        needed = needed_text(metric.together)
        yield metric.metric.name, "; ".join([*texts, needed] if needed else texts)


def _runs_of(asked: str, runs: Sequence[RunSummary]) -> str:
    """What was asked for, and the runs that this means where it does not name them."""
    names = [run.run for run in runs]
    return ", ".join(names) if asked.split(",") == names else f"{asked}: {', '.join(names)}"


def _about(comparison: Comparison) -> Iterable[tuple[str, str]]:
    yield "before", _runs_of(comparison.first, comparison.first_runs)
    yield "after", _runs_of(comparison.second, comparison.second_runs)
    for metric in comparison.metrics:
        if alone := in_one_text(metric):
            yield "nodes" if metric.metric.of_nodes else "pairs", alone
    if comparison.rank_shares:
        yield "a rank has", shares_text(comparison)
    limit = share(comparison.threshold)
    yield "same", f"shown to have changed by less than {limit} (two one-sided tests, 5 %)"
    yield "slower, faster", "at most 1 % of those named are expected to be wrong (Benjamini and Hochberg)"
    for unlike in comparison.across:
        yield "across", f"{unlike.condition}: {unlike.first} and {unlike.second}, as requested"
    for note in comparison.notes:
        yield "note", note


def comparison_fields(comparison: Comparison) -> ComparisonFields:
    """What programs read of a comparison."""
    sets = (comparison.first, comparison.first_runs), (comparison.second, comparison.second_runs)
    first, second = (RunSetFields(name=name, runs=tuple(run.run for run in runs)) for name, runs in sets)
    return filled(
        ComparisonFields,
        comparison,
        first=first,
        second=second,
        metrics=[_metric_fields(metric) for metric in comparison.metrics],
    )


def _metric_fields(metric: MetricChange) -> MetricFields:
    return filled(
        MetricFields,
        metric,
        only_in_first=metric.pairs_of_one[0],
        only_in_second=metric.pairs_of_one[1],
        spread=filled(Spread, metric.levels, metric),
    )
