"""What a table is, by its columns: values of nodes, values over time, or runs of several sizes."""

import enum
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable

from seatrial.importers.columns import TableColumn, is_json, json_value, read_columns, refuse_almost_numbers
from seatrial.importers.node_names import are_numbered
from seatrial.importers.pair_lines import names_columns
from seatrial.importers.row_outcomes import is_outcome, split_outcomes
from seatrial.importers.series import TIME_NAMES, frames_of
from seatrial.importers.series_times import are_moments, are_samples
from seatrial.importers.wide_columns import transposed
from seatrial.importers.written_numbers import is_missing
from seatrial.model.column_words import (
    CHECKSUM_WORDS,
    NODE_NAMES,
    RUN_NAMES,
    RUN_WORDS,
    SOFTWARE_WORDS,
    last_word,
    size_of_run,
    states_in,
    words_of,
)
from seatrial.model.errors import UsageError
from seatrial.statistics.change_points import FEWEST

MEASURES = "seatrial judge reads tables of pairs, values of nodes, values over time and outputs of benchmarks."
CLOCKS = frozenset({"time", "times", "date", "datetime", "timestamp", "when", "commit", "revision", "build", "version"})
"""Columns that number the runs of a node, or are the times of a series."""
LABEL_WORDS = CHECKSUM_WORDS | {"uuid", "id"}
"""Last words of the names of columns that identify each row, if no cell returns."""
VERSION_LETTERS = frozenset({"v", "r", "rev", "rc", "release"})
"""Letters before the numbers of versions and revisions."""
FEWEST_STEPS = 3
"""Different steps of a first column that show sizes: days have one step, and a weekend at the end is another."""
CONFIGURATIONS = frozenset({
    "config", "configuration", "variant", "setting", "kernel", "mpi", "compiler", "driver", "network", "adapter",
    "fabric", "rail", "rails", "firmware",
})  # fmt: skip
"""Columns of words that name configurations and never nodes."""
COUNTER, SIZE = re.compile(r"\D+"), re.compile(r"\d+(?:\.\d+)?[kKMGTmg](?:i?[bB])?:?")
"""Words before a colon that nodes are not called by: names of nodes have a number, and more than the letter of one."""


class TableKind(enum.StrEnum):
    """What the rows of a table can be."""

    FLEET = "fleet"
    SERIES = "series"
    SCALING = "scaling"


def kinds_of_table(text: str) -> tuple[TableKind, ...]:
    """The kinds of a table in CSV or JSON, by its columns; none of one of other things than nodes.

    Raises UsageError for what is not a table.
    """
    if is_json(text):
        value = json_value(text)
        if frames_of(value) or (isinstance(value, dict) and isinstance(value.get("series"), list)):
            return (TableKind.SERIES,)
        lists = isinstance(value, dict) and bool(value) and all(isinstance(one, list) for one in value.values())
        if isinstance(value, dict) and lists and not _named([str(name) for name in value], NODE_NAMES):
            return TableKind.FLEET, TableKind.SERIES
    columns = split_outcomes(read_columns(text))
    if not any(column.numeric for column in columns):
        refuse_almost_numbers(columns)
        raise UsageError("no column of it has numbers.", MEASURES)
    names = [column.name for column in columns]
    words = [one for one in columns if not (one.numeric or are_moments(one) or is_outcome(one) or _is_remark(one))]
    words = [one for one in words if not (_is_clock(one) or _is_label(one))]
    sized = any(size_of_run(one.name) and one.numeric and len(set(one.cells)) > 1 for one in columns)
    clocks = [column for column in columns if _is_clock(column) and len({*column.cells}) >= FEWEST]
    clock = any(not (sized and not column.numeric and _repeated(column)) for column in clocks)
    if sized and not clock and not _named([name for name in names if not size_of_run(name)], NODE_NAMES):
        return (
            (TableKind.FLEET, TableKind.SCALING)
            if any(are_numbered(one.cells) for one in words)
            else (TableKind.SCALING,)
        )
    sampled = any(are_samples(one) and (not words or len({*one.cells}) < len(one.cells)) for one in clocks)
    if sampled or not (words or _named(names, NODE_NAMES) or transposed(columns)):
        return (TableKind.SERIES, TableKind.SCALING) if _is_sweep(columns[0]) else (TableKind.SERIES,)
    labelled = any(cell.endswith(":") for column in words[:1] for cell in column.cells)  # by pdsh or clush
    others = labelled and (all(map(COUNTER.fullmatch, words[0].cells)) or all(map(SIZE.fullmatch, words[0].cells)))
    states = states_in([one.name for one in columns if one.numeric])
    varying = [one.name.strip().lower() for one in words if len({*one.cells}) > 1]
    if others or states or (varying and CONFIGURATIONS.issuperset(varying) and not clock):
        return ()
    runs = _named(names, RUN_NAMES - CLOCKS) or is_star(text)
    repeated = labelled or _named(names, NODE_NAMES) or any(_repeated(one) or _has_nodes(one) for one in words)
    return (TableKind.FLEET,) if runs or (repeated and not clock) else (TableKind.FLEET, TableKind.SERIES)


def _has_nodes(column: TableColumn) -> bool:
    """Whether its cells differ in digits alone, and neither they nor its name say that they number runs or versions."""
    same = itertools.takewhile(lambda letters: len({*letters}) == 1, zip(*column.cells, strict=False))
    named = {column.name.lower(), *words_of(f"{column.name} {''.join(letter for letter, *_ in same)}")}
    return are_numbered(column.cells) and named.isdisjoint(RUN_WORDS | CLOCKS | TIME_NAMES | VERSION_LETTERS)


def _is_remark(column: TableColumn) -> bool:
    """Whether it has few cells, or none, and not one in the first row, where names of groups of rows begin."""
    return 2 * len(column.written) < len(column.cells) and is_missing(column.cells[0])


def _is_label(column: TableColumn) -> bool:
    """Whether it says what was measured in each row, and not on which node: a version, an identifier of the row."""
    unique = len({*column.cells}) == len(column.cells)
    return last_word(column.name) in (SOFTWARE_WORDS | LABEL_WORDS if unique else SOFTWARE_WORDS)


def _is_clock(column: TableColumn) -> bool:
    """Whether it says when, or for which version, each row was measured; a duration falls and rises."""
    if column.name.strip().lower() not in CLOCKS or len(set(column.cells)) == 1:
        return False
    return not column.numeric or all(earlier <= later for earlier, later in itertools.pairwise(column.numbers()))


def _is_sweep(column: TableColumn) -> bool:
    """Whether it rises by growing steps, as sizes of messages and problems do, and no clock."""
    steps = [after - before for before, after in itertools.pairwise(column.numbers() if column.numeric else ())]
    growing = all(0 < step <= after for step, after in itertools.pairwise(steps))
    return growing and len({*steps}) >= FEWEST_STEPS and not _is_clock(column)


def _repeated(column: TableColumn) -> bool:
    """Whether each cell is in several rows, but not one in all, as the name of a node is that has several runs."""
    return len({*column.cells}) > 1 < min(Counter(column.cells).values())


def _named(names: Iterable[str], known: Collection[str]) -> bool:
    """Whether one of the names is known."""
    return any(name.strip().lower() in known for name in names)


def is_star(text: str) -> bool:
    """Whether all pairs have one end in common, as of nodes that were all measured from one: it has values of nodes."""
    try:
        columns = read_columns(text)
    except UsageError:
        return False
    ends = columns[:2] if names_columns(",".join(one.name for one in columns)) else ()
    return sorted(min(len({*one.cells}), 2) for one in ends) == [1, 2]
