"""Programs that end, that do not end, and that are not there."""

import sys
import time
from pathlib import Path

import pytest

from seatrial.model.errors import LaunchError, ProbeLost
from seatrial.process.pipe import LinePipe
from seatrial.process.process import run
from tests.lab.waiting import eventually
from tests.support.processes import kill_all, runs

SPEAKS_S = 2.0
"""Within this time a shell has begun, also on a busy machine; what it had said by then is what a test is about."""


def gone(pid: int) -> bool:
    """Whether a process has ended, given a moment for it."""
    return eventually(lambda: not runs(pid), every_s=0.02)


def test_what_a_program_said_and_how_it_ended() -> None:
    done = run(["sh", "-c", "cat; echo oops >&2; exit 3"], stdin="text\n", timeout_s=60)
    assert (done.stdout, done.stderr, done.returncode, done.ok) == ("text\n", "oops\n", 3, False)
    assert run(["true"], timeout_s=60).ok


def test_nothing_is_read_by_a_shell() -> None:
    hostile = "$(reboot); `x` | y > z"
    assert run(["printf", "%s", hostile], timeout_s=60).stdout == hostile


@pytest.mark.parametrize("program", ["/nowhere/nothing", "no-such-program-anywhere", "/", "/etc/passwd"])
def test_a_program_that_cannot_be_run_is_127(program: str) -> None:
    done = run([program], timeout_s=60)
    assert (done.returncode, done.ok, done.timed_out) == (127, False, False)
    assert done.stderr.startswith(f"{program}: ")


def test_foreign_bytes_are_replaced() -> None:
    done = run(["printf", r"caf\351 \377 ok"], timeout_s=60)
    assert done.stdout == "caf\ufffd \ufffd ok"


def test_the_environment_is_laid_over_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEATRIAL_A", "mine")
    done = run(["sh", "-c", "echo $SEATRIAL_A $SEATRIAL_B"], extra_environment={"SEATRIAL_B": "b"}, timeout_s=60)
    assert done.stdout == "mine b\n"


def test_a_time_out_ends_grandchildren_and_keeps_what_was_said(tmp_path: Path) -> None:
    script = f"echo before; (trap '' TERM; echo $$ >&2; sleep 60) & sleep 60 & echo $! > {tmp_path}/pid; wait"
    began = time.monotonic()
    done = run(["sh", "-c", script], timeout_s=SPEAKS_S)
    assert time.monotonic() - began < 20
    assert (done.timed_out, done.ok, done.stdout) == (True, False, "before\n")
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_child_that_left_the_group_cannot_hold_us(tmp_path: Path) -> None:
    began = time.monotonic()
    done = run(["sh", "-c", f"echo before; setsid sleep 30 & echo $! > {tmp_path}/pid; wait"], timeout_s=SPEAKS_S)
    assert time.monotonic() - began < 20
    assert (done.timed_out, done.stdout) == (True, "before\n")
    kill_all([int((tmp_path / "pid").read_text())])


def python_pipe(tmp_path: Path, code: str) -> LinePipe:
    return LinePipe([sys.executable, "-u", "-c", code], tmp_path / "log")


def soon() -> float:
    return time.monotonic() + 30


def test_lines_go_out_and_come_back_whole(tmp_path: Path) -> None:
    pipe = LinePipe(["cat"], tmp_path / "log")
    pipe.send(b"one\ntwo\n" + b"x" * 30000 + b"\n")
    assert [pipe.receive(soon()) for _ in range(3)] == [b"one", b"two", b"x" * 30000]
    pipe.close(kill=False)


def test_a_line_that_comes_in_pieces_is_one(tmp_path: Path) -> None:
    pipe = LinePipe(["sh", "-c", "printf one; sleep 0.1; printf 'two\\nthree\\n'"], tmp_path / "log")
    assert [pipe.receive(soon()), pipe.receive(soon())] == [b"onetwo", b"three"]
    pipe.close(kill=True)


def test_silence_is_a_time_out(tmp_path: Path) -> None:
    pipe = LinePipe(["cat"], tmp_path / "log")
    with pytest.raises(ProbeLost) as lost:
        pipe.receive(time.monotonic() + 0.05)
    assert lost.value.outcome == "timeout"
    pipe.send(b"still here\n")
    assert pipe.receive(soon()) == b"still here"
    pipe.close(kill=True)


def test_half_a_line_is_none(tmp_path: Path) -> None:
    pipe = LinePipe(["sh", "-c", "printf half; exec sleep 10"], tmp_path / "log")
    with pytest.raises(ProbeLost) as lost:
        pipe.receive(time.monotonic() + 0.2)
    assert lost.value.outcome == "timeout"
    pipe.close(kill=True)


def test_a_child_that_dies_leaves_its_last_words(tmp_path: Path) -> None:
    script = "echo half; printf torn; printf -- '-----\\nfirst\\n\\n  second \\n***\\n' >&2; exit 1"
    pipe = LinePipe(["sh", "-c", script], tmp_path / "log")
    assert pipe.receive(soon()) == b"half"
    with pytest.raises(ProbeLost, match="ended in mid-work: first / second") as lost:
        pipe.receive(soon())
    assert lost.value.outcome == "died"
    pipe.close(kill=False)


def test_last_words_are_the_last_four_lines_and_short(tmp_path: Path) -> None:
    pipe = LinePipe(["true"], tmp_path / "log")
    assert pipe.last_words() == "it said nothing"
    (tmp_path / "log").write_text("".join(f"line {number} {'x' * 100}\n" for number in range(1000)))
    assert pipe.last_words().startswith("line 996 ")
    assert len(pipe.last_words()) < 2000
    pipe.close(kill=True)


def test_writing_to_the_dead_is_told_apart(tmp_path: Path) -> None:
    pipe = LinePipe(["sh", "-c", "echo gone >&2"], tmp_path / "log")
    with pytest.raises(ProbeLost) as lost:
        for _ in range(1000):
            pipe.send(b"hello\n")
            time.sleep(0.01)
    assert lost.value.outcome == "died"
    pipe.close(kill=False)


def test_a_program_that_is_not_there_is_a_launch_error(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="/nowhere/mpirun cannot be started: No such file"):
        LinePipe(["/nowhere/mpirun"], tmp_path / "log")


STUBBORN = """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
while True: signal.pause()
"""


@pytest.mark.parametrize("kill", [True, False])
def test_a_child_that_ignores_sigterm_is_killed(tmp_path: Path, kill: bool) -> None:
    pipe = python_pipe(tmp_path, STUBBORN)
    pid = int(pipe.receive(soon()))
    began = time.monotonic()
    pipe.close(kill=kill, patience_s=0.2)
    assert gone(pid)
    assert time.monotonic() - began < 20


def test_a_child_that_heeds_the_end_of_its_input_is_not_killed(tmp_path: Path) -> None:
    pipe = LinePipe(["sh", "-c", "read line; sleep 0.2; echo tidy >&2"], tmp_path / "log")
    pipe.close(kill=False)
    assert pipe.last_words() == "tidy"
