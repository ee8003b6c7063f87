"""The report of one output of a benchmark, and its parts for others: first line, JSON fields, blocks."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Literal

from seatrial.benchmarks import gates
from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.gpu_peers import PEERS
from seatrial.benchmarks.gpu_rates import GPU
from seatrial.judgement.benchmark_result import breach_finding, word_of_output
from seatrial.model import units
from seatrial.model.benchmark import Better, Output, Result
from seatrial.model.measurement import Estimate
from seatrial.model.subject import output as output_subject
from seatrial.model.verdict import Finding, FindingKind, exit_code
from seatrial.model.words import count
from seatrial.render.curves import overlaid
from seatrial.render.json import filled
from seatrial.render.plots import COLOURS, Bars, plain_bars
from seatrial.render.report import Block, Findings, Items, Lines, Report, Table, columns
from seatrial.statistics.estimates import median_estimate

MOST_ROWS = 200
"""Numbers of a table; of more the first and the last are shown, which are the smallest and largest sizes."""
MOST_MISSING = 8
MOST_BARS = 20
NOTHING = "; compared with nothing"


class ParsedResult(Result, frozen=True, kw_only=True):
    """One printed number in the base unit of its metric."""

    unit: str
    better: Literal["more", "less", ""]


class OutputFields(Output, frozen=True, kw_only=True):
    """What was read from one output of a benchmark; docs/judge-output.md describes each field."""

    file: str
    complete: bool
    results: tuple[ParsedResult, ...]
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
        exit_code=exit_code(word),
        payload=lambda: output_fields(file, benchmark, output, limits),
        terminal=lambda _: output_blocks(benchmark, output, findings),
        page=lambda: (
            *output_blocks(benchmark, output, findings),
            *(output_pictures(benchmark, output, limits or {}) if benchmark else ()),
        ),
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
    """`1.50 µs at 1 B`: where an output without the main metric has times over message sizes, the smallest's.

    An average, if it has some. At 0 bytes, where there are others, a collective does nothing.
    """
    times = [metric.name for metric in benchmark.metrics if metric.better is Better.LESS and metric.unit == "s"]
    sized = [
        result
        for result in output.results
        if result.metric in times[:1] and isinstance(result.labels.get("bytes"), int)
    ]
    if not sized:
        return ""
    usual = [result for result in sized if result.labels.get("statistic") == "average"] or sized
    least = min(usual, key=lambda result: result.labels["bytes"] or math.inf)
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
    yield Items(title="Notes", items=output.notes[:MOST_MISSING])


def output_pictures(benchmark: Benchmark, output: Output, limits: Mapping[str, float]) -> Iterator[Block]:
    """Each metric over message sizes, with its limit; without sizes the main metric in bars."""
    for metric in benchmark.metrics:
        say = partial(units.in_unit, unit=metric.unit)
        limit = limits.get(metric.name)
        plot = overlaid(
            f"{metric.name} over message size",
            [(name, points) for name, points in list(_sized(output, metric.name).items())[:COLOURS]],
            size_text=lambda size: units.size(int(size)),
            value_text=say,
            ends_text=lambda value, say=say: f"{say(value.low)} to {say(value.high)}",  # type: ignore[misc]
            quantities=("message size", metric.name),
            levels=((limit, f"limit {say(limit)}"),) if limit else (),
        )
        if plot is not None:
            yield plot
    if not any(_sized(output, metric.name) for metric in benchmark.metrics):
        yield from _main_bars(benchmark, output, limits)


def _sized(output: Output, metric: str) -> dict[str, dict[float, Estimate]]:
    """The values of a metric by message size, for each set of its other labels."""
    values: dict[str, dict[float, list[float]]] = {}
    for result in output.results:
        size = result.labels.get("bytes")
        if result.metric == metric and isinstance(size, int) and size > 0 and result.value > 0:
            name = " ".join(str(label) for key, label in result.labels.items() if key != "bytes" and label != "")
            values.setdefault(name, {}).setdefault(size, []).append(result.value)
    return {name: {size: median_estimate(of) for size, of in sizes.items()} for name, sizes in values.items()}


def _main_bars(benchmark: Benchmark, output: Output, limits: Mapping[str, float]) -> Iterator[Bars]:
    """Each value of the main metric, and its limit."""
    main, limit = benchmark.main, limits.get(benchmark.main.name)
    shown = [(_labels(result) or main.name, result.value) for result in output.results if result.metric == main.name]
    rows = [*shown[:MOST_BARS], *([("limit", limit)] if limit else [])]
    most = max((value for _, value in rows), default=0.0)
    if 0 < most < float("inf"):
        better = "longer" if main.better is Better.MORE else "shorter"
        yield plain_bars(
            f"{main.name}, {better} is better", [(name, value, units.in_unit(value, main.unit)) for name, value in rows]
        )


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
