"""A run that is being written is left alone by `runs recover`, wherever its driver runs; one that is dead is not."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from seatrial.archive import layout, lease
from seatrial.archive.journal import Delivered
from seatrial.archive.lease import (
    Held,
    Hold,
    Holder,
    Lease,
    Life,
    examine,
    glance,
    new_lease,
    presumed,
    proof,
    read_lease,
)
from seatrial.archive.recovery import recover_runs
from seatrial.archive.writer import RunWriter
from seatrial.model.run import Ending
from tests.lab.waiting import eventually
from tests.support.builders import Cluster, abandoned, fill, info_of, names, sail
from tests.support.paths import ROOT

CLUSTER = Cluster(nodes=names(3))
BEAT_S = 0.05
SAID_BEAT_S = 5 * BEAT_S
"""The beat that a lease of another host gives. It beats more often: the thread that does so may have to wait for a core
for longer than a run is watched."""
ELSEWHERE = {"host": "far-away", "boot_id": "00000000-0000-4000-8000-000000000000", "beat_s": SAID_BEAT_S}

DRIVER = """
import sys, time
from pathlib import Path
from seatrial.archive import lease
from seatrial.archive.journal import Delivered
from seatrial.archive.writer import RunWriter
from tests.support.builders import Cluster, info_of, names, sail
lease.BEAT_S = 0.05
cluster = Cluster(nodes=names(3))
writer = RunWriter(Path(sys.argv[1]), info_of(cluster))
writer.append(Delivered(number=1, measurement=sail(cluster).measurements[5]))
print("ready", flush=True)
time.sleep(60)
"""


def open_run(archive: Path, run: str = "run") -> RunWriter:
    writer = RunWriter(archive, info_of(CLUSTER, run=run, ending=Ending.RUNNING, ended=""))
    fill(writer, CLUSTER, sail(CLUSTER))
    return writer


@pytest.fixture
def driver(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that writes the run `run`."""
    child = subprocess.Popen(
        [sys.executable, "-c", DRIVER, tmp_path], stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    yield child
    child.kill()
    child.wait()
    child.stdout.close()


def set_lease(folder: Path, **changes: object) -> Lease:
    """Rewrite the lease of an open run in place, as its driver does: no reader sees an empty file."""
    held = read_lease(folder)
    assert held is not None
    changed = msgspec.structs.replace(held, **changes)
    with (folder / layout.LEASE_FILE).open("r+b", buffering=0) as file:
        file.write(msgspec.json.encode(changed).ljust(lease.LINE_BYTES - 1) + b"\n")
    return changed


@pytest.fixture
def beating() -> Iterator[Callable[[Path], None]]:
    """Lets the lease in a folder beat, as a driver on another host does."""
    stop = threading.Event()
    threads = []

    def beat(folder: Path) -> None:
        def go_on() -> None:
            number = 1
            while not stop.wait(BEAT_S):
                number += 1
                set_lease(folder, beats=number)

        threads.append(threading.Thread(target=go_on))
        threads[-1].start()

    yield beat
    stop.set()
    for thread in threads:
        thread.join()


def test_a_run_of_a_live_process_is_left_alone_and_recovered_once_that_is_killed(
    tmp_path: Path, driver: "subprocess.Popen[str]"
) -> None:
    for _ in range(5):
        found = recover_runs(tmp_path)
        assert (found.recovered, found.damaged) == ((), ())
        (alone,) = found.running
        assert (alone.run, alone.pid) == ("run", driver.pid)
        assert alone.host
    driver.send_signal(signal.SIGSTOP)
    assert recover_runs(tmp_path).running
    driver.send_signal(signal.SIGCONT)
    driver.kill()
    driver.wait()
    (recovered,) = recover_runs(tmp_path).recovered
    assert recovered.measurements == 1


def test_a_process_that_was_killed_and_not_yet_waited_for_is_dead(
    tmp_path: Path, driver: "subprocess.Popen[str]"
) -> None:
    driver.kill()
    os.waitid(os.P_PID, driver.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
    assert recover_runs(tmp_path).recovered


def test_the_beat_goes_on_while_the_driver_does_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "BEAT_S", BEAT_S)
    hold = Hold(tmp_path, Holder.DRIVER)
    assert (tmp_path / layout.LEASE_FILE).stat().st_size == lease.LINE_BYTES

    def beats() -> int:
        held = read_lease(tmp_path)
        assert held is not None
        return held.beats

    assert eventually(lambda: beats() > 0)
    first = beats()
    assert eventually(lambda: beats() > first)
    hold.release()
    assert (tmp_path / layout.LEASE_FILE).stat().st_size == lease.LINE_BYTES


def test_a_number_that_another_process_bears_now_is_no_life(tmp_path: Path) -> None:
    writer = open_run(tmp_path)
    abandoned(writer, pid=os.getpid(), started_ticks=7)
    assert recover_runs(tmp_path).recovered


@pytest.mark.parametrize(
    ("changes", "lives"),
    [
        ({}, True),
        ({"host": "n7", "pid_namespace": "pid:[1]"}, True),
        ({"pid_namespace": "pid:[1]", "started_ticks": 7}, None),
        ({"pid_namespace": "", "started_ticks": 7}, None),
        ({"started_ticks": 7}, False),
        ({"started_ticks": 0}, None),
        ({"boot_id": "another"}, None),
        ({"boot_id": ""}, None),
        ({"pid": 2**70}, None),
    ],
)
def test_what_this_host_can_prove(changes: dict[str, object], lives: bool | None) -> None:
    assert proof(msgspec.structs.replace(new_lease(Holder.DRIVER), **changes)) is lives


def test_where_proc_hides_the_processes_of_others_nothing_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    held = msgspec.structs.replace(new_lease(Holder.DRIVER), pid=1, started_ticks=99)
    assert proof(held) is False
    monkeypatch.setattr(Path, "exists", lambda self: self.name != "1")
    monkeypatch.setattr(lease, "started_ticks", lambda pid: None if pid == 1 else 5)
    assert proof(held) is None


def test_a_run_of_another_host_is_watched_and_left_alone_while_it_beats(
    tmp_path: Path, beating: Callable[[Path], None]
) -> None:
    alive, dead = open_run(tmp_path, "alive"), open_run(tmp_path, "dead")
    for writer in (alive, dead):
        abandoned(writer, **ELSEWHERE)
    beating(alive.folder)
    waited: list[tuple[float, int]] = []
    found = recover_runs(tmp_path, waiting=lambda seconds, runs: waited.append((seconds, runs)))
    assert [(round(seconds, 3), runs) for seconds, runs in waited] == [(round(lease.WATCHED_BEATS * SAID_BEAT_S, 3), 2)]
    assert [one.run for one in found.recovered] == ["dead"]
    assert [(one.run, one.host) for one in found.running] == [("alive", "far-away")]


@pytest.mark.parametrize("skew_s", [-86_000_000, -86_000, -4_000, 4_000, 86_000_000])
def test_clocks_that_differ_change_nothing(tmp_path: Path, beating: Callable[[Path], None], skew_s: int) -> None:
    alive, dead = open_run(tmp_path, "alive"), open_run(tmp_path, "dead")
    for writer in (alive, dead):
        abandoned(writer, **ELSEWHERE, since="1970-01-01T00:00:00Z")
        for name in (layout.LEASE_FILE, layout.JOURNAL_FILE, layout.RUN_FILE):
            os.utime(writer.folder / name, (time.time() + skew_s,) * 2)
    beating(alive.folder)
    time.sleep(2 * BEAT_S)
    found = recover_runs(tmp_path)
    assert [one.run for one in found.recovered] == ["dead"]
    assert [one.run for one in found.running] == ["alive"]


def test_a_journal_that_grows_is_life_too(tmp_path: Path) -> None:
    """The patience of half a minute is for a busy machine: the first look after it has grown ends the watch."""
    writer = abandoned(open_run(tmp_path), **{**ELSEWHERE, "beat_s": 5.0})
    entry = Delivered(number=99, measurement=sail(CLUSTER).measurements[0])
    seen = threading.Event()

    def grow() -> None:
        while not seen.wait(BEAT_S):  # or all of it might come before the first look
            writer.append(entry)

    growing = threading.Thread(target=grow)
    growing.start()
    try:
        (found,) = examine([writer.folder])
    finally:
        seen.set()
        growing.join()
    assert found.life is Life.RUNNING


@pytest.mark.parametrize("skew_s", [-1e9, -1e5, 1e5, 1e9])
def test_a_wrong_clock_of_the_reader_closes_no_run_of_another_host(
    tmp_path: Path, beating: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch, skew_s: float
) -> None:
    writer = abandoned(open_run(tmp_path), **ELSEWHERE)
    silent = abandoned(open_run(tmp_path, "silent"))
    (silent.folder / layout.LEASE_FILE).unlink()
    now_s = time.time()
    monkeypatch.setattr(time, "time", lambda: now_s + skew_s)
    assert glance(writer.folder) is None
    assert presumed(writer.folder).life is Life.OPEN
    beating(writer.folder)
    found = recover_runs(tmp_path)
    assert [one.run for one in found.running] == ["run", "silent"]
    assert found.recovered == ()


def test_a_run_without_lease_is_left_alone_while_it_was_written_lately(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = abandoned(open_run(tmp_path))
    (writer.folder / layout.LEASE_FILE).unlink()
    assert [one.run for one in recover_runs(tmp_path).running] == ["run"]
    for path in writer.folder.iterdir():
        os.utime(path, (time.time() - 2 * lease.LATELY_S,) * 2)
    monkeypatch.setattr(lease, "BEAT_S", BEAT_S)
    assert recover_runs(tmp_path).recovered


@pytest.mark.parametrize("content", [b"", b"{", b"\xff" * 1024, b"[" * 5000, b'{"holder":"driver"}'])
def test_a_lease_that_is_none_counts_as_missing(tmp_path: Path, content: bytes) -> None:
    writer = abandoned(open_run(tmp_path))
    (writer.folder / layout.LEASE_FILE).write_bytes(content)
    found = presumed(writer.folder)
    assert (found.life, found.lease) == (Life.RUNNING, None)


def test_what_cannot_be_read_just_now_takes_no_run_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hold = Hold(tmp_path, Holder.DRIVER)

    def stale(*_: object) -> int:
        raise OSError(116, "Stale file handle")

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", stale)
        hold.beat()
        assert hold.look() is Held.OURS
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", stale)
        hold.beat()
    assert hold.suspect is False
    hold.beat()
    assert hold.look() is Held.OURS
    hold.release()


def test_where_no_thread_can_be_started_the_lease_says_that_it_does_not_beat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    writer = open_run(tmp_path)
    held = read_lease(writer.folder)
    assert held is not None
    assert held.beat_s == 0.0
    assert recover_runs(tmp_path).running
