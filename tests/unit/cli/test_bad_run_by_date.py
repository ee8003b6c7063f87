"""One bad run in an archive of several users does not keep the others from a range of dates."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import msgspec
import pytest

from seatrial.archive import layout
from seatrial.archive.reader import read_info
from seatrial.archive.run_sets import MOST_NOTES, find_runs
from seatrial.archive.writer import RunWriter
from seatrial.frame.command_line import run
from seatrial.model.run import Ending
from tests.support.builders import Cluster, abandoned, info_of, names
from tests.support.run_archives import healthy_run

Read = pytest.CaptureFixture[str]
BAD = "h9"
COMMANDS = (
    ("history", "bandwidth"),
    ("compare", "--plan", "bandwidth"),
    ("compare", "--plan", "check"),
    ("compare", "h1", ".."),
    ("judge", "--as", "series", "--runs", "..", "--column", "bandwidth"),
    ("check", "--replay", "{}/h1", "--baseline", ".."),
    ("judge", "--as", "fleet", "--runs", "..", "--column", "bandwidth"),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    for number in (1, 2, 3, 9):
        healthy_run(folder, number, nodes=3)
    return folder


def garbage(run_folder: Path) -> None:
    samples = run_folder / layout.SAMPLES_FILE
    content = bytearray(samples.read_bytes())
    content[8 : len(content) // 2] = bytes(len(content) // 2 - 8)
    samples.write_bytes(content)


def unmade(run_folder: Path) -> None:
    (run_folder / layout.SAMPLES_FILE).unlink()
    journal = run_folder / layout.JOURNAL_FILE
    journal.write_bytes(b"x" * journal.stat().st_size)


def shorter(run_folder: Path) -> None:
    os.truncate(run_folder / layout.JOURNAL_FILE, 100)


def described(run_folder: Path, **changes: object) -> None:
    path = run_folder / layout.RUN_FILE
    path.write_bytes(msgspec.json.encode(msgspec.json.decode(path.read_bytes()) | changes))


def half_described(run_folder: Path) -> None:
    os.truncate(run_folder / layout.RUN_FILE, 100)


def of_tomorrow(run_folder: Path) -> None:
    described(run_folder, format=99)


def without_a_time(run_folder: Path) -> None:
    described(run_folder, started="yesterday")


SPOILERS = (garbage, unmade, shorter, half_described, of_tomorrow, without_a_time)


@pytest.mark.parametrize(
    ("words", "spoil"),
    [
        *((COMMANDS[0], spoil) for spoil in SPOILERS),
        *((words, SPOILERS[place % len(SPOILERS)]) for place, words in enumerate(COMMANDS[1:])),
    ],
)
def test_a_run_that_cannot_be_read_is_left_out_with_a_note(
    words: tuple[str, ...], spoil: Callable[[Path], None], whole: Path, tmp_path: Path, capsys: Read
) -> None:
    archive, good = tmp_path / "archive", tmp_path / "good"
    shutil.copytree(whole, archive)
    shutil.copytree(whole, good, ignore=shutil.ignore_patterns(BAD))
    spoil(archive / BAD)
    expected = run([*(word.format(good) for word in words), "--archive", str(good)])
    capsys.readouterr()
    assert run([*(word.format(archive) for word in words), "--archive", str(archive)]) == expected
    printed = capsys.readouterr()
    assert f"The run {BAD} is left out: " in " ".join((printed.out + printed.err).split())


@pytest.mark.parametrize(("dead", "since", "noted"), [(True, "", 1), (False, "", 0), (True, "2026-12-01", 0)])
def test_a_run_that_was_cut_off_is_left_out_with_a_note(
    dead: bool, since: str, noted: int, whole: Path, tmp_path: Path, capsys: Read
) -> None:
    """One that is being measured, or that began at another time, is not missed."""
    archive = tmp_path / "archive"
    shutil.copytree(whole, archive)
    writer = RunWriter(archive, info_of(Cluster(nodes=names(3)), run="open", ending=Ending.RUNNING, ended=""))
    if dead:
        abandoned(writer)
    run(["history", "bandwidth", "--runs", f"{since}..", "--archive", str(archive)])
    assert capsys.readouterr().err.count("The run open is left out: It was cut off; ") == noted


def test_a_run_that_is_named_is_not_left_out(whole: Path, tmp_path: Path, capsys: Read) -> None:
    archive = tmp_path / "archive"
    shutil.copytree(whole, archive)
    garbage(archive / BAD)
    assert run(["compare", "h1", f"h2,{BAD}", "--archive", str(archive)]) == 2
    assert f"The run {BAD} cannot be read: Samples" in capsys.readouterr().err


def test_facts_of_such_a_run_that_lead_elsewhere_hide_no_comparison(whole: Path, tmp_path: Path, capsys: Read) -> None:
    archive = tmp_path / "archive"
    shutil.copytree(whole, archive)
    for path in (archive / BAD / layout.FACTS_FOLDER).iterdir():
        path.unlink()
        path.symlink_to("/dev/zero")
    run(["compare", "h1", "..", "--archive", str(archive)])
    assert "runs compared with 1 run" in " ".join(capsys.readouterr().out.split())


def test_thousands_of_bad_runs_have_a_few_notes(whole: Path, tmp_path: Path, capsys: Read) -> None:
    archive = tmp_path / "archive"
    shutil.copytree(whole, archive)
    shorter(archive / BAD)
    for number in range(20):
        shutil.copytree(archive / BAD, archive / f"bad-{number}")
    run(["compare", "--plan", "bandwidth", "--archive", str(archive)])
    notes = [line for line in capsys.readouterr().err.splitlines() if "left out" in line]
    assert len(notes) == MOST_NOTES + 1
    assert "16 more runs are left out" in notes[-1]


def test_values_that_seatrial_does_not_write_are_no_internal_error(whole: Path, tmp_path: Path, capsys: Read) -> None:
    archive = tmp_path / "archive"
    shutil.copytree(whole, archive)
    assert run(["baseline", "set", "good", "h1,h2", "--archive", str(archive)]) == 0
    values = archive / "baselines" / "good" / "0001" / "values.parquet"
    good = values.rename(tmp_path / "good.parquet")
    for spoilt in ("'x' AS phase", "'x' AS kernel", "7 AS compared", "NULL AS message_bytes", "0 AS value",
                   "NULL AS source"):  # fmt: skip
        with duckdb.connect() as connection:
            connection.read_parquet(str(good)).project(f"* REPLACE ({spoilt})").write_parquet(str(values))
        assert run(["compare", "good", "h3", "--archive", str(archive)]) == 2, spoilt
        assert "its values are not what seatrial writes" in capsys.readouterr().err, spoilt


@pytest.mark.parametrize("started", ["9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00"])
def test_a_time_of_no_year_stops_no_range(started: str, whole: Path, tmp_path: Path, capsys: Read) -> None:
    archive, good = tmp_path / "archive", tmp_path / "good"
    shutil.copytree(whole, archive)
    shutil.copytree(whole, good, ignore=shutil.ignore_patterns(BAD))
    described(archive / BAD, started=started)
    codes = [run(["history", "bandwidth", "--runs", "2026-11-01..", "--archive", str(one)]) for one in (archive, good)]
    assert codes[0] == codes[1]
    assert capsys.readouterr().out.count("h3 ") == 2


def test_a_run_has_the_name_of_its_folder(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that said to be h1 took the place of h1 in ranges of dates, as its folder comes first by name."""
    archive = tmp_path / "archive"
    shutil.copytree(whole, archive)
    shutil.copytree(archive / BAD, archive / "a1")
    described(archive / "a1", run="h1", started=read_info(archive / "h1").started)
    (archive / "latest").symlink_to("h3")  # another name for one run
    stored = {one.summary.run: one.folder.name for one in find_runs(archive, "..").runs}
    assert stored.keys() == {"a1", "h1", "h2", "h3", BAD}
    assert (stored["h1"], stored["a1"]) == ("h1", "a1")
    monkeypatch.chdir(archive / "h1")
    assert read_info(Path()).run == "h1"
    (tmp_path / "beside").symlink_to(archive / "h3")
    assert read_info(tmp_path / "beside").run == "beside"
