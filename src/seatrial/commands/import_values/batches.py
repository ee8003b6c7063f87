"""Make batches from files of other programs: the values of one run each. Unlike input is refused."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from seatrial.benchmarks.catalogue import detected, output_batch
from seatrial.importers.columns import is_json, read_columns
from seatrial.importers.fleets import Stratum, read_fleet_table
from seatrial.importers.listings import refuse_listing
from seatrial.importers.output_names import OutputPlace, places_of_runs
from seatrial.importers.reframe import ReframeRow, is_perflog, read_perflog
from seatrial.importers.series import read_series
from seatrial.importers.series_times import MOMENT
from seatrial.importers.table_kinds import TableKind, kinds_of_table
from seatrial.model.column_words import NODE_NAMES, names_condition
from seatrial.model.errors import UsageError
from seatrial.model.imported import ALL_NODES, Batch, ImportedValue, Sense, Source, sense_of
from seatrial.model.words import natural_key, natural_sorted

SERIES, FLEET, REFRAME, OUTPUTS = "series", "fleet", "reframe", "outputs"
FORMS = (SERIES, FLEET, REFRAME, OUTPUTS)
MOST_RUNS = 5000
"""More runs than that of one import are refused: each is a folder of the archive."""


class ImportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says of values that say nothing of themselves."""

    form: str = ""
    """One of `FORMS`; empty: by the text."""
    columns: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    """Columns of conditions, and of parts of a node, of a fleet; empty: by contents."""
    metric: str = ""
    unit: str = ""
    sense: Sense | None = None
    """None: by the name and unit of each metric."""


def read_batches(files: Sequence[tuple[Source, str]], wanted: ImportOptions) -> tuple[Batch, ...]:
    """The runs in all files, oldest first as far as the files say. Raises UsageError for unlike or unusable input."""
    ordered = _ordered(_left_in(files, wanted))
    places = _places(ordered)
    batches = [batch for source, text in ordered for batch in _of_file(source, text, wanted, places.get(source.file))]
    _refuse_unlike(batches)
    if not 0 < len(batches) <= MOST_RUNS:
        what = f"There are {len(batches)} runs in these files" if batches else "There is no value in these files"
        raise UsageError(f"{what}; 1 to {MOST_RUNS} can be imported at once.", "Give other files, or a part of them.")
    return tuple(batches)


def _left_in(files: Sequence[tuple[Source, str]], wanted: ImportOptions) -> list[tuple[Source, str]]:
    """The files without those of a folder of outputs that no benchmark printed: what jobs printed beside it."""
    if wanted.form or not any(source.in_folder and detected(text) for source, text in files):
        return list(files)
    return [(source, text) for source, text in files if not source.in_folder or detected(text)]


def _ordered(files: Sequence[tuple[Source, str]]) -> list[tuple[Source, str]]:
    """The files sorted by name, numbers as numbers: run-2 before run-10."""
    order = {name: place for place, name in enumerate(natural_sorted({source.file for source, _ in files}))}
    return sorted(files, key=lambda one: order[one[0].file])


def _places(files: Sequence[tuple[Source, str]]) -> dict[str, OutputPlace]:
    """Node and run of the outputs of each benchmark whose files are named by nodes."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for source, text in files:
        if benchmark := detected(text):
            names[benchmark.name].append(source.file)
    return {name: place for of, own in names.items() for name, place in places_of_runs(own, of).items()}


def _of_file(source: Source, text: str, wanted: ImportOptions, place: OutputPlace | None) -> Iterator[Batch]:
    if not text.strip():
        raise UsageError(f"{source.file} is empty.", "Leave this file out, or run the benchmark again.")
    try:
        if wanted.form != OUTPUTS and not detected(text):
            refuse_listing(text)
        form = wanted.form or form_of(text)
        match form:
            case "reframe":
                yield from _of_perflog(msgspec.structs.replace(source, form=form), text)
            case "fleet":
                yield from _of_fleet(msgspec.structs.replace(source, form=form), text, wanted)
            case "series":
                yield from _of_series(msgspec.structs.replace(source, form=form), text, wanted)
            case _:
                yield output_batch(source, text, place)
    except UsageError as error:
        raise UsageError(f"{source.file}: {error.what}", error.remedy) from error


def form_of(text: str) -> str:
    """Which form a text has. Raises UsageError where two fit."""
    if is_perflog(text):
        return REFRAME
    if detected(text):
        return OUTPUTS
    try:
        kinds, names = kinds_of_table(text), [one.name for one in read_columns(text)]
    except UsageError:  # what is wrong with a table says who reads it
        names = re.split(r"[,;\t|]", next((line for line in text.splitlines() if line.strip(" #")), ""))
        return FLEET if _has_nodes(names) and len(names) > 1 else SERIES if is_json(text) else OUTPUTS
    if TableKind.FLEET not in kinds:
        return SERIES
    if TableKind.SERIES in kinds and not _has_nodes(names):
        raise UsageError("These values may be of nodes or series over time.", "Add --as fleet or --as series.")
    return FLEET


def _has_nodes(names: Sequence[str]) -> bool:
    """Whether a column is called as one of nodes is."""
    return any(name.strip().lower() in NODE_NAMES for name in names)


def _of_series(source: Source, text: str, wanted: ImportOptions) -> Iterator[Batch]:
    """One run for each time: the values of all series at that place.

    A column such as the threads, with one number in all rows, is a condition of all runs.
    """
    series = read_series(text, wanted.columns)
    alike = {one.name: f"{one.values[0]:g}" for one in series if names_condition(one.name) and len({*one.values}) == 1}
    if not wanted.columns and len(alike) < len(series):
        series = tuple(one for one in series if one.name not in alike)
        source = msgspec.structs.replace(source, conditions=alike)
    if wanted.metric and len(series) > 1:
        raise UsageError("--metric names one series, and the file has several.", "Choose one with --column.")
    for place in range(max(len(one.values) for one in series)):
        values = tuple(
            _value(wanted.metric or one.name, wanted, ALL_NODES, one.values[place])
            for one in series
            if place < len(one.values) and one.values[place] == one.values[place]
        )
        if values:
            yield Batch(label=series[0].time(place) or str(place), source=source, values=values)


def _of_fleet(source: Source, text: str, wanted: ImportOptions) -> Iterator[Batch]:
    """One run for each run of the nodes; a node with fewer runs is not in the last ones.

    Each condition is a metric of its own, and so is each part of a node: the same part of all nodes is one metric.
    """
    if len(wanted.columns) > 1:
        raise UsageError("A fleet has one column of values.", "Import each column by itself.")
    column = wanted.columns[0] if wanted.columns else ""
    table = read_fleet_table(text, column, wanted.by, wanted.parts)
    name = wanted.metric or table.roles.value or "value"
    several = name == "value" and "metric" in table.roles.conditions
    alike = {column: cell for column, cell in table.constants.items() if names_condition(column)}
    source = msgspec.structs.replace(source, conditions=alike)
    most = max((len(runs) for stratum in table.strata for runs in stratum.with_gaps.values()), default=0)
    dates = table.runs if len(table.runs) == most and all(map(MOMENT.fullmatch, table.runs)) else ()
    for number in range(most):
        values, without = [], []
        for stratum in table.strata:
            for subject, runs in stratum.with_gaps.items():
                node, part = table.parts.get(subject, (subject, ""))
                if number >= len(runs):
                    continue
                if math.isnan(runs[number]):
                    without.append(node)
                    continue
                words = (cell if key == "metric" and several else f"{key}={cell}" for key, cell in stratum.conditions)
                metric = " ".join(filter(None, ("" if several else name, *words, part)))
                values.append(_value(metric, _completed(wanted, stratum), node, runs[number]))
        if values:
            label = dates[number] if dates else f"run {number + 1}"
            yield Batch(
                label=label, source=source, values=tuple(values), without_value=tuple(without), roles=table.roles.text
            )


def _completed(wanted: ImportOptions, stratum: Stratum) -> ImportOptions:
    """What the command line says, else what the table says of a condition."""
    return msgspec.structs.replace(
        wanted, unit=wanted.unit or stratum.unit, sense=wanted.sense or (stratum.sense if stratum.conditions else None)
    )


def _of_perflog(source: Source, text: str) -> Iterator[Batch]:
    """One run for each time of completion, oldest first, and for each of several jobs that ended in one second."""
    rows = _by_environment(read_perflog(text))
    tasks: defaultdict[str, set[str]] = defaultdict(set)
    by_time: defaultdict[str, list[ReframeRow]] = defaultdict(list)
    for row in rows:
        tasks[row.value.metric].add(row.tasks)
        by_time[row.time].append(row)
    if unlike := next((name for name, numbers in tasks.items() if len(numbers) > 1), ""):
        numbers = " and ".join(sorted(tasks[unlike]))
        raise UsageError(f"{unlike} was run with unlike numbers of tasks: {numbers}.", "Give one log for each.")
    for time in sorted(by_time):
        for values in _jobs_of(by_time[time]):
            yield Batch(label=time, source=source, values=tuple(map(_checked, values)))


def _by_environment(rows: Sequence[ReframeRow]) -> list[ReframeRow]:
    """The variables that a test set become part of its metric where a log has it with several settings."""
    settings: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        settings[row.value.metric].add(row.environment)
    named = [f"{row.value.metric} {row.environment or 'unset'}" for row in rows]
    return [
        row._replace(value=msgspec.structs.replace(row.value, metric=metric))
        if len(settings[row.value.metric]) > 1
        else row
        for row, metric in zip(rows, named, strict=True)
    ]


def _jobs_of(rows: Sequence[ReframeRow]) -> list[list[ImportedValue]]:
    """The values of one second as runs: the n-th job with a metric is in the n-th run. Raises UsageError."""
    runs: list[list[ImportedValue]] = []
    jobs: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: natural_key(row.job)):
        earlier = jobs[row.value.metric, row.value.node]
        if row.job in earlier:
            raise UsageError(
                f"{row.time} has {row.value.metric} of {row.value.node} twice{row.job and ', of job '}{row.job}.",
                "Remove the line that repeats another from the log.",
            )
        earlier.append(row.job)
        if len(runs) < len(earlier):
            runs.append([])
        runs[len(earlier) - 1].append(row.value)
    return runs


def _value(metric: str, wanted: ImportOptions, node: str, value: float) -> ImportedValue:
    sense = wanted.sense or sense_of(metric, wanted.unit) or Sense.HIGHER
    return _checked(ImportedValue(metric=metric, unit=wanted.unit, sense=sense, node=node, value=value))


def _checked(value: ImportedValue) -> ImportedValue:
    """Raise UsageError for a value without a logarithm: comparisons are of ratios."""
    if not 0 < value.value < float("inf"):
        raise UsageError(
            f"{value.metric} of {value.node} is {value.value:g}; only positive, finite values are compared as ratios.",
            "Leave such values empty. `seatrial judge FILE` judges them.",
        )
    return value


def _refuse_unlike(batches: Sequence[Batch]) -> None:
    """Raise UsageError where one metric has two units, two senses or two conditions, or a node twice in a run."""
    first: dict[str, tuple[ImportedValue, Source]] = {}
    for batch in batches:
        nodes = [(value.metric, value.node) for value in batch.values]
        if len(set(nodes)) < len(nodes):
            metric, node = next(one for one in nodes if nodes.count(one) > 1)
            raise UsageError(
                f"{batch.source.file}: {batch.label} has {metric} of {node} twice.", "Give each run a time of its own."
            )
        for value in batch.values:
            earlier, source = first.setdefault(value.metric, (value, batch.source))
            _same(value.metric, "unit", earlier.unit, value.unit, source, batch.source)
            _same(value.metric, "direction", earlier.sense.value, value.sense.value, source, batch.source)
            for condition in {**source.conditions, **batch.source.conditions}:
                _same(value.metric, condition, source.conditions.get(condition, "unknown"),
                      batch.source.conditions.get(condition, "unknown"), source, batch.source)  # fmt: skip


def _same(metric: str, condition: str, first: str, second: str, before: Source, after: Source) -> None:
    if first != second:
        raise UsageError(
            f"{metric} was not measured alike: {condition} {first!r} in {before.file}, {second!r} in {after.file}.",
            "Import files of unlike runs separately, under names of their own.",
        )


def runs_of(batches: Sequence[Batch]) -> list[tuple[Batch, ...]]:
    """The batches of each run: outputs whose names say node and run are one run where the run is the same."""
    groups: defaultdict[str, list[Batch]] = defaultdict(list)
    for place, batch in enumerate(batches):
        of_node = batch.source.form not in FORMS and all(value.node != ALL_NODES for value in batch.values)
        groups[batch.label if of_node else f"{place} {batch.label}"].append(batch)
    for label, group in groups.items():
        places = [(value.metric, value.node) for batch in group for value in batch.values]
        if len(set(places)) < len(places):
            raise UsageError(f"{label} has outputs of the same node twice.", "Import them under names of their own.")
    return [tuple(group) for group in groups.values()]


def names_of(batches: Sequence[Batch]) -> Mapping[str, int]:
    """How many values each metric has."""
    counts: defaultdict[str, int] = defaultdict(int)
    for batch in batches:
        for value in batch.values:
            counts[value.metric] += 1
    return dict(counts)
