"""Lines of one pair each: source, target, and one or two numbers, with or without a line that names the columns."""

import csv
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from seatrial.importers.columns import UNIT_NAMES, TableColumn
from seatrial.importers.fields import Fields, Places, numbers, split_fields
from seatrial.importers.node_names import NodeNames, one_name_each
from seatrial.importers.pair_columns import METRICS, PairColumns
from seatrial.importers.pair_evidence import (
    LineCount,
    NotPairs,
    meet_partners,
    names_an_end,
    refuse_other_ends,
    with_absent_ranks,
)
from seatrial.importers.pair_metrics import has_unit, one_of_each, scale_of
from seatrial.importers.row_outcomes import COUNTED, failed_rows, says_failure
from seatrial.importers.written_numbers import is_missing
from seatrial.model.errors import UsageError
from seatrial.model.pair_table import DEAD_BANDWIDTH, DEAD_LATENCY_S, PairTable, Reals
from seatrial.model.unit_text import is_number, unit_of

HARD = ",;\t"
"""What divides the cells of a line, if not blanks alone."""
LOSS_WORDS = frozenset({
    "error", "errors", "failed", "failures", "mismatch", "mismatches", "wrong", "loss", "lost", "drop", "drops",
    "dropped", "discards", "discarded", "crc", "corrupted", "timeouts", "verluste", "fehler",
})  # fmt: skip
"""A column with such a word counts what went wrong."""
Rows = list[list[str]]


def failed_as_dead(columns: Sequence[str], measured: Sequence[bool], text: Iterable[bytes]) -> Iterator[bytes]:
    """The lines below the heading; a pair whose test failed, as another column says, has 0 for each of its numbers.

    `measured`: whether a column has such numbers. Contents decide: a column of outcomes, some of them failures, says
    so whatever its name. Raises UsageError for a word, or a count, that nothing shows the meaning of.
    """
    others = [place for place in range(2, len(columns)) if not measured[place]]
    for piece in text:
        if not others:
            yield piece
            continue
        lines = piece.decode("utf-8", errors="replace").splitlines()
        mark = next((mark for mark in HARD if any(mark in line for line in lines)), " ")
        rows = [_cells(line, mark) for line in lines]
        fitting = [row for row, cells in enumerate(rows) if 2 < len(cells) <= len(columns) and cells[0][:1] != "#"]
        cells = [[*rows[row], *[""] * (len(columns) - len(rows[row]))] for row in fitting]
        failed = _failed(columns, others, cells)
        dead = {fitting[place] for place in failed}
        for row in fitting:
            if row in dead or '"' in lines[row] or (mark != " " and " " in lines[row]):
                numbers = [
                    "0" if row in dead and number else cell for number, cell in zip(measured, rows[row], strict=False)
                ]
                lines[row] = mark.join("-" if place in others else cell for place, cell in enumerate(numbers))
        yield "".join(f"{line}\n" for line in lines).encode()


def _cells(line: str, mark: str) -> list[str]:
    if mark == " ":
        return line.split()
    if '"' in line:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=mark, skipinitialspace=True))]
    return [cell.strip() for cell in line.split(mark)]


def _failed(columns: Sequence[str], others: Sequence[int], rows: Rows) -> set[int]:
    """The places of the rows of which one of the other columns says that they failed."""
    if not rows:
        return set()
    table = [TableColumn(name=columns[place], cells=tuple(row[place] for row in rows)) for place in others]
    losses = [column for column in table if _counts_losses(column.name)]
    failed = failed_rows([column for column in table if not (column.numeric and column in losses)])
    for column in losses:
        _refuse_losses(column, rows, failed)
    return failed


def _counts_losses(name: str) -> bool:
    """Whether a column of that name counts what a pair lost, which need not be all of it."""
    return name.strip().lower() not in COUNTED and not LOSS_WORDS.isdisjoint(re.findall(r"[a-z]+", name.lower()))


def _refuse_losses(column: TableColumn, rows: Rows, failed: set[int]) -> None:
    """Raise UsageError where a column counts what went wrong, with 0 for most pairs and more for others that count."""
    cells = [cell.rstrip("% ") for cell in column.cells]
    written = [cell for cell in cells if not is_missing(cell)]
    if not written or not all(map(is_number, written)) or 2 * sum(float(cell) == 0 for cell in written) < len(written):
        return
    for row, cell in enumerate(cells):
        if row not in failed and not is_missing(cell) and float(cell) > 0:
            pair = ",".join(rows[row][:2])
            raise UsageError(
                f"Column {column.name!r} has {column.cells[row][:40]!r} for {pair[:80]}, 0 for most pairs, and nothing "
                "shows whether such a pair counts.",
                "Write OK or FAILED into a column `result`, or leave the column out.",
            )


DELIMITER, SPACES = re.compile(r"(?<! ) *+[,;\t] *+"), re.compile(r" +")
"""Delimiters of the line that names the columns. Spaces divide them only if nothing else does: Bandwidth (MB/s)."""
RANK_COLUMNS = ("source", "target", "latency_us", "bandwidth_mb_s")
MEBIBYTE = float(1 << 20)
ENDS = 2
"""Fields at the beginning of a line: a pair without numbers has no others."""
SHORT_MARK = 4
"""Bytes of a field that stands for a number that was not measured: -, n/a, none."""
Pair = tuple[str, str]
DEAD = {"bandwidth": DEAD_BANDWIDTH, "latency": DEAD_LATENCY_S}


def parse_nxnlatbw(text: Iterator[bytes]) -> PairTable:
    """`0,1,1.05,12057.4`: ranks, latency in µs, bandwidth in 10⁶ bytes/s; a heading among the lines is passed over.

    The n×n latency and bandwidth program of the public hpc-tests collection. Raises NotPairs where too few lines
    fit, or these are not most pairs of some ranks.
    """
    return parse_columns(text, RANK_COLUMNS, complete=True)


NUMBERED = re.compile(r"(?m)^\d{1,18},\d{1,18},[\d.]+,[\d.]+\s*$")


def is_nxnlatbw(text: str) -> bool:
    """Whether lines are two ranks and two numbers, and the first line does not give the columns another order."""
    heading = next((line for line in text.splitlines() if line.strip()), "")
    return NUMBERED.search(text) is not None and not names_columns(heading)


def parse_csv(text: Iterator[bytes]) -> PairTable:
    """A table whose first line names its columns: two ends, then latency (µs, s) and bandwidth (MB/s, MiB/s, GB/s).

    A unit in a column's name is used, in any of the field's spellings: _us, (msec), _MB, (GiB/s), _Gbit; latency is
    in µs and bandwidth in MB/s without one. Raises NotPairs where the first line names no such columns, too few lines
    fit, or the ends are not alike.
    """
    heading, below = _heading(text)
    names = columns = column_names(heading)
    if not names_columns(heading):
        raise NotPairs(
            f"The first line does not name the columns of pairs: {heading[:80]!r}.",
            "It needs two ends and at least one of latency_us and bandwidth_mb_s: source,target,latency_us,...",
        )
    if has_units(columns):
        raise NotPairs("A column has the units of the numbers.", "Write the unit into the first line: bandwidth_MB/s.")
    columns = one_of_each(columns, below)
    measured = [scale_of(name) is not None for name in columns]
    return parse_columns(failed_as_dead(names, measured, itertools.chain([below], text)), columns)


def column_names(heading: str) -> tuple[str, ...]:
    """The names in a line. Between blanks a unit belongs to the name before it: `latency us bandwidth (GB/s)`."""
    bare = heading.strip().lstrip("\ufeff# ")
    if DELIMITER.search(bare):
        return tuple(DELIMITER.split(bare))
    names: list[str] = []
    for word in SPACES.split(bare):
        before = names[-1] if names and scale_of(names[-1]) and not has_unit(names[-1]) else ""
        joined = bool(before) and unit_of(word.strip("()[]")) is not None
        names[len(names) - joined :] = [f"{before} {word}" if joined else word]
    return tuple(names)


def names_columns(heading: str) -> bool:
    """Whether a line names two ends of a pair, and after them a latency or bandwidth."""
    columns = column_names(heading)
    return (
        len(columns) > 2
        and all(names_an_end(name.lower()) for name in columns[:2])
        and any(scale_of(name) is not None for name in columns[2:])
    )


def has_units(columns: Iterable[str]) -> bool:
    """Whether a column has the unit of each row's number."""
    return not UNIT_NAMES.isdisjoint(name.lower() for name in columns)


def _heading(text: Iterator[bytes]) -> tuple[str, bytes]:
    """The first line that is not blank, and what follows it in its piece."""
    for piece in text:
        rest = piece
        while rest:
            line, _, rest = rest.partition(b"\n")
            if line.strip():
                return line.decode("utf-8", errors="replace"), rest
    return "", b""


def parse_columns(text: Iterable[bytes], columns: tuple[str, ...], *, complete: bool = False) -> PairTable:
    """The pairs of a text whose lines are such columns. `complete`: most pairs of its ends must be there.

    Raises NotPairs where too few lines fit, or the ends are not alike.
    """
    table, lines = read_columns(text, columns)
    lines.refuse_few()
    if not len(table.source):
        raise NotPairs("No line of this file describes a pair.", "Lines look like source,target,latency,bandwidth.")
    refuse_other_ends(table, complete=complete)
    return with_absent_ranks(table) if complete else table


def read_columns(text: Iterable[bytes], columns: tuple[str, ...]) -> tuple[PairTable, LineCount]:
    """The lines whose third and later fields are numbers, by the names of their columns; and how many lines fit.

    A line with more fields than columns does not fit: a decimal comma would shift its numbers. A pair on several lines,
    or in several columns of one metric, keeps all its numbers. See `alive_or_dead` for 0 and NaN. A node whose
    lines have no number belongs to the table if its partners have some.
    """
    names, rows, lines = NodeNames(), PairColumns(), LineCount()
    scales = [(place, scale) for place, name in enumerate(columns) if place > 1 and (scale := scale_of(name))]
    of_metric = [[(place, unit) for place, (name, unit) in scales if name == metric] for metric in METRICS]
    unmeasured: set[tuple[int, int, bool]] = set()
    for piece in text:
        fields = split_fields(piece)
        paired = np.flatnonzero(fields.count >= ENDS)
        written = fields.end > fields.start
        paired = paired[written[fields.first[paired]] & written[fields.first[paired] + 1]]
        long = paired[(fields.count[paired] > ENDS) & (fields.count[paired] <= len(columns))]
        first, count = fields.first[long], fields.count[long]
        values = [
            [_column(fields, first, count, one, dead) for one, dead in zip(chosen, DEAD.values(), strict=True)]
            for chosen in itertools.zip_longest(*of_metric)
        ]
        measured = ~np.isnan(values).all(axis=(0, 1))
        _count_lines(lines, fields, long[measured], len(columns))
        source, target = names.number_all(fields, first[measured]), names.number_all(fields, first[measured] + 1)
        for pair in values:
            rows.add(source, target, *(column[measured] for column in pair))
        silent = np.ones(len(fields.first), dtype=np.bool_)
        silent[long[measured]] = False
        unmeasured |= _ends(names, fields, paired[silent[paired]])
    meet_partners(rows, names.names, unmeasured)
    return one_name_each(rows.table(names.names, dict(scale for _, scale in scales))), lines


def _ends(names: NodeNames, fields: Fields, chosen: Places) -> set[tuple[int, int, bool]]:
    """The numbers of both ends of lines without a number, comments aside, and whether more than blanks divides them."""
    first = fields.first[chosen]
    first = first[fields.content[fields.start[first]] != ord("#")]
    marks = fields.content[fields.end[first]], fields.content[fields.start[first + 1] - 1]
    divided = np.isin(marks, np.frombuffer(HARD.encode(), dtype=np.uint8)).any(axis=0)
    ends = (names.number_all(fields, place) for place in (first, first + 1))
    return {*zip(*(column.tolist() for column in (*ends, divided)), strict=True)}


def _count_lines(lines: LineCount, fields: Fields, fitting: Places, columns: int) -> None:
    """Adds the lines of one piece. Comments, and pairs whose numbers are empty or short marks, do not count."""
    if not len(fields.first):
        return
    other = fields.content[fields.start[fields.first]] != ord("#")
    other[fitting] = False
    length = fields.end - fields.start
    length[fields.first] = 0
    length[fields.first[fields.count > 1] + 1] = 0
    unmeasured = (fields.count <= columns) & (fields.count > 1)
    other &= ~(unmeasured & (np.maximum.reduceat(length, fields.first) <= SHORT_MARK))
    lines.fitting += len(fitting)
    lines.others += int(other.sum())
    if other.any() and not lines.first_other:
        lines.first_other = _line_text(fields, int(np.flatnonzero(other)[0]))


def _line_text(fields: Fields, line: int) -> str:
    first, last = int(fields.first[line]), int(fields.first[line] + fields.count[line]) - 1
    return fields.content[fields.start[first] : fields.end[last]].tobytes().decode("utf-8", errors="replace")


def _column(fields: Fields, first: Places, count: Places, chosen: tuple[int, float] | None, dead: float) -> Reals:
    """The number at that place of each line, times that unit; NaN if it has none, `dead` for a word such as FAILED."""
    values = np.full(len(first), np.nan)
    if chosen is not None:
        place, unit = chosen
        long = np.flatnonzero(count > place)
        with np.errstate(over="ignore"):
            values[long] = alive_or_dead(numbers(fields, first[long] + place) * unit, dead)
        start, end = fields.start[first + place * (count > place)], fields.end[first + place * (count > place)]
        mark = fields.content[fields.end[first]]
        usual = np.bincount(mark[~np.isnan(values)]).argmax() if not np.isnan(values).all() else 0
        # A line that others' marks do not divide may be a sentence: n1 is down.
        for row in np.flatnonzero(np.isnan(values) & (count > place) & (end > start) & (mark == usual)).tolist():
            if says_failure(fields.content[start[row] : end[row]].tobytes().decode("utf-8", errors="replace")):
                values[row] = dead
    return values


def alive_or_dead(values: Reals, dead: float) -> Reals:
    """The values that are finite and above zero; NaN stays, since nothing was measured.

    0, infinity and negative numbers were written by the tool for a pair that it tried: they become `dead`.
    """
    return np.where(np.isnan(values) | ((values > 0) & (values < np.inf)), values, dead)


def given(field: str, dead: float) -> float | None:
    """The number in a field; None if the field has no number, so that nothing was measured.

    0, NaN, infinity and negative numbers become `dead`, as in `alive_or_dead`.
    """
    try:
        number = float(field)
    except ValueError:
        return None
    return number if math.isfinite(number) and number > 0 else dead
