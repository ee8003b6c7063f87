"""Tables of configurations: a column of sizes, and values in a column for each configuration or beside their labels."""

import itertools
import math
import re
from collections.abc import Iterator, Sequence

import msgspec

from seatrial.importers.column_roles import role_beside
from seatrial.importers.columns import TableColumn, read_columns
from seatrial.importers.listings import refuse_listing
from seatrial.importers.row_outcomes import failed_rows, is_outcome, split_outcomes
from seatrial.importers.series_times import SAMPLED, are_moments
from seatrial.importers.written_numbers import is_missing
from seatrial.model.benchmark import Better
from seatrial.model.column_words import RUN_WORDS, SENSOR_WORDS, last_word, states_in, words_of
from seatrial.model.configuration import BYTES, ComparedFigure, ConfigurationValue
from seatrial.model.errors import UsageError
from seatrial.model.imported import Sense, sense_of
from seatrial.model.unit_text import NUMBER, Unit, is_number, unit_of
from seatrial.model.words import some

MESSAGE_SIZES = ("bytes", "size", "message_bytes", "message_size", "msg_size", "msgsize", "#bytes", "#size")
SIZE_NAMES = (*MESSAGE_SIZES, "nodes", "ranks", "cores", "processes", "procs", "tasks", "threads", "gpus", "pairs")
"""Columns that a curve can run over, the first that a table has."""
LABEL_NAMES = frozenset({
    "label", "config", "configuration", "variant", "setting", "kernel", "mpi", "build", "compiler", "version", "driver",
    "network", "adapter", "rail", "rails", "machine", "system", "cluster", "case", "name", "node", "host", "hostname",
})  # fmt: skip
"""Columns that name configurations even if their cells are numbers, such as the kernels 327 and 7.3."""
BRACKETS = re.compile(r"[\[(](?P<unit>[^\])]{1,24})[\])]")
VALUE_WITH_UNIT = re.compile(rf"{NUMBER}\s*(?P<unit>[A-Za-zµ%][\w/%µ]*)")
VALUE = "value"
OF_ROWS = frozenset({"runs", "asked", "parts", "conditions"})
"""Roles of columns whose numbers are of the plan of the measurements."""
FEWEST_STEPS = 3
"""Equal steps of numbers that no chance makes."""


class TableWords(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says of tables; empty: by contents and names."""

    columns: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    over: str = ""
    per: str = ""
    """The column that values are divided by."""
    better: str = ""
    """`higher` or `lower`."""


class ConfigurationTable(msgspec.Struct, frozen=True, kw_only=True):
    """Values by the label that the table itself gives them; empty where it has none."""

    values: tuple[ConfigurationValue, ...]
    wide: bool
    """Each column of values is a configuration, unless the file is one."""


def read_table(name: str, text: str, words: TableWords) -> ConfigurationTable:
    """The values of a table in CSV or JSON. Raises UsageError, which begins with the name of the file."""
    try:
        refuse_listing(text)
        return _table(split_outcomes(read_columns(_with_names(text))), words)
    except UsageError as error:
        raise UsageError(f"{name}: {error.what}", error.remedy) from error


def _with_names(text: str) -> str:
    """The text with its line of names, which tables for plots write as a comment."""
    first, newline, rest = text.lstrip("\ufeff \n").partition("\n")
    names = first.lstrip("# ").split()
    is_heading = first.startswith("#") and len(names) > 1 and len(names) == len(rest.partition("\n")[0].split())
    return f"{' '.join(names)}{newline}{rest}" if is_heading else text


def labelled(table: ConfigurationTable, label: str, *, alone: bool) -> Iterator[ConfigurationValue]:
    """The values under the label of the file before that of the table. `alone`: the table is the only file."""
    for value in table.values:
        if table.wide and alone:  # the columns are the configurations
            figure = msgspec.structs.replace(value.figure, name=VALUE)
            yield msgspec.structs.replace(value, label=value.figure.name, figure=figure)
        else:
            parts = (value.label,) if alone else (label, value.label)
            yield msgspec.structs.replace(value, label=" ".join(filter(None, parts)))


def _table(columns: Sequence[TableColumn], words: TableWords) -> ConfigurationTable:
    by_name = {column.name: column for column in columns}
    for name in (*words.columns, *words.by, words.over, words.per):
        if name and name not in by_name:
            raise UsageError(f"There is no column {name!r}.", f"It has {some(list(by_name), 12)}.")
    over = words.over or next((name for known in SIZE_NAMES for name in by_name if name.strip().lower() == known), "")
    taken = {over, words.per, *words.columns, *words.by}
    for column in columns:
        if _mostly_numbers(column) and column.name not in words.by:
            column.numbers()  # raises UsageError, which shows the cell
    free = [column for column in columns if column.name not in taken]
    states = [] if words.columns or words.by else states_in([column.name for column in free if column.numeric])
    free = [by_name[name] for name in states] or free  # what else a row has is of its node, or computed from these
    labels = [by_name[name] for name in words.by] or [column for column in free if _is_label(column)]
    labels = [column for column in labels if len(set(column.cells)) > 1] or labels[:0]
    named = _labels_of_rows(labels, len(columns[0].cells))
    values = [by_name[name] for name in words.columns] or [
        column
        for column in free
        if column.numeric and column not in labels and column.name.strip().lower() not in LABEL_NAMES
        and not _is_of_rows(column, named, sized=bool(over))
    ]  # fmt: skip
    values = [column for column in values if words.columns or len(set(column.cells)) > 1] or values
    values.sort(key=lambda column: not words.columns and last_word(column.name) in SENSOR_WORDS)  # results come first
    _refuse_units_in_cells(labels)
    if not values:
        raise UsageError("There is no column of numbers to compare.", "Name one with --column.")
    sizes = by_name[over].numbers() if over else [0.0] * len(named)
    divisors = by_name[words.per].numbers() if words.per else [1.0] * len(named)
    failed = failed_rows(columns, {column.name for column in (*labels, *values)})
    left = [row for row in range(len(named)) if row not in failed]
    return ConfigurationTable(
        values=tuple(
            each
            for column in values
            for numbers in (column.numbers(),)
            for each in _measured(
                column, words, over, [(named[row], sizes[row], numbers[row], divisors[row]) for row in left]
            )
        ),
        wide=not labels and len(values) > 1,
    )


def _is_label(column: TableColumn) -> bool:
    """Whether its cells can name configurations: words that say neither when a run was nor how it ended."""
    worded = not column.numeric or column.name.strip().lower() in LABEL_NAMES
    return worded and not (RUN_WORDS.intersection(words_of(column.name)) or are_moments(column) or is_outcome(column))


def _labels_of_rows(labels: Sequence[TableColumn], rows: int) -> list[str]:
    """The label of each row: its cells that are not missing."""
    cells = [[cell.strip() for cell in column.cells] for column in labels]
    return [" ".join(own[row] for own in cells if own[row] and not is_missing(own[row])) for row in range(rows)]


def _is_of_rows(column: TableColumn, named: Sequence[str], *, sized: bool) -> bool:
    """Whether its numbers say which run a row is of, or when it was, and measure nothing.

    `named`: the label of each row. `sized`: rows differ in size, over which a result may rise as evenly as a clock.
    """
    sense = sense_of(column.name, column.unit)
    numbered = RUN_WORDS.intersection(words_of(column.name)) and sense is None  # run_time is a result
    if numbered or role_beside(column, TableColumn(name="", cells=tuple(named))) in OF_ROWS:
        return True
    by_label: dict[str, list[float]] = {}
    for label, number in zip(named, column.numbers(), strict=True):
        by_label.setdefault(label, []).append(number)
    steps = [later - earlier for own in by_label.values() for earlier, later in itertools.pairwise(own)]
    clock = len(steps) >= FEWEST_STEPS and min(steps) > 0 and steps.count(min(steps)) >= SAMPLED * len(steps)
    return clock and not sized and sense is not Sense.HIGHER


def _mostly_numbers(column: TableColumn) -> bool:
    """Whether at least half of the cells are numbers, and some are words: a column of values with something else."""
    if column.numeric or column.name.strip().lower() in LABEL_NAMES:
        return False
    written = column.written
    return bool(written) and 2 * sum(is_number(cell.strip()) for cell in written) >= len(written)


def _refuse_units_in_cells(labels: Sequence[TableColumn]) -> None:
    """Raise UsageError for a column that was taken for labels because its cells have units."""
    for column in labels:
        matches = [VALUE_WITH_UNIT.fullmatch(cell.strip()) for cell in column.written]
        valued = [match[0] for match in matches if match and unit_of(match["unit"])]
        if len(valued) > len(matches) / 2:
            raise UsageError(
                f"Column {column.name!r} has units in its cells, as {valued[0]!r}.",
                "Write the unit into the name of the column, as in bandwidth_MB/s.",
            )


def _measured(
    column: TableColumn, words: TableWords, over: str, rows: Sequence[tuple[str, float, float, float]]
) -> Iterator[ConfigurationValue]:
    """The values of one column; rows without a positive number of all that is needed are left out."""
    plain, unit = column_unit(column.name)
    unit = (unit_of(column.unit) if column.unit else None) or unit  # of the cells, whatever the name says
    sense = sense_of(column.name, unit.base)
    less = words.better == "lower" or (not words.better and sense is Sense.LOWER)
    figure = ComparedFigure(
        name=f"{plain} per {words.per}" if words.per else plain,
        unit=f"{unit.base}/{words.per}" if words.per and unit.base else unit.base,
        better=Better.LESS if less else Better.MORE,
        over=BYTES if over.strip().lower() in MESSAGE_SIZES else over,
    )
    for label, size, value, divisor in rows:
        if value > 0 and divisor > 0 and not math.isnan(size):
            yield ConfigurationValue(label=label, figure=figure, size=size, value=value * unit.factor / divisor)


def column_unit(name: str) -> tuple[str, Unit]:
    """`bandwidth` and MB/s of `bandwidth_MB/s`, `bandwidth [MB/s]` or `bandwidth_MB_s`; without a unit the name alone.

    A lower-case b may be a bit or a byte, and `_min` a minute or the least: neither is taken for a unit.
    """
    if (match := BRACKETS.search(name)) and (unit := unit_of(match["unit"])):
        return BRACKETS.sub("", name).strip(" _-") or name, unit
    words = re.split(r"[_ ]", re.sub(r"(?<=[^_ ])[_ ]per[_ ]", "/", name, flags=re.IGNORECASE))
    plain, _, time = words[-1].rpartition("/")
    if plain and not unit_of(words[-1]) and (rate := unit_of(f"1/{time}")):  # message_rate_per_s
        return " ".join([*words[:-1], plain]), rate
    for start in range(max(len(words) - 3, 0), len(words)) if words[1:] or "/" in name else ():
        text = "_".join(words[start:])
        if text != "min" and (unit := unit_of(text)):
            ambiguous = re.search(r"b(?!yte|it)", text)  # the s of gb_s is none of its own
            return (name, Unit("", 1.0)) if ambiguous else (" ".join(words[:start]) or name, unit)
    return name, Unit("", 1.0)
