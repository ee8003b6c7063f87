"""What a program writes before it ends is kept, whoever notices its end first."""

import sys
import time
from pathlib import Path

import pytest

from seatrial.model.errors import ProbeLost
from seatrial.process.pipe import LinePipe


def test_the_last_output_is_there_when_sending_finds_the_program_gone(tmp_path: Path) -> None:
    pipe = LinePipe([sys.executable, "-c", "print('one'); print('rank 1 died', end='')"], tmp_path / "log")
    try:
        deadline = time.monotonic() + 60
        with pytest.raises(ProbeLost):
            while time.monotonic() < deadline:
                pipe.send(b"x" * 100_000)
        assert pipe.left_over == [b"one", b"rank 1 died"]
    finally:
        pipe.close(kill=True)
