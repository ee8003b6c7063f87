"""What was imported, as text and JSON, and the report of one imported run."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from seatrial.archive.journal import ValuesImported
from seatrial.commands.import_values.batches import names_of
from seatrial.commands.import_values.run import Imported
from seatrial.model.errors import ExitCode
from seatrial.model.imported import Batch, Sense, Source
from seatrial.model.run import RunInfo
from seatrial.model.verdict import Verdict
from seatrial.model.words import count, natural_sorted, some
from seatrial.render.json import filled
from seatrial.render.report import Block, Lines, Paragraph, Report, rows_table

MOST_NAMES = 8
HEAD = ("metric", "unit", "better", "#values")


class ImportedMetric(msgspec.Struct, frozen=True, kw_only=True):
    """One metric, and how many values of it were imported."""

    metric: str
    unit: str
    better: Literal["higher", "lower"]
    values: int


class ImportedFields(msgspec.Struct, frozen=True, kw_only=True):
    """Values that other programs measured; docs/import.md describes each field."""

    runs: tuple[str, ...]
    already: tuple[str, ...]
    files: tuple[Source, ...]
    metrics: tuple[ImportedMetric, ...]
    without_value: tuple[str, ...]
    nodes: tuple[str, ...]


def import_report(imported: Imported) -> Report:
    """The report of the command: runs, files and metrics."""
    return Report(
        payload=lambda: _fields(imported.batches, imported.runs, imported.already), terminal=lambda _: _blocks(imported)
    )


def imported_run_report(info: RunInfo, entries: Sequence[ValuesImported]) -> Report:
    """The report of one imported run of the archive: nothing is judged."""
    batches = [Batch(label=entry.label, source=entry.source, values=entry.values) for entry in entries]
    sentence = f"seatrial import failed before it measured anything: {info.reason}" if not batches else ""
    return Report(
        run=info,
        word="" if batches else Verdict.NOT_RUN.value,
        sentence=sentence,
        exit_code=ExitCode.PASS if batches else ExitCode.INCOMPLETE,
        payload=lambda: _fields(batches, [info.run], [info.run]),
        terminal=lambda _: [*_values(batches), _sources(batches)],
        page=lambda: [*_values(batches), _sources(batches)],
    )


def _fields(batches: Sequence[Batch], runs: Sequence[str], already: Sequence[str]) -> ImportedFields:
    return filled(
        ImportedFields,
        runs=runs,
        already=already,
        files=_distinct(batches),
        metrics=[
            {"metric": metric, "unit": unit, "better": better, "values": int(number)}
            for metric, unit, better, number in _rows(batches)
        ],
        without_value=natural_sorted({node for batch in batches for node in batch.without_value}),
        nodes=list(dict.fromkeys(value.node for batch in batches for value in batch.values)),
    )


def _distinct(batches: Sequence[Batch]) -> list[Source]:
    return list({batch.source.file: batch.source for batch in batches}.values())


def _rows(batches: Sequence[Batch]) -> list[tuple[str, str, str, str]]:
    """Name, unit, direction and number of values of each metric."""
    of_name = {value.metric: value for batch in batches for value in batch.values}
    return [
        (name, of_name[name].unit, "lower" if of_name[name].sense is Sense.LOWER else "higher", str(number))
        for name, number in names_of(batches).items()
    ]


def _values(batches: Sequence[Batch]) -> Iterator[Block]:
    yield rows_table(HEAD, _rows(batches))


def _sources(batches: Sequence[Batch]) -> Lines:
    """The files that the values come from."""
    rows = [("file", f"{one.file} ({one.form}, sha256 {one.sha256[:16]}…)") for one in _distinct(batches)]
    return Lines(title="Sources", rows=tuple(rows))


def _blocks(imported: Imported) -> Iterator[Block]:
    runs = imported.runs
    span = runs[0] if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    yield Paragraph(text=f"{count(len(runs), 'run')}: {span}", strong=True)
    if imported.already:
        of_them = "all" if len(imported.already) == len(runs) else str(len(imported.already))
        yield Paragraph(text=f"{of_them.capitalize()} of them were in the archive already, with the same values.")
    yield from _values(imported.batches)
    if gaps := Counter(node for batch in imported.batches for node in batch.without_value):
        names = [f"{node} in {count(gaps[node], 'run')}" for node in natural_sorted(gaps)]
        yield Paragraph(text=f"Without a value: {some(names, MOST_NAMES)}.")
    for roles in dict.fromkeys(batch.roles for batch in imported.batches if batch.roles):
        yield Paragraph(text=f"{roles[0].upper()}{roles[1:]}")
    yield _sources(imported.batches)
    metric = imported.batches[0].values[0].metric
    yield Paragraph(
        text=f"`seatrial history {shlex.quote(metric)}` shows them over time; `seatrial compare A B` compares them."
    )
