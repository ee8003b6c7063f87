"""The table of importers, and what adding one takes: its module, a line of the table, a row of docs/judge-pairs.md."""

import re

import pytest

from seatrial.importers.formats import FORMATS, read_matrix, read_matrix_files
from seatrial.model.errors import UsageError
from tests.support.paths import ROOT

LISTED = re.compile(r"^\| `([a-z0-9]+)` \|", re.MULTILINE)


def test_the_documentation_has_a_row_for_each_format() -> None:
    rows = LISTED.findall((ROOT / "docs" / "judge-pairs.md").read_text())
    assert set(rows) >= set(FORMATS)


def test_no_other_place_lists_the_formats() -> None:
    """Otherwise an importer takes more than three files."""
    places = [*(ROOT / "src" / "seatrial" / "cli").glob("*.py"), ROOT / "docs" / "commands.md"]
    assert [path.name for path in places if re.search(r"nxnlatbw\W+osu|osu\W+mpigraph", path.read_text())] == []


def test_only_some_formats_come_as_a_folder() -> None:
    with pytest.raises(UsageError, match=r"one file.*Formats for folders: nccl, osu, linktest"):
        read_matrix_files({"a": "1"}, "csv")


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'imb' is not a known format\. Known: auto, mpigraph"):
        read_matrix("", "imb")


@pytest.mark.parametrize(
    ("name", "metric", "factor"),
    [
        ("latency(usec)", "latency", 1e-6),
        ("lat[msec]", "latency", 1e-3),
        ("latency_seconds", "latency", 1.0),
        ("time", "latency", 1e-6),
        ("bandwidth(MBytes/sec)", "bandwidth", 1e6),
        ("bw(GiB/s)", "bandwidth", 2.0**30),
        ("bandwidth(Gb/s)", "bandwidth", 1.25e8),
        ("bandwidth_gb_s", "bandwidth", 1e9),
        ("bandwidth_gbps", "bandwidth", 1.25e8),
        ("bandwidth_kb_s", "bandwidth", 1e3),
        ("bw(TB/s)", "bandwidth", 1e12),
        ("bandwidth (B/s)", "bandwidth", 1.0),
        ("bandwidth", "bandwidth", 1e6),
    ],
)
def test_the_unit_in_the_name_of_a_column_in_the_fields_spellings(name: str, metric: str, factor: float) -> None:
    table = read_matrix(f"source,target,{name}\nn1,n2,4\nn2,n1,4\nn1,n3,4\nn3,n1,4\nn2,n3,4\nn3,n2,4\n")
    values = table.latency_s if metric == "latency" else table.bandwidth_bytes_per_s
    assert values == pytest.approx([4 * factor] * 6)
