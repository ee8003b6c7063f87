"""Faults that flap, busy loops beside a check, and when a check has begun to measure."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from seatrial.archive.journal import RoundStarted, SurveyPlanned, encode
from seatrial.lab.cluster import state
from seatrial.lab.cluster.processes import pids_marked, start_ticks
from seatrial.lab.trial.disturbances import LOOP, flap, hogs
from seatrial.lab.trial.trial import survey_begun
from seatrial.model.measurement import Phase, Round
from seatrial.pairs.survey import LATENCY, PILOT
from tests.lab.waiting import eventually
from tests.support.processes import runs

NAME = f"flaptest{os.getpid()}"
"""Other processes of the tests look for the processes of such a lab, too."""


def test_turns_are_counted_from_the_start_and_do_not_drift() -> None:
    """However long switching takes, the next turn comes on time."""
    waits: list[float] = []
    turns: list[bool] = []

    def ended(wait_s: float) -> bool:
        waits.append(wait_s)
        time.sleep(wait_s)
        return len(turns) == 3

    def switch(on: bool) -> bool:
        turns.append(on)
        time.sleep(0.05)
        return True

    flap(0.2, switch, ended)
    assert turns == [False, True, False]
    assert all(wait_s < 0.16 for wait_s in waits[1:])


def test_it_ends_when_the_fault_is_gone() -> None:
    turns: list[bool] = []

    def gone(on: bool) -> bool:
        turns.append(on)
        return False

    flap(0.01, gone, threading.Event().wait)
    assert turns == [False]


def test_it_ends_at_once_when_the_check_does() -> None:
    over = threading.Event()
    over.set()
    began = time.monotonic()
    flap(600.0, lambda _on: pytest.fail("nothing is due yet"), over.wait)
    assert time.monotonic() - began < 60


def test_hogs_carry_the_labs_mark_and_end_with_the_check() -> None:
    mark = state.raised(NAME)
    with hogs(NAME, 2):
        assert eventually(lambda: len(pids_marked(mark)) >= 2)
        assert len(pids_marked(mark)) == 2
    assert not [pid for pid in pids_marked(mark) if start_ticks(pid)]


def test_no_hogs_start_nothing() -> None:
    before = set(threading.enumerate())  # one of an earlier test may just be ending
    with hogs(NAME, 0):
        assert set(threading.enumerate()) <= before
        assert not pids_marked(state.raised(NAME))


def test_a_hog_ends_by_itself_when_its_trial_is_killed() -> None:
    """Its parent starts it, prints its number and is gone."""
    starts = (
        "import os, subprocess, sys\n"
        "argv = [sys.executable, '-c', sys.argv[1], str(os.getpid())]\n"
        "print(subprocess.Popen(argv, stdout=subprocess.DEVNULL).pid)\n"
    )
    argv = [sys.executable, "-c", starts, LOOP]
    pid = int(subprocess.run(argv, stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout)
    assert eventually(lambda: not runs(pid))


def journal(archive: Path, *phases: Phase, folder: str = "run.partial") -> None:
    (archive / folder).mkdir(parents=True)
    rounds = [
        RoundStarted(
            number=number,
            session=1,
            at_s=0.0,
            round=Round(phase=phase, repetition=0, shape=PILOT if phase is Phase.PILOT else LATENCY, pairs=()),
        )
        for number, phase in enumerate(phases)
    ]
    lines = [encode(SurveyPlanned(pairs=())), *map(encode, rounds)]
    (archive / folder / "journal.jsonl").write_bytes(b"".join(lines))


def test_a_check_measures_once_a_round_of_the_survey_is_in_the_journal(tmp_path: Path) -> None:
    assert not survey_begun(tmp_path / "nothing")
    journal(tmp_path / "early", Phase.PILOT)
    assert not survey_begun(tmp_path / "early")
    journal(tmp_path / "then", Phase.PILOT, Phase.SURVEY)
    assert survey_begun(tmp_path / "then")


def test_half_a_line_of_the_journal_does_not_count_yet(tmp_path: Path) -> None:
    journal(tmp_path, Phase.PILOT, Phase.SURVEY)
    path = tmp_path / "run.partial" / "journal.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    assert not survey_begun(tmp_path)


def test_a_closed_run_is_not_measuring_any_more(tmp_path: Path) -> None:
    journal(tmp_path, Phase.SURVEY, folder="run")
    assert not survey_begun(tmp_path)
