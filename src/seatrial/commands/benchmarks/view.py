"""The declarations of benchmarks: the reports of `seatrial bench`."""

from collections.abc import Iterator, Mapping

import msgspec

from seatrial.benchmarks.declaration import Benchmark, Parameter, Scaling
from seatrial.benchmarks.gates import EVERY
from seatrial.model.benchmark import Better, Metric
from seatrial.model.verdict import FindingKind
from seatrial.render.json import filled
from seatrial.render.report import Block, Cells, Lines, Paragraph, Report, record_table


class BenchmarkMetric(msgspec.Struct, frozen=True, kw_only=True):
    """A number that a benchmark prints."""

    name: str
    unit: str
    better: Better
    meaning: str


class BenchmarkFields(msgspec.Struct, frozen=True, kw_only=True):
    """What one benchmark declares; docs/benchmarks.md describes each field."""

    name: str
    title: str
    requires: str
    main_metric: str
    metrics: tuple[BenchmarkMetric, ...]
    evidence: tuple[str, ...]
    gates: tuple[FindingKind, ...]
    complete: str
    scaling: Scaling
    runs: bool
    programs: tuple[str, ...]
    parameters: tuple[Parameter, ...]


class BenchmarkListFields(msgspec.Struct, frozen=True, kw_only=True):
    """All benchmarks; docs/benchmarks.md describes each field."""

    benchmarks: tuple[BenchmarkFields, ...]


BENCHMARKS: Cells[Benchmark] = {
    "name": lambda item: item.name,
    "benchmark": lambda item: item.title,
    "main metric": lambda item: item.main_metric,
    "scaling": lambda item: item.scaling.value,
    "run": lambda item: "yes" if item.launch else "no",
}


METRICS: Cells[Metric] = {
    "metric": lambda item: item.name,
    "unit": lambda item: item.unit or "1",
    "better": lambda item: item.better.value,
    "~meaning": lambda item: item.meaning,
}
PARAMETERS: Cells[Parameter] = {
    "parameter": lambda item: item.name,
    "default": lambda item: item.default,
    "~meaning": lambda item: f"{item.meaning}{'; grows with scale --weak' * bool(item.grows)}",
}


def list_report(benchmarks: Mapping[str, Benchmark]) -> Report:
    """A line for each benchmark."""
    return Report(
        payload=lambda: BenchmarkListFields(benchmarks=tuple(map(benchmark_fields, benchmarks.values()))),
        terminal=lambda _: (
            record_table(BENCHMARKS, benchmarks.values(), None),
            Paragraph(text="seatrial bench show NAME prints metrics, evidence of work and gates."),
        ),
    )


def benchmark_report(benchmark: Benchmark) -> Report:
    """All that one benchmark declares."""
    return Report(payload=lambda: benchmark_fields(benchmark), terminal=lambda _: _blocks(benchmark))


def benchmark_fields(benchmark: Benchmark) -> BenchmarkFields:
    """What programs read of one declaration."""
    launch = benchmark.launch
    return filled(
        BenchmarkFields,
        benchmark,
        gates=list(dict.fromkeys((*benchmark.gates, *EVERY))),
        runs=launch is not None,
        programs=launch.programs if launch else (),
        parameters=launch.parameters if launch else (),
    )


def _blocks(benchmark: Benchmark) -> Iterator[Block]:
    yield Paragraph(text=f"{benchmark.name}: {benchmark.title}", strong=True)
    yield Lines(
        rows=(
            ("requires", benchmark.requires or "nothing that it declares"),
            ("complete", benchmark.complete),
            ("evidence", ", ".join(benchmark.evidence) or "none"),
            ("gates", ", ".join(dict.fromkeys(kind.value for kind in (*benchmark.gates, *EVERY)))),
            ("scaling", benchmark.scaling.value),
        )
    )
    yield record_table(METRICS, benchmark.metrics, None)
    parameters = benchmark.launch.parameters if benchmark.launch else ()
    yield record_table(PARAMETERS, parameters, None, "Parameters of `seatrial bench run` (--set NAME=VALUE)")
