"""The page: right numbers, nothing from outside fetched, nothing from outside run."""

import re
from html.parser import HTMLParser

import msgspec
import pytest

from seatrial.model import units
from seatrial.model.judgement import Threshold
from seatrial.model.verdict import Verdict
from seatrial.pairs.rounds import sparse_rounds
from tests.support.report_examples import EVIL, SICK, big, facts, judgement, node, pair, run_info, slow_node, troubled
from tests.support.reports import check_page, check_text

VOID = {"meta", "br", "link", "img"}


class Page(HTMLParser):
    """Elements with their attributes, the scripts' and styles' sources, and the text a reader sees."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.raw: list[tuple[str, dict[str, str | None], str]] = []
        self.cells: list[list[str]] = []
        self.seen = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("script", "style"):
            self.raw.append((tag, dict(attrs), ""))
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th"):
            self.cells[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"unbalanced {tag}"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("script", "style"):
            tag, attributes, text = self.raw[-1]
            self.raw[-1] = (tag, attributes, text + data)
            return
        self.seen += data
        if {"td", "th"} & set(self.open):
            self.cells[-1][-1] += data

    @property
    def policy(self) -> str:
        """The page's Content-Security-Policy."""
        return next(a["content"] or "" for tag, a in self.elements if tag == "meta" and a.get("http-equiv"))


def test_a_number_of_runs_is_not_torn_apart_in_a_narrow_column() -> None:
    """In print `n =` ended a line, and the number stood alone on the next."""
    page = check_page(run_info(), slow_node(), facts())
    cells = re.findall(r'<td[^>]*class="number"[^>]*>([^<]*)</td>', page)
    assert any("n\u00a0=\u00a06" in cell for cell in cells)
    assert not any("n = " in cell for cell in cells)


def test_the_page_says_what_matters() -> None:
    page = Page(check_page(run_info(), slow_node(), facts()))
    said = " ".join(page.seen.split())
    for text in (
        "SLOW",
        "n3: link at 60 % of its limit",
        "The link of n3 carries 60 % of what it should",
        "70.6 MB/s, 97 % CI 70.5–70.7, n = 6",
        "60 % of the limit",
        "(confirmed)",
        "ethtool eth0",
        "speed / 8 * (MTU - 52) / (MTU + 38)",
        "/sys/class/net/eth0/speed",
        "kernel: 6.1.0-18 on n3",
        "All 12 ordered pairs",
        "eth0 1 Gb/s MTU 1500",
        "503 GiB",
        "Open MPI 4.1.4",
    ):
        assert text in said
    assert ["n3", "leaf2", "SLOW", "70.6 MB/s", "70.6 MB/s", "40.2 µs"] in [row[:6] for row in page.cells]
    assert not page.open


def test_the_page_fetches_nothing() -> None:
    page = Page(check_page(*troubled(), facts()))
    fetching = {"src", "href", "srcset", "data", "action", "formaction", "poster", "background", "ping", "cite"}
    assert not [(tag, a) for tag, a in page.elements if fetching & set(a)]
    assert not [tag for tag, _ in page.elements if tag in ("link", "iframe", "object", "embed", "base", "form", "img")]
    for tag, _, text in page.raw:
        if tag == "style":
            assert "@import" not in text
            assert "url(" not in text
    assert "default-src 'none'" in page.policy
    assert "unsafe-eval" not in page.policy


def test_text_from_outside_is_only_text() -> None:
    plain = Page(check_page(run_info(), slow_node(), facts()))
    evil_facts = {EVIL: facts()["n3"]}
    quote = '" onload="alert(1)'
    run = run_info(cluster=quote, reason=EVIL, job="\x1b[31m" + EVIL, command=("seatrial", quote))
    evil = Page(check_page(run, slow_node(EVIL), evil_facts))
    assert {tag for tag, _ in evil.elements} <= {tag for tag, _ in plain.elements}
    assert not [a for _, a in evil.elements if any(name.startswith("on") for name in a)]
    assert EVIL in evil.seen
    assert quote in evil.seen
    assert "\x1b" not in evil.seen


def drawings(page: str) -> list[str]:
    """The drawings of a page in their order: their SVG and their keys."""
    return re.findall(r'<figure class="panel.*?</figure>', page, re.DOTALL)


def test_the_matrices_and_the_distributions_of_a_slow_node() -> None:
    bandwidth, latency, rates, times = drawings(check_page(run_info(), slow_node(), {}))
    assert "Bandwidth in % of the limit" in bandwidth
    assert re.findall(r'class="v (\w+) shade(\d)"', bandwidth) == [("PASS", "0"), ("SLOW", "1")]
    for cell in ("n1>n3; SLOW; 70.6 MB/s, 97 % CI 70.5–70.7, n = 6; 60 % of the limit", ">100<", ">60<", ">S<"):
        assert cell.replace(">", "&gt;") in bandwidth or cell in bandwidth
    for name in ("n1", "n4", "leaf1", "leaf2", "sends", "receives", "S = SLOW: 6, paler: less slow"):
        assert f">{name}<" in bandwidth
    assert "One-way latency in µs" in latency
    for reference in ("limit 117.7 MB/s", "75 % of the limit", "peers 117.2 MB/s"):
        assert reference in rates
    assert "peers 40.2 µs" in times


def test_the_thresholds_of_the_survey_are_drawn() -> None:
    lines = (
        Threshold(metric=units.BANDWIDTH, value=113e6, text="suspected below"),
        Threshold(metric=units.LATENCY, value=60e-6, text="suspected above"),
    )
    *_, rates, times = drawings(check_page(run_info(), judgement(thresholds=lines), {}))
    assert "suspected below 113.0 MB/s" in rates
    assert "suspected above 60.0 µs" in times


def test_a_pair_that_only_latency_made_slow_is_slow_in_latency_only() -> None:
    late = msgspec.structs.replace(
        pair("n1", "n2", verdict=Verdict.SLOW), bandwidth_verdict=Verdict.PASS, latency_verdict=Verdict.SLOW
    )
    pairs = (late, *(one for one in judgement().pairs if (one.source, one.target) != ("n1", "n2")))
    bandwidth, latency, rates, times = drawings(check_page(run_info(), judgement(pairs=pairs), {}))
    assert "SLOW" not in bandwidth + rates
    assert "S = SLOW: 1" in latency
    assert "SLOW: 1" in times


def test_verdicts_have_one_colour_everywhere_and_a_letter_or_a_pattern() -> None:
    few, many = check_page(*troubled(), {}), check_page(run_info(), big(30, 5, 29), {})
    for verdict, letter in (("INVALID", "!"), ("SLOW", "S"), ("UNSTABLE", "U"), ("NOT_RUN", "-")):
        assert re.search(rf'<g class="in[^"]* {verdict} shade\d">(?:(?!</g>).)*>{letter}<', few)
    css = few[few.index("<style>") : few.index("</style>")]
    for verdict in ("PASS", "SLOW", "UNSTABLE", "INVALID", "DOWN", "BLOCKED", "NOTE", "MISCONFIGURED"):
        colour = f"var(--{verdict.lower()})"
        assert f".v.{verdict} {{ fill: {colour}; }}" in css
        assert f".chip.{verdict} {{ background: {colour};" in css
    assert '<path fill="url(#lines)"' in drawings(many)[0]
    assert ">S<" not in drawings(many)[0]


def test_worst_pairs_come_first_and_the_rest_is_folded() -> None:
    text = check_page(run_info(), big(16, 4, 15), {})
    page = Page(text)
    shown, folded = text.split('<details class="more">', 1)
    assert "The 10 worst pairs" in shown
    assert shown.count('<tr><td data-label="source"') == 10
    assert "Pairs that did not pass" in folded
    assert "Of 240 pairs only those that did not pass are listed, 30 in all." in page.seen
    assert sum(row[2:3] == ["SLOW"] for row in page.cells) == 10 + 30 + 1


def test_nodes_that_are_alike_are_one_row() -> None:
    rows = [row for row in Page(check_page(run_info(), slow_node(), facts())).cells if "503 GiB" in row]
    assert [row[0] for row in rows] == ["n3", "n[1-2,4]"]


def test_same_input_same_page() -> None:
    assert check_page(run_info(), slow_node(), facts()) == check_page(run_info(), slow_node(), facts())


def test_nothing_measured_still_gives_a_page() -> None:
    page = Page(check_page(run_info(), judgement(pairs=(), nodes=()), {}))
    assert "NOT_RUN" in page.seen
    assert "script-src 'none'" in page.policy


@pytest.mark.parametrize(
    ("nodes", "leaf", "partners", "kilobytes"), [(4, 2, 3, 45), (64, 16, 63, 165), (1000, 40, 40, 75)]
)
def test_the_size_of_a_page(nodes: int, leaf: int, partners: int, kilobytes: int) -> None:
    assert len(check_page(run_info(), big(nodes, leaf, partners), {}).encode()) < 1000 * kilobytes


def test_ten_thousand_nodes() -> None:
    text = check_page(run_info(), big(10_000, 20, 4), {})
    page = Page(text)
    assert len(text.encode()) < 75_000
    assert "The 64 worst leaves are drawn; 436 more are not." in page.seen
    assert "Of 10000 nodes only those that did not pass are listed, 1 in all." in page.seen
    assert "Of 40000 pairs only those that did not pass are listed, 8 in all." in page.seen
    assert "a cell is the worst of all pairs from one leaf to another" in page.seen
    assert "leaf0>leaf0 (70 pairs, slowest node3>node7); SLOW" in " ".join(page.seen.split())


def test_all_of_four_thousand_sparse_nodes_bad_is_a_small_page_too() -> None:
    """Six random rounds over 100 leaves: few of their cells are empty, and each has a text."""
    names = [f"node{i}" for i in range(4000)]
    rounds = sparse_rounds(names, 6, 1)
    bad = (SICK, Verdict.SLOW)
    pairs = tuple(pair(*ends, *bad) for one in rounds for a, b in one for ends in ((a, b), (b, a)))
    nodes = tuple(msgspec.structs.replace(node(name, *bad), leaf=f"leaf{i // 40}") for i, name in enumerate(names))
    text = check_page(run_info(), judgement(pairs=pairs, nodes=nodes), {})
    assert len(text.encode()) < 400_000
    assert "not measured: " in Page(text).seen


@pytest.mark.parametrize("verdict", [one for one in Verdict if one not in (Verdict.NOT_RUN, Verdict.INCONCLUSIVE)])
def test_every_verdict_but_the_undecided_has_a_colour_of_its_own(verdict: Verdict) -> None:
    """The two others, and nothing else, have the grey of what is not known."""
    (finding, *_) = slow_node().findings
    page = check_page(run_info(), judgement(findings=(msgspec.structs.replace(finding, verdict=verdict),)), facts())
    if verdict is not Verdict.PASS:
        assert f'<article class="{verdict}">' in page
        assert f"article.{verdict} {{ border-left-color: var(--{verdict.lower()}); }}" in page
    assert re.search(rf"header\.{verdict}\b[^{{]*{{ background: var\(--{verdict.lower()}\)", page)
    assert f".chip.{verdict} {{ background: " in page
    assert f"--{verdict.lower()}: #" in page
    text = check_text(
        run_info(), judgement(findings=(msgspec.structs.replace(finding, verdict=verdict),)), facts(), colour=True
    )
    assert verdict.value in text
