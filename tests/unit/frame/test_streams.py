"""Closed, full and vanished streams do not change a command's exit code; with real processes."""

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seatrial.archive.reader import read_entries, read_info
from seatrial.model.run import Ending
from tests.support.builders import Cluster, names, record, slow_part

PYTHON = f"{sys.prefix}/bin/python"
LOST = ">/dev/full", ">/dev/full 2>/dev/full", "<&- >&- 2>&-"
KEPT = "2>/dev/full", "2>&-"
RESULTS = {"good": 0, "bad": 1, "none": 64}


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    record(Cluster(nodes=names(3)), folder / "good")
    record(Cluster(nodes=names(4), parts=slow_part("node", "n2", 0.6)), folder / "bad")
    return folder


def ran(redirections: str, *words: str) -> "subprocess.CompletedProcess[str]":
    script = f'exec "$@" {redirections}'
    command = ["sh", "-c", script, "sh", PYTHON, "-m", "seatrial", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("archive", "redirections"),
    [*(("good", each) for each in (*LOST[::2], KEPT[0])), ("bad", LOST[1]), ("none", KEPT[1])],
)
def test_text_that_nobody_reads_leaves_the_result(archives: Path, archive: str, redirections: str) -> None:
    found = ran(redirections, "report", "run", "--archive", str(archives / archive))
    assert found.returncode == RESULTS[archive]
    assert "Traceback" not in found.stderr and "Exception" not in found.stderr


@pytest.mark.parametrize(("archive", "redirections"), [*(("good", way) for way in (*LOST, KEPT[1])), ("bad", LOST[0])])
def test_json_that_is_lost_is_never_a_pass(archives: Path, archive: str, redirections: str) -> None:
    found = ran(redirections, "report", "run", "--json", "--archive", str(archives / archive))
    assert found.returncode == (2 if archive == "good" and redirections in LOST else RESULTS[archive])
    if redirections == ">/dev/full":
        assert (
            found.stderr == "seatrial: The result could not be written to standard output: No space left on device.\n"
        )


@pytest.mark.parametrize("redirections", [*LOST, *KEPT])
def test_numbers_for_a_monitor_that_are_lost_are_no_pass(archives: Path, redirections: str) -> None:
    found = ran(redirections, "metrics", "--slurm", "never", "--archive", str(archives / "bad"))
    assert found.returncode == (2 if redirections in LOST else 0)


@pytest.mark.parametrize(("words", "code"), [(["--json"], 2), ([], 0)])
def test_a_reader_that_goes_away(archives: Path, words: list[str], code: int) -> None:
    command = [PYTHON, "-m", "seatrial", "report", "run", *words, "--archive", str(archives / "good")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stderr is not None
        child.stdout.close()
        assert child.wait(30) == code
        assert child.stderr.read() == b""


def on_vanished_terminal(*words: str) -> int:
    """The exit code of a command whose terminal was closed before it began to write."""
    master, slave = pty.openpty()
    with subprocess.Popen([PYTHON, "-m", "seatrial", *words], stdin=slave, stdout=slave, stderr=slave) as child:
        os.close(slave)
        os.close(master)
        return child.wait(60)


@pytest.mark.parametrize("archive", RESULTS)
def test_a_terminal_that_was_closed_leaves_the_result(archives: Path, archive: str) -> None:
    assert on_vanished_terminal("report", "run", "--archive", str(archives / archive)) == RESULTS[archive]


def test_a_run_on_a_terminal_that_was_closed_is_measured_and_closed(archives: Path) -> None:
    words = ["check", "--replay", "run", "--run", "unseen", "--archive", str(archives / "bad")]
    assert on_vanished_terminal(*words) == 1
    assert read_info(archives / "bad" / "unseen").ending is Ending.COMPLETE


@pytest.mark.parametrize("redirections", ["<&- >&- 2>&-", ">&-"])
def test_messages_are_not_written_into_the_journal(archives: Path, tmp_path: Path, redirections: str) -> None:
    """The first files that are opened would take the numbers of the streams that are closed."""
    archive = tmp_path / "archive"
    words = ["check", "--replay", str(archives / "good" / "run"), "--run", "again", "--archive", str(archive)]
    assert ran(redirections, *words).returncode == 0
    assert len(read_entries(archive / "again")) == len(read_entries(archives / "good" / "run"))
    for path in (archive / "again").rglob("*.json*"):
        for line in path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]:
            json.loads(line)


def test_a_stream_that_does_not_wait_gets_everything() -> None:
    """Another process on the same pipe may have made it non-blocking."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    command = [PYTHON, "-c", "from seatrial.frame import streams; streams.secure(); print('x' * 1000000, flush=True)"]
    with subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE) as child:
        os.close(write)
        time.sleep(0.5)
        with os.fdopen(read, "rb") as reader:
            assert len(reader.read()) == 1000001
        assert child.wait(30) == 0


def test_letters_that_the_terminal_does_not_have_are_replaced(archives: Path) -> None:
    command = [PYTHON, "-m", "seatrial", "report", "run", "--archive", str(archives / "bad")]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    found = subprocess.run(command, capture_output=True, env=environment, timeout=60, check=False)
    assert (found.returncode, found.stderr) == (1, b"")
    assert found.stdout.isascii()
