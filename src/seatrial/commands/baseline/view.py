"""Baselines in words and as JSON."""

from collections.abc import Iterable, Sequence

import msgspec

from seatrial.archive.baselines import Baseline
from seatrial.commands.baseline.run import Damaged, Replacement
from seatrial.judgement.comparison.records import Changed
from seatrial.model.errors import ExitCode
from seatrial.model.run_values import RunSummary
from seatrial.model.subject import Subject
from seatrial.model.verdict import ComparisonOutcome
from seatrial.model.words import count, some
from seatrial.render.change_text import change_text, interval_text, values_text
from seatrial.render.json import MetricName, filled
from seatrial.render.report import Block, Cells, Items, Lines, Paragraph, Report, record_table

MOST_RUNS = 5
MOST_HIDDEN = 20


def hidden(change: Replacement) -> tuple[Changed, ...]:
    """What is slower in the new runs than in the baseline, or lost as much as matters in runs that do not decide: it
    would no longer be seen.
    """
    if change.comparison is None:
        return ()
    least = change.comparison.threshold
    rows = [row for metric in change.comparison.metrics for row in metric.rows]
    lost = [row for row in rows if row.loss > 0]
    return tuple(row for row in lost if row.outcome is ComparisonOutcome.SLOWER or row.deviates or _open(row, least))


def _open(row: Changed, least: float) -> bool:
    return row.outcome is ComparisonOutcome.INCONCLUSIVE and row.loss >= least


def hidden_text(row: Changed) -> str:
    """n3: bandwidth 1 MiB x 4 20.1 % lower (95 % CI -21.0 to -19.2 %), 12.1 GB/s → 9.7 GB/s."""
    certain = "" if row.outcome is ComparisonOutcome.SLOWER else ", in too few runs to be certain"
    change = f"{change_text(row)} ({interval_text(row)}), {values_text(row)}"
    return f"{row.metric.whose(row.subject)}: {change}{certain}"


def replacement_text(change: Replacement) -> str:
    """A paragraph on what the replacement would hide."""
    first = f"The baseline {change.name!r} exists (version {change.replaced})."
    if change.comparison is None:
        return f"{first} It cannot be compared with the new runs: {change.reason}"
    across = [f"{each.condition}: {each.first} and {each.second}" for each in change.comparison.across]
    unlike = f" They were not measured under the same conditions ({'; '.join(across)})." if across else ""
    rows = hidden(change)
    if not rows:
        return f"{first}{unlike} Nothing is shown to be slower in the new runs."
    texts = some([hidden_text(row) for row in rows], MOST_HIDDEN)
    verb = "would" if any(row.outcome is ComparisonOutcome.SLOWER for row in rows) else "may"
    return f"{first}{unlike} The new runs {verb} hide {count(len(rows), 'regression')}: {texts}."


class HiddenRegression(msgspec.Struct, frozen=True, kw_only=True):
    """A subject that is slower in the new runs than in the baseline that they replace."""

    subject: Subject
    metric: MetricName
    ratio: float


class BaselineSetFields(msgspec.Struct, frozen=True, kw_only=True):
    """What was written, and what it hides; docs/baseline.md describes each field."""

    written: Baseline
    replaced: int
    reason: str = msgspec.field(name="not_compared")
    hides: tuple[HiddenRegression, ...]


class BaselineListFields(msgspec.Struct, frozen=True, kw_only=True):
    """All baselines of the archive, or all versions of one; docs/baseline.md describes each field."""

    baselines: tuple[Baseline, ...]
    damaged: tuple[Damaged, ...]


def set_report(written: Baseline, change: Replacement) -> Report:
    """What was written, and what it hides."""
    rows = hidden(change)
    return Report(
        payload=lambda: filled(
            BaselineSetFields,
            change,
            written=written,
            hides=[filled(HiddenRegression, row, ratio=row.ratio.value) for row in rows],
        ),
        terminal=lambda _: _set_blocks(written, change, rows),
    )


def _set_blocks(written: Baseline, change: Replacement, rows: Sequence[Changed]) -> Iterable[Block]:
    kept = f", which replaces version {change.replaced}; that is kept" if change.replaced else ""
    runs = count(len(written.runs), "run")
    yield Paragraph(text=f"Baseline {written.name}, version {written.version}: {runs}{kept}.")
    if change.reason:
        yield Paragraph(text=f"Whether that hides a regression is not known: {change.reason}")
    if len(written.runs) == 1:
        yield Paragraph(text="One run cannot show how much runs vary; take three or more.")
    yield Items(title="No longer seen as slower", items=tuple(hidden_text(row) for row in rows[:MOST_HIDDEN]))


BASELINES: Cells[Baseline] = {
    "baseline": lambda baseline: baseline.name,
    "#version": lambda baseline: str(baseline.version),
    "=made": lambda baseline: baseline.made,
    "#runs": lambda baseline: str(len(baseline.runs)),
    "command": lambda baseline: ", ".join(sorted({run.kind for run in baseline.runs})),
    "#nodes": lambda baseline: str(len({node for run in baseline.runs for node in run.nodes})),
    "names of runs": lambda baseline: some([run.run for run in baseline.runs], MOST_RUNS),
}
RUNS: Cells[RunSummary] = {
    "run": lambda run: run.run,
    "command": lambda run: run.kind,
    "=started": lambda run: run.started,
    "#nodes": lambda run: str(len(run.nodes)),
    "launcher": lambda run: run.launcher,
    "MPI library": lambda run: run.mpi_library,
}


def list_report(baseline: Sequence[Baseline], damaged: Sequence[Damaged], archive: str) -> Report:
    """All baselines, a row each, and what is wrong with those that are damaged."""
    return Report(
        payload=lambda: BaselineListFields(baselines=tuple(baseline), damaged=tuple(damaged)),
        terminal=lambda _: _list_blocks(baseline, damaged, archive),
    )


def _list_blocks(baseline: Sequence[Baseline], damaged: Sequence[Damaged], archive: str) -> Iterable[Block]:
    yield record_table(BASELINES, baseline, None)
    if not baseline and not damaged:
        yield Paragraph(text=f"No baselines in {archive}.")
    yield Items(title="Damaged", items=tuple(map(_damaged_line, damaged)))


def _damaged_line(damaged: Damaged) -> str:
    version = f"@{damaged.version}" if damaged.version else ""
    return f"{damaged.name}{version}: {damaged.problem}"


def show_report(versions: Sequence[Baseline], damaged: Sequence[Damaged]) -> Report:
    """One baseline: its newest readable version in full, the earlier ones, and the damaged ones."""
    newest = versions[0]
    return Report(
        payload=lambda: BaselineListFields(baselines=tuple(versions), damaged=tuple(damaged)),
        exit_code=ExitCode.INCOMPLETE if damaged else ExitCode.PASS,
        terminal=lambda _: _show_blocks(newest, versions[1:], damaged),
    )


def _show_blocks(newest: Baseline, earlier: Sequence[Baseline], damaged: Sequence[Damaged]) -> Iterable[Block]:
    yield Paragraph(text=f"{newest.name}, version {newest.version}, made {newest.made}", strong=True)
    yield record_table(RUNS, newest.runs, None)
    facts = f"kept, of {newest.facts_run}" if newest.facts_run else "none"
    rows = [f"{each.name}@{each.version}, made {each.made}, {count(len(each.runs), 'run')}" for each in earlier]
    yield Lines(rows=(("facts", facts), *(("earlier", row) for row in rows)))
    yield Items(title="Damaged", items=tuple(map(_damaged_line, damaged)))
