"""The declarations of benchmarks: the reports of `seatrial benchmarks`."""

from collections.abc import Iterator, Mapping

from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.gates import EVERY
from seatrial.render.json import Json
from seatrial.render.report import Block, Lines, Paragraph, Report, Table, columns


def list_report(benchmarks: Mapping[str, Benchmark]) -> Report:
    """A line for each benchmark."""
    return Report(
        payload=lambda: {"benchmarks": [benchmark_fields(item) for item in benchmarks.values()]},
        terminal=lambda _: (
            Table(
                columns=columns("name", "benchmark", "main metric", "scaling", "run"),
                rows=tuple(
                    (item.name, item.title, item.main_metric, item.scaling.value, "yes" if item.launch else "no")
                    for item in benchmarks.values()
                ),
            ),
            Paragraph(text="seatrial benchmarks show NAME prints metrics, evidence of work and gates."),
        ),
    )


def benchmark_report(benchmark: Benchmark) -> Report:
    """All that one benchmark declares."""
    return Report(payload=lambda: benchmark_fields(benchmark), terminal=lambda _: _blocks(benchmark))


def benchmark_fields(benchmark: Benchmark) -> Json:
    """docs/benchmarks.md describes each field."""
    return {
        "name": benchmark.name,
        "title": benchmark.title,
        "requires": benchmark.requires,
        "main_metric": benchmark.main_metric,
        "metrics": [
            {"name": item.name, "unit": item.unit, "better": item.better.value, "meaning": item.meaning}
            for item in benchmark.metrics
        ],
        "evidence": list(benchmark.evidence),
        "gates": [kind.value for kind in dict.fromkeys((*benchmark.gates, *EVERY))],
        "complete": benchmark.complete,
        "scaling": benchmark.scaling.value,
        "runs": benchmark.launch is not None,
        "programs": list(benchmark.launch.programs) if benchmark.launch else [],
        "parameters": [
            {"name": item.name, "default": item.default, "meaning": item.meaning}
            for item in (benchmark.launch.parameters if benchmark.launch else ())
        ],
    }


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
    yield Table(
        columns=columns("metric", "unit", "better", "~meaning"),
        rows=tuple((item.name, item.unit or "1", item.better.value, item.meaning) for item in benchmark.metrics),
    )
    if benchmark.launch and benchmark.launch.parameters:
        yield Table(
            title="Parameters of `seatrial run` (--set NAME=VALUE)",
            columns=columns("parameter", "default", "~meaning"),
            rows=tuple(
                (item.name, item.default, f"{item.meaning}{'; grows with scale --weak' * bool(item.grows)}")
                for item in benchmark.launch.parameters
            ),
        )
