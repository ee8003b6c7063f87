"""Programs whose output goes into files: ends, time limits, and programs that are not there."""

import sys
import time
from pathlib import Path

import msgspec

from seatrial.model.benchmark import Ended
from seatrial.process.file_output import Command, run_beside, run_into
from seatrial.process.process import NOT_STARTED

TALKS = "import sys; print('result'); print('trouble', file=sys.stderr); sys.exit(3)"


def started(folder: Path, argv: list[str], timeout_s: float = 60) -> Ended:
    command = Command(argv=tuple(argv), output=folder / "out", errors=folder / "err")
    return run_into(command, timeout_s=timeout_s, folder=folder)


def test_output_and_errors_are_in_their_files(tmp_path: Path) -> None:
    ended = started(tmp_path, [sys.executable, "-c", TALKS])
    assert (ended.returncode, ended.timed_out, ended.interrupted) == (3, False, False)
    assert ((tmp_path / "out").read_text(), (tmp_path / "err").read_text()) == ("result\n", "trouble\n")


def test_it_runs_in_the_folder(tmp_path: Path) -> None:
    started(tmp_path, [sys.executable, "-c", "open('made', 'w')"])
    assert (tmp_path / "made").exists()


def test_past_its_time_it_is_ended_and_its_output_stays(tmp_path: Path) -> None:
    ended = started(tmp_path, ["sh", "-c", "echo begun; sleep 600"], timeout_s=3)
    assert ended.timed_out
    assert ended.returncode < 0
    assert (tmp_path / "out").read_text() == "begun\n"


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    assert started(tmp_path, ["/no/such/program"]).returncode == NOT_STARTED
    assert "No such file" in (tmp_path / "err").read_text()


def commands(folder: Path, *texts: str) -> list[Command]:
    return [
        Command(argv=("sh", "-c", text), output=folder / f"{place}.out", errors=folder / f"{place}.err")
        for place, text in enumerate(texts)
    ]


def test_programs_run_at_the_same_time_and_are_given_as_they_end(tmp_path: Path) -> None:
    waits = "until [ -e made ]; do sleep 0.01; done; echo late"
    asked = commands(tmp_path, waits, "touch made; exit 3", "echo $OWN")
    asked[2] = msgspec.structs.replace(asked[2], environment={"OWN": "mine"})
    ended = dict(run_beside(asked, timeout_s=60, folder=tmp_path))
    assert {place: one.returncode for place, one in ended.items()} == {0: 0, 1: 3, 2: 0}
    assert (tmp_path / "0.out").read_text() == "late\n"
    assert (tmp_path / "2.out").read_text() == "mine\n"


def test_of_several_programs_those_past_their_time_are_ended(tmp_path: Path) -> None:
    ended = dict(run_beside(commands(tmp_path, "exit 0", "sleep 600", "sleep 600"), timeout_s=3, folder=tmp_path))
    assert [ended[place].timed_out for place in range(3)] == [False, True, True]


def test_closing_ends_what_still_runs(tmp_path: Path) -> None:
    under_way = run_beside(commands(tmp_path, "exit 0", "echo $$; sleep 600"), timeout_s=60, folder=tmp_path)
    next(under_way)
    while not (number := (tmp_path / "1.out").read_text()):
        time.sleep(0.01)
    under_way.close()
    assert not Path(f"/proc/{number.strip()}").exists()
