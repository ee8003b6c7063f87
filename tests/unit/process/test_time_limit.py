"""A block that takes too long is ended; of two around each other by the one that has less time left."""

import signal
import time
from contextlib import nullcontext

import pytest

from seatrial.model.errors import UsageError
from seatrial.process.time_limit import SharedTime, TimeUp, limited, timed


@pytest.mark.parametrize(("outer_s", "inner_s"), [(0.1, 20.0), (20.0, 0.1)])
def test_the_shorter_limit_ends_the_block(outer_s: float, inner_s: float) -> None:
    with pytest.raises(TimeUp if outer_s < inner_s else UsageError), timed(outer_s), limited(inner_s, "Reading"):
        time.sleep(10.0)


def test_a_limit_goes_on_after_one_inside_it() -> None:
    began = time.monotonic()
    with pytest.raises(UsageError, match=r"The whole took more than 0\.3 s"), limited(0.3, "The whole"):
        for _ in range(5):
            with limited(120.0, "A part"):
                time.sleep(0.02)
        for _ in range(3000):
            with timed(120.0):
                time.sleep(0.02)
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(("blocks", "ends"), [(2, False), (4, True)])
def test_blocks_share_their_time_and_what_is_between_them_takes_none(blocks: int, ends: bool) -> None:
    shared = SharedTime("Applying patterns", 0.5)
    with pytest.raises(UsageError, match=r"Applying patterns took more than 0\.5 s") if ends else nullcontext():
        for _ in range(blocks):
            time.sleep(0.3)
            with shared.taken():
                time.sleep(0.15)


def test_a_limit_that_is_reached_while_it_is_put_back_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    put_back = signal.setitimer

    def reached(which: int, seconds: float) -> None:
        if not seconds:
            signal.raise_signal(signal.SIGALRM)
        put_back(which, seconds)

    before = signal.getsignal(signal.SIGALRM)
    with monkeypatch.context() as inside:
        inside.setattr(signal, "setitimer", reached)
        with timed(20.0):
            pass
    assert signal.getsignal(signal.SIGALRM) is before
