"""Several commands change a search at the same time: none loses what another one recorded."""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from seatrial.archive import swaps
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.part_swap import SwapHistory
from tests.support import swap_search


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    swaps.write_swap(tmp_path, replace(swap_search.search(2, 1, miss=0.05, false_alarm=0.01), name="gpu"))
    return tmp_path


def with_run(run: str, pause_s: float = 0.0) -> Callable[[SwapHistory], SwapHistory]:
    def change(history: SwapHistory) -> SwapHistory:
        time.sleep(pause_s)
        return replace(history, steps=(*history.steps, replace(history.steps[0], run=run)))

    return change


def runs(archive: Path) -> list[str]:
    return [step.run for step in swaps.read_swap(archive, "gpu").steps]


def test_nothing_is_lost(archive: Path) -> None:
    children = []
    for number in range(4):
        child = os.fork()
        if not child:
            code = 1
            try:
                swaps.change_swap(archive, "gpu", with_run(f"r{number}", 0.1))
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    assert sorted(runs(archive)) == ["", "r0", "r1", "r2", "r3"]


def test_a_command_that_takes_long_is_said_and_nothing_changed(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swaps, "BUSY_S", 0.1)
    with (archive / "swaps" / "gpu.json").open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(SeatrialError, match="Another command changes the search 'gpu' just now"):
            swaps.change_swap(archive, "gpu", with_run("r1"))
        assert runs(archive) == [""]
    swaps.change_swap(archive, "gpu", with_run("r1"))
    assert runs(archive) == ["", "r1"]


def test_a_file_system_without_locks_does_not_stop_it(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    swaps.change_swap(archive, "gpu", with_run("r1"))
    assert runs(archive) == ["", "r1"]


def test_one_of_several_that_begin_a_search_at_once_succeeds(tmp_path: Path) -> None:
    history = replace(swap_search.search(2, 1, miss=0.05, false_alarm=0.01), name="gpu")
    children = []
    for _ in range(8):
        child = os.fork()
        if not child:
            code = 2
            try:
                swaps.write_swap(tmp_path, history, new=True)
                code = 0
            except UsageError:
                code = 1
            finally:
                os._exit(code)
        children.append(child)
    codes = sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
    assert codes == [0] + [1] * 7
    assert [entry.name for entry in (tmp_path / "swaps").iterdir()] == ["gpu.json"]
    assert swaps.read_swap(tmp_path, "gpu") == history


def test_a_search_is_replaced_only_on_demand(archive: Path) -> None:
    other = replace(swaps.read_swap(archive, "gpu"), miss_rate=0.1)
    with pytest.raises(UsageError, match="There is a search 'gpu' already"):
        swaps.write_swap(archive, other, new=True)
    assert swaps.read_swap(archive, "gpu") != other
    swaps.write_swap(archive, other)
    assert swaps.read_swap(archive, "gpu") == other
