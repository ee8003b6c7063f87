"""seatrial parse: read and judge one output of a benchmark."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seatrial.archive.inputs import TABLES_BYTES
from seatrial.benchmarks import catalogue, gates
from seatrial.benchmarks.declaration import AUTO
from seatrial.cli.benchmarks import benchmark_of
from seatrial.cli.options import AsJson, read_text
from seatrial.cli.outcome import show
from seatrial.cli.time_limit import PARSE_S, limited
from seatrial.model.errors import UsageError
from seatrial.render import benchmark_output

if TYPE_CHECKING:
    from seatrial.benchmarks.declaration import Benchmark
    from seatrial.model.benchmark import Output

SIZE = re.compile(r"(?P<number>[0-9]{1,15})(?P<unit>B|KiB|MiB|GiB|)")
SIZES = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
Limits = Annotated[
    list[str] | None,
    typer.Option("--limit", help="Most (of times: least) that a metric can be, in base units.", metavar="METRIC=VALUE"),
]
Expected = Annotated[
    list[str] | None,
    typer.Option("--expect", help="What was requested: ranks=64, nodes=2, iterations=100.", metavar="NAME=VALUE"),
]
Largest = Annotated[
    str,
    typer.Option(
        "--largest", help="Largest message of an OSU or NetPIPE run that was started with -m or -u.", metavar="SIZE"
    ),
]


def parse(
    benchmark: Annotated[
        str, typer.Argument(help="auto, the name of a benchmark, or the TOML file of your own.", metavar="BENCHMARK")
    ],
    file: Annotated[Path, typer.Argument(help="The output of the benchmark.", metavar="FILE")],
    limit: Limits = None,
    expect: Expected = None,
    largest: Largest = "",
    as_json: AsJson = False,
) -> int:
    """Read one output of a benchmark and judge it: numbers, evidence of work, validity gates."""

    expected = named_values(expect or (), "--expect")
    largest_bytes = _bytes(largest)
    text = read_text(file, TABLES_BYTES)
    with limited(PARSE_S, f"Reading {file}"):
        declared, output = parsed(benchmark, text, largest_bytes)
    if declared is not None:
        output = gates.judge(declared, output, limits_of(declared, limit or ()), expected)
    return show(benchmark_output.output_report(file.name, declared, output), as_json=as_json)


def parsed(name: str, text: str, largest_bytes: int = 0) -> "tuple[Benchmark | None, Output]":
    """The benchmark of that name, file or `auto`, and the output. Raises UsageError."""
    if name == AUTO:
        return catalogue.parse_auto(text, largest_bytes)
    benchmark = benchmark_of(name)
    return benchmark, catalogue.parse_as(benchmark, text, largest_bytes)


def named_values(words: Sequence[str], option: str) -> dict[str, str]:
    """NAME=VALUE by name. Raises UsageError."""
    pairs = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{option} {word!r} is not NAME=VALUE.", f"Write {option} ranks=64, for example.")
        pairs[name] = value
    return pairs


def limits_of(declared: "Benchmark", words: Sequence[str]) -> dict[str, float]:
    """Limits by metric. Raises UsageError for what is not a number, or not a metric of the benchmark."""
    limits = {}
    metrics = [metric.name for metric in declared.metrics]
    for name, value in named_values(words, "--limit").items():
        if name not in metrics:
            raise UsageError(f"--limit {name}: {declared.name} has no such metric.", f"It has {', '.join(metrics)}.")
        try:
            limits[name] = float(value)
        except ValueError:
            limits[name] = math.nan
        if not math.isfinite(limits[name]) or "_" in value or not value.isascii():
            raise UsageError(f"--limit {name}={value}: {value!r} is not a number.", "Write 12.5e9, in base units.")
    return limits


def _bytes(text: str) -> int:
    """`64KiB` to 65536; 0 for an empty text. Raises UsageError."""
    if not text:
        return 0
    match = SIZE.fullmatch(text)
    if not match or not int(match["number"]):
        raise UsageError(f"--largest {text!r} is not a size.", "Write 65536 or 64KiB.")
    return int(match["number"]) * SIZES[match["unit"]]
