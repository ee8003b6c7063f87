"""Pairs whose test failed, as another column of their table says: they have no number, and are dead."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence

from seatrial.importers.columns import TableColumn
from seatrial.importers.row_outcomes import COUNTED, failed_rows
from seatrial.importers.written_numbers import is_missing
from seatrial.model.errors import UsageError
from seatrial.model.unit_text import is_number

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
