"""Blocks that the first signal does not break off."""

import signal
import sys
import threading
from pathlib import Path
from unittest.mock import patch

import pytest

from seatrial.archive import samples
from seatrial.process.process import unbroken


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGALRM])
def test_an_interrupt_is_raised_when_the_block_has_ended(number: signal.Signals) -> None:
    before = signal.signal(number, signal.default_int_handler)
    done = []
    try:
        with pytest.raises(KeyboardInterrupt), unbroken():
            signal.raise_signal(number)
            done.append(1)
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)
    assert done == [1]


def test_a_second_one_is_raised_at_once_and_so_is_the_first_where_that_is_not_wanted() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), unbroken():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done.append(2)
    with pytest.raises(KeyboardInterrupt), unbroken(wanted=False):
        signal.raise_signal(signal.SIGINT)
        done.append(1)
    assert done == []


def test_what_is_ignored_stays_so_and_other_threads_take_part_in_nothing() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    seen: list[object] = []

    def look() -> None:
        with unbroken():
            seen.append(signal.getsignal(signal.SIGINT))

    try:
        with unbroken():
            seen.append(signal.getsignal(signal.SIGHUP))
            signal.raise_signal(signal.SIGHUP)
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert seen == [signal.SIG_IGN, signal.default_int_handler]


def test_the_loading_of_duckdb_is_not_broken_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bindings of DuckDB end the process where Python code that they call raises something."""
    (tmp_path / "duckdb.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\nwhole = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    with patch.dict(sys.modules):
        sys.modules.pop("duckdb", None)
        with pytest.raises(KeyboardInterrupt):
            samples.library()
        assert vars(sys.modules["duckdb"])["whole"]
