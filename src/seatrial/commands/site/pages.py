"""What every page of a site has in common: its links, its fields as JSON, and what it was made from."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from seatrial.archive.listing import RunRow
from seatrial.commands.site.addresses import UP, ways
from seatrial.judgement.standings import Judged
from seatrial.model.facts import NodeFacts
from seatrial.model.monitoring import NodeStanding
from seatrial.model.run import RunInfo
from seatrial.model.words import utc_text
from seatrial.render.envelope import envelope
from seatrial.render.html import as_html
from seatrial.render.json import json_text
from seatrial.render.matrix import Matrix, MatrixCell, Panels
from seatrial.render.pair_canvas import PairCanvas
from seatrial.render.report import Block, PageLink, Report, Table


class Readers(msgspec.Struct, frozen=True, kw_only=True):
    """What other commands make of an archive."""

    report_of: Callable[[Path], Report]
    """The report of the run in a folder, kept beside it; raises SeatrialError."""
    judged_rows: Callable[[Sequence[RunRow]], Sequence[RunRow]]
    """Rows of the list of runs with their headlines."""
    judged_runs: Callable[[Path], Iterable[tuple[RunInfo, Judged] | None]]
    """What the newest runs said of nodes, the newest first; None for each that cannot be read."""
    status: Callable[[Mapping[str, NodeStanding], int, int, datetime], Report]
    """The report on all nodes; from their number of runs and of runs that cannot be read."""
    run_list: Callable[[Sequence[RunRow]], Report]
    facts: Callable[[Mapping[str, NodeFacts]], Report]
    histories: Callable[[Path, str], Sequence[tuple[str, Report]]]
    """Each metric of the archive over these runs, with its name; raises SeatrialError."""
    compared: Callable[[Path, str, str], Report]
    """The second set of runs compared with the first; raises SeatrialError."""


def page_texts(name: str, report: Report, at: datetime, links: Sequence[PageLink] = ()) -> tuple[str, str]:
    """The page of a report with its links, and its fields as --json prints them. `name`: of the page in the site."""
    return page_text(name, report, links), twin_text(report, at)


def page_text(name: str, report: Report, links: Sequence[PageLink] = ()) -> str:
    """The page of a report with its links. `name`: of the page in the site."""
    folder, _, stem = name.rpartition("/")
    return as_html(report, (*ways(UP if folder else "", stem), *links))


def twin_text(report: Report, at: datetime) -> str:
    """The fields of a report as --json prints them."""
    return json_text(envelope(report, command="", time=utc_text(at)))


def with_links(report: Report, heads: Collection[str], links: Mapping[str, PageLink]) -> Report:
    """The report with links in all cells of maps, and of tables below these heads, for which there is one."""
    return replace(report, page=lambda: [_linked(block, heads, links) for block in report.page()])


def _linked(block: Block, heads: Collection[str], links: Mapping[str, PageLink]) -> Block:
    """A table or a map with links; any other block as it is."""
    match block:
        case Panels():
            return replace(block, panels=tuple(_linked(one, heads, links) for one in block.panels))
        case Matrix():
            return replace(block, cells=tuple(_linked_cell(cell, block.labels, links) for cell in block.cells))
        case PairCanvas():
            return replace(block, links=links)
        case Table():
            return _linked_table(block, heads, links)
        case _:
            return block


def _linked_cell(cell: MatrixCell, labels: Sequence[str], links: Mapping[str, PageLink]) -> MatrixCell:
    link = links.get(f"{labels[cell.row]}>{labels[cell.column]}")
    return replace(cell, href=link.href, hover=cell.hover or link.text) if link else cell


def _linked_table(block: Table, heads: Collection[str], links: Mapping[str, PageLink]) -> Table:
    places = {place for place, head in enumerate(block.columns) if head.title in heads}
    rows = (
        tuple(links.get(cell, cell) if place in places else cell for place, cell in enumerate(row))
        for row in block.rows
    )
    return replace(block, rows=tuple(rows)) if places else block


def source_hash(value: object) -> str:
    """A short name for what a page is made from: equal values have equal names."""
    return hashlib.sha256(repr(value).encode("utf-8", errors="surrogatepass")).hexdigest()[:32]
