"""The first lines of reports: kept when a run is closed, and a list goes on whatever is wrong with a run."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seatrial.archive import layout, listing
from seatrial.archive.layout import kept_file
from seatrial.archive.listing import StoredHeadline, keep_report, read_headline
from seatrial.cli import operation, report
from seatrial.frame.command_line import run
from tests.support.builders import Cluster, names, record

CLUSTER = Cluster(nodes=names(3))


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("a", "b", "c"):
        record(CLUSTER, tmp_path / "archive", name)
    return tmp_path / "archive"


@pytest.fixture
def foreign(archive: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The same runs as those of another user; the cache is this user's."""

    def is_own(path: Path) -> bool:
        return archive not in path.parents

    for room in (layout, operation):
        monkeypatch.setattr(room, "is_own", is_own)
    yield archive
    assert not list(archive.glob("*/headline.json.*"))


def listed(archive: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    capsys.readouterr()
    assert run(["runs", "list", "--json", "--archive", str(archive)]) == 0
    return {row["run"]: row for row in json.loads(capsys.readouterr().out)["data"]["runs"]}


@pytest.mark.parametrize("error", [ZeroDivisionError("x"), RecursionError(), MemoryError()])
def test_a_run_that_cannot_be_judged_hides_no_other(
    archive: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    real = report.report_of

    def judge(folder: Path) -> Any:
        if folder.name == "b":
            raise error
        return real(folder)

    monkeypatch.setattr(report, "report_of", judge)
    rows = listed(archive, capsys)
    assert [rows[name]["verdict"] for name in "abc"] == ["PASS", "", "PASS"]
    assert rows["b"]["exit_code"] is None
    assert type(error).__name__ in rows["b"]["unjudged"]
    assert run(["runs", "list", "--archive", str(archive)]) == 0
    text = capsys.readouterr().out
    assert "1 run not judged (?)" in text
    assert re.search(r"^ *b .*\?|\?$", text, re.MULTILINE)


def test_a_run_that_takes_for_ever_ends_at_its_limit(
    archive: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pattern backtracks: it is interrupted within one call of the matcher."""
    for name in "ac":
        keep_report(archive / name, "PASS", "kept", 0, ())
    monkeypatch.setattr(report, "report_of", lambda _: re.fullmatch(r"(x+x+)+y", "x" * 100))
    monkeypatch.setattr(operation, "RUN_S", 0.3)
    rows = listed(archive, capsys)
    assert [rows[name]["verdict"] for name in "abc"] == ["PASS", "", "PASS"]
    assert "judging it takes more than 0.3 s" in rows["b"]["unjudged"]


def test_a_list_of_runs_of_others_has_a_limit_in_total(
    foreign: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operation, "OTHERS_S", 0.0)
    rows = listed(foreign, capsys)
    assert {row["verdict"] for row in rows.values()} == {""}
    assert "`seatrial report a` judges it" in rows["a"]["unjudged"]
    monkeypatch.setattr(operation, "OTHERS_S", 600.0)
    assert {row["verdict"] for row in listed(foreign, capsys).values()} == {"PASS"}
    monkeypatch.setattr(operation, "OTHERS_S", 0.0)
    assert {row["verdict"] for row in listed(foreign, capsys).values()} == {"PASS"}, "they are in the cache"
    assert not list(foreign.glob("*/headline.json"))


def test_what_the_owner_wrote_is_taken_if_it_looks_like_a_headline(foreign: Path) -> None:
    path = foreign / "a" / listing.FILE
    line: dict[str, Any] = {"seatrial": "0.0.1", "verdict": "SLOW", "headline": "n1 is slow", "exit_code": 1}
    path.write_text(json.dumps(line))
    assert read_headline(foreign / "a") == StoredHeadline(**line)
    for wrong in ({"verdict": "\x1b[2J"}, {"exit_code": 99}, {"headline": "x" * 9000}, {"verdict": "x" * 100}):
        path.write_text(json.dumps(line | wrong))
        assert read_headline(foreign / "a") is None
    keep_report(foreign / "a", "PASS", "judged here", 0, ())
    path.write_text(json.dumps(line))
    kept = read_headline(foreign / "a")
    assert kept is not None
    assert kept.headline == "judged here", "the reader's own judgement comes first"


def test_a_changed_run_has_another_place_in_the_cache(foreign: Path) -> None:
    before = kept_file(foreign / "a", listing.FILE)
    assert before == kept_file(foreign / "a", listing.FILE)
    shutil.copy(foreign / "a" / layout.RUN_FILE, foreign / "new")
    (foreign / "new").replace(foreign / "a" / layout.RUN_FILE)
    assert before != kept_file(foreign / "a", listing.FILE)


def test_the_cache_is_bounded(foreign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "MOST_FILES", 2)
    for written_s, name in enumerate("abc"):
        keep_report(foreign / name, "PASS", "", 0, ())
        kept = kept_file(foreign / name, listing.FILE)
        assert kept is not None
        os.utime(kept, (written_s, written_s))  # files of one tick of the clock have the same time
    cache = kept_file(foreign / "a", listing.FILE)
    assert cache is not None
    assert len(list(cache.parent.iterdir())) == 3
    layout._made.cache_clear()
    assert read_headline(foreign / "c") is not None
    assert read_headline(foreign / "a") is None
    layout._made.cache_clear()
    monkeypatch.setattr(layout, "MOST_BYTES", 1)
    assert read_headline(foreign / "c") is None


def test_the_cache_is_examined_once_for_all_runs_of_a_list(
    foreign: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    examined: list[Path] = []
    monkeypatch.setattr(layout, "make_trusted", examined.append)
    listed(foreign, capsys)
    assert len(examined) == 1


def test_without_a_cache_nothing_is_kept(foreign: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    keep_report(foreign / "a", "PASS", "", 0, ())
    assert read_headline(foreign / "a") is None


def test_every_command_that_closes_a_run_keeps_its_headline(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("node,run,triad\nn1,1,100\nn2,1,101\nn1,2,100\nn2,2,101\n")
    words = [str(tmp_path / "t.csv"), "--column", "triad", "--unit", "B/s", "--name", "old"]
    assert run(["import", *words, "--archive", str(tmp_path / "archive")]) == 0
    for name in ("old-0001", "old-0002"):
        assert read_headline(tmp_path / "archive" / name) is not None
