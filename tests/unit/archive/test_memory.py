"""Little memory: runs are closed nevertheless, and what cannot be done is said in a sentence."""

import errno
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from seatrial.archive import layout
from seatrial.archive.export import export, kernel_table
from seatrial.archive.layout import ExportFormat
from seatrial.archive.reader import read_info, read_run
from seatrial.archive.recovery import partial_folders, recover
from seatrial.archive.samples import INTERRUPTED, TooLittleMemory, opened
from seatrial.archive.writer import ArchiveError, RunWriter
from seatrial.frame.command_line import explain, run
from seatrial.model.errors import ErrorKind, ExitCode, SeatrialError
from seatrial.process.time_limit import TimeUp, timed
from tests.support.builders import Cluster, fill, info_of, names, record, sail
from tests.support.json_objects import parsed

SMALL = Cluster(nodes=names(3))


@pytest.fixture
def cramped(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under `ulimit -v 300000`."""
    allow(monkeypatch, 300 << 20)


def allow(monkeypatch: pytest.MonkeyPatch, size_bytes: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (size_bytes, size_bytes))


@pytest.mark.usefixtures("cramped")
def test_a_run_is_closed_without_samples_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = sail(SMALL)
    folder = record(SMALL, tmp_path, recorded=recorded)
    assert read_run(folder).measurements == recorded.measurements
    assert not (folder / layout.SAMPLES_FILE).exists()
    assert "samples.parquet was left out" in read_info(folder).reason
    assert "ulimit -v" in read_info(folder).reason
    with pytest.raises(TooLittleMemory, match=r"300 MiB.*safe in the journal"):
        kernel_table(folder)
    allow(monkeypatch, resource.RLIM_INFINITY)
    assert kernel_table(folder)
    assert (folder / layout.SAMPLES_FILE).exists()


@pytest.mark.usefixtures("cramped")
def test_recovering_waits_for_memory_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = sail(SMALL)
    writer = RunWriter(tmp_path, info_of(SMALL))
    fill(writer, SMALL, recorded)
    with pytest.raises(TooLittleMemory):
        recover(writer.folder)
    assert partial_folders(tmp_path) == [writer.folder]
    allow(monkeypatch, resource.RLIM_INFINITY)
    assert recover(writer.folder).measurements == len(recorded.measurements)


def test_runs_are_listed_without_their_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record(SMALL, tmp_path)
    allow(monkeypatch, 300 << 20)
    counted = sum(len(one.times_s) for one in sail(SMALL).measurements)
    assert run(["runs", "list", "--json", "--archive", str(tmp_path)]) == ExitCode.PASS
    assert [row["samples"] for row in parsed(capsys.readouterr().out)["runs"]] == [counted]


def test_duckdbs_own_refusal_is_a_sentence() -> None:
    with pytest.raises(TooLittleMemory, match="too little memory") as told, opened() as connection:
        connection.execute("SET memory_limit='1MB'; SET temp_directory=''")
        connection.sql("SELECT count(DISTINCT hash(i)) FROM range(10000000) t(i)").fetchall()
    assert "\n" not in str(told.value)


def test_what_interrupts_a_query_comes_out_of_it() -> None:
    """DuckDB loses what the handler of a signal raises, and says that the query was interrupted."""
    with pytest.raises(KeyboardInterrupt), opened():
        raise RuntimeError(INTERRUPTED)
    with pytest.raises(TimeUp), timed(0.05), opened():
        try:
            time.sleep(10)
        except TimeUp:
            raise RuntimeError(INTERRUPTED) from None
    with pytest.raises(RuntimeError, match="another"), opened():
        raise RuntimeError("another")


def test_a_full_tmp_is_no_hindrance(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = record(SMALL, tmp_path)

    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", full)
    assert kernel_table(folder)


def test_a_line_longer_than_the_least_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seatrial.archive.samples.LEAST_LINE_BYTES", 1)
    assert kernel_table(record(SMALL, tmp_path))


def test_an_export_that_cannot_be_written_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = record(SMALL, tmp_path)
    target = tmp_path / "out.csv"

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ArchiveError, match=r"out\.csv cannot be written: there is no space left"):
        export([folder], target, ExportFormat.CSV)
    assert [*tmp_path.iterdir()] == [folder]


def test_too_little_for_anything_is_said_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    allow(monkeypatch, 100 << 20)
    assert run(["runs", "list", "--archive", str(tmp_path)]) == ExitCode.INCOMPLETE
    assert "100 MiB of memory (ulimit -v), and seatrial takes 256" in capsys.readouterr().err
    assert run(["--version"]) == ExitCode.PASS


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        ImportError("x.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
    ],
)
def test_whatever_ends_for_want_of_memory_is_no_bug(error: Exception) -> None:
    failure = explain(error)
    assert (failure.exit_code, failure.kind) == (ExitCode.INCOMPLETE, ErrorKind.NO_MEMORY)
    assert "ulimit -v" in failure.sentence
    assert explain(RuntimeError("x")).kind is ErrorKind.INTERNAL
    assert issubclass(TooLittleMemory, SeatrialError)


WRITING = """
import resource, sys
from pathlib import Path
from seatrial.archive.samples import library, write_samples
library()
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
write_samples(Path(sys.argv[1]), "run")
print((peak() - before) * 1024)
"""
LINE = (
    '{"entry":"measurement","number":%d,"measurement":{"phase":"retest","repetition":0,"shape":{"kernel":"oneway",'
    '"message_bytes":1048576,"window":4,"warmup":0,"iterations":1000},"source":"n1","target":"n2","times_s":[%s],'
    '"pairs_at_once":1,"verified":0,"errors":0}}\n'
)


def test_the_samples_of_a_large_run_take_little_memory(tmp_path: Path) -> None:
    times = ",".join(str(1e-4 + number * 1e-9) for number in range(1000))
    (tmp_path / layout.JOURNAL_FILE).write_text("".join(LINE % (number, times) for number in range(1000)))
    argv = [sys.executable, "-c", WRITING, str(tmp_path)]
    took = int(subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout)
    assert took < 300e6, "for a million samples"
    assert (tmp_path / layout.SAMPLES_FILE).exists()
