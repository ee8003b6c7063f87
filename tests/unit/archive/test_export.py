"""Samples for other programs; derived, so they can be deleted and made anew."""

import csv
import json
import os
import random
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO

import duckdb
import pytest

from seatrial.archive import export as archive_export
from seatrial.archive import layout, samples
from seatrial.archive.export import export, kernel_table, samples_file
from seatrial.archive.journal import Delivered, encode
from seatrial.archive.layout import DamagedRun, ExportFormat
from seatrial.archive.samples import journals_of, opened, query_samples, system_errors, write_samples
from seatrial.archive.writer import ArchiveError, RunWriter
from seatrial.files.named import named_file
from seatrial.model.errors import FULL, SeatrialError
from seatrial.model.run import RecordedRun
from tests.support.builders import HEALTHY, Cluster, info_of, names, record, sail
from tests.support.other_users import give
from tests.support.second_user import OTHER, needs_root

STRANGE = ("it's", 'a"b', "a/b", "a b", "ü,\n;", "[n]*")
CLUSTER = Cluster(nodes=names(3))


def samples_in(recorded: RecordedRun, *, warm: bool = True) -> int:
    return sum(len(one.times_s) + warm * len(one.warmup_times_s) for one in recorded.measurements)


def test_samples_are_the_journals_numbers_to_the_last_bit(tmp_path: Path) -> None:
    recorded = sail(CLUSTER)
    folder = record(CLUSTER, tmp_path, recorded=recorded)
    sql = "SELECT round, source, target, iteration, time_s FROM samples WHERE NOT warm"
    rows = {(number, place): (source, target, time_s) for number, source, target, place, time_s in query_samples(
        [samples_file(folder)], sql)}  # fmt: skip
    expected = {
        (number, place): (one.source, one.target, time_s)
        for number, one in enumerate(recorded.measurements)
        for place, time_s in enumerate(one.times_s)
    }
    assert rows == expected


def test_samples_are_in_the_order_of_rounds_and_names(tmp_path: Path) -> None:
    """However the pairs of a round were delivered: warm-up first, iterations as they came."""
    recorded = sail(Cluster(nodes=names(40)), retest=False)
    of_round = [*{one.pair: one for one in recorded.measurements}.values()][:30]
    folder = tmp_path / "run.partial"
    folder.mkdir()
    lines = [
        encode(Delivered(number=number, measurement=one))
        for number in (1, 2, 3)
        for one in random.Random(number).sample(of_round, len(of_round))
    ]
    (folder / layout.JOURNAL_FILE).write_bytes(b"".join(lines))
    write_samples(folder, "run")
    columns = "SELECT round, source, target, warm, iteration, time_s FROM read_parquet(?)"
    rows = duckdb.execute(columns, [str(folder / layout.SAMPLES_FILE)]).fetchall()
    expected = [
        (number, one.source, one.target, warm, place, time_s)
        for number in (1, 2, 3)
        for one in sorted(of_round, key=lambda each: each.pair)
        for warm, times in ((True, one.warmup_times_s), (False, one.times_s))
        for place, time_s in enumerate(times)
    ]
    assert rows == expected


def test_deleted_and_made_anew_they_are_the_same_bytes(tmp_path: Path) -> None:
    folder = record(CLUSTER, tmp_path)
    path = folder / layout.SAMPLES_FILE
    before = path.read_bytes()
    path.unlink()
    assert samples_file(folder) == path
    assert path.read_bytes() == before


def test_strange_names_come_back_unharmed(tmp_path: Path) -> None:
    cluster = Cluster(nodes=STRANGE)
    folder = record(cluster, tmp_path)
    rows = query_samples([samples_file(folder)], "SELECT DISTINCT source FROM samples ORDER BY source")
    assert [name for (name,) in rows] == sorted(STRANGE)


FORMULAS = {
    "=cmd|'/C calc'!A0": "'=cmd|'/C calc'!A0",
    "+n1": "'+n1",
    "-n1": "'-n1",
    "@SUM(A1)": "'@SUM(A1)",
    " \t=1+1": "'  =1+1",
    "n1;=1+1": "n1;'=1+1",
    "\x1b]0;title\x07n1": "]0;titlen1",
    "n\x9b31m1": "n31m1",
    "n\u202e1\r\n=2": "n1  =2",
    "-12.5": "-12.5",
    "n-1": "n-1",
}
"""Names of nodes, and their cells."""


def test_no_cell_is_a_formula_or_an_escape_sequence(tmp_path: Path) -> None:
    folder = record(Cluster(nodes=tuple(FORMULAS)), tmp_path)
    export([folder], tmp_path / "out.csv", ExportFormat.CSV)
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert {row["source"] for row in rows} == {*FORMULAS.values()}
    assert {type(float(row["time_s"])) for row in rows} == {float}


def test_columns_that_somebody_added_have_harmless_heads_and_cells(tmp_path: Path) -> None:
    folder = record(CLUSTER, tmp_path)
    path = str(folder / layout.SAMPLES_FILE)
    extended = duckdb.read_parquet(path).project("*, ['=1', '\x1b[2J'] AS \"=cmd()\", -3 AS shift")
    digest = json.loads((folder / layout.RUN_FILE).read_text())["contents"]["journal_sha256"]
    options = f"FORMAT parquet, KV_METADATA {{journal_sha256: '{digest}'}}"
    extended.query("rows", f"COPY rows TO '{tmp_path / 'new'}' ({options})")
    (tmp_path / "new").replace(path)
    export([folder], tmp_path / "out.csv", ExportFormat.CSV)
    with (tmp_path / "out.csv").open(newline="") as lines:
        first = next(csv.DictReader(lines))
    assert (first["_cmd__"], first["shift"]) == ("['=1', '[2J']", "-3")


@pytest.mark.parametrize("place", ["it's here", 'quo"te', "st*r", "x[1]", "q?", "ü"])
def test_an_archive_of_any_name_holds_its_own_samples_only(tmp_path: Path, place: str) -> None:
    recorded = sail(CLUSTER)
    for neighbour in ("star", "x1", "qq"):
        record(CLUSTER, tmp_path / neighbour, recorded=recorded)
    folder = record(CLUSTER, tmp_path / place, recorded=recorded)
    target = tmp_path / place / "out'.csv"
    assert export([folder], target, ExportFormat.CSV) == samples_in(recorded)


@pytest.mark.parametrize("form", ExportFormat)
def test_every_format_holds_every_sample(tmp_path: Path, form: ExportFormat) -> None:
    recorded = sail(Cluster(nodes=STRANGE))
    folder = record(Cluster(nodes=STRANGE), tmp_path / "archive", recorded=recorded)
    target = tmp_path / "new folder" / f"it's.{form}"
    count = export([folder], target, form)
    assert count == samples_in(recorded)
    match form:
        case ExportFormat.CSV:
            with target.open(newline="") as lines:
                rows = list(csv.DictReader(lines))
            sources = {row["source"].replace(", ", ",\n") for row in rows}
        case ExportFormat.JSONL:
            rows = [json.loads(line) for line in target.read_text().splitlines()]
            sources = {row["source"] for row in rows}
        case ExportFormat.PARQUET:
            table = duckdb.connect().read_parquet(str(target))
            rows = [dict(zip(table.columns, row, strict=True)) for row in table.fetchall()]
            sources = {row["source"] for row in rows}
    assert len(rows) == count
    assert sources == set(STRANGE)
    assert {row["run"] for row in rows} == {"run"}


def test_two_runs_in_one_file(tmp_path: Path) -> None:
    recorded = sail(CLUSTER)
    folders = [record(CLUSTER, tmp_path, name, recorded) for name in ("one", "two")]
    assert export(folders, tmp_path / "both.parquet", ExportFormat.PARQUET) == 2 * samples_in(recorded)


def test_the_table_of_kernels(tmp_path: Path) -> None:
    folder = record(CLUSTER, tmp_path)
    rows = {(row[0], row[1]): row for row in kernel_table(folder)}
    assert set(rows) == {("pilot", "oneway"), ("survey", "oneway"), ("survey", "pingpong")}
    assert rows["survey", "oneway"][2:5] == (1 << 20, 6, 6 * 3 * 3)
    latency_s, bytes_per_s, raw_s = rows["survey", "pingpong"][5:]
    assert (latency_s, bytes_per_s) == (pytest.approx(20e-6, rel=0.01), None)
    assert raw_s == pytest.approx(40e-6, rel=0.01)
    assert rows["survey", "oneway"][5:7] == (None, pytest.approx(HEALTHY, rel=0.01))


@pytest.mark.parametrize("form", ExportFormat)
def test_a_folder_in_the_targets_place_is_a_sentence(tmp_path: Path, form: ExportFormat) -> None:
    folder = record(CLUSTER, tmp_path)
    with pytest.raises(ArchiveError, match="cannot be written"):
        export([folder], tmp_path, form)


def test_a_target_below_a_file_is_a_sentence(tmp_path: Path) -> None:
    folder = record(CLUSTER, tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ArchiveError):
        export([folder], tmp_path / "file" / "out.csv", ExportFormat.CSV)


def test_what_takes_the_place_of_a_file_that_is_half_written_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of a group: somebody gives a file of the caller's its name."""
    folder = record(CLUSTER, tmp_path)
    target = tmp_path / "out.csv"

    def no_space(handle: int) -> Path:
        target.write_text("precious")
        os.write(handle, b"half")
        return Path("/dev/full")

    monkeypatch.setattr("seatrial.archive.export.descriptor_path", no_space)
    with pytest.raises(ArchiveError, match="cannot be written"):
        export([folder], target, ExportFormat.CSV)
    assert target.read_text() == "precious"
    assert {*tmp_path.iterdir()} == {folder, target}


def test_a_run_that_was_never_closed_says_what_to_do(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path, info_of(CLUSTER))
    with pytest.raises(SeatrialError, match="seatrial runs recover"):
        samples_file(writer.folder)


def test_samples_that_are_damaged_or_of_another_journal_are_made_again(tmp_path: Path) -> None:
    folder, other = record(CLUSTER, tmp_path), record(Cluster(nodes=names(4)), tmp_path, "other")
    good = kernel_table(folder)
    for wrong in (b"PAR1 and no more", (other / layout.SAMPLES_FILE).read_bytes()):
        (folder / layout.SAMPLES_FILE).write_bytes(wrong)
        assert kernel_table(folder) == good
        (folder / layout.SAMPLES_FILE).write_bytes(wrong)
        assert export([folder], tmp_path / "out.csv", ExportFormat.CSV) == samples_in(sail(CLUSTER))


@pytest.mark.parametrize("number", FULL)
def test_a_full_disk_is_said_in_the_systems_words(number: int) -> None:
    text = f'Async write failed: {{"exception_message":"Could not write file: {os.strerror(number)}"}}'
    with pytest.raises(OSError, match=rf"^\[Errno {number}\] {os.strerror(number)}$"), system_errors():
        raise duckdb.IOException(text)


def _changed(folder: Path, query: str) -> None:
    """Make samples.parquet of the run anew, from a query over what it holds, with the same journal named in it."""
    path, new = folder / layout.SAMPLES_FILE, folder / "new"
    digest = journals_of([path])[path]
    with opened() as connection:
        connection.execute(
            f"COPY (SELECT {query}) TO '{new}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 1000000, "
            f"KV_METADATA {{journal_sha256: '{digest}'}})"
        )
    new.rename(path)


@needs_root
def test_a_few_bytes_of_somebody_else_do_not_become_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = record(CLUSTER, tmp_path / "archive", "run")
    rows = export([folder], tmp_path / "before.csv", ExportFormat.CSV)
    _changed(folder, f"s.* FROM '{folder / layout.SAMPLES_FILE}' s CROSS JOIN range(3000)")
    monkeypatch.setattr(samples, "ALWAYS_ROWS", rows)
    give(folder, OTHER)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert export([folder], tmp_path / "after.csv", ExportFormat.CSV) == rows
    assert (tmp_path / "after.csv").read_bytes() == (tmp_path / "before.csv").read_bytes()


def test_a_long_name_is_not_repeated_in_each_row(tmp_path: Path) -> None:
    folder = record(CLUSTER, tmp_path / "archive", "run")
    _changed(folder, f"* REPLACE (repeat('n', 5000) AS source) FROM '{folder / layout.SAMPLES_FILE}'")
    with pytest.raises(DamagedRun, match="texts of more than 4096 letters"):
        export([folder], tmp_path / "samples.csv", ExportFormat.CSV)


@pytest.mark.parametrize("form", ExportFormat)
def test_samples_that_are_cut_off_meanwhile_are_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: ExportFormat
) -> None:
    folder = record(CLUSTER, tmp_path / "archive", "run")

    def begun(path: Path) -> AbstractContextManager[IO[bytes]]:
        os.truncate(folder / layout.SAMPLES_FILE, 100)
        return named_file(path)

    monkeypatch.setattr(archive_export, "named_file", begun)
    with pytest.raises(DamagedRun, match="Samples cannot be read"):
        export([folder], tmp_path / "samples", form)
    assert not (tmp_path / "samples").exists()
