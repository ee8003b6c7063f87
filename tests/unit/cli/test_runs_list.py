"""The list of runs shows the first line of each report, and selects by verdict and node."""

import json
from pathlib import Path

import pytest

from seatrial.archive import headlines
from seatrial.cli.main import run
from tests.support.builders import Cluster, names, record, slow_part
from tests.support.json_objects import parsed

Said = pytest.CaptureFixture[str]


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "archive"))
    monkeypatch.setenv("COLUMNS", "200")
    record(Cluster(nodes=names(3)), tmp_path / "archive", "good")
    record(Cluster(nodes=names(4), parts=slow_part("node", "n2", 0.6)), tmp_path / "archive", "slow")
    return tmp_path / "archive"


def listed(capsys: Said, *words: str) -> str:
    assert run(["runs", "list", *words]) == 0
    return capsys.readouterr().out


def test_the_first_line_of_each_report_is_in_the_list(archive: Path, capsys: Said) -> None:
    run(["report", "slow"])
    said = capsys.readouterr().out.splitlines()[0]
    row = parsed(listed(capsys, "--failed", "--json"))["runs"][0]
    assert (row["run"], row["verdict"], row["headline"], row["exit_code"]) == ("slow", "SLOW", said, 1)
    assert said in listed(capsys)


def test_failed_and_node_select(archive: Path, capsys: Said) -> None:
    failed = listed(capsys, "--failed")
    assert [line.split()[0] for line in failed.splitlines()] == ["run", "slow"]
    assert listed(capsys, "--node", "n4") == failed
    assert listed(capsys, "--node", "n9") == f"No runs of n9 in {archive}.\n"


def test_ranks_of_one_machine_are_one_node(archive: Path, capsys: Said) -> None:
    """A run on a login node has the places vm:0 and vm:1."""
    record(Cluster(nodes=("vm:0", "vm:1", "other:0")), archive, "local")
    (row,) = parsed(listed(capsys, "--node", "vm", "--json"))["runs"]
    assert (row["run"], row["nodes"]) == ("local", 2)
    assert listed(capsys, "--node", "vm:1") == listed(capsys, "--node", "vm")


def test_a_lost_or_damaged_line_is_made_again(archive: Path, capsys: Said) -> None:
    first = listed(capsys)
    kept = archive / "slow" / headlines.FILE
    for text in ("{", "null", json.dumps({**json.loads(kept.read_text()), "seatrial": "0", "headline": "old"})):
        kept.write_text(text)
        assert listed(capsys) == first
        assert "link at 60 %" in json.loads(kept.read_text())["headline"]


@pytest.mark.parametrize("columns", [80, 120])
def test_on_a_narrow_terminal_the_headline_has_lines_of_its_own(
    archive: Path, columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record(Cluster(nodes=names(3)), archive, "a-name-that-says-much-about-the-reason-of-a-run-and-is-long")
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = listed(capsys).splitlines()
    assert max(map(len, lines)) <= columns
    assert "slow  check, 2026-11-21 10:00:00, complete, 4 nodes" in lines
    assert lines[lines.index("slow  check, 2026-11-21 10:00:00, complete, 4 nodes") + 1].startswith(
        "    SLOW  n2: link"
    )
