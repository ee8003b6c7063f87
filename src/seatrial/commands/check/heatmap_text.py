"""The heat map in characters: numbers where there is room, one sign a cell where not; readable without colour."""

from seatrial.commands.check.heatmap import Cell, HeatMap, heat_map
from seatrial.model.fabric import Fabric
from seatrial.model.judgement import Judgement
from seatrial.model.verdict import Verdict
from seatrial.render.escape import clean, shorten
from seatrial.render.matrix import LETTERS
from seatrial.render.text import STYLES

Line = tuple[tuple[str, str], ...]
"""Pieces of text with their styles."""

LEAF_ROWS = (32, 28, 24, 20, 16, 12, 8)
"""Leaves that are drawn: the most that fit."""
_LABEL_WIDTH = 18
_NUMBER_WIDTH = 5
_GOOD = 0.9
"""Share of the limit or the peers from which a cell that passed has the full colour of PASS."""
_PALE = "white on #4f82ab"
"""Colour of a cell that passed below that share."""


def drawn_heat_map(judgement: Judgement, fabric: Fabric, width: int) -> tuple[HeatMap, tuple[Line, ...]]:
    """Nodes where they are few and fit, else leaves, as many of the worst as fit; no lines where nothing fits.

    Where no leaf is known the worst nodes take their place. Fewer rows with numbers say more than many of signs.
    """
    heat = heat_map(judgement, fabric)
    lines = () if heat.by_leaf or heat.left_out else heat_map_lines(heat, width)
    for narrow in (False, True):
        for most in LEAF_ROWS:
            if lines:
                return heat, lines
            heat = heat_map(judgement, fabric, most, most_nodes=1)
            few = heat.by_leaf or heat.left_out
            lines = heat_map_lines(heat, width, narrow=narrow) if few else ()
    return heat, lines


def heat_map_lines(heat: HeatMap, width: int, *, narrow: bool = True) -> tuple[Line, ...]:
    """Header, one line a row, legend. Empty where fewer than two rows or no room.

    `narrow`: cells may be signs where there is no room for numbers.
    """
    rows = len(heat.labels)
    labels = [shorten(clean(label), _LABEL_WIDTH) for label in heat.labels]
    margin = len(str(rows)) + 1 + max((len(label) for label in labels), default=0) + 1
    separators = 0 if heat.by_leaf else 2 * len(heat.boundaries)
    cell_width = next(
        (w for w in (_NUMBER_WIDTH, 2, 1)[: 3 if narrow else 1] if margin + rows * w + separators <= width), 0
    )
    if rows < 2 or not cell_width:
        return ()
    lines = [_header(heat, margin, cell_width, digit) for digit in range(len(str(rows)))]
    room = width - margin - rows * cell_width - separators
    for row in range(rows):
        line = _row(heat, row, labels[row].rjust(margin - 2 - len(str(rows))), cell_width)
        leaf = clean(heat.leaves[row])
        starts = not heat.by_leaf and (row == 0 or row in heat.boundaries)
        lines.append((*line, (f" {leaf}", "dim")) if starts and len(leaf) < room else line)
    return (*lines, _legend(heat, margin, cell_width))


def _separator(heat: HeatMap, column: int) -> str:
    return "│ " if column in heat.boundaries and not heat.by_leaf else ""


def _header(heat: HeatMap, margin: int, cell_width: int, digit: int) -> Line:
    """The columns' numbers, one decimal digit a line, so that they fit above narrow cells."""
    digits = len(str(len(heat.labels)))
    line = " " * margin
    for column in range(len(heat.labels)):
        number = str(column + 1).rjust(digits)
        line += _separator(heat, column) + number[digit].rjust(max(1, cell_width - 1)).ljust(cell_width)
    return ((line, "dim"),)


def _row(heat: HeatMap, row: int, label: str, cell_width: int) -> Line:
    number = str(row + 1).rjust(len(str(len(heat.labels))))
    line = [(f"{label} ", "bold"), (f"{number} ", "dim")]
    for column in range(len(heat.labels)):
        line.append((_separator(heat, column), "dim"))
        cell = heat.cells.get((row, column))
        text = "" if cell is None else _cell_text(cell, cell_width)
        line.append((text.ljust(cell_width), _colour(cell) if cell else ""))
    return tuple(line)


def _cell_text(cell: Cell, cell_width: int) -> str:
    letter = LETTERS[cell.verdict]
    if cell_width == _NUMBER_WIDTH:
        share = cell.share if cell.median_share is None else cell.median_share
        number = "" if share is None else str(_percent(share))
        return f"{number:>3}{letter} " if number else f"  {letter}  "
    if cell.verdict is Verdict.PASS:
        return "·"
    return (
        str(min(9, _percent(cell.share) // 10)) if cell.verdict is Verdict.SLOW and cell.share is not None else letter
    )


def _percent(share: float) -> int:
    """Rounded as `units.share` does it, so that no two numbers of one report differ; three digits at most."""
    return min(999, round(share * 100))


def _colour(cell: Cell) -> str:
    """The colour of the verdict."""
    if cell.verdict is Verdict.PASS and cell.share is not None and cell.share < _GOOD:
        return _PALE
    return STYLES[cell.verdict].removeprefix("bold ")


def _legend(heat: HeatMap, margin: int, cell_width: int) -> Line:
    seen = {cell.verdict for cell in heat.cells.values()}
    words = [f"{LETTERS[v]} {v.value}" for v in Verdict if v in seen and v is not Verdict.PASS]
    if cell_width != _NUMBER_WIDTH:
        words = [word for word in words if word[2:] != Verdict.SLOW.value]
        words = ["· PASS", *(["6 SLOW at 60 to 69 %"] if Verdict.SLOW in seen else []), *words]
    if heat.by_leaf and cell_width == _NUMBER_WIDTH:
        words = ["number: median of the pairs", "letter and colour: the worst", *words]
    if heat.blank:
        words.append("blank not measured")
    return ((" " * margin + "   ".join(words), "dim"),)
