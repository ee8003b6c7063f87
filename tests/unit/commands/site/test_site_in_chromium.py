"""The pages in a real browser, from the disk: real clicks and keys, no complaint, no request but for the pages."""

from pathlib import Path

import pytest

from seatrial.commands.check.view import check_report
from seatrial.commands.site.addresses import pair_section
from seatrial.commands.site.pages import page_text, with_links
from tests.support.browser import CHROMIUM, Browser
from tests.support.builders import Cluster, leaves, names, record, slow_part
from tests.support.command_line import call
from tests.support.paths import ROOT
from tests.support.report_examples import big, run_info

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium (apt install chromium)")
PHONE, DESK = 390, 1440
"""Pixels of a narrow and of a wide window."""
AXE = ROOT / "build/axe/package/axe.min.js"
AXE_RUN = """axe.run(document, {resultTypes: ['violations']}).then((found) => [
    found.violations.filter((one) => ['serious', 'critical'].includes(one.impact)).map((one) =>
        [one.id, one.impact, one.nodes.length, one.nodes[0].html.slice(0, 160), one.nodes[0].failureSummary]),
    found.passes.length])"""
"""Violations of grave impact, each with its first element, and the number of rules that a page passes."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chromium")
    for number in (1, 2, 3):
        parts = slow_part("node", "n3", 0.6) if number > 1 else {}
        cluster = Cluster(nodes=names(6), leaf_of=leaves(6, 3), parts=parts, seed=number)
        day = f"2026-11-{number:02d}T10:0"
        record(cluster, folder / "archive", f"night{number}", started=f"{day}0:00Z", ended=f"{day}1:00Z")
    call("site", str(folder / "site"), archive=folder / "archive")
    return folder / "site"


def test_every_kind_of_page_opens_fits_and_asks_for_nothing(site: Path, browser: Browser) -> None:
    metrics = sorted(path.relative_to(site).as_posix() for path in site.glob("history/*.html"))
    pages = ["index.html", "runs.html", "over-time.html", "compare.html", "nodes/n3.html", "runs/night3.html",
             "pairs/night3.html", *metrics[:1]]  # fmt: skip
    for page in pages:
        for width, dark in ((DESK, False), (PHONE, True)):
            browser.open((site / page).as_uri(), width, dark=dark)
            assert browser.value("document.documentElement.scrollWidth") <= width, (page, width)
        assert browser.value("document.querySelectorAll('nav a').length") >= 5
    assert len(pages) == 8
    assert browser.complaints == []
    assert browser.requests == [(site / page).as_uri() for page in pages for _ in range(2)]


@pytest.mark.skipif(not AXE.is_file(), reason="no axe-core (make setup-test fetches it by npm)")
def test_axe_finds_nothing_serious_on_any_kind_of_page(site: Path, browser: Browser) -> None:
    """The content policy of the pages stays as it is: axe-core comes by the protocol of the developer tools."""
    metric = min(path.relative_to(site).as_posix() for path in site.glob("history/*.html"))
    found = []
    for page in ("index.html", "runs.html", "over-time.html", "compare.html", "nodes/n3.html", "runs/night3.html",
                 "pairs/night3.html", metric):  # fmt: skip
        for dark in (False, True):
            browser.open((site / page).as_uri(), dark=dark)
            browser.call("Runtime.evaluate", expression=AXE.read_text(encoding="utf-8"))
            violations, passed = browser.value(AXE_RUN)
            assert passed > 10, "axe-core looked at the page"
            found += [(page, "dark" if dark else "light", *violation) for violation in violations]
    assert not found, "\n".join(map(str, found))


def test_clicks_lead_from_the_index_to_raw_samples_and_back(site: Path, browser: Browser) -> None:
    browser.open((site / "index.html").as_uri())
    clicks = {
        "document.querySelector('.leaf a.SLOW')": "nodes/n3.html",
        "document.querySelector('td a[href*=night3]')": "runs/night3.html",
        """document.querySelector('svg a[href$="#pair-n3~3En4"]')""": "pairs/night3.html#pair-n3~3En4",
        """document.querySelector('nav a[href$="night3.html"]')""": "runs/night3.html",
        "document.querySelector('nav a')": "index.html",
    }
    for element, page in clicks.items():
        assert browser.follow(element) == f"{site.as_uri()}/{page}"
    assert browser.complaints == []


def test_tables_are_sorted_and_filtered_and_pages_are_printed(site: Path, browser: Browser) -> None:
    browser.open((site / "nodes" / "n3.html").as_uri())
    browser.click("document.querySelector('th button')")
    assert browser.value("document.querySelector('th:has(button)').getAttribute('aria-sort')") == "ascending"
    browser.click("document.querySelector('.filter input')")
    browser.type("n3 n5")
    shown = "[...document.querySelector('.filter + .box tbody').rows].filter((row) => !row.hidden)"
    assert browser.value(f"{shown}.map((row) => row.cells[0].textContent + row.cells[1].textContent)") == [
        "n3n5",
        "n5n3",
    ]
    for page in ("index.html", "runs/night3.html"):
        browser.open((site / page).as_uri())
        assert browser.pdf().startswith(b"%PDF")
    assert browser.complaints == []


def test_a_large_map_is_zoomed_ordered_and_read_by_keys_and_pointer(tmp_path: Path, browser: Browser) -> None:
    """72 nodes: more than the map of a page has rows. The first two of them have a page with samples."""
    report = check_report(run_info(), big(72, 12, 6), {})
    link = pair_section("node0", "node1", "r")
    for name, text in (("runs/r.html", page_text("runs/r", with_links(report, (), {link.text: link}))),
                       ("pairs/r.html", "<title>samples</title>")):  # fmt: skip
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text, encoding="utf-8")
    browser.open((tmp_path / "runs/r.html").as_uri())
    canvas, cell = (
        "document.querySelector('.pairs canvas')",
        "Number(document.querySelector('.pairs canvas').dataset.cell)",
    )
    readout = "document.querySelector('.pairs output').textContent"
    whole = browser.value(cell)
    browser.click("document.querySelector('.pairs button')")
    assert browser.value(cell) == pytest.approx(2 * whole, rel=0.01)
    browser.value(f"{canvas}.focus()")
    browser.keys("0", "ArrowRight", "ArrowRight")
    assert browser.value(cell) == pytest.approx(whole, rel=0.01)
    assert browser.value(readout).startswith("node0>node1: PASS; bandwidth in % of the limit: ")
    browser.keys("+")
    assert browser.value(cell) == pytest.approx(2 * whole, rel=0.01)
    browser.value("(() => { const order = document.querySelector('.pairs select'); order.selectedIndex = 1;"
                  " order.dispatchEvent(new Event('change')); })()")  # fmt: skip
    assert browser.value(readout) == ""
    browser.value("(() => { const order = document.querySelector('.pairs select'); order.selectedIndex = 0;"
                  " order.dispatchEvent(new Event('change')); })()")  # fmt: skip
    browser.value(f"{canvas}.focus()")
    before = len(browser.events)
    browser.keys("0", "ArrowRight", "ArrowRight", "Enter")
    browser.wait_for("Page.loadEventFired", before)  # the page may be there before the keys are answered
    assert browser.value("document.title") == "samples"
    browser.open((tmp_path / "runs/r.html").as_uri())
    left, top, width, _ = browser.place(canvas)
    side = browser.value(cell) * 72
    before = len(browser.events)
    browser.press(left + width - side + 1.5 * side / 72, top + width - side + 0.5 * side / 72)
    browser.wait_for("Page.loadEventFired", before)
    assert browser.value("location.hash") == "#pair-node0~3Enode1"
    assert browser.complaints == []
