"""Columns of a table that another program wrote, as CSV or JSON: names, and the text or number in each row."""

import csv
import io
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import msgspec

from seatrial.importers.aligned_lines import divided
from seatrial.importers.headed_text import JSON_BEGINS, LABELLED, is_headed, prefixed
from seatrial.importers.labelled_samples import rows_of_samples
from seatrial.importers.printed_text import NODE_PREFIX, below_one_head, with_failures
from seatrial.importers.written_numbers import (
    in_seconds,
    is_missing,
    refuse_cut_off,
    with_point,
    without_deviation,
    without_unit,
)
from seatrial.model.errors import UsageError
from seatrial.model.unit_text import unit_of
from seatrial.model.words import count, name_form

UNIT_NAMES = frozenset({"unit", "units", "uom"})
"""Names of columns that have the unit of each row's number."""
ALMOST = re.compile(
    r"[<>~≈]? ?[-+]?(?:\d{1,3}(?:[,.' ]\d{3})+|\d+)(?:[.,]\d+)?(?: ?[A-Za-zµ/%]{0,9}|[*†]{1,3}| ?\([^()]{0,40}\))"
)
"""A number with a decimal comma, separators of thousands, a unit, a sign or a remark; no date."""
DELIMITERS = ";\t|, "
DIVIDING = re.compile(r"(?<!\d),|,(?!\d)|[;|]|(?<=\S) {0,9}\t")
"""What divides what nodes printed: no comma that marks decimals or groups digits, and no tab that indents."""
RULE = re.compile(r"(?=[^\n]*?-{2})[\s|:+=-]++|\([0-9]{1,9} rows?\)")
"""A line that only divides a table which is drawn with bars, and the number of rows below it."""
EMPHASIS = re.compile(r"(?:\*\*|`)([^*`]{1,200})(?:\*\*|`)")
"""A cell in bold or as code, in Markdown."""
ASSIGNED = re.compile(r"(?:^|(?<=\s))([A-Za-z]\w{0,40})=([^\s=]{1,200})(?=\s|$)")
SEPARATOR = re.compile(r"\A\s*sep=[;,\t|]\s*\n")
"""The line that says what divides cells, for Excel."""
MOST_TITLES = 6
"""Lines above a table that are examined for its line of names."""
DEEPEST = 8
"""Objects within one another of which the values are read."""
MOST_COLUMNS = 20_000
"""Columns of nodes, days or devices; each is examined for its role, which takes a third of a millisecond."""
LARGEST = 1e100
"""Beyond all that is ever measured; sums of squares of larger numbers would be infinite."""
REMEDY = "Give a CSV file with a first line of names, or JSON: a list of numbers, or an object of lists."


class TableColumn(msgspec.Struct, frozen=True, kw_only=True):
    """One column: its cells as text, "" where there is none."""

    name: str
    cells: tuple[str, ...]
    unit: str = ""
    """The unit behind each number in the file; empty where cells are numbers alone."""

    @property
    def written(self) -> list[str]:
        """The cells that are not missing."""
        return [cell for cell in self.cells if not is_missing(cell)]

    @property
    def numeric(self) -> bool:
        """Whether each cell that is not missing is a finite number, and at least one is not missing."""
        distinct = {cell for cell in {*self.cells} if not is_missing(cell)}
        return bool(distinct) and all(map(_is_number, distinct))

    def numbers(self) -> list[float]:
        """The cells as numbers, NaN for missing ones. Raises UsageError that shows a cell that is not a number."""
        return [_number(cell, self.name, row) for row, cell in enumerate(self.cells, 1)]


def _is_number(cell: str) -> bool:
    try:
        return cell.isascii() and "_" not in cell and math.isfinite(float(cell))
    except ValueError:
        return False


def _number(cell: str, name: str, row: int) -> float:
    if is_missing(cell):
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
        written = column.written
        if not column.numeric and 2 * sum(ALMOST.fullmatch(cell) is not None for cell in written) > len(written):
            column.numbers()


def checked(value: float, where: str) -> float:
    """The value. Raises UsageError, which begins with `where`, for a finite one that nothing can have."""
    if LARGEST < abs(value) < math.inf:
        raise UsageError(f"{where}, which is beyond {LARGEST:g}.", "Check the unit, or leave the cell empty.")
    return value


def read_columns(text: str, line: str = "") -> tuple[TableColumn, ...]:
    """The columns of a CSV text or of JSON; `line`: words of the result among lines of a node. Raises UsageError."""
    if not text.endswith(("\n", "\r")):
        refuse_cut_off(text)
    return _columns(text.strip("\r\n"), line)


@lru_cache(maxsize=1)  # whoever recognises a table reads it, and whoever judges it reads the same text
def _columns(text: str, line: str) -> tuple[TableColumn, ...]:
    value = json_value(text) if is_json(text) else text
    samples = rows_of_samples(value)
    columns = csv_columns(text, line) if value is text and not samples else columns_of(samples or value)
    if not columns or not columns[0].cells:
        raise UsageError("The file has no values.", REMEDY)
    if len(columns) > MOST_COLUMNS:
        raise UsageError(f"It has {count(len(columns), 'column')}, more than {MOST_COLUMNS}.", "Write a row for each.")
    measured = ((one.name, *without_unit(one.cells, one.name)) for one in columns)
    return tuple(with_durations(TableColumn(name=name, cells=cells, unit=unit)) for name, cells, unit in measured)


def is_json(text: str) -> bool:
    """Whether a text begins as JSON does; `[n1] 380 GB/s` is a line with a mark, and salt and pssh mark nodes."""
    return JSON_BEGINS.match(text) is not None and LABELLED.match(text.lstrip()) is None and not is_headed(text)


def with_durations(column: TableColumn, *, chosen: bool = False) -> TableColumn:
    """The column with durations in seconds. `chosen`: the user calls it the column of values."""
    cells = in_seconds(column.name, column.cells, chosen=chosen)
    return column if cells is column.cells else TableColumn(name=column.name, cells=cells, unit="s")


def csv_columns(text: str, line: str = "") -> tuple[TableColumn, ...]:
    """The columns of lines that are divided by commas, semicolons, tabs, bars or blanks.

    `#` begins a comment; one directly above rows of numbers, with a word for each column, has their names.
    """
    text, _ = _printed(text, line)
    printed = [line for line in SEPARATOR.sub("", text).splitlines() if line.strip(DELIMITERS)]
    written = [line.strip(" ") for line in printed]
    barred = 2 * sum(line[0] == line[-1] == "|" for line in written) > len(written)
    printed = [line for line, bare in zip(printed, written, strict=True) if not _is_beside(bare, barred=barred)]
    lines = [
        line[1:-1].strip(" ") if len(line) > 1 and line[0] == line[-1] == "|" else line
        for line in written
        if not _is_beside(line, barred=barred)
    ]
    first = titles(lines)
    if not (lines := lines[first:]):
        return ()
    delimiter = _delimiter(lines[0])
    if delimiter != " " and all(prefixed := [NODE_PREFIX.match(line) for line in lines]):
        delimiter = delimiter if any(DIVIDING.search(match["line"]) for match in prefixed if match) else " "
        lines = [f"{match['node']}:{delimiter}{match['line']}" for match in prefixed if match]
    rows = _joined_heads(_aligned(lines, printed[first:]) if delimiter == " " else _rows(lines, delimiter))
    width = len(rows[0])
    uneven = next((number for number, row in enumerate(rows, 1) if len(row) != width), None)
    if uneven is not None and 2 * max((widths := Counter(map(len, rows))).values()) < len(rows):
        what = f"its lines have {min(widths)} to {max(widths)} cells, so it is not a table"
        raise UsageError(f"{what}; it begins {lines[0][:60]!r}.", REMEDY)
    if uneven is not None:
        raise UsageError(
            f"Row {uneven} has {count(len(rows[uneven - 1]), 'cell')}, the first row has {width}.",
            "Put a cell that contains the delimiter, as a decimal comma does, in quotes, or take another delimiter.",
        )
    if not any(map(_begins_number, rows[0])):
        rows = [rows[0], *(row for row in rows if row != rows[0])]  # joined files repeat the line of names
    else:
        above = next(iter(written[: written.index(lines[0])][-1:] if lines[0] in written else ()), "")
        comment = above.lstrip("# ") if above.startswith("#") else ""
        heading = _rows([comment], delimiter)[0] if comment else []
        named = len(heading) == width and not any(map(_begins_number, heading))
        rows.insert(0, heading if named else [f"column {number}" for number in range(1, width + 1)])
    names, *cells = rows
    columns = with_point(list(zip(*cells, strict=True)) if cells else [()] * width, delimiter)
    places = enumerate(zip(names, columns, strict=True), 1)
    return tuple(TableColumn(name=name or f"column {place}", cells=column) for place, (name, column) in places)


@lru_cache(maxsize=1)
def _printed(text: str, line: str) -> tuple[str, list[tuple[str, str]]]:
    return with_failures(below_one_head(prefixed(text)), line)


def remarks_of_nodes(text: str, line: str = "") -> list[tuple[str, str]]:
    """Node and line of what nodes printed beside values, and that is in no column. `line`: as in `read_columns`."""
    return [] if is_json(text) else _printed(text.strip("\r\n"), line)[1]


def _is_beside(line: str, *, barred: bool) -> bool:
    """Whether a line is a comment, a rule, or prose beside a table in bars, and not a row."""
    return line.startswith("#") or RULE.fullmatch(line) is not None or (barred and "|" not in line)


def _aligned(lines: Sequence[str], printed: Sequence[str]) -> list[list[str]]:
    """The rows of lines that blanks divide, two or more of them where names contain single ones, or of `name=value`.

    `printed`: the same lines with the blanks before them, by which cells are below names where some are empty.
    """
    fields = [ASSIGNED.findall(line) for line in lines] if "=" in lines[0] else [[]]
    names = [name for name, _ in fields[0]]
    others = (word for line in lines for word in ASSIGNED.sub("", line).split())
    if names and all([name for name, _ in row] == names for row in fields) and not any(map(_begins_number, others)):
        nodes = [match["node"] for line in lines if (match := NODE_PREFIX.match(line))]
        cells = [[cell for _, cell in row] for row in fields]
        labels = [["node"], *([node] for node in nodes)] if len(nodes) == len(lines) else [[]] * (len(lines) + 1)
        return [[*label, *row] for label, row in zip(labels, [names, *cells], strict=True)]
    wide = [re.split(r" {2,}", line) for line in lines]
    rows = _rows(lines, " ")
    uneven = len({*map(len, rows)})
    if len({*map(len, wide)}) == 1 < min(len(wide[0]), uneven):
        return wide
    return (divided(printed) if uneven > 1 and not any(map(_begins_number, rows[0])) else []) or rows


def _joined_heads(rows: list[list[str]]) -> list[list[str]]:
    """The rows with one heading in place of two: names over groups of columns, or names and units below them."""
    first, second, *below = rows if len(rows) > 2 else ([], [], [])
    if len(first) != len(second) or any(map(_begins_number, first + second)) or not any(map(_begins_number, below[0])):
        return rows
    units = [cell.strip("[]() ") for cell in second]
    if any(units) and all(is_missing(unit) or unit_of(unit) for unit in units):
        named = zip(first, units, strict=True)
        return [[name if is_missing(unit) else f"{name} ({unit})" for name, unit in named], *below]
    if len({*first}) == len(first) and all(first):
        return rows
    group, joined = "", []
    for name, part in zip(first, second, strict=True):
        group = name or group
        joined.append(f"{group} {part}" if part else name)
    return [joined, *below]


def _delimiter(line: str) -> str:
    return max(DELIMITERS, key=lambda mark: (line.count(mark) > 0, mark != " ", line.count(mark)))


def titles(lines: Sequence[str]) -> int:
    """How many lines of prose are above the names, one or two lines with as many cells as the row of numbers below."""
    for place, pair in enumerate(itertools.pairwise(lines[: MOST_TITLES + 2])):
        mark = _delimiter(pair[0])
        names, row = (_rows([one], mark)[0] if '"' in one else one.split(mark) for one in pair)
        missing = any(is_missing(name) or _begins_number(name.strip()) for name in filter(None, names))
        if len(names) == len(row) > 1 and not missing and any(_begins_number(cell.strip()) for cell in row):
            above = (line.split(mark) for line in lines[:place])
            filled = [len(cells) == len(names) and sum(map(bool, cells)) > 1 for cells in above]
            return place - sum(filled) if filled in ([False] * place, [*[False] * (place - 1), True]) else 0
    return 0


def _rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    try:
        reader = csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter, skipinitialspace=True)
        return [[without_deviation(EMPHASIS.sub(r"\1", cell.strip())) for cell in row] for row in reader]
    except csv.Error as error:
        raise UsageError(f"The file cannot be read as CSV: {error}.", REMEDY) from error


def _begins_number(cell: str) -> bool:
    return _is_number(cell) or (ALMOST.fullmatch(cell) is not None and not cell.isalnum())


def json_object(text: str) -> object:
    """What a text that is a JSON object holds; None for another text. Raises UsageError where it cannot be read."""
    return json_value(text) if text.lstrip()[:1] == "{" and is_json(text) else None


def json_value(text: str) -> object:
    """What a JSON text holds; of JSON Lines a list of the values. Raises UsageError for a text that is not JSON.

    Callers share the value and do not change it.
    """
    return _json_value(text.strip())


@lru_cache(maxsize=1)
def _json_value(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) > 1 and all(line.lstrip()[:1] in ("{", "[") for line in lines):
            return [_json_line(line, number) for number, line in enumerate(lines, 1)]
        if isinstance(error, json.JSONDecodeError) and (error.pos >= len(text) or "Unterminated" in error.msg):
            raise UsageError(f"The JSON is cut off: it ends in line {error.lineno}.", "Give the whole file.") from error
        raise UsageError(f"The file begins like JSON and cannot be read as JSON: {error}.", REMEDY) from error


def _json_line(line: str, number: int) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"Line {number} cannot be read as JSON: {error}.", REMEDY) from error


def columns_of(value: object) -> tuple[TableColumn, ...]:
    """Columns of a JSON value: a list of numbers, of lists (series) or of objects (rows); an object of lists."""
    while isinstance(value, dict) and len(value) == 1 and isinstance(next(iter(value.values())), dict):
        (value,) = value.values()
    match value:
        case [dict(), *_]:
            return _from_rows(value)
        case [list(), *_]:
            named = {f"series {number}": cells for number, cells in enumerate(value, 1)}
            return _from_lists(named)
        case list():
            return _from_lists({"value": value})
        case dict() if rows := _rows_of_object(value):
            return _from_rows(rows)
        case dict() if value and all(_is_scalar(cell) for cell in value.values()):
            return _from_members(value)
        case dict():
            return _from_lists({str(name): cells for name, cells in value.items() if isinstance(cells, list)})
    raise UsageError("The JSON file holds neither a list nor an object of lists.", REMEDY)


def _rows_of_object(value: Mapping[object, object]) -> list[object]:
    """The only list of objects among the members; or one object for each member, if most are objects of equal names.

    Lists of equal length in such an object are the runs of its node.
    """
    lists = [one for one in value.values() if isinstance(one, list) and one and isinstance(one[0], dict)]
    members = {name: dict(_leaves(one)) for name, one in value.items() if isinstance(one, dict)}
    if lists:
        return lists[0] if len(lists) == 1 else []
    usual, alike = Counter(map(tuple, members.values())).most_common(1)[0] if members else ((), 0)
    if len(members) < max(len(value), 2) or not usual or 2 * alike <= len(members):
        return []
    rows: list[object] = []
    for node, member in members.items():
        runs = {len(cell) for cell in member.values() if isinstance(cell, list)}
        if len(runs) > 1:
            return []
        for run in range(*runs or (1,)):
            cells = {name: cell[run] if isinstance(cell, list) else cell for name, cell in member.items()}
            rows.append({"node": node, **({"run": run} if runs else {}), **cells})
    return rows


def _from_members(value: Mapping[object, object]) -> tuple[TableColumn, ...]:
    """A row for each member, the name of a node with its value. Raises UsageError where the names can be of others."""
    forms = Counter(name_form(str(name)) for name in value)
    form, alike = forms.most_common(1)[0]
    if len(value) < 2 or 2 * alike <= len(value) or not re.search("[A-Za-z]", form.rpartition("0")[0]):
        raise UsageError(
            "The members of the JSON object are values, and nothing shows that their names are those of nodes.",
            'Give a list with an object for each: [{"node": "n1", "value": 2137}, ...].',
        )
    return _from_rows([{"node": str(node), "value": cell} for node, cell in value.items()])


def _is_scalar(cell: object) -> bool:
    """Whether a member can be the value of a node: a number, none, or a word in place of it, such as FAILED."""
    return cell is None or (isinstance(cell, int | float | str) and not isinstance(cell, bool))


def _leaves(row: Mapping[object, object], before: str = "") -> Iterator[tuple[str, object]]:
    """The values of an object and of those within it, by the path to each: `results.triad.value`."""
    for name, value in row.items():
        if isinstance(value, dict) and before.count(".") < DEEPEST:
            yield from _leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", str(value).lower() if isinstance(value, bool) else value


def _from_rows(rows: Sequence[object]) -> tuple[TableColumn, ...]:
    if not all(isinstance(row, dict) for row in rows):
        raise UsageError("The JSON list holds objects beside other values.", REMEDY)
    flat = [dict(_leaves(row)) for row in rows if isinstance(row, dict)]
    names = list(dict.fromkeys(name for row in flat for name in row))
    return tuple(TableColumn(name=name, cells=tuple(_cell(row.get(name), name) for row in flat)) for name in names)


def _from_lists(lists: Mapping[str, object]) -> tuple[TableColumn, ...]:
    return tuple(
        TableColumn(name=name, cells=tuple(_cell(cell, name) for cell in cells))
        for name, cells in lists.items()
        if isinstance(cells, list)
    )


def _cell(value: object, name: str) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool | dict | list):
        raise UsageError(f"{name!r} holds {str(value)[:40]!r}, which is neither a number nor a word.", REMEDY)
    return repr(value) if isinstance(value, float | int) else without_deviation(str(value))
