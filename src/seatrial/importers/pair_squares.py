"""Squares: tables with a row and a column for each node, with or without their names, below titles and comments."""

import io
import itertools
import re
from collections.abc import Sequence

from seatrial.importers.columns import MOST_TITLES, SEPARATOR, TableColumn, titles
from seatrial.importers.node_names import is_summary, short_names
from seatrial.importers.pair_evidence import NotPairs, receivers_first
from seatrial.importers.pair_lines import DELIMITER, column_names, names_columns
from seatrial.importers.written_numbers import is_missing
from seatrial.model.unit_text import is_number

COMMENTS = re.compile(r"\A\ufeff?(?:[ \t]*+(?:#[^\n]*+)?\n)++")
"""Comments and blank lines above everything else."""
MARK = re.compile(r"^[ \t]*#+", re.MULTILINE)
FEWEST_NAMES = 3
UNNAMED = "node"
"""What is in the first cell of a square that says nothing of its numbers."""
NAMELESS = "column 1"
SAME = 0.8
"""Share of the names in the first line that a square of names has in its first column as well."""


def is_square(text: str) -> bool:
    """Whether a text, below its titles and comments, is a table with a cell for each pair of nodes."""
    return begins_square(plain_table(text))


def plain_table(text: str) -> str:
    """The text from the line on that names its columns; a square has names, and says in its first cell what it has."""
    above = len(text) - len(COMMENTS.sub("", text))
    return without_titles(_with_corner(_with_names(MARK.sub("", text[:above]) + text[above:])))


def without_titles(text: str) -> str:
    """The text from the line on that names its columns."""
    lines = [*itertools.islice(filter(str.strip, io.StringIO(text)), MOST_TITLES + 2)]
    number = titles([line.strip() for line in lines])
    return text[text.index(lines[number]) :] if number else text


def _with_names(text: str) -> str:
    """The text with the names of the rows of a square of numbers that has none: those above its columns, or ranks.

    A square has no value, or 0, for each node with itself, and for few pairs.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    width = len(column_names(lines[-1])) if lines else 0
    first = len(lines) - width
    if width < FEWEST_NAMES or not 0 <= first <= MOST_TITLES:
        return text
    rows = [column_names(line) for line in lines[first:]]
    if any(len(row) != width or not all(is_number(cell) or is_missing(cell) for cell in row) for row in rows):
        return text
    empty = [[is_missing(cell) or not float(cell) for cell in row] for row in rows]
    if not all(row[place] for place, row in enumerate(empty)) or 2 * sum(map(sum, empty)) > width * width:
        return text
    names = column_names(lines[first - 1]) if first else ()
    named = len(names) == width
    names = names if named else tuple(f"rank{place}" for place in range(width))
    square = [",".join(names), *(",".join((name, *row)) for name, row in zip(names, rows, strict=True))]
    return "\n".join((*lines[: first - named], *square, ""))


def _with_corner(text: str) -> str:
    """The text of a square with what its title says of the numbers in its first cell, if that does not say it."""
    lines = [*itertools.islice(filter(str.strip, io.StringIO(text)), MOST_TITLES + 2)]
    for place, (head, row) in enumerate(itertools.pairwise(lines)):
        names, cells = column_names(head), column_names(row)
        corner, *named = names if len(names) == len(cells) else ("", *filter(None, names))
        if len({*named}) < max(FEWEST_NAMES, len(named)) or len(cells) != len(named) + 1 or cells[0] not in named:
            continue
        if names_columns(f"source,target,{bare(corner)}"):
            return text
        phrases = itertools.chain.from_iterable(re.split("[,;:]", line) for line in lines[:place])
        title = next((one for one in phrases if names_columns(f"source,target,{bare(one)}")), "")
        corner = "_".join((*title.split(), *corner.split())) or UNNAMED
        mark, below = DELIMITER.search(head.strip()), text[text.index(head) + len(head) :]
        return (mark[0].strip(" ") if mark else " ").join((corner, *named)) + "\n" + below
    return text


def begins_square(text: str) -> bool:
    """Whether the first line names nodes, and most of them begin the other lines: a cell for each pair."""
    lines = [line for line in SEPARATOR.sub("", text).splitlines() if line.strip()]
    corner, *names = column_names(lines[0]) if lines else ("",)
    if len({*names}) < max(FEWEST_NAMES, len(names)) or len(lines) > 2 * len(names) + 2:
        return False
    firsts = [column_names(line)[0] for line in lines[1:]]
    short = short_names({*names, *firsts})
    names, firsts = ([short.get(name, name) for name in ends] for ends in (names, firsts))
    ranks = any(name.isdecimal() for name in names) and not names_columns(f"source,target,{corner}")
    return not ranks and len({*names} & {*firsts}) >= SAME * len(names)


def lines_of_square(columns: Sequence[TableColumn]) -> tuple[TableColumn, ...]:
    """Row and column of each cell as the ends of a pair; the cell at the corner names the numbers."""
    if columns[0].name == NAMELESS:  # the first line has numbers of ranks
        columns = [TableColumn(name=one.cells[0], cells=one.cells[1:]) for one in columns]
    first, *others = columns
    ends = [(source, one.name, cell) for one in others for source, cell in zip(first.cells, one.cells, strict=True)]
    if receivers_first(first.name):
        ends = [(source, target, cell) for target, source, cell in ends]
    pairs = [one for one in ends if one[0] != one[1] and not (is_summary(one[0]) or is_summary(one[1]))]
    if not names_columns(f"source,target,{bare(first.name)}"):
        raise NotPairs(
            "The table has a cell for each pair of nodes, and its first cell does not say what the numbers are.",
            "Write it there: bandwidth_MB/s, bandwidth_Gbit/s, latency_us. Rows are senders, columns receivers.",
        )
    sources, targets, cells = zip(*pairs, strict=True) if pairs else ((), (), ())
    return (
        TableColumn(name="source", cells=sources),
        TableColumn(name="target", cells=targets),
        TableColumn(name=first.name, cells=cells),
    )


def bare(cell: str) -> str:
    """The cell without what divides cells and lines."""
    return " ".join(cell.replace(",", " ").replace(";", " ").split())
