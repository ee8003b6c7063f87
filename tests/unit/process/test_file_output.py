"""Programs whose output goes into files: ends, time limits, and programs that are not there."""

import sys
from pathlib import Path

from seatrial.process.file_output import Ended, run_into
from seatrial.process.process import NOT_STARTED

TALKS = "import sys; print('result'); print('trouble', file=sys.stderr); sys.exit(3)"


def started(folder: Path, argv: list[str], timeout_s: float = 60) -> Ended:
    return run_into(argv, output=folder / "out", errors=folder / "err", timeout_s=timeout_s, folder=folder)


def test_output_and_errors_are_in_their_files(tmp_path: Path) -> None:
    ended = started(tmp_path, [sys.executable, "-c", TALKS])
    assert (ended.returncode, ended.timed_out, ended.interrupted) == (3, False, False)
    assert ((tmp_path / "out").read_text(), (tmp_path / "err").read_text()) == ("result\n", "trouble\n")


def test_it_runs_in_the_folder(tmp_path: Path) -> None:
    started(tmp_path, [sys.executable, "-c", "open('made', 'w')"])
    assert (tmp_path / "made").exists()


def test_past_its_time_it_is_ended_and_its_output_stays(tmp_path: Path) -> None:
    ended = started(tmp_path, ["sh", "-c", "echo begun; sleep 600"], timeout_s=1)
    assert ended.timed_out
    assert ended.returncode < 0
    assert (tmp_path / "out").read_text() == "begun\n"


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    assert started(tmp_path, ["/no/such/program"]).returncode == NOT_STARTED
    assert "No such file" in (tmp_path / "err").read_text()
