"""Which benchmark a name means: one that is known, or one that a site's own TOML file declares."""

import math
from collections.abc import Sequence
from pathlib import Path

from seatrial.archive.inputs import SCENARIO_BYTES, argument_text
from seatrial.benchmarks import catalogue, generic
from seatrial.benchmarks.declaration import AUTO, Benchmark
from seatrial.model.benchmark import Output
from seatrial.model.errors import UsageError

SUFFIX = ".toml"


def benchmark_of(name: str) -> Benchmark:
    """A benchmark by its name, or by the TOML file that declares it. Raises UsageError."""
    return benchmark_and_text(name)[0]


def benchmark_and_text(name: str) -> tuple[Benchmark, str]:
    """A benchmark with the text of its file, empty for a known benchmark. Raises UsageError."""
    if not name.endswith(SUFFIX):
        return catalogue.benchmark_named(name), ""
    text = argument_text(Path(name), SCENARIO_BYTES)
    return generic.generic_benchmark(text, name), text


def parsed(name: str, text: str, largest_bytes: int = 0) -> tuple[Benchmark | None, Output]:
    """The benchmark of that name, file or `auto`, and what its output says. Raises UsageError."""
    if name == AUTO:
        return catalogue.parse_auto(text, largest_bytes)
    benchmark = benchmark_of(name)
    return benchmark, catalogue.parse_as(benchmark, text, largest_bytes)


def limits_of(declared: Benchmark, given: Sequence[tuple[str, str]]) -> dict[str, float]:
    """Limits by metric. Raises UsageError for what is not a number, or not a metric of the benchmark."""
    limits = {}
    metrics = [metric.name for metric in declared.metrics]
    for name, value in given:
        if name not in metrics:
            raise UsageError(f"--limit {name}: {declared.name} has no such metric.", f"It has {', '.join(metrics)}.")
        try:
            limits[name] = float(value)
        except ValueError:
            limits[name] = math.nan
        if not math.isfinite(limits[name]) or "_" in value or not value.isascii():
            raise UsageError(f"--limit {name}={value}: {value!r} is not a number.", "Write 12.5e9, in base units.")
    return limits
