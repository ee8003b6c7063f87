"""Which benchmark a name means: one that is known, or one that a site's own TOML file declares."""

from pathlib import Path

from seatrial.archive.inputs import SCENARIO_BYTES, argument_text
from seatrial.benchmarks import catalogue, generic
from seatrial.benchmarks.declaration import AUTO, Benchmark
from seatrial.model.benchmark import Output

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
