"""The form of the documents: a page for every command, and prose that fits into a terminal."""

import re
from pathlib import Path

import pytest

from seatrial.cli.main import SUMMARIES
from tests.support.documents import FENCE
from tests.support.paths import ROOT

PAGES = [*sorted(ROOT.glob("docs/*.md")), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]
COLUMNS = 100


def long_lines(text: str) -> list[str]:
    """Lines of prose above 100 columns that have a blank to break at; tables and listings have no such limit."""
    prose = FENCE.sub("", text)
    wide = [line for line in prose.splitlines() if len(line) > COLUMNS]
    return [line for line in wide if not re.match(r"\s*\||#|    |!\[", line) and " " in line.strip()[:COLUMNS]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_prose_is_wrapped(page: Path) -> None:
    assert long_lines(page.read_text()) == []


def test_a_long_line_of_prose_is_found_and_a_long_row_is_not() -> None:
    words = "word " * 25
    assert long_lines(f"short\n{words}\n| {words} |\n```\n{words}\n```\n    {words}\n") == [words]


def test_every_command_has_a_page_of_its_own_that_begins_with_a_title_and_shows_how_to_call_it() -> None:
    for name in SUMMARIES:
        page = (ROOT / "docs" / f"{name}.md").read_text()
        assert page.startswith("# "), name
        assert f"seatrial {name}" in "\n".join(page.splitlines()[:40]), name
