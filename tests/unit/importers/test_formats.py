"""The table of importers, and what adding one takes: its module, its line in the table, its row in docs/locate.md."""

import re

import pytest

from seatrial.importers.formats import FORMATS, read_matrix, read_matrix_files
from seatrial.model.errors import UsageError
from tests.support.paths import ROOT

LISTED = re.compile(r"^\| `([a-z0-9]+)` \|", re.MULTILINE)


def test_the_documentation_has_a_row_for_each_format() -> None:
    rows = LISTED.findall((ROOT / "docs" / "locate.md").read_text())
    assert set(rows) >= set(FORMATS)


def test_no_other_place_lists_the_formats() -> None:
    """Otherwise an importer takes more than three files."""
    places = [*(ROOT / "src" / "seatrial" / "cli").glob("*.py"), ROOT / "docs" / "commands.md"]
    assert [path.name for path in places if re.search(r"nxnlatbw\W+osu|osu\W+mpigraph", path.read_text())] == []


def test_only_some_formats_come_as_a_folder() -> None:
    with pytest.raises(UsageError, match=r"one file.*Formats for folders: osu, linktest"):
        read_matrix_files({"a": "1"}, "csv")


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'imb' is not a known format\. Known: auto, mpigraph"):
        read_matrix("", "imb")
