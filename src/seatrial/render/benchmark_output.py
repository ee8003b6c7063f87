"""The report of one output of a benchmark, and its parts for others: first line, JSON fields, blocks."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from seatrial.benchmarks import gates
from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.gpu_peers import PEERS
from seatrial.benchmarks.gpu_rates import GPU
from seatrial.judgement.benchmark_findings import CODES, breach_finding, word_of_output
from seatrial.model import units
from seatrial.model.benchmark import Better, Evidence, Label, Output, Result
from seatrial.model.subject import output as output_subject
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import count
from seatrial.render.json import filled
from seatrial.render.report import Block, Findings, Items, Lines, Report, Table, columns

MOST_ROWS = 200
"""Numbers of a table; of more the first and the last are shown, which are the smallest and largest sizes."""
MOST_MISSING = 8
NOTHING = "; compared with nothing"


class ParsedGate(msgspec.Struct, frozen=True, kw_only=True):
    """A gate that the output does not pass, and the line that shows it."""

    kind: FindingKind = msgspec.field(name="gate")
    reason: str
    line: int
    text: str


class ParsedResult(msgspec.Struct, frozen=True, kw_only=True):
    """One printed number in the base unit of its metric."""

    metric: str
    value: float
    unit: str
    better: Literal["more", "less", ""]
    printed: str
    line: int
    labels: dict[str, Label]


class OutputFields(msgspec.Struct, frozen=True, kw_only=True):
    """What was read from one output of a benchmark; docs/judge-output.md describes each field."""

    file: str
    benchmark: str
    version: str
    complete: bool
    missing: tuple[str, ...]
    breaches: tuple[ParsedGate, ...] = msgspec.field(name="gates")
    results: tuple[ParsedResult, ...]
    evidence: tuple[Evidence, ...]
    notes: tuple[str, ...]
    references: tuple[str, ...]
    limits: dict[str, float]


def output_report(
    file: str, benchmark: Benchmark | None, output: Output, limits: Mapping[str, float] | None = None
) -> Report:
    """The whole report: verdict, gates, numbers and evidence of work."""
    word = word_of_output(output)
    findings = tuple(breach_finding(breach, output_subject(file)) for breach in output.breaches)
    return Report(
        word=word,
        sentence=output_sentence(file, benchmark, output, findings, limits or {}),
        exit_code=CODES[word],
        payload=lambda: output_fields(file, benchmark, output, limits),
        terminal=lambda _: output_blocks(benchmark, output, findings),
        page=lambda: output_blocks(benchmark, output, findings),
        findings=findings,
    )


def output_sentence(
    file: str,
    benchmark: Benchmark | None,
    output: Output,
    findings: tuple[Finding, ...],
    limits: Mapping[str, float] | None = None,
) -> str:
    """What is missing, else what is wrong, else the main number."""
    title = f"{file}: {benchmark.title.partition(' (')[0] if benchmark else 'unknown benchmark'}"
    if not output.complete:
        more = f" and {len(output.missing) - 1} more" if len(output.missing) > 1 else ""
        return f"{title}: {output.missing[0]}{more}."
    if findings:
        kinds = Counter(finding.kind for finding in findings)
        share = main_share(benchmark, output, limits or {}) if benchmark else ""
        if benchmark and share and kinds.keys() == {FindingKind.FAR_BELOW_LIMIT}:
            return f"{title} {main_number(benchmark, output)}{share}: {FindingKind.FAR_BELOW_LIMIT}"
        more = f"; {count(len(findings), 'finding')} of {count(len(kinds), 'gate')}" if len(findings) > 1 else ""
        return f"{file}: {findings[0].brief}{more}"
    number = main_number(benchmark, output) if benchmark else ""
    of = main_share(benchmark, output, limits or {}) if benchmark else ""
    nothing = "" if output.references else NOTHING
    gpus = {result.labels[GPU] for result in output.results if GPU in result.labels}
    alike = f"; {count(len(gpus), 'GPU')} alike" if PEERS in output.references else ""
    return f"{title} {number or count(len(output.results), 'number')}{of}{alike}{nothing}"


def main_number(benchmark: Benchmark, output: Output) -> str:
    """The main value with its unit, and the part that it is of; empty if there is none."""
    result = benchmark.main_result(output)
    if result is None:
        return _of_smallest(benchmark, output)
    part = "".join(f"{result.labels[name]} " for name in benchmark.main_labels if name in result.labels)
    return f"{part}{units.in_unit(result.value, benchmark.main.unit)}"


def _of_smallest(benchmark: Benchmark, output: Output) -> str:
    """`1.50 µs at 1 B`: where an output without the main metric has times over message sizes, the smallest's."""
    times = [metric.name for metric in benchmark.metrics if metric.better is Better.LESS and metric.unit == "s"]
    sized = [
        result
        for result in output.results
        if result.metric in times[:1] and isinstance(result.labels.get("bytes"), int)
    ]
    if not sized:
        return ""
    least = min(sized, key=lambda result: result.labels["bytes"])
    return f"{units.in_unit(least.value, 's')} at {units.size(int(least.labels['bytes']))}"


def main_share(benchmark: Benchmark, output: Output, limits: Mapping[str, float]) -> str:
    """`, 71 % of its limit 1.13 Tflop/s`; empty without a limit of the main metric."""
    result = benchmark.main_result(output)
    limit = gates.bound(result, benchmark.main, limits) if result else None
    if result is None or not limit:
        return ""
    part = result.value / limit if benchmark.main.better is Better.MORE else limit / result.value
    return f", {units.share(part)} of its limit {units.in_unit(limit, benchmark.main.unit)}"


def output_fields(
    file: str, benchmark: Benchmark | None, output: Output, limits: Mapping[str, float] | None = None
) -> OutputFields:
    """What programs read of one output."""
    metrics = {metric.name: metric for metric in benchmark.metrics} if benchmark else {}
    results = [
        filled(
            ParsedResult,
            result,
            unit=metrics[result.metric].unit if result.metric in metrics else "",
            better=metrics[result.metric].better if result.metric in metrics else "",
        )
        for result in output.results
    ]
    return filled(OutputFields, output, file=file, results=results, limits=dict(limits or {}))


def output_blocks(benchmark: Benchmark | None, output: Output, findings: tuple[Finding, ...]) -> Iterator[Block]:
    """Missing parts, findings, numbers, evidence of work, notes."""
    if output.missing[1:]:
        yield Items(title="Missing", items=output.missing[:MOST_MISSING])
    if findings:
        yield Findings(findings=findings)
    if benchmark and output.results:
        yield _table(benchmark, output)
    evidence = {item.name: item for item in output.evidence}
    if evidence:
        rows = tuple((item.name, f"{item.value} (line {item.line})") for item in evidence.values())
        yield Lines(title="Evidence of work", rows=rows)
    if output.complete and not findings and not output.references:
        how = "with --facts RUN|PATH or --limit METRIC=VALUE; the evidence of work with --expect NAME=VALUE"
        yield Lines(rows=(("compare", how),))
    if output.notes:
        yield Items(title="Notes", items=output.notes[:MOST_MISSING])


def _table(benchmark: Benchmark, output: Output) -> Table:
    unit = {metric.name: metric.unit for metric in benchmark.metrics}
    left = max(len(output.results) - MOST_ROWS, 0)
    gap = MOST_ROWS // 2 if left else len(output.results)
    shown = (*output.results[:gap], *output.results[gap + left :])
    return Table(
        columns=columns("metric", "#value", "of", "#line"),
        rows=tuple(
            (result.metric, units.in_unit(result.value, unit.get(result.metric, "")), _labels(result), str(result.line))
            for result in shown
        ),
        left_out=f"{left} numbers between line {shown[gap - 1].line} and line {shown[gap].line} are left out; "
        "--json has all."
        if left
        else "",
    )


def _labels(result: Result) -> str:
    return ", ".join(f"{name} {value}" for name, value in result.labels.items() if value != "")
