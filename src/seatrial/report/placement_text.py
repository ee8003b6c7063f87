"""Where ranks are, for a terminal."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from seatrial.diagnosis.placement.gain import Fix
from seatrial.diagnosis.placement.judge import Placement, RankRow
from seatrial.diagnosis.placement.line_options import Dialect
from seatrial.model import units
from seatrial.report.finding_text import title
from seatrial.report.headline import count
from seatrial.report.sheet import labelled, rendered, text

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_ROWS = 64
HEADINGS = ("rank", "node", "on cpu", "may run on", "cores", "socket", "NUMA", "adapter", "advised")


def placement_as_text(found: Placement, *, width: int = 100, colour: bool = False) -> str:
    """The report, at most `width` columns wide; ends in a newline."""
    return rendered(_blocks(found), width=width, colour=colour)


def _blocks(found: Placement) -> Iterator["RenderableType"]:
    yield text(f"{found.verdict.value}  {_headline(found)}", "bold")
    if found.findings:
        yield ""
    for number, finding in enumerate(found.findings, start=1):
        yield labelled([(str(number), f"{finding.verdict.value}  {title(finding)}"), ("", finding.statement)])
    yield ""
    yield _table(found.rows)
    yield ""
    yield labelled(_lines(found), indent=3)
    if found.advice and found.dialect is Dialect.OPEN_MPI:
        yield ""
        yield text("rankfile.txt:")
        yield from (text(f"  {line}") for line in found.advice.rankfile.splitlines())


def _headline(found: Placement) -> str:
    nodes = len({row.node for row in found.rows})
    where = f"{count(len(found.rows), 'rank')} on {count(nodes, 'node')}"
    faults = count(len(found.findings), "finding") if found.findings else "nothing found"
    return f"{where}: {faults}" + (f"; {_told(found)}" if found.fix is not Fix.NONE else "")


def _told(found: Placement) -> str:
    if found.fix is Fix.PROVED:
        return f"the fix below is proved: {found.why}"
    if found.fix is Fix.WITHDRAWN:
        return f"the fix is withdrawn: {found.why}"
    return f"the fix below is not proved: {found.why}"


def _table(rows: tuple[RankRow, ...]) -> "RenderableType":
    from rich.table import Table

    shown = [heading for heading in HEADINGS if heading != "advised" or any(row.advised for row in rows)]
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for heading in shown:
        table.add_column(text(heading), overflow="fold")
    for row in rows[:MOST_ROWS]:
        cells = (
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
        table.add_row(*(text(cell) for cell in cells[: len(shown)]))
    if len(rows) > MOST_ROWS:
        table.add_row(text("..."), text(f"and {len(rows) - MOST_ROWS} more, see --json"))
    return table


def _lines(found: Placement) -> Iterator[tuple[str, str]]:
    yield "asked", " ".join(found.line)
    if found.advised_line:
        yield "advised", " ".join(found.advised_line)
    for gain in found.gains:
        asked, advised = (units.estimate(one, gain.metric) for one in (gain.asked, gain.advised))
        yield gain.text.partition(" ")[0], f"{asked} as it is"
        yield "", f"{advised} as advised; {gain.outcome.value}"
    for finding in found.findings:
        yield "to do", finding.remedy
    if found.advice:
        if found.advice.srun and found.dialect is not Dialect.SRUN:
            yield "by srun", " ".join(found.advice.srun)
        if found.advice.hydra and found.dialect is not Dialect.HYDRA:
            yield "by Hydra", " ".join(found.advice.hydra)
        if found.dialect is not Dialect.OPEN_MPI:
            yield "Open MPI", "a rankfile, see --json"
    for note in found.notes:
        yield "note", note
