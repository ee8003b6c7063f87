"""The report of an acceptance: a row for each benchmark, a row for each threshold, and what is wrong."""

from collections.abc import Iterator

import msgspec

from seatrial.commands.acceptance.judge import Acceptance, ItemResult, ThresholdCheck
from seatrial.model import units
from seatrial.model.verdict import Verdict
from seatrial.model.words import count
from seatrial.render.finding_text import sentence_of
from seatrial.render.json import filled
from seatrial.render.plots import plain_bars
from seatrial.render.report import Block, Case, Cells, Findings, Lines, Report, record_table, rows_table

MOST_DRAWN = 20


class AcceptedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a benchmark."""

    run: str
    complete: bool
    failure: str
    node_hours: float
    earlier: bool


class AcceptedBenchmark(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark with its runs and thresholds."""

    name: str
    benchmark: str
    verdict: Verdict
    left: str
    runs: tuple[AcceptedRun, ...]
    checks: tuple[ThresholdCheck, ...] = msgspec.field(name="thresholds")


class AcceptanceFields(msgspec.Struct, frozen=True, kw_only=True):
    """All benchmarks of an acceptance; docs/acceptance.md describes each field."""

    name: str
    node_hours: float
    node_hours_limit: float
    benchmarks: tuple[AcceptedBenchmark, ...]


def acceptance_report(result: Acceptance) -> Report:
    """The whole report."""
    return Report(
        word=result.word,
        sentence=_sentence(result),
        exit_code=result.exit_code,
        payload=lambda: acceptance_fields(result),
        terminal=lambda _: _blocks(result),
        page=lambda: (*_bars(result), *_blocks(result)),
        findings=result.findings,
        cases=tuple(Case(name=f"acceptance:{item.item.name}", verdict=item.verdict, reason=item.left)
                    for item in result.items),
    )  # fmt: skip


def _sentence(result: Acceptance) -> str:
    """The culprit first; then what is missing."""
    left = [item for item in result.items if item.left]
    rest = f"; {count(len(left), 'benchmark')} not complete" if left else ""
    if result.findings:
        return f"{sentence_of(result.findings)}{rest}"
    if left:
        more = f" and {len(left) - 1} more" if left[1:] else ""
        return f"{result.spec.name}: {left[0].item.name}: {left[0].left}{more}"
    checks = sum(len(item.checks) for item in result.items)
    return (
        f"{result.spec.name}: {count(len(result.items), 'benchmark')} complete, "
        f"{count(checks, 'threshold')} reached, {result.node_hours:.3g} node-hours"
    )


def acceptance_fields(result: Acceptance) -> AcceptanceFields:
    """What programs read of an acceptance."""
    benchmarks = [
        filled(
            AcceptedBenchmark,
            item,
            item.item,
            runs=[filled(AcceptedRun, attempt, attempt.output) for attempt in item.attempts],
        )
        for item in result.items
    ]
    spec = result.spec
    return filled(AcceptanceFields, result, spec, node_hours_limit=spec.node_hours, benchmarks=benchmarks)


def _bars(result: Acceptance) -> Iterator[Block]:
    """The measured value of each threshold as a share of its bound."""
    rows = []
    for item in result.items:
        for check in item.checks:
            if check.value is not None and check.bound:
                name, metric, value, bound, _, verdict = _row(item, check)
                rows.append((f"{name}: {metric}", check.value / check.bound, f"{value} of {bound}: {verdict}"))
    if any(part > 0 for _, part, _ in rows):
        yield plain_bars("Measured over the bound of each threshold", [*rows[:MOST_DRAWN], ("bound", 1.0, "1")])


ITEMS: Cells[ItemResult] = {
    "benchmark": lambda item: item.item.name,
    "verdict": lambda item: item.verdict.value,
    "#runs": lambda item: f"{len(item.attempts)} of {item.item.repetitions}",
    "~left": lambda item: item.left,
}


def _blocks(result: Acceptance) -> Iterator[Block]:
    yield Findings(findings=result.findings)
    yield record_table(ITEMS, result.items, None)
    rows = (_row(item, check) for item in result.items for check in item.checks)
    yield rows_table(("benchmark", "metric", "#median", "#bound", "~reference", "verdict"), rows, None)
    limit = f" of {result.spec.node_hours:g}" if result.spec.node_hours else ""
    yield Lines(rows=(("node-hours", f"{result.node_hours:.3g}{limit}"),))


def _row(item: ItemResult, check: ThresholdCheck) -> tuple[str, ...]:
    where = ", ".join(str(label) for label in check.where.values())
    metric = f"{check.metric} ({where})" if where else check.metric
    value = "-" if check.value is None else units.in_unit(check.value, check.unit)
    bound = "-" if check.bound is None else units.in_unit(check.bound, check.unit)
    return item.item.name, metric, value, bound, check.reference, "PASS" if check.passed else "SLOW"
