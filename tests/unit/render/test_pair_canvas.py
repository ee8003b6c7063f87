"""Large maps as the script of a page reads them: every cell, its number, its verdict, and the order by similarity."""

import html
import re

import msgspec

from seatrial.commands.check.view import check_report
from seatrial.model.verdict import Verdict
from seatrial.render.html import as_html
from seatrial.render.matrix import Matrix, MatrixCell
from seatrial.render.pair_canvas import CanvasMap, PairCanvas, canvas_map
from seatrial.render.report import PageLink
from tests.support.report_examples import big, run_info

DATA = re.compile(r'data-map="([^"]*)"')


def cell(row: int, column: int, number: str, verdict: Verdict = Verdict.PASS, quality: float = 1.0) -> MatrixCell:
    return MatrixCell(row=row, column=column, style=verdict.value, shade=0, gravity=verdict.gravity,
                      texts=(number, ""), quality=quality)  # fmt: skip


def test_cells_and_gaps_are_counted_from_the_left() -> None:
    cells = (cell(0, 1, "99"), cell(0, 3, "60", Verdict.SLOW, 0.6), cell(2, 0, "98"), cell(2, 1, "97"))
    labels = ("a", "b\x1b[31m", "<c>", "d")
    matrix = Matrix(caption="Rate", labels=labels, groups=("", "", "", ""), cells=cells, key=())
    links = {"a>d": PageLink("a>d", "pairs.html#a"), "a>gone": PageLink("a>gone", "pairs.html#b")}
    made = canvas_map(matrix, links)
    assert made.rows == ("1,a99,1,b60", "", "a98,a97", "")
    assert made.styles == (("PASS", 0, ""), ("SLOW", 0, "S"))
    assert (made.what, made.labels, made.links) == ("Rate", ("a", "b", "<c>", "d"), {"0 3": "pairs.html#a"})
    assert sorted(made.similar) == [0, 1, 2, 3]


def maps_of(page: str) -> list[CanvasMap]:
    return [msgspec.json.decode(html.unescape(text), type=CanvasMap) for text in DATA.findall(page)]


def test_a_page_of_many_nodes_has_every_pair_and_no_script_no_map() -> None:
    report = check_report(run_info(), big(72, 12, 6), {})
    (bandwidth, latency) = maps_of(as_html(report, [PageLink("index", "index.html")]))
    assert bandwidth.what == "Bandwidth in % of the limit" and latency.what.startswith("One-way latency")
    assert bandwidth.labels[:2] == ("node0", "node1") and len(bandwidth.labels) == 72
    assert bandwidth.groups[11:13] == ("leaf0", "leaf1")
    assert sum(word[:1].isalpha() for row in bandwidth.rows for word in row.split(",")) == 72 * 6
    assert bandwidth.similar[0] == 7  # at half rate
    assert not maps_of(as_html(report))


def test_a_small_map_needs_no_canvas() -> None:
    blocks = check_report(run_info(), big(64, 16, 6), {}).page()
    assert not [part for block in blocks for part in getattr(block, "panels", ()) if isinstance(part, PairCanvas)]
