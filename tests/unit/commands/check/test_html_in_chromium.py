"""The page in a real browser: drawn without a script, and nothing is complained of."""

from pathlib import Path

import pytest

from tests.support.browser import CHROMIUM, Browser
from tests.support.report_examples import facts, judgement, run_info
from tests.support.reports import check_page


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium (apt install chromium)")
def test_the_heat_map_is_drawn_and_nothing_is_complained_of(tmp_path: Path, browser: Browser) -> None:
    page = tmp_path / "report.html"
    page.write_text(check_page(run_info(), judgement(), facts()), encoding="utf-8")
    browser.open(page.as_uri())
    assert browser.value("document.querySelectorAll('svg').length") > 4
    assert browser.value("document.scripts.length") == 0
    assert (browser.complaints, browser.requests) == ([], [page.as_uri()])
