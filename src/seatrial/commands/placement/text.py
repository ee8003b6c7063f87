"""Where ranks are, for a terminal."""

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from seatrial.commands.placement.gain import Fix
from seatrial.commands.placement.judge import Placement
from seatrial.commands.placement.map import legend, map_lines
from seatrial.commands.placement.rows import RankRow
from seatrial.launch.line_options import Dialect
from seatrial.model import units
from seatrial.model.words import count
from seatrial.render.escape import clean
from seatrial.render.finding_text import title
from seatrial.render.sheet import LEAST_WIDTH, labelled, rendered, text, unbroken

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_ROWS = 32
MOST_LETTERS = 80
MOST_PICTURES = 6
MOST_COPIED = 16
"""Lines of a rankfile that are printed to be copied."""
WIDE = 80
"""Narrower terminals get the fewer columns."""
NARROW_HEADINGS = ("rank", "node", "may run on", "advised")
HEADINGS = ("rank", "node", "on cpu", "may run on", "cores", "socket", "NUMA", "adapter", "advised")


def placement_as_text(found: Placement, *, width: int = 100, colour: bool = False) -> str:
    """The report, at most `width` columns wide but for the line to be copied; ends in a newline."""
    return rendered(_blocks(found, max(width, LEAST_WIDTH)), width=width, colour=colour)


def _blocks(found: Placement, width: int) -> Iterator["RenderableType"]:
    yield text(f"{found.verdict.value}  {headline(found)}", "bold")
    if found.findings:
        yield ""
    for number, finding in enumerate(found.findings, start=1):
        yield labelled([(str(number), f"{finding.verdict.value}  {title(finding)}"), ("", finding.statement)])
    yield ""
    yield from _maps(found, width)
    yield ""
    yield labelled(lines(found), indent=3)
    yield from _to_copy(found)
    if found.rows:
        yield ""
        yield _table(found, width)


def _maps(found: Placement, width: int) -> Iterator["RenderableType"]:
    from rich.text import Text

    for picture in found.pictures[:MOST_PICTURES]:
        drawn = map_lines(picture, width, advised_row(found))
        yield from (Text(" " * (len(line) - len(line.lstrip())) + clean(line)) for line in drawn)
    rest = sum(len(picture.nodes) for picture in found.pictures[MOST_PICTURES:])
    if rest:
        yield text(f"{count(rest, 'more node')} with other placements: see the table, or --json.")
    if signs := legend(found.pictures[:MOST_PICTURES]):
        yield text(f"({signs})", "dim")


def _to_copy(found: Placement) -> Iterator["RenderableType"]:
    """The advised line in one piece, and before it the rankfile that it needs."""
    if not found.advised_line:
        return
    yield ""
    yield text("Start it so:")
    if found.advice and found.dialect is Dialect.OPEN_MPI:
        ranks = found.advice.rankfile.splitlines()
        if len(ranks) > MOST_COPIED:
            yield text(f"(with rankfile.txt, {len(ranks)} lines, from the folder logs of the archived run)")
        else:
            yield from map(unbroken, ("cat > rankfile.txt <<END", *ranks, "END"))
    yield unbroken(shlex.join(found.advised_line))


def headline(found: Placement) -> str:
    """How many ranks, what was found, and what became of the fix."""
    nodes = len({row.node for row in found.rows})
    where = f"{count(len(found.rows), 'rank')} on {count(nodes, 'node')}"
    faults = count(len(found.findings), "finding") if found.findings else "nothing found"
    if not found.rows:
        return found.failure or "it is not known where the ranks are"
    return f"{where}: {faults}" + (f"; {_told(found)}" if found.fix is not Fix.NONE else "")


def advised_row(found: Placement) -> str:
    """What the advised placement is called: one that was withdrawn was only tried."""
    return "tried" if found.fix is Fix.WITHDRAWN else "advised"


def _told(found: Placement) -> str:
    if found.fix is Fix.PROVED:
        return f"the fix below is proved: {found.why}"
    if found.fix is Fix.WITHDRAWN:
        return f"the fix is withdrawn: {found.why}"
    return f"the fix below is not proved: {found.why}"


def row_cells(row: RankRow) -> tuple[str, ...]:
    """What stands under each of HEADINGS."""
    return (
        str(row.rank),
        row.node,
        units.UNKNOWN if row.cpu is None else str(row.cpu),
        row.cpus,
        row.cores,
        row.sockets or units.UNKNOWN,
        row.numa_nodes or units.UNKNOWN,
        row.distance,
        row.advised,
    )


def _table(found: Placement, width: int) -> "RenderableType":
    from rich.table import Table

    rows = found.rows
    shown = [place for place, name in enumerate(HEADINGS) if width >= WIDE or name in NARROW_HEADINGS]
    if not any(row.advised for row in rows):
        shown.remove(HEADINGS.index("advised"))
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for place in shown:
        name = HEADINGS[place]
        table.add_column(text(advised_row(found) if name == "advised" else name), overflow="fold")
    for row in rows[:MOST_ROWS]:
        cells = row_cells(row)
        table.add_row(*(text(cells[place]) for place in shown))
    if len(rows) > MOST_ROWS:
        table.add_row(text("..."), text(f"and {len(rows) - MOST_ROWS} more, see --json"))
    return table


def lines(found: Placement) -> Iterator[tuple[str, str]]:
    """Label and sentence of all that is told beside the findings and the drawings."""
    yield "asked", shlex.join(found.line)
    for gain in found.gains:
        asked, advised = (units.estimate(one, gain.metric) for one in (gain.asked, gain.advised))
        yield gain.text.partition(" ")[0], f"{asked} as it is"
        yield "", f"{advised} as advised; {gain.outcome.value}"
    for remedy in dict.fromkeys(finding.remedy for finding in found.findings):
        yield "to do", remedy
    if found.advice:
        if found.advice.srun and found.dialect is not Dialect.SRUN:
            yield "by srun", _short(found.advice.srun)
        if found.advice.hydra and found.dialect is not Dialect.HYDRA:
            yield "by Hydra", _short(found.advice.hydra)
        if found.dialect is not Dialect.OPEN_MPI:
            yield "Open MPI", "logs/rankfile.txt in the folder of the run"
    for note in found.notes:
        yield "note", note


def _short(words: tuple[str, ...]) -> str:
    said = " ".join(words)
    return said if len(said) <= MOST_LETTERS else "see --json: the words are long"
