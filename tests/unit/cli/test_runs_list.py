"""The list of runs shows the first line of each report, and selects by verdict and node."""

import json
import os
from pathlib import Path

import pytest

from seatrial.archive import listing
from tests.support.builders import Cluster, names, record, slow_part
from tests.support.command_line import Seatrial
from tests.support.json_objects import parsed


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEATRIAL_ARCHIVE", str(tmp_path / "archive"))
    monkeypatch.setenv("COLUMNS", "200")
    record(Cluster(nodes=names(3)), tmp_path / "archive", "good")
    record(Cluster(nodes=names(4), parts=slow_part("node", "n2", 0.6)), tmp_path / "archive", "slow")
    return tmp_path / "archive"


def listed(seatrial: Seatrial, *words: str) -> str:
    return seatrial("runs", "list", *words).out


def test_the_first_line_of_each_report_is_in_the_list(archive: Path, seatrial: Seatrial) -> None:
    said = seatrial("report", "slow", code=None).out.splitlines()[0]
    row = parsed(listed(seatrial, "--failed", "--json"))["runs"][0]
    assert (row["run"], row["verdict"], row["headline"], row["exit_code"]) == ("slow", "SLOW", said, 1)
    assert said in listed(seatrial)


def test_failed_and_node_select(archive: Path, seatrial: Seatrial) -> None:
    failed = listed(seatrial, "--failed")
    assert [line.split()[0] for line in failed.splitlines()] == ["run", "slow"]
    assert listed(seatrial, "--node", "n4") == failed
    assert listed(seatrial, "--node", "n9") == f"No runs of n9 in {archive}.\n"


def test_ranks_of_one_machine_are_one_node(archive: Path, seatrial: Seatrial) -> None:
    """A run on a login node has the places vm:0 and vm:1."""
    record(Cluster(nodes=("vm:0", "vm:1", "other:0")), archive, "local")
    (row,) = parsed(listed(seatrial, "--node", "vm", "--json"))["runs"]
    assert (row["run"], row["nodes"]) == ("local", 2)
    assert listed(seatrial, "--node", "vm:1") == listed(seatrial, "--node", "vm")


def test_a_lost_or_damaged_line_is_made_again(archive: Path, seatrial: Seatrial) -> None:
    first = listed(seatrial)
    kept = archive / "slow" / listing.FILE
    for text in ("{", "null", json.dumps({**json.loads(kept.read_text()), "seatrial": "0", "headline": "old"})):
        kept.write_text(text)
        assert listed(seatrial) == first
        assert "link at 60 %" in json.loads(kept.read_text())["headline"]


@pytest.mark.parametrize("columns", [80, 120])
def test_on_a_narrow_terminal_the_headline_has_lines_of_its_own(
    archive: Path, columns: int, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial
) -> None:
    record(Cluster(nodes=names(3)), archive, "a-name-that-says-much-about-the-reason-of-a-run-and-is-long")
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = listed(seatrial).splitlines()
    assert max(map(len, lines)) <= columns
    assert "slow  check, 2026-11-21 10:00:00, complete, 4 nodes" in lines
    assert lines[lines.index("slow  check, 2026-11-21 10:00:00, complete, 4 nodes") + 1].startswith(
        "    SLOW  n2: link"
    )


def test_a_run_that_is_yet_to_begin_is_told_and_is_not_the_last(archive: Path, seatrial: Seatrial) -> None:
    assert "later than now" not in listed(seatrial)
    record(Cluster(nodes=names(3)), archive, "planted", started="2999-01-01T00:00:00.000Z")
    assert "1 run began later than now, so a clock is or was wrong:\n   planted  2999-01-01" in listed(seatrial)
    assert seatrial("runs", "show", "--json").data["info"]["run"] == "slow"
    ran = seatrial("report", "planted")
    assert "planted began at 2999-01-01T00:00:00.000Z, which is later than now" in ran.err


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to own runs as two users")
def test_the_last_run_is_the_last_of_ones_own(archive: Path, seatrial: Seatrial) -> None:
    for name, last in (("slow", "good"), ("good", "slow")):
        os.chown(archive / name, 65534, 65534)
        assert seatrial("runs", "show", "--json").data["info"]["run"] == last
