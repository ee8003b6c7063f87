"""The values of nodes from the outputs of one benchmark, a file for each run; those that do not pass have none.

Outputs with numbers of single GPUs give a value for each GPU, which is a part of its node.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from seatrial.benchmarks.catalogue import BENCHMARKS, REMEDY, detected, others_in, outputs_in, parse_as, parse_auto
from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.gates import judge, with_lacking
from seatrial.benchmarks.gpu_peers import Condition, metric_of, values_of_gpus
from seatrial.importers.fleets import FleetTable, Stratum, aligned, one_stratum
from seatrial.importers.osu import named_pair, pairs_of_names
from seatrial.importers.outcome_words import ran
from seatrial.importers.output_names import are_nodes, places_of, reason, without_output
from seatrial.importers.pair_evidence import NotPairs
from seatrial.importers.pair_lines import Pair
from seatrial.importers.printed_text import plain
from seatrial.model.benchmark import Better, Metric, Output
from seatrial.model.errors import UsageError
from seatrial.model.imported import Sense
from seatrial.model.pair_table import PairTable, repeated_pair_table
from seatrial.model.words import count


class NodeOutput(NamedTuple):
    """One run of a benchmark on one node."""

    name: str
    """The file of the output, or how a list of what was left out calls it."""
    node: str
    run: int
    """The number of the run among those of the node."""
    output: Output
    """What it printed, with the breaches of all gates."""
    repeated: int = 1
    """How often the benchmark ran in it."""


def table_of_outputs(texts: Mapping[str, str], column: str = "", expected: Collection[str] = ()) -> FleetTable | None:
    """The best value of each run, by its node, or by its GPUs; None where no text is of a known benchmark.

    The node is what the file's name has before or after that of the benchmark. `column`: a label of the main metric,
    such as Copy of STREAM. `expected`: texts that should be outputs whatever their names are. Further benchmarks in the
    same texts are conditions. Raises UsageError where texts begin with several benchmarks.
    """
    read: list[NodeOutput] = []
    others: dict[str, str] = {}
    first: Benchmark | None = None
    for name, text in texts.items():
        try:
            benchmark, output = parse_auto(text)
        except UsageError:
            benchmark, output = None, Output(benchmark="")
        if benchmark is None:
            others[name] = text
            continue
        first = first or benchmark
        if benchmark is not first:
            raise UsageError(f"{name} is of {benchmark.name}, other files are of {first.name}.", "Give one of them.")
        read.append(NodeOutput(name, "", 0, judge(first, output), outputs_in(first, text)))
    if first is None:
        return None
    places = places_of(texts, first.name)
    read = [run._replace(node=places[run.name].node, run=places[run.name].run) for run in read]
    lost = without_output(texts.keys() - others, others, first.name) | {name: reason(texts[name]) for name in expected}
    read += (NodeOutput(name, *places[name], Output(benchmark="", missing=(lost[name],)))
             for name in sorted(lost))  # fmt: skip
    silent = frozenset(run.node for run in read if not run.output.benchmark and not ran(run.output.missing[0]))
    tables: dict[str, FleetTable] = {}
    unlike = UsageError("")
    for benchmark, runs in [(first, read), *_beside(first, read, texts)]:
        compared = zip(runs, with_lacking([run.output for run in runs]), strict=True)
        try:
            tables[benchmark.name] = table_of_nodes(
                benchmark, (run._replace(output=output) for run, output in compared), column
            )
        except UsageError as error:
            unlike = unlike if str(unlike) else error
    if not tables:
        raise unlike
    return msgspec.structs.replace(_side_by_side(tables), not_begun=silent)


def pairs_in_names(texts: Mapping[str, str]) -> dict[str, Pair]:
    """File -> the two nodes in its name, of outputs of one test of a path, such as perftest; empty for others."""
    outputs = {name: benchmark for name, text in texts.items() if (benchmark := detected(text))}
    of_path = {benchmark.name for benchmark in outputs.values() if benchmark.main.of_path}
    if len(of_path) != 1 or len({benchmark.name for benchmark in outputs.values()}) > 1:
        return {}
    try:
        return pairs_of_names([*outputs])
    except UsageError:
        return {}


def files_of_pairs(text: str) -> dict[str, str]:
    """`n1--n2` -> what a test printed below headings that name these two nodes; empty for another text."""
    sections: defaultdict[str, str] = defaultdict(str)
    name = ""
    for line in plain(text).splitlines(keepends=True) if detected(text) else ():
        pair, marked = named_pair(line)
        if pair and marked and are_nodes(pair):
            name = "--".join(pair)
        sections[name] += line
    above = sections.pop("", "")
    return {} if len(sections) < 2 or detected(above) else dict(sections)


def pairs_of_outputs(texts: Mapping[str, str]) -> PairTable:
    """The best value of each output, by the two nodes in its name. Raises NotPairs where names have none.

    An output that is cut off, or does not pass its gates, leaves its pair without a number.
    """
    pairs = pairs_in_names(texts)
    table = table_of_outputs({name: texts[name] for name in pairs}) if pairs else None
    if table is None or len(table.strata) != 1:
        raise NotPairs(f"{count(len(texts), 'file')} read, and their names do not show two nodes each.", REMEDY)
    (stratum,) = table.strata
    files = places_of(pairs, next(iter(filter(None, map(detected, texts.values())))).name)
    values: defaultdict[Pair, list[float]] = defaultdict(list)
    for name, pair in pairs.items():
        values[pair] += stratum.values.get(files[name].node, [])
    bandwidth, latency = (values, {}) if stratum.sense is not Sense.LOWER else ({}, values)
    return repeated_pair_table([*dict.fromkeys(end for pair in pairs.values() for end in pair)], bandwidth, latency)


def _beside(
    first: Benchmark, read: Sequence[NodeOutput], texts: Mapping[str, str]
) -> Iterator[tuple[Benchmark, list[NodeOutput]]]:
    """Further benchmarks in the texts with their outputs; one that half of them have, or more, belongs to all."""
    having: defaultdict[str, list[str]] = defaultdict(list)
    for run in read:
        for other in others_in(first, texts[run.name]) if run.output.benchmark else ():
            having[other.name].append(run.name)
    for name, own in having.items():
        other, parsed = BENCHMARKS[name], {each: parse_as(BENCHMARKS[name], texts[each]) for each in own}
        missing = Output(benchmark="", missing=(f"it has no output of {other.title}",))
        runs = [
            run._replace(
                output=judge(other, parsed[run.name]) if run.name in parsed else missing,
                repeated=outputs_in(other, texts[run.name]) if run.name in parsed else 1,
            )
            for run in read
            if run.name in parsed or 2 * len(own) >= len(read)
        ]
        if any(output.results or output.breaches for output in parsed.values()):
            yield other, runs


def _side_by_side(tables: Mapping[str, FleetTable]) -> FleetTable:
    """The only table, or those of several benchmarks, by name, as one, in which each is a condition."""
    if len(tables) == 1:
        return next(iter(tables.values()))
    every = tables.values()
    return FleetTable(
        strata=tuple(
            msgspec.structs.replace(stratum, conditions=(("benchmark", name), *stratum.conditions))
            for name, table in tables.items()
            for stratum in table.strata
        ),
        parts={subject: part for table in every for subject, part in table.parts.items()},
        without_value=tuple(node for table in every for node in table.without_value),
        failed=tuple(node for table in every for node in table.failed),
        left_out=tuple(f"{name}: {left}" for name, table in tables.items() for left in table.left_out),
    )


def table_of_nodes(benchmark: Benchmark, outputs: Iterable[NodeOutput], column: str = "") -> FleetTable:
    """The best value of each output, by its node, or by its GPUs. Raises UsageError for a column that none has."""
    runs: dict[str, list[tuple[int, float]]] = {}
    of_gpus: dict[Condition, dict[tuple[str, int], list[tuple[int, float]]]] = {}
    left_out: list[str] = []
    outputs = list(outputs)
    metric = _metric(benchmark, [run.output for run in outputs])
    for name, node, number, output, repeated in outputs:
        why, *values = _values(benchmark, metric, output, column, repeated)
        left_out += [f"{name} ({why})"] if why else []
        runs.setdefault(node, []).extend((number * len(values) + place, value) for place, value in enumerate(values))
        for condition, gpus in values_of_gpus(benchmark, output).items() if not why else ():
            for gpu, values in gpus.items():
                subjects = of_gpus.setdefault(condition, {})
                subjects.setdefault((node, gpu), []).append((number, statistics.median(values)))
    if of_gpus:
        failed = tuple(node for node, values in runs.items() for _, value in values if math.isnan(value))
        return _table_of_gpus(benchmark, of_gpus, column, tuple(left_out), failed)
    fleet = {node: [value for _, value in sorted(of_node, key=lambda run: run[0])] for node, of_node in runs.items()}
    return one_stratum(fleet, sense=metric.sense, unit=metric.unit, left_out=tuple(left_out))


def _metric(benchmark: Benchmark, outputs: Sequence[Output]) -> Metric:
    """The main metric, or the first one that there is where no output has that: osu_latency prints no rate."""
    printed = {result.metric for output in outputs for result in output.results}
    having = [metric for metric in (benchmark.main, *benchmark.metrics) if metric.name in printed]
    return having[0] if having else benchmark.main


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
        runs |= {node: [(0, math.nan)] for node in {*failed}.difference(node for node, _ in subjects)}
        strata.append(Stratum(conditions=condition, unit=metric.unit, sense=metric.sense, with_gaps=aligned(runs)))
    if not strata:
        raise UsageError(f"No value of a GPU belongs to {column!r}.", "Leave --column out.")
    return FleetTable(strata=tuple(strata), parts=parts, left_out=left_out, failed=failed)


def _values(
    benchmark: Benchmark, metric: Metric, output: Output, column: str, repeated: int
) -> tuple[str, *tuple[float, ...]]:
    """Why an output has no value, and its values: the best one of the metric, or that of each time it ran.

    Raises UsageError for a column that it does not have.
    """
    if not output.valid:
        return (output.missing or [breach.reason for breach in output.breaches])[0], math.nan
    main_labels = benchmark.main_labels if metric is benchmark.main else {}
    labels = [result.labels for result in output.results if result.metric == metric.name]
    numbers = output.values(metric.name)
    words = [{str(label).lower() for label in of_result.values()} for of_result in labels]
    if column and not any(column.lower() in named for named in words):
        raise UsageError(f"No value of {metric.name} belongs to {column!r}.", "Leave --column out.")
    chosen = [
        place
        for place, (of_result, named) in enumerate(zip(labels, words, strict=True))
        if (column.lower() in named if column else of_result.items() >= main_labels.items())
    ]
    if not chosen:
        return f"no number of {metric.name}", math.nan
    if metric.better is Better.LESS:  # the smallest message, for which the path and not the rate counts
        least = min(
            (size for place in chosen if isinstance(size := labels[place].get("bytes"), int) and size), default=0
        )
        chosen = [place for place in chosen if least and labels[place]["bytes"] == least] or chosen
        chosen = [place for place in chosen if labels[place].get("statistic") == "average"] or chosen
    if len(chosen) == repeated and all(labels[place] == labels[chosen[0]] for place in chosen):
        return "", *(numbers[place] for place in chosen)
    return "", (max if metric.better is Better.MORE else min)(numbers[place] for place in chosen)
