"""The numbers of one output as values of one run, for the archive: of a known benchmark, or of any other program."""

import re
from collections import defaultdict
from collections.abc import Iterator

import msgspec

from seatrial.benchmarks.catalogue import parse_auto
from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.gates import judge
from seatrial.importers.fleets import OUTPUT_NAME
from seatrial.model.benchmark import Output
from seatrial.model.errors import UsageError
from seatrial.model.imported import ALL_NODES, Batch, ImportedValue, Sense, Source

CONDITIONS = ("ranks", "nodes", "threads")
"""Evidence of an output that must be the same where a metric of several files is one series."""
NUMBER = re.compile(r"[-+]?\d{1,64}+(?:\.\d{0,64}+)?+(?:[eE][-+]?\d{1,6}+)?+")
LAST_LINE = "last line"


def output_batch(source: Source, text: str) -> Batch:
    """The values of a complete, valid output; its node by a name like NODE-stream-1n-226-iter-1.out.

    Positive numbers of each metric and what it belongs to; the median of several, which are one run. Without those of
    the result, such as residuals. Raises UsageError.
    """
    benchmark, output = parse_auto(text)
    if benchmark is None or not output.complete:
        why = output.missing[0] if output.missing else "it is not the output of a known benchmark"
        raise UsageError(f"The output is not complete: {why}.", "Leave this file out, or run the benchmark again.")
    output = judge(benchmark, output)
    if output.breaches:
        raise UsageError(f"The output is not valid: {output.breaches[0].reason}.", "Leave this file out.")
    match = OUTPUT_NAME.fullmatch(source.file.rpartition("/")[2])
    conditions = {name: str(output.work(name)) for name in CONDITIONS if output.work(name) is not None}
    if output.version:
        conditions["version"] = output.version
    values = tuple(_of_results(benchmark, output, match["node"] if match else ALL_NODES))
    if not values:
        raise UsageError("The output has no positive number of any metric.", "Leave this file out.")
    source = msgspec.structs.replace(source, form=benchmark.name, conditions=conditions)
    return Batch(label=f"run {match['run']}" if match else source.file, source=source, values=values)


def _of_results(benchmark: Benchmark, output: Output, node: str) -> Iterator[ImportedValue]:
    metrics = {metric.name: metric for metric in benchmark.metrics}
    groups: defaultdict[str, list[float]] = defaultdict(list)
    of_name = {}
    for result in output.results:
        if result.metric in metrics and result.value > 0 and not metrics[result.metric].of_result:
            labels = " ".join(f"{name}={value}" for name, value in result.labels.items() if value != "")
            name = " ".join(filter(None, (benchmark.name, result.metric, labels)))
            groups[name].append(result.value)
            of_name[name] = metrics[result.metric]
    for name, numbers in groups.items():
        middle = sorted(numbers)[(len(numbers) - 1) // 2]
        yield ImportedValue(metric=name, unit=of_name[name].unit, sense=of_name[name].sense, node=node, value=middle)


def last_number(source: Source, text: str, sense: Sense) -> Batch:
    """The last number of the last line that has one, of a program that is not a known benchmark. Raises UsageError."""
    last = [numbers[-1] for line in text.splitlines() if (numbers := NUMBER.findall(line))]
    value = float(last[-1]) if last else 0.0
    if not 0 < value < float("inf"):
        raise UsageError(
            "The output has no positive number in its last line with numbers.",
            "Give a benchmark of `seatrial benchmarks list`, or a program that ends with a line like `rate 12.5`.",
        )
    number = ImportedValue(metric="value", unit="", sense=sense, node=ALL_NODES, value=value)
    return Batch(label=source.file, source=msgspec.structs.replace(source, form=LAST_LINE), values=(number,))
