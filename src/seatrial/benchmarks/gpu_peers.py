"""Numbers that belong to one GPU each: GPU by GPU beside the other GPUs of the same output, and as parts of a node."""

import math
import statistics
from collections.abc import Iterator, Sequence

from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.gpu_rates import GPU
from seatrial.model import units
from seatrial.model.benchmark import Better, Breach, Metric, Output
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count
from seatrial.statistics.estimates import FEWEST_ALIKE
from seatrial.statistics.fleets import EFFECT, HIDDEN_EFFECTS, NodeRuns, judge_fleet

Condition = tuple[tuple[str, str], ...]
"""Metric and labels of a number without its GPU, each with a name."""
PEERS = "peers"
"""What the numbers are compared with: those of the other GPUs."""


def values_of_gpus(benchmark: Benchmark, output: Output) -> dict[Condition, dict[int, list[float]]]:
    """Condition -> GPU -> its numbers in the order of the output; only conditions that several GPUs have."""
    metrics = {metric.name: metric for metric in benchmark.metrics if not metric.of_result}
    groups: dict[Condition, dict[int, list[float]]] = {}
    for result in output.results:
        gpu = result.labels.get(GPU)
        if result.metric not in metrics or not isinstance(gpu, int):
            continue
        labels = tuple((name, str(label)) for name, label in result.labels.items() if name != GPU and label != "")
        groups.setdefault((("metric", result.metric), *labels), {}).setdefault(gpu, []).append(result.value)
    return {condition: of_gpu for condition, of_gpu in groups.items() if len(of_gpu) > 1}


def metric_of(benchmark: Benchmark, condition: Condition) -> Metric:
    """The metric of a condition. Raises StopIteration for a metric that the benchmark lacks."""
    return next(metric for metric in benchmark.metrics if metric.name == condition[0][1])


def compared(benchmark: Benchmark, output: Output) -> tuple[list[Breach], str, bool]:
    """GPUs that are slower than the others of the same output, what would have been detected, whether that is enough.

    The median of each GPU's numbers is one run of it. One run cannot show whether a low number returns, so a low GPU
    is not proved to be slow. Without three GPUs nothing is compared, and the sentence is empty.
    """
    groups = {
        condition: of_gpu
        for condition, of_gpu in values_of_gpus(benchmark, output).items()
        if len(of_gpu) >= FEWEST_ALIKE and all(0 < value < math.inf for values in of_gpu.values() for value in values)
    }
    breaches: list[Breach] = []
    detectable = 0.0
    for condition, of_gpu in groups.items():
        metric = metric_of(benchmark, condition)
        result = judge_fleet(
            {str(gpu): [statistics.median(values)] for gpu, values in of_gpu.items()},
            higher_is_better=metric.better is Better.MORE,
            comparisons=len(groups),
        )
        detectable = max(detectable, result.detectable)
        breaches += _breaches(metric, condition, result.nodes, output)
    if not groups:
        return [], "", False
    gpus = max(map(len, groups.values()))
    note = (
        f"Detectable: a GPU that is {units.share(detectable)} slower than the others ({count(gpus, 'GPU')}, "
        f"{count(len(groups), 'comparison')})."
    )
    return breaches, note, detectable <= HIDDEN_EFFECTS * EFFECT


def _breaches(metric: Metric, condition: Condition, nodes: Sequence[NodeRuns], output: Output) -> Iterator[Breach]:
    for node in nodes:
        if not (node.slow or node.suspected):
            continue
        where = ", ".join(text for _, text in condition[1:])
        first = next(
            item for item in output.results if item.metric == metric.name and str(item.labels.get(GPU)) == node.node
        )
        yield Breach(
            kind=FindingKind.GPU_BELOW_PEERS,
            reason=f"GPU {node.node} is {units.share(node.loss)} worse than the median of the GPUs: {metric.name} "
            f"{units.in_unit(node.median, metric.unit)}{f' ({where})' if where else ''}",
            line=first.line,
        )
