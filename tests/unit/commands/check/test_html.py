"""The page: right numbers, nothing from outside fetched, nothing from outside run."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import msgspec
import pytest

from seatrial.model.verdict import Verdict
from seatrial.pairs.rounds import sparse_rounds
from tests.support.report_examples import EVIL, big, facts, judgement, node, pair, run_info, slow_node, troubled
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
    def plot(self) -> dict[str, Any]:
        """The data embedded for the heat map."""
        found: dict[str, Any] = json.loads(next(text for _, a, text in self.raw if a.get("type") == "application/json"))
        return found

    @property
    def policy(self) -> str:
        """The page's Content-Security-Policy."""
        return next(a["content"] or "" for tag, a in self.elements if tag == "meta" and a.get("http-equiv"))


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


def test_only_our_own_scripts_may_run() -> None:
    page = Page(check_page(run_info(), slow_node(EVIL), {}))
    running = [text for tag, a, text in page.raw if tag == "script" and not a.get("type")]
    hashes = {f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}" for text in running}
    assert len(hashes) == 2
    assert set(re.findall(r"sha256-[^']+", page.policy)) == hashes
    assert "'unsafe-inline'" not in page.policy.partition("script-src")[2].partition(";")[0]


def test_text_from_outside_is_only_text() -> None:
    plain = Page(check_page(run_info(), slow_node(), facts()))
    evil_facts = {EVIL: facts()["n3"]}
    quote = '" onload="alert(1)'
    run = run_info(cluster=quote, reason=EVIL, job="\x1b[31m" + EVIL, command=("seatrial", quote))
    evil = Page(check_page(run, slow_node(EVIL), evil_facts))
    assert [tag for tag, _ in evil.elements].count("script") == [tag for tag, _ in plain.elements].count("script") == 3
    assert not [a for _, a in evil.elements if any(name.startswith("on") for name in a)]
    assert EVIL in evil.seen
    assert quote in evil.seen
    assert "\x1b" not in evil.seen
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in json.dumps(evil.plot["hover"])
    assert "<script" not in json.dumps(evil.plot)


def test_heat_map_data() -> None:
    plot = Page(check_page(run_info(), slow_node(), {})).plot
    assert plot["tick_labels"] == ["n1", "n2", "n3", "n4"]
    assert plot["boundaries"] == [1.5]
    assert [(leaf["name"], leaf["middle"]) for leaf in plot["leaves"]] == [("leaf1", 0.5), ("leaf2", 2.5)]
    bandwidth, share, latency = plot["views"]
    assert bandwidth["unit"] == "MB/s"
    assert bandwidth["z"][0] == [None, 117.2, 70.6, 117.2]
    assert [row[2] for row in bandwidth["z"]] == [70.6, 70.6, None, 70.6]
    assert bandwidth["high"] == 117.67
    assert round(share["z"][0][2]) == 60
    assert latency["unit"] == "µs"
    assert latency["high_is_bad"] is True
    for said in ("n1 → n3", "70.6 MB/s, 97 % CI 70.5–70.7", "60 % of the limit", "SLOW", "latency 40.2 µs"):
        assert said in plot["hover"][0][2]


def test_what_is_too_fast_is_marked_and_does_not_stretch_the_scale() -> None:
    plot = Page(check_page(*troubled(), {})).plot
    assert plot["invalid"] == [[0, 1]]
    assert plot["views"][0]["high"] == 117.67
    assert plot["views"][0]["text"][3][2] == "NOT_RUN"


def test_healthy_noise_does_not_fill_the_scale() -> None:
    view = Page(check_page(run_info(), judgement(), {})).plot["views"][0]
    assert view["low"] == view["high"] / 2


def test_the_style_of_our_own_drawings_spares_plotly() -> None:
    css = next(text for tag, _, text in Page(check_page(run_info(), judgement(), {})).raw if tag == "style")
    assert "figure svg text" in css
    assert not re.search(r"(?:^|[,}]\s*)svg\b", css, re.MULTILINE)


def test_same_input_same_page() -> None:
    assert check_page(run_info(), slow_node(), facts()) == check_page(run_info(), slow_node(), facts())


def test_nothing_measured_still_gives_a_page() -> None:
    page = Page(check_page(run_info(), judgement(pairs=(), nodes=()), {}))
    assert "NOT_RUN" in page.seen
    assert "script-src 'none'" in page.policy


def test_ten_thousand_nodes() -> None:
    text = check_page(run_info(), big(10_000, 20, 4), {})
    page = Page(text)
    assert len(text) < 8_000_000
    assert page.plot["rows"] == 256
    assert "The worst 500 of 10000 nodes are shown" in page.seen
    assert "Of 40000 pairs only those that did not pass are listed, 8 in all." in page.seen
    assert "a cell is the worst of all pairs from one leaf to another" in page.seen
    assert "node7" in [row[0] for row in page.cells if row][1]


def test_beside_the_plotting_library_ten_thousand_sparse_nodes_take_three_megabytes() -> None:
    """Six random rounds over 250 leaves: few of their cells are empty, and each has a text."""
    from plotly.offline import get_plotlyjs

    names = [f"node{i}" for i in range(10_000)]
    rounds = sparse_rounds(names, 6, 1)
    pairs = tuple(pair(*ends) for one in rounds for a, b in one for ends in ((a, b), (b, a)))
    nodes = tuple(msgspec.structs.replace(node(name), leaf=f"leaf{i // 40}") for i, name in enumerate(names))
    text = check_page(run_info(), judgement(pairs=pairs, nodes=nodes), {})
    assert len(text) - len(get_plotlyjs()) < 3_000_000
    page = Page(text)
    assert page.plot["rows"] == 250
    assert "A cell without colour was not measured: " in page.seen
    assert page.plot["labels"][0] == "leaf0"
    assert "(worst " in page.plot["hover"][0][1]


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
