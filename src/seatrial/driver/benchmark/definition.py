"""Which benchmark a name means: one that is known, or one that a site's own TOML file declares."""

import math
import re
from collections.abc import Sequence
from pathlib import Path

from seatrial.benchmarks import catalogue, generic
from seatrial.benchmarks.declaration import AUTO, Benchmark
from seatrial.files.inputs import SCENARIO_BYTES, argument_text
from seatrial.model.benchmark import Output
from seatrial.model.errors import UsageError
from seatrial.model.unit_text import NUMBER, number_of, unit_of

SUFFIX = ".toml"
QUANTITY = re.compile(rf"(?P<number>{NUMBER}) ?(?P<unit>[^\d\s][^\s]{{0,20}})?")
"""A number, and a unit if it has one."""


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
    """Limits by metric, from `12.5e9` in base units or with a unit: `100 Gb/s`. Raises UsageError for what is neither a
    number nor a metric of the benchmark.
    """
    limits = {}
    units = {metric.name: metric.unit for metric in declared.metrics}
    for name, text in given:
        if name not in units:
            raise UsageError(f"--limit {name}: {declared.name} has no such metric.", f"It has {', '.join(units)}.")
        match = QUANTITY.fullmatch(text)
        unit = unit_of(match["unit"]) if match and match["unit"] else None
        value = number_of(match["number"]) * (unit.factor if unit else 1.0) if match else math.nan
        fits = match is not None and (not match["unit"] or (unit is not None and unit.base == units[name]))
        if not fits or not math.isfinite(value):
            remedy = f"Write 12.5e9, in {units[name] or 'its unit'}, or with a unit that fits: 100Gb/s."
            raise UsageError(f"--limit {name}={text}: {text!r} is not a number.", remedy)
        limits[name] = value
    return limits
