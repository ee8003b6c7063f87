"""The values of nodes from the outputs of one benchmark, a file for each run; those that do not pass have none."""

import math
import re
from collections.abc import Mapping
from pathlib import PurePath

from seatrial.benchmarks.catalogue import parse_auto
from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.gates import judge
from seatrial.importers.fleets import OUTPUT_NAME, FleetTable, one_stratum
from seatrial.model.benchmark import Better, Output
from seatrial.model.errors import UsageError


def table_of_outputs(texts: Mapping[str, str], column: str = "") -> FleetTable | None:
    """The best value of each output, by its node; None where no text is of a known benchmark.

    The node is what the file's name has before or after that of the benchmark. `column`: a label of the main metric,
    such as Copy of STREAM. Raises UsageError where the outputs are of several benchmarks.
    """
    runs: dict[str, list[tuple[int, float]]] = {}
    left_out: list[str] = []
    first: Benchmark | None = None
    for name, text in texts.items():
        try:
            benchmark, output = parse_auto(text)
        except UsageError:
            continue  # standard error, job scripts
        if benchmark is None or not text.strip():
            continue
        first = first or benchmark
        if benchmark is not first:
            raise UsageError(f"{name} is of {benchmark.name}, other files are of {first.name}.", "Give one of them.")
        node, number = _node_and_run(name, benchmark.name)
        why, value = _value(benchmark, judge(benchmark, output), column)
        left_out += [f"{name} ({why})"] if why else []
        runs.setdefault(node, []).append((number, value))
    if first is None:
        return None
    values = {node: [value for _, value in sorted(of_node, key=lambda run: run[0])] for node, of_node in runs.items()}
    return one_stratum(values, sense=first.main.sense, left_out=tuple(left_out))


def _node_and_run(name: str, benchmark: str) -> tuple[str, int]:
    """`n3-stream.out`, `stream_n3.log` and `NODE-stream-1n-226-iter-1.out` to n3, and the number of the run."""
    if match := OUTPUT_NAME.fullmatch(name):
        return match["node"], int(match["run"])
    stem = PurePath(name).stem
    return re.sub(rf"(?i)^{benchmark}[-_.]+|(?<![-_.])[-_.]+{benchmark}$", "", stem) or stem, 0


def _value(benchmark: Benchmark, output: Output, column: str) -> tuple[str, float]:
    """Why an output has no value, and its value: the best one of the main metric. Raises UsageError for a column."""
    if not output.valid:
        return (output.missing or [breach.reason for breach in output.breaches])[0], math.nan
    metric = benchmark.main
    results = [result for result in output.results if result.metric == metric.name]
    labels = {str(label).lower() for result in results for label in result.labels.values()}
    if column and column.lower() not in labels:
        raise UsageError(f"No value of {metric.name} belongs to {column!r}.", "Leave --column out.")
    numbers = [
        result.value
        for result in results
        if (
            column.lower() in {str(label).lower() for label in result.labels.values()}
            if column
            else all(result.labels.get(name) == label for name, label in benchmark.main_labels.items())
        )
    ]
    if not numbers:
        return f"no number of {metric.name}", math.nan
    return "", (max if metric.better is Better.MORE else min)(numbers)
