"""The pages in a real browser, from the disk: drawn without a script, complained of by nothing, and printed."""

import re
from pathlib import Path

import pytest

from seatrial.process.process import run
from tests.support.builders import Cluster, leaves, names, record, slow_part
from tests.support.command_line import Seatrial
from tests.unit.commands.check.test_html_in_chromium import CHROMIUM, OPTIONS

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium (apt install chromium)")


@pytest.fixture
def site(tmp_path: Path, seatrial: Seatrial) -> Path:
    for number in (1, 2, 3):
        parts = slow_part("node", "n3", 0.6) if number > 1 else {}
        cluster = Cluster(nodes=names(6), leaf_of=leaves(6, 3), parts=parts, seed=number)
        day = f"2026-11-{number:02d}T10:0"
        record(cluster, tmp_path / "archive", f"night{number}", started=f"{day}0:00Z", ended=f"{day}1:00Z")
    seatrial("site", str(tmp_path / "site"), "--archive", str(tmp_path / "archive"))
    return tmp_path / "site"


def shown(site: Path, page: str, *options: str) -> tuple[str, str]:
    """The document after loading, and what the browser logged."""
    argv = [str(CHROMIUM), *OPTIONS, f"--user-data-dir={site.parent / 'profile'}", *options, (site / page).as_uri()]
    done = run(argv, timeout_s=90)
    return done.stdout, done.stderr


def test_index_node_and_run_are_drawn_and_nothing_is_complained_of(site: Path) -> None:
    wanted = {"index.html": 'class="SLOW a', "nodes/n3.html": 'class="filter"', "runs/night3.html": "<svg",
              "pairs/night3.html": 'id="pair-n3~3En4"'}  # fmt: skip
    for page, part in wanted.items():
        document, log = shown(site, page, "--dump-dom")
        assert part in document, log[-2000:]
        assert "CONSOLE" not in log, log


def test_a_click_on_a_pair_leads_to_its_samples(site: Path) -> None:
    """The policy of the page permits our script alone, so the click is made in a copy without it."""
    text = (site / "runs" / "night3.html").read_text(encoding="utf-8")
    click = """const pair = document.querySelector('a[href$="#pair-n3~3En4"]'); pair.focus();
    document.title = [document.activeElement === pair, pair.href.baseVal].join(' ');"""
    copied = re.sub(r"<meta http-equiv[^>]*>", "", text).replace("</body>", f"<script>{click}</script></body>")
    (site / "runs" / "copy.html").write_text(copied, encoding="utf-8")
    document, log = shown(site, "runs/copy.html", "--dump-dom")
    assert "<title>true ../pairs/night3.html#pair-n3~3En4</title>" in document, log[-2000:]
    document, log = shown(site, "pairs/night3.html", "--dump-dom")
    assert 'id="pair-n3~3En4"' in document and "CONSOLE" not in log, log


def test_the_index_prints(site: Path) -> None:
    pdf = site.parent / "index.pdf"
    shown(site, "index.html", f"--print-to-pdf={pdf}")
    assert pdf.read_bytes().startswith(b"%PDF")


def test_a_table_is_sorted_and_filtered(site: Path) -> None:
    """The policy of the page permits our script alone, so the clicks are made in a copy without it."""
    text = (site / "nodes" / "n3.html").read_text(encoding="utf-8")
    clicks = "document.querySelector('th button').click(); const field = document.querySelector('.filter input');"
    clicks += "field.value = 'n3 n5'; field.dispatchEvent(new Event('input'));"
    copied = re.sub(r"<meta http-equiv[^>]*>", "", text).replace("</body>", f"<script>{clicks}</script></body>")
    (site / "nodes" / "copy.html").write_text(copied, encoding="utf-8")
    document, log = shown(site, "nodes/copy.html", "--dump-dom")
    assert 'aria-sort="ascending"' in document, log[-2000:]
    assert (document.count("<tr hidden"), "CONSOLE" in log) == (8, False)
