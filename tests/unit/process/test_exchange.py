"""The loop that reads and feeds: answers, deadlines, programs that never stop writing, and much text both ways."""

import sys
import time
from pathlib import Path

from seatrial.process.exchange import MOST_LATE_BYTES, PIECE_BYTES, PipeExchange
from seatrial.process.process import end_group, pipes, run, start

CHATTY = f"import sys\nwhile True: sys.stdout.write({'x' * 999 + chr(10)!r})"


def test_a_program_that_never_stops_writing_is_late() -> None:
    process = start([sys.executable, "-c", CHATTY])
    _, output = pipes(process)
    exchange = PipeExchange([output], kept_bytes=1000)
    try:
        assert exchange.until(lambda: bool(exchange.received[output]) or None, time.monotonic() + 30) is True
        began = time.monotonic()
        assert exchange.until(lambda: None, began) is None
        assert time.monotonic() - began < 20
        assert len(exchange.received[output]) <= 2000 < MOST_LATE_BYTES
    finally:
        end_group(process)
        exchange.close()
        exchange.close()


def test_little_more_than_asked_for_is_kept() -> None:
    """Twice of it was: for 32 logins at a time and two outputs each, twice of much."""
    process = start([sys.executable, "-c", CHATTY])
    _, output = pipes(process)
    exchange = PipeExchange([output], kept_bytes=1 << 20)
    largest = 0

    def babbled() -> bool | None:
        nonlocal largest
        largest = max(largest, len(exchange.received[output]))
        return time.monotonic() > began + 20 or (largest > 1 << 20 and len(exchange.received[output]) < largest) or None

    began = time.monotonic()
    try:
        exchange.until(babbled, began + 30)
        assert (1 << 20) < largest <= (1 << 20) * 9 // 8 + PIECE_BYTES
    finally:
        end_group(process)
        exchange.close()


def test_the_answer_is_asked_for_although_nothing_is_written() -> None:
    process = start(["sleep", "60"])
    _, output = pipes(process)
    exchange = PipeExchange([output])
    asked = iter([None, None, "enough"])
    try:
        assert exchange.until(lambda: next(asked), time.monotonic() + 30, every_s=0.01) == "enough"
        assert (exchange.ended(output), exchange.over) == (False, False)
    finally:
        end_group(process)
        exchange.close()


def test_what_was_written_in_time_is_taken_after_the_deadline() -> None:
    process = start(["echo", "in time"])
    _, output = pipes(process)
    process.wait(30)
    exchange = PipeExchange([output])
    exchange.drain()
    assert exchange.received[output] == b"in time\n"
    assert exchange.ended(output) and exchange.over
    exchange.close()


def test_more_than_a_pipe_holds_goes_in_and_comes_back() -> None:
    text = "".join(f"{number}\n" for number in range(100_000))
    assert run(["cat"], stdin=text, timeout_s=60).stdout == text


def test_a_program_that_does_not_read_its_input_is_not_waited_for() -> None:
    done = run(["true"], stdin="x" * 1_000_000, timeout_s=60)
    assert (done.returncode, done.timed_out) == (0, False)


def test_a_run_is_given_up_by_what_it_has_written(tmp_path: Path) -> None:
    asked: list[bool] = []

    def silent_for_long(any_output: bool) -> bool:
        asked.append(any_output)
        return len(asked) > 2

    assert run(["sleep", "60"], timeout_s=60, give_up=silent_for_long).timed_out
    assert asked == [False] * 3

    def heard(any_output: bool) -> bool:
        if any_output:
            (tmp_path / "heard").touch()
        return False

    until_heard = f"echo something; until [ -e {tmp_path}/heard ]; do sleep 0.05; done"
    done = run(["sh", "-c", until_heard], timeout_s=60, give_up=heard)
    assert (done.stdout, done.timed_out) == ("something\n", False)
