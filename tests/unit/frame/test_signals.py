"""Signals at any time of a command, from its first line on: no traceback, and exit code 2."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seatrial.archive.reader import read_info
from seatrial.frame.signals import Interruptions
from seatrial.model.run import Ending
from tests.support.builders import Cluster, names, record
from tests.support.command_line import Seatrial

PYTHON = f"{sys.prefix}/bin/python"
MARKED = """
import os, signal
from seatrial.frame.entry import ENDINGS, main

def listen(number, handler, real=signal.signal):
    found = real(number, handler)
    if number == ENDINGS[-1]:
        signal.signal = real
        os.write(1, b".")
    return found

signal.signal = listen
main()
"""
SLOW = """
import os, sys, time
import seatrial.archive.contents as closing, seatrial.driver.measurer as measurer
from seatrial.frame.entry import main

def measure(*_, **__):
    os.write(1, b"m")
    time.sleep(60)

def close(*given, write=closing.write_samples):
    os.write(1, b"c")
    sys.stdin.read()  # to its end: however busy the machine is, all signals of the test come before
    write(*given)

measurer.Measurer.run = measure
closing.write_samples = close
main()
"""

MEASURED = SLOW.replace("measurer.Measurer.run = measure\n", "")
"""It measures as usual, and takes long to be closed."""

BETWEEN = """
import signal
from seatrial.frame import command_line, streams
from seatrial.frame.entry import main

def interrupted(*_):
    signal.raise_signal(signal.SIGINT)

{room}.{name} = interrupted
main()
"""


def begun(script: str, *words: str) -> "subprocess.Popen[bytes]":
    pipe = subprocess.PIPE
    child = subprocess.Popen([PYTHON, "-c", script, *words], stdin=pipe, stdout=pipe, stderr=pipe)
    assert child.stdout is not None
    assert child.stdout.read(1)
    return child


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_signals_while_a_command_loads_and_begins_leave_no_traceback(number: signal.Signals, tmp_path: Path) -> None:
    for delay_ms in range(0, 240, 16 if number is signal.SIGINT else 48):
        child = begun(MARKED, "runs", "list", "--archive", str(tmp_path))
        time.sleep(delay_ms / 1000)
        child.send_signal(number)
        out, err = child.communicate(timeout=60)
        ended_before = child.returncode == 0 and out.startswith(b"No runs in")
        assert ended_before or (child.returncode, err) == (2, b"seatrial: Interrupted.\n"), f"{delay_ms} ms: {err!r}"


@pytest.mark.parametrize(("room", "name"), [("command_line", "run"), ("streams", "settled")])
def test_a_signal_just_before_a_command_and_just_after_it_is_said(room: str, name: str, tmp_path: Path) -> None:
    """Otherwise the answer, which may not have been written yet, would be missing without a word."""
    words = [PYTHON, "-c", BETWEEN.format(room=room, name=name), "runs", "list", "--archive", str(tmp_path)]
    ended = subprocess.run(words, capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (2, b"seatrial: Interrupted.\n")


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    """As under nohup, and for Ctrl-C in the background of a script."""
    command = f"trap '' HUP INT; exec {PYTHON} -c \"$1\" runs list --archive {tmp_path}"
    with subprocess.Popen(["/bin/sh", "-c", command, "sh", MARKED], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.read(1)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGHUP):
            child.send_signal(number)
            time.sleep(0.02)
        assert child.wait(60) == 0


def test_further_signals_do_not_break_the_closing_of_a_run(tmp_path: Path) -> None:
    record(Cluster(nodes=names(2)), tmp_path, "before")
    child = begun(SLOW, "check", "--replay", "before", "--run", "again", "--archive", str(tmp_path))
    assert child.stdout is not None
    child.send_signal(signal.SIGINT)
    assert child.stdout.read(1) == b"c"
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        child.send_signal(number)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 2
    assert b"The run is being closed." in err and b"Traceback" not in err
    assert read_info(tmp_path / "again").ending is Ending.INTERRUPTED


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_first_signal_that_comes_as_a_run_is_closed_does_not_break_that(
    tmp_path: Path, number: signal.Signals
) -> None:
    record(Cluster(nodes=names(2)), tmp_path, "before")
    child = begun(MEASURED, "check", "--replay", "before", "--run", "again", "--archive", str(tmp_path))
    child.send_signal(number)
    _, err = child.communicate(timeout=60)
    assert (child.returncode, err.splitlines()[-1]) == (2, b"seatrial: Interrupted.")
    assert read_info(tmp_path / "again").ending is Ending.COMPLETE


@pytest.mark.parametrize("script", ["interrupted as it measures", "as it is closed"])
def test_ctrl_c_for_the_third_time_leaves_at_once(tmp_path: Path, script: str) -> None:
    record(Cluster(nodes=names(2)), tmp_path, "before")
    measured = script == "as it is closed"
    words = ("check", "--replay", "before", "--run", "again", "--archive", str(tmp_path))
    child = begun(MEASURED if measured else SLOW, *words)
    assert child.stdout is not None
    assert child.stderr is not None
    child.send_signal(signal.SIGINT)
    if measured:
        time.sleep(1)  # or this one and the next would come as one
    else:
        assert child.stdout.read(1) == b"c"
    child.send_signal(signal.SIGINT)
    assert any(b"Ctrl-C once more leaves at once" in line for line in child.stderr)  # or both would come as one
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == 2
    _, err = child.communicate(timeout=60)
    assert (child.returncode, b"Traceback" in err) == (2, False)
    assert (tmp_path / "again.partial").is_dir()


@pytest.mark.parametrize("hook_s", [0.0, 0.4])
def test_an_interrupt_that_a_destructor_swallows_is_sent_again(hook_s: float) -> None:
    """Also where the machine is so busy that the hook which noticed the loss is still at work by then."""
    script = f"""
import os, signal, threading, time
from seatrial.frame.signals import Interruptions

def start(self, real=threading.Thread.start):
    real(self)
    until = time.monotonic() + {hook_s}
    while time.monotonic() < until:
        time.sleep(0.01)

threading.Thread.start = start

class Leaving:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.01)

Interruptions().listen()
try:
    Leaving()
    time.sleep(20)
except KeyboardInterrupt:
    print("heard", flush=True)
    os._exit(0)
"""
    found = subprocess.run([PYTHON, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "heard\n", "")


STUCK = """
import ctypes, os, time
from seatrial.frame import signals

signals.LOOK_S, signals.LOOKS = 0.1, 5
signals.Interruptions().listen()
try:
    os.write(1, b".")
    time.sleep(60)
except KeyboardInterrupt:
    pass
lock, library = ctypes.create_string_buffer(64), ctypes.CDLL(None)
for _ in range({locks}):
    library.pthread_mutex_lock(lock)
time.sleep(2)
os.write(1, b"ended")
"""


@pytest.mark.parametrize(("locks", "code"), [(2, 2), (1, 0)])
def test_a_library_that_lets_no_signal_through_does_not_keep_a_command_for_ever(locks: int, code: int) -> None:
    """A mutex that is locked twice is waited for, whatever signals come; Python itself takes them as it sleeps."""
    child = begun(STUCK.format(locks=locks))
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (code, b"" if code else b"ended")
    assert err == (b"seatrial: Interrupted.\n" if code else b"")


def test_what_a_library_makes_of_an_interrupt_is_no_bug(monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial) -> None:
    from seatrial.frame import command_line

    heard = Interruptions()
    heard.count = 1
    monkeypatch.setattr(command_line, "INTERRUPTIONS", heard)
    monkeypatch.setattr("seatrial.archive.reader.run_folders", lambda _: 1 / 0)
    assert seatrial("runs", "list", code=2).err == "seatrial: Interrupted.\n"
