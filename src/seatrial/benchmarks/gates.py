"""Validity gates of every benchmark: finite numbers, no zero, none beyond a limit, the requested work, GPUs alike."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from seatrial.benchmarks import gpu_peers
from seatrial.benchmarks.declaration import PAIR, Benchmark
from seatrial.benchmarks.uneven_numbers import uneven_numbers
from seatrial.importers.lone_numbers import are_few
from seatrial.locate.thresholds import GATE_TOLERANCE
from seatrial.model import units
from seatrial.model.benchmark import Better, Breach, Metric, Output, Result
from seatrial.model.verdict import FindingKind

EVERY = (
    FindingKind.NOT_A_NUMBER,
    FindingKind.ZERO_RESULT,
    FindingKind.ABOVE_LIMIT,
    FindingKind.FAR_BELOW_LIMIT,
    FindingKind.PROGRAM_FAILED,
    FindingKind.ITERATIONS_DIFFER,
    FindingKind.RANKS_DIFFER,
    FindingKind.MESH_DIFFERS,
    FindingKind.WORK_DIFFERS,
    FindingKind.GPU_BELOW_PEERS,
    FindingKind.UNEVEN_NUMBERS,
)
"""Kinds that each output is examined for. Kinds that differ need expectations of the command line."""
LEAST_BYTES = 1024
"""Below this message size a rate of 0 may be the rounding of two decimals."""
SHORTEST = ("min", "least")
"""Statistics of times that unlike clocks of ranks may make 0."""
MOST_OF_A_KIND = 10
LIMIT, REQUESTED, OWN_LIMITS = "limit", "requested work", "limits of the program"
"""What an output is compared with."""
BOTH_WAYS = ("bi-directional", "bibw", "biband", "exchange", "sendrecv", "bidir")
"""Words in the names of tests (OSU, IMB) that count what flows in both directions."""
KINDS = {
    "iterations": FindingKind.ITERATIONS_DIFFER,
    "ranks": FindingKind.RANKS_DIFFER,
    "nodes": FindingKind.RANKS_DIFFER,
    "hosts": FindingKind.RANKS_DIFFER,
    "pairs": FindingKind.RANKS_DIFFER,
    "cells": FindingKind.MESH_DIFFERS,
    "patches": FindingKind.MESH_DIFFERS,
    "subdomains": FindingKind.MESH_DIFFERS,
}
"""Name of evidence -> what it means that it is not as expected; of others WORK_DIFFERS."""
LARGEST = ("ranks", "pairs")
"""Evidence of several tables in one output: the largest counts."""


def with_lacking(outputs: Sequence[Output]) -> Iterator[Output]:
    """Outputs of one benchmark; one that lacks a result which all but few have was cut off between two tests."""
    kinds = [
        {" ".join((each.metric, *(label for label in each.labels.values() if isinstance(label, str))))
         for each in output.results}
        for output in outputs
    ]  # fmt: skip
    whole = [own for own, output in zip(kinds, outputs, strict=True) if output.complete]
    having = Counter(itertools.chain.from_iterable(whole))
    usual = {kind for kind, number in having.items() if are_few(len(whole) - number, len(whole))}
    for own, output in zip(kinds, outputs, strict=True):
        missing = [f"it has no {kind}, which the others have" for kind in sorted(usual - own) if output.complete]
        yield msgspec.structs.replace(output, missing=(*output.missing, *missing))


def judge(
    benchmark: Benchmark,
    output: Output,
    limits: Mapping[str, float] | None = None,
    expected: Mapping[str, str] | None = None,
) -> Output:
    """The output with the breaches of all gates. `limits`: by metric, in base units. `expected`: by evidence."""
    metrics = {metric.name: metric for metric in benchmark.metrics}
    bounds = {name: limit for name, limit in (limits or {}).items() if name in metrics and output.values(name)}
    breaches: list[Breach] = []
    for result in output.results:
        metric = metrics.get(result.metric)
        if metric is not None:
            breaches += _of_number(result, metric, bound(result, metric, bounds))
    counted: dict[FindingKind, int] = {}
    kept = []
    for breach in breaches:
        counted[breach.kind] = counted.get(breach.kind, 0) + 1
        if counted[breach.kind] <= MOST_OF_A_KIND:
            kept.append(breach)
    unmet = [_of_work(output, name, value) for name, value in (expected or {}).items()]
    kept = [*(breach for breach in unmet if breach), *kept, *_of_best(benchmark, output, bounds)]
    below, detectable, enough = gpu_peers.compared(benchmark, output)
    empty = not (output.results or output.missing or output.breaches)
    given = {LIMIT: bounds, REQUESTED: expected, gpu_peers.PEERS: enough, OWN_LIMITS: benchmark.own_limits}
    return msgspec.structs.replace(
        output,
        breaches=(*output.breaches, *kept, *below, *uneven_numbers(benchmark, output)),
        missing=("it has no number of any metric",) if empty else output.missing,
        references=tuple(name for name, value in given.items() if value),
        notes=(*output.notes, *filter(None, [detectable])),
    )


def bound(result: Result, metric: Metric, bounds: Mapping[str, float]) -> float | None:
    """The limit of one number. What flows both ways at once may be twice the limit of a path in one direction."""
    limit = bounds.get(metric.name)
    if limit is not None and metric.most is not None:
        return metric.most(result.labels, limit)
    return 2 * limit if limit is not None and adds_both_ways(result, metric) else limit


def adds_both_ways(result: Result, metric: Metric) -> bool:
    """Whether a rate of a path is the sum of what flows in its two directions."""
    test = str(result.labels.get("test", "")).lower()
    return metric.of_path and any(word in test for word in BOTH_WAYS)


def has_limit_of_path(result: Result, metric: Metric) -> bool:
    """Whether the rate in one direction of a path between two nodes is the limit of a number.

    A rate of several ranks has it if there is one rank on each of two nodes, and no algorithm exceeds the links then.
    """
    if metric.most is None:
        return metric.of_path
    pair = result.labels.get("ranks") == PAIR and result.labels.get("nodes") == PAIR
    return pair and metric.most(result.labels, 1.0) == 1.0


def _of_best(benchmark: Benchmark, output: Output, bounds: Mapping[str, float]) -> list[Breach]:
    """Metrics whose best value is far below their limit; of a benchmark of several parts the main one counts."""
    found = []
    for metric in benchmark.metrics:
        shares = [
            (result.value / most, result)
            for result in output.results
            if result.metric == metric.name and benchmark.main_labels.items() <= result.labels.items()
            if (most := bound(result, metric, bounds))
        ]
        if not metric.least_share or not shares:
            continue
        part, best = max(shares, key=lambda share_of: share_of[0])
        if 0 < part < metric.least_share:
            least = units.share(metric.least_share)
            reason = f"{metric.name} is at best {units.share(part)} of its limit, below {least}"
            found.append(_breach(FindingKind.FAR_BELOW_LIMIT, reason, best))
    return found


def _of_number(result: Result, metric: Metric, limit: float | None) -> list[Breach]:
    where = ", ".join(f"{name} {value}" for name, value in result.labels.items() if value != "")
    name = f"{metric.name} ({where})" if where else metric.name
    if not math.isfinite(result.value):
        return [_breach(FindingKind.NOT_A_NUMBER, f"{name} is {result.printed}", result)]
    size = result.labels.get("bytes", LEAST_BYTES)
    measurable = isinstance(size, int) and size >= LEAST_BYTES
    averaged = result.labels.get("statistic") not in SHORTEST
    no_time = metric.unit == "s" and (
        result.value < 0 or (result.value == 0 and isinstance(size, int) and "bytes" in result.labels and averaged)
    )
    if (no_time and (measurable or result.value < 0)) or (
        metric.better is Better.MORE and metric.unit and result.value <= 0 and measurable
    ):
        return [_breach(FindingKind.ZERO_RESULT, f"{name} is {result.printed}", result)]
    if limit is None:
        return []
    most = limit * GATE_TOLERANCE if metric.of_path else limit
    beyond = result.value > most if metric.better is Better.MORE else result.value < limit
    if not beyond:
        return []
    value, bound = units.two_in_unit(result.value, limit, metric.unit)
    return [_breach(FindingKind.ABOVE_LIMIT, f"{name} is {value}, its limit {bound}", result)]


def _breach(kind: FindingKind, reason: str, result: Result) -> Breach:
    return Breach(kind=kind, reason=reason, line=result.line, text=result.printed)


def _of_work(output: Output, name: str, expected: str) -> Breach | None:
    """Evidence that is not as expected, or that the output does not show."""
    values = [item for item in output.evidence if item.name == name]
    kind = KINDS.get(name, FindingKind.WORK_DIFFERS)
    if not values:
        return Breach(kind=kind, reason=f"{expected} {name} were requested, and the output does not show how many")
    numbers = [item for item in values if isinstance(item.value, int | float)]
    item = max(numbers, key=lambda item: float(item.value)) if name in LARGEST and numbers else values[-1]
    if _same(item.value, expected):
        return None
    return Breach(kind=kind, reason=f"{expected} {name} were requested, the output shows {item.value}", line=item.line)


def _same(value: object, expected: str) -> bool:
    if isinstance(value, int | float):
        try:
            return float(expected) == float(value)
        except ValueError:
            return False
    return str(value) == expected
