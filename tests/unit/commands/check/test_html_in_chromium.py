"""The page in a real browser: drawn without a script, and nothing is complained of."""

import shutil
from pathlib import Path

import pytest

from seatrial.process.process import run
from tests.support.report_examples import facts, judgement, run_info
from tests.support.reports import check_page

CHROMIUM = shutil.which("chromium")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--virtual-time-budget=4000",
    "--enable-logging=stderr",
)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium (apt install chromium)")
def test_the_heat_map_is_drawn_and_nothing_is_complained_of(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(check_page(run_info(), judgement(), facts()), encoding="utf-8")
    argv = [str(CHROMIUM), *OPTIONS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()]
    done = run(argv, timeout_s=90)
    assert done.stdout.count("<svg") > 4, done.stderr[-2000:]
    assert "CONSOLE" not in done.stderr
