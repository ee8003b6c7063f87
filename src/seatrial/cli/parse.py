"""seatrial parse: outputs of benchmarks, read and judged."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from seatrial.archive.inputs import TABLES_BYTES
from seatrial.benchmarks import gates
from seatrial.cli.options import NAMED_VALUE, PATH, read_text
from seatrial.cli.outcome import OutputForms, output_options
from seatrial.cli.parameters import Text, argument, option
from seatrial.driver.benchmark import definition
from seatrial.model.errors import UsageError
from seatrial.process.time_limit import PARSE_S, limited
from seatrial.render import benchmark_output

if TYPE_CHECKING:
    from seatrial.benchmarks.declaration import Benchmark

SIZE = re.compile(r"(?P<number>[0-9]{1,15})(?P<unit>B|KiB|MiB|GiB|)")
SIZES = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def size_bytes(text: str, what: str) -> int:
    """`64KiB` to 65536; 0 for an empty text. Raises UsageError."""
    if not text:
        return 0
    match = SIZE.fullmatch(text)
    if not match or not int(match["number"]):
        raise UsageError(f"{what} {text!r} is not a size.", "Write 65536 or 64KiB.")
    return int(match["number"]) * SIZES[match["unit"]]


@click.command()
@argument("benchmark", help="auto, the name of a benchmark, or the TOML file of your own.", metavar="BENCHMARK")
@argument("file", type=PATH, help="The output of the benchmark.", metavar="FILE")
@option(
    "--limit",
    type=NAMED_VALUE,
    multiple=True,
    help="Most (of times: least) that a metric can be, in base units.",
    metavar="METRIC=VALUE",
)
@option(
    "--expect",
    type=NAMED_VALUE,
    multiple=True,
    help="What was requested: ranks=64, nodes=2, iterations=100.",
    metavar="NAME=VALUE",
)
@option(
    "--largest",
    type=Text(size_bytes),
    default="",
    help="Largest message of an OSU or NetPIPE run that was started with -m or -u.",
    metavar="SIZE",
)
@output_options()
def parse(
    benchmark: str,
    file: Path,
    limit: tuple[tuple[str, str], ...],
    expect: tuple[tuple[str, str], ...],
    largest: int,
    output: OutputForms,
) -> int:
    """Read one output of a benchmark and judge it: numbers, evidence of work, validity gates."""
    text = read_text(file, TABLES_BYTES)
    with limited(PARSE_S, f"Reading {file}"):
        declared, result = definition.parsed(benchmark, text, largest)
    if declared is not None:
        result = gates.judge(declared, result, limits_of(declared, limit), dict(expect))
    return output.show(benchmark_output.output_report(file.name, declared, result))


def limits_of(declared: "Benchmark", given: Sequence[tuple[str, str]]) -> dict[str, float]:
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
