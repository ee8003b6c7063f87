"""Columns of a table that another program wrote, as CSV or JSON: names, and the text or number in each row."""

import csv
import io
import json
import math
import re
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.model.errors import UsageError
from seatrial.model.unit_text import NUMBER
from seatrial.model.words import count

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-"})
DEVIATION = re.compile(rf"(?P<mean>{NUMBER}) ?(?:±|\+/-|\+-) ?{NUMBER}")
"""A mean with its deviation, 0.6096±0.0052: the mean is the value."""
ALMOST = re.compile(r"[-+]?(?:\d{1,3}(?:[,.' ]\d{3})+|\d+)(?:[.,]\d+)? ?[A-Za-zµ/%]{0,9}")
"""A number with a decimal comma, separators of thousands or a unit; no date."""
DELIMITERS = ",;\t| "
LARGEST = 1e100
"""Beyond all that is ever measured; sums of squares of larger numbers would be infinite."""
REMEDY = "Give a CSV file with a first line of names, or JSON: a list of numbers, or an object of lists."


class TableColumn(msgspec.Struct, frozen=True, kw_only=True):
    """One column: its cells as text, "" where there is none."""

    name: str
    cells: tuple[str, ...]

    @property
    def numeric(self) -> bool:
        """Whether each cell that is not missing is a finite number, and at least one is not missing."""
        written = [cell for cell in self.cells if cell.strip().lower() not in MISSING]
        return bool(written) and all(_is_number(cell) for cell in written)

    def numbers(self) -> list[float]:
        """The cells as numbers, NaN for missing ones. Raises UsageError that shows a cell that is not a number."""
        return [_number(cell, self.name, row) for row, cell in enumerate(self.cells, 1)]


def _is_number(cell: str) -> bool:
    try:
        return cell.isascii() and "_" not in cell and math.isfinite(float(cell))
    except ValueError:
        return False


def _number(cell: str, name: str, row: int) -> float:
    if cell.strip().lower() in MISSING:
        return math.nan
    if _is_number(cell):
        return checked(float(cell), f"Column {name!r} has {cell[:40]!r} in row {row}")
    raise UsageError(
        f"Column {name!r} has {cell[:40]!r} in row {row}, which is not a finite number.",
        "Leave the cell empty if there is no value; write decimals with a point, no separators and no unit.",
    )


def refuse_almost_numbers(columns: Sequence[TableColumn]) -> None:
    """Raise UsageError that shows a cell of a column that has no numbers, and mostly cells that are nearly numbers."""
    for column in columns:
        written = [cell for cell in column.cells if cell.strip().lower() not in MISSING]
        if not column.numeric and 2 * sum(ALMOST.fullmatch(cell) is not None for cell in written) > len(written):
            column.numbers()


def checked(value: float, where: str) -> float:
    """The value. Raises UsageError, which begins with `where`, for a finite one that nothing can have."""
    if LARGEST < abs(value) < math.inf:
        raise UsageError(f"{where}, which is beyond {LARGEST:g}.", "Check the unit, or leave the cell empty.")
    return value


def read_columns(text: str) -> tuple[TableColumn, ...]:
    """The columns of a CSV text with or without a line of names, or of JSON. Raises UsageError for anything else."""
    columns = json_columns(text) if text.lstrip()[:1] in ("[", "{") else csv_columns(text)
    if not columns or not columns[0].cells:
        raise UsageError("The file has no values.", REMEDY)
    return columns


def csv_columns(text: str) -> tuple[TableColumn, ...]:
    """The columns of lines that are divided by commas, semicolons, tabs, bars or blanks; `#` begins a comment."""
    written = (line.strip(" ") for line in text.lstrip("\ufeff").splitlines())
    lines = [line for line in written if line.strip() and not line.startswith("#")]
    if not lines:
        return ()
    delimiter = max(DELIMITERS, key=lambda one: (lines[0].count(one) > 0, one != " ", lines[0].count(one)))
    reader = csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter, skipinitialspace=True)
    try:
        rows = [[without_deviation(cell.strip()) for cell in row] for row in reader]
    except csv.Error as error:
        raise UsageError(f"The file cannot be read as CSV: {error}.", REMEDY) from error
    width = len(rows[0])
    uneven = next((number for number, row in enumerate(rows, 1) if len(row) != width), None)
    if uneven is not None:
        raise UsageError(
            f"Row {uneven} has {count(len(rows[uneven - 1]), 'cell')}, the first row has {width}.",
            "Decimal commas are not read; put a cell that contains the delimiter in quotes.",
        )
    has_names = not any(_is_number(cell) for cell in rows[0])
    names = rows[0] if has_names else [f"column {number}" for number in range(1, width + 1)]
    cells = [row for row in rows if row != names] if has_names else rows  # joined files repeat the line of names
    return tuple(
        TableColumn(name=name or f"column {place + 1}", cells=tuple(row[place] for row in cells))
        for place, name in enumerate(names)
    )


def json_columns(text: str) -> tuple[TableColumn, ...]:
    """A list of numbers, a list of lists (one per series), a list of objects (one per row), or an object of lists."""
    return columns_of(json_value(text))


def json_value(text: str) -> object:
    """What a JSON text holds; of JSON Lines a list of the values. Raises UsageError for a text that is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) > 1 and all(line.lstrip()[:1] in ("{", "[") for line in lines):
            return [_json_line(line, number) for number, line in enumerate(lines, 1)]
        raise UsageError(f"The file begins like JSON and cannot be read as JSON: {error}.", REMEDY) from error


def _json_line(line: str, number: int) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"Line {number} cannot be read as JSON: {error}.", REMEDY) from error


def columns_of(value: object) -> tuple[TableColumn, ...]:
    """Columns of a JSON value that is already read."""
    match value:
        case [dict(), *_]:
            return _from_rows(value)
        case [list(), *_]:
            named = {f"series {number}": cells for number, cells in enumerate(value, 1)}
            return _from_lists(named)
        case list():
            return _from_lists({"value": value})
        case dict():
            return _from_lists({str(name): cells for name, cells in value.items() if isinstance(cells, list)})
    raise UsageError("The JSON file holds neither a list nor an object of lists.", REMEDY)


def _from_rows(rows: Sequence[object]) -> tuple[TableColumn, ...]:
    if not all(isinstance(row, dict) for row in rows):
        raise UsageError("The JSON list holds objects beside other values.", REMEDY)
    names = list(dict.fromkeys(str(name) for row in rows if isinstance(row, dict) for name in row))
    return tuple(
        TableColumn(name=name, cells=tuple(_cell(row.get(name), name) for row in rows if isinstance(row, dict)))
        for name in names
    )


def _from_lists(lists: Mapping[str, object]) -> tuple[TableColumn, ...]:
    return tuple(
        TableColumn(name=name, cells=tuple(_cell(cell, name) for cell in cells))
        for name, cells in lists.items()
        if isinstance(cells, list)
    )


def _cell(value: object, name: str) -> str:
    match value:
        case None:
            return ""
        case bool() | dict() | list():
            raise UsageError(f"{name!r} holds {str(value)[:40]!r}, which is neither a number nor a word.", REMEDY)
        case float() if math.isnan(value):
            return ""
        case float() | int():
            return repr(value)
    return without_deviation(str(value))


def without_deviation(cell: str) -> str:
    """The mean alone of a mean with its deviation; any other text as it is."""
    match = DEVIATION.fullmatch(cell) if "±" in cell or "+" in cell else None
    return match["mean"] if match else cell
