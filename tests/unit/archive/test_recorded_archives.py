"""Recorded archives: every command that reads runs reads them, and reports the same."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from seatrial.archive.reader import damage_of, read_info, run_folders
from seatrial.frame.command_line import run
from tests.support.command_line import Seatrial
from tests.support.json_objects import parsed
from tests.support.paths import DATA

ARCHIVES = DATA / "archives"
EXPECTED: dict[str, dict[str, Any]] = json.loads((ARCHIVES / "expected.json").read_text())


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A copy, since reading adds samples.parquet."""
    for name in EXPECTED:
        shutil.copytree(ARCHIVES / name, tmp_path / name)
    return tmp_path


def holds(found: Any, expected: Any) -> bool:
    """Whether `found` has all that `expected` has; floating-point numbers may differ in their last digits."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            key in found and holds(found[key], value) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(found) == len(expected)
            and all(holds(one, other) for one, other in zip(found, expected, strict=True))
        )
    if isinstance(expected, float):
        return isinstance(found, float) and found == pytest.approx(expected, rel=1e-9)
    return bool(found == expected)


def test_every_archive_has_an_expectation() -> None:
    assert {folder.name for folder in run_folders(ARCHIVES)} == set(EXPECTED)
    assert all(damage_of(ARCHIVES / name, read_info(ARCHIVES / name)) == () for name in EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_run_is_reported_as_before(name: str, archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["report", name, "--archive", str(archive), "--json"])
    found = parsed(capsys.readouterr().out)
    assert holds(found, EXPECTED[name])
    assert code == EXPECTED[name]["exit_code"]
    page = archive / "page.html"
    assert run(["report", name, "--archive", str(archive), "--html", str(page)]) == code
    assert "</html>" in page.read_text()
    assert run(["report", name, "--archive", str(archive)]) == code
    assert EXPECTED[name]["verdict"] in capsys.readouterr().out


def test_runs_list_counts_their_samples(archive: Path, seatrial: Seatrial) -> None:
    rows = {row["run"]: row for row in seatrial("runs", "list", "--archive", archive, "--json").data["runs"]}
    assert {name: row["kind"] for name, row in rows.items()} == {name: name for name in EXPECTED}
    assert {row["problem"] for row in rows.values()} == {""}
    for name in EXPECTED:
        assert name in seatrial("runs", "show", name, "--archive", archive).out
        shown = seatrial("runs", "show", name, "--archive", archive, "--json").data
        assert (shown["run"], shown["info"]["kind"]) == (name, name)
    rows = {row["run"]: row for row in seatrial("runs", "list", "--archive", archive, "--json").data["runs"]}
    samples = {name: sum(_timed_samples(ARCHIVES / name)) for name in EXPECTED}
    assert {name: row["samples"] for name, row in rows.items()} == samples


def _timed_samples(folder: Path) -> list[int]:
    lines = (json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines())
    return [len(line["measurement"]["times_s"]) for line in lines if line["entry"] == "measurement"]
