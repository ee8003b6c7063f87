"""The values of nodes from the outputs of one benchmark, a file for each run; those that do not pass have none.

Outputs with numbers of single GPUs give a value for each GPU, which is a part of its node.
"""

import math
import re
import statistics
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import NamedTuple

from seatrial.benchmarks.catalogue import parse_auto
from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.gates import judge
from seatrial.benchmarks.gpu_peers import Condition, metric_of, values_of_gpus
from seatrial.importers.fleets import OUTPUT_NAME, FleetTable, Stratum, aligned, one_stratum
from seatrial.model.benchmark import Better, Output
from seatrial.model.errors import UsageError

RUN = r"(?:(?:run|iter|rep|try)[-_]?)?(?P<run>\d{1,6})"
"""Number of a run behind the name of the benchmark in the name of a file."""


class NodeOutput(NamedTuple):
    """One run of a benchmark on one node."""

    name: str
    """The file of the output, or how a list of what was left out calls it."""
    node: str
    run: int
    """The number of the run among those of the node."""
    output: Output
    """What it printed, with the breaches of all gates."""


def table_of_outputs(texts: Mapping[str, str], column: str = "") -> FleetTable | None:
    """The best value of each output, by its node, or by its GPUs; None where no text is of a known benchmark.

    The node is what the file's name has before or after that of the benchmark. `column`: a label of the main metric,
    such as Copy of STREAM. Raises UsageError where the outputs are of several benchmarks.
    """
    read: list[NodeOutput] = []
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
        read.append(NodeOutput(name, node, number, judge(benchmark, output)))
    return table_of_nodes(first, read, column) if first else None


def table_of_nodes(benchmark: Benchmark, outputs: Iterable[NodeOutput], column: str = "") -> FleetTable:
    """The best value of each output, by its node, or by its GPUs. Raises UsageError for a column that none has."""
    runs: dict[str, list[tuple[int, float]]] = {}
    of_gpus: dict[Condition, dict[tuple[str, int], list[tuple[int, float]]]] = {}
    left_out: list[str] = []
    for name, node, number, output in outputs:
        why, value = _value(benchmark, output, column)
        left_out += [f"{name} ({why})"] if why else []
        runs.setdefault(node, []).append((number, value))
        for condition, gpus in values_of_gpus(benchmark, output).items() if not why else ():
            for gpu, values in gpus.items():
                subjects = of_gpus.setdefault(condition, {})
                subjects.setdefault((node, gpu), []).append((number, statistics.median(values)))
    if of_gpus:
        failed = tuple(node for node, values in runs.items() for _, value in values if math.isnan(value))
        return _table_of_gpus(benchmark, of_gpus, column, tuple(left_out), failed)
    fleet = {node: [value for _, value in sorted(of_node, key=lambda run: run[0])] for node, of_node in runs.items()}
    return one_stratum(fleet, sense=benchmark.main.sense, left_out=tuple(left_out))


def _table_of_gpus(
    benchmark: Benchmark,
    of_gpus: Mapping[Condition, Mapping[tuple[str, int], list[tuple[int, float]]]],
    column: str,
    left_out: tuple[str, ...],
    failed: tuple[str, ...],
) -> FleetTable:
    """A stratum for each condition, with each GPU as a part of its node."""
    strata = []
    parts: dict[str, tuple[str, str]] = {}
    for condition, subjects in of_gpus.items():
        metric = metric_of(benchmark, condition)
        if column and column.lower() not in {text.lower() for _, text in condition}:
            continue
        parts |= {f"{node} GPU {gpu}": (node, f"GPU {gpu}") for node, gpu in subjects}
        runs = {f"{node} GPU {gpu}": values for (node, gpu), values in subjects.items()}
        strata.append(Stratum(conditions=condition, unit=metric.unit, sense=metric.sense, with_gaps=aligned(runs)))
    if not strata:
        raise UsageError(f"No value of a GPU belongs to {column!r}.", "Leave --column out.")
    return FleetTable(strata=tuple(strata), parts=parts, left_out=left_out, failed=failed)


def _node_and_run(name: str, benchmark: str) -> tuple[str, int]:
    """`n3-stream.out`, `stream_n3.log`, `n3-stream-run2.log` and `NODE-stream-1n-226-iter-1.out` to node and run."""
    if match := OUTPUT_NAME.fullmatch(name):
        return match["node"], int(match["run"])
    stem = PurePath(name).stem
    if match := re.fullmatch(rf"(?i)(.*[^-_.])[-_.]+{re.escape(benchmark)}[-_.]+{RUN}", stem):
        return match[1], int(match["run"])
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
