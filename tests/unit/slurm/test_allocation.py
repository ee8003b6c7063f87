"""Waiting in Slurm's queue, and giving back what was granted, with commands of our own in place of Slurm's."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from seatrial.model.errors import LaunchError
from seatrial.model.settings import SlurmRequest
from seatrial.process.pipe import HolderStart, Holding
from seatrial.slurm import allocation
from seatrial.slurm import argv as slurm_argv
from seatrial.slurm.allocation import Waiting, obtain, with_request
from tests.lab.waiting import LONG_S, eventually
from tests.support.paths import DATA
from tests.support.slurm_scripts import GRANTS

PENDING = 'echo "salloc: Pending job allocation 7" >&2; exec sleep 90'
GRANTED = 'echo "salloc: Granted job allocation 9" >&2; exec sleep 90'
SAID_PENDING = "salloc: Pending job allocation 7\n"
SAID_GRANTED = f"{SAID_PENDING}salloc: Granted job allocation 7\n"
Commands = Callable[[str, str], list[str]]


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Puts a squeue that gives a reason, and a scancel, on PATH; returns the argv of a salloc that does as told."""
    monkeypatch.setattr(Holding, "until", looking_every(0.2))
    monkeypatch.setattr(allocation, "SHORTEST_PAUSE_S", 0.2)

    def make(salloc: str, reason: str) -> list[str]:
        script(tmp_path / "salloc", salloc)
        script(tmp_path / "squeue", f"echo '{reason}'")
        script(tmp_path / "scancel", f'echo "$@" >>{tmp_path}/cancelled')
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        return [str(tmp_path / "salloc"), "--some-option", *slurm_argv.HOLDER]

    return make


def looking_every(look_s: float) -> Callable[..., HolderStart]:
    until = Holding.until

    def quicker(self: Holding, mark: bytes, timeout_s: float, give_up: Callable[[str], bool]) -> HolderStart:
        return until(self, mark, timeout_s, give_up, look_s)

    return quicker


def cancelled(folder: Path) -> str:
    return (folder / "cancelled").read_text() if (folder / "cancelled").exists() else ""


def test_a_granted_job_is_given_back_without_being_cancelled(commands: Commands, tmp_path: Path) -> None:
    got = obtain(commands(GRANTS, "None"), ("n1",), LONG_S)
    assert got.job == "42"
    assert got.give_back()
    assert cancelled(tmp_path) == ""


def test_a_job_that_salloc_cannot_give_back_is_cancelled(commands: Commands, tmp_path: Path) -> None:
    deaf = 'echo "salloc: error: Unable to clean up job allocation 42: Unable to contact slurm controller" >&2'
    got = obtain(commands(GRANTS + deaf, "None"), ("n1",), LONG_S)
    assert got.give_back()
    assert cancelled(tmp_path) == "42\n"


def test_a_job_whose_salloc_hangs_is_cancelled(
    commands: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allocation, "END_S", 0.3)
    got = obtain(commands(f"{GRANTS}\nexec sleep 20", "None"), ("n1",), LONG_S)
    assert got.give_back()
    assert cancelled(tmp_path) == "42\n"


def test_a_job_whose_salloc_was_killed_goes_on_and_is_cancelled_in_the_end(commands: Commands, tmp_path: Path) -> None:
    argv = commands(f"echo $$ >{tmp_path}/pid; {GRANTS}", "None")
    got = obtain(argv, ("n1",), LONG_S)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    time.sleep(0.2)
    assert cancelled(tmp_path) == ""
    assert got.give_back()
    assert cancelled(tmp_path) == "42\n"


def test_whether_slurm_heard_of_the_end_is_told(commands: Commands, tmp_path: Path) -> None:
    got = obtain(commands(f"{GRANTS}\nkill -9 $$", "None"), ("n1",), LONG_S)
    script(tmp_path / "scancel", "exit 1")
    assert not got.give_back()


DRIVER = """
import subprocess, sys, time
from seatrial.slurm.allocation import obtain
got = obtain(sys.argv[1:], ("n1",), 60)
subprocess.Popen(["sleep", "30"], start_new_session=True)  # as a step that outlives us for a while
print(got.job, flush=True)
time.sleep(30)
"""


def test_the_allocation_of_a_killed_program_is_given_back_although_its_children_live(
    commands: Commands, tmp_path: Path
) -> None:
    argv = commands(f"{GRANTS}\n: >{tmp_path}/given-back", "None")
    with subprocess.Popen([sys.executable, "-c", DRIVER, *argv], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == "42\n"
        assert not (tmp_path / "given-back").exists()
        driver.kill()
        driver.stdout.close()
    assert eventually((tmp_path / "given-back").exists, every_s=0.02)
    assert cancelled(tmp_path) == ""


def test_a_reason_that_no_waiting_removes_ends_it_early(commands: Commands, tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="will not grant n1: the number of nodes is outside") as caught:
        obtain(commands(PENDING, "PartitionNodeLimit"), ("n1",), 60)
    assert "--nodes" in caught.value.remedy
    assert cancelled(tmp_path) == "7\n"


def test_others_jobs_are_waited_for_as_long_as_told(commands: Commands, tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match=r"did not grant n\[1-2\] within 3 s: other jobs use the nodes \(Resources\)"):
        obtain(commands(PENDING, "Resources"), ("n1", "n2"), 3)
    assert cancelled(tmp_path) == "7\n"


def test_a_salloc_that_is_killed_in_the_queue_is_named_and_its_job_cancelled(
    commands: Commands, tmp_path: Path
) -> None:
    with pytest.raises(LaunchError, match="salloc was killed by signal 9"):
        obtain(commands('echo "salloc: Pending job allocation 7" >&2; kill -9 $$', "None"), ("n1",), LONG_S)
    assert cancelled(tmp_path) == "7\n"


def test_a_job_that_could_not_be_cancelled_is_left_to_somebody_else(commands: Commands, tmp_path: Path) -> None:
    unheard: list[str] = []
    argv = commands(PENDING, "PartitionNodeLimit")
    with pytest.raises(LaunchError):
        obtain(argv, ("n1",), LONG_S, unheard=partial(unheard.append, "scancel"))
    assert unheard == []
    script(tmp_path / "scancel", "exit 1")
    with pytest.raises(LaunchError):
        obtain(argv, ("n1",), LONG_S, unheard=partial(unheard.append, "scancel"))
    assert unheard == ["scancel"]


def test_a_node_that_does_not_wake_costs_the_job(commands: Commands) -> None:
    text = (DATA / "launch/salloc-not-woken.txt").read_text()
    argv = commands(f"cat >&2 <<'END'\n{text}END\nexit 1", "None")
    with pytest.raises(LaunchError, match="ResumeTimeout"):
        obtain(argv, ("n1",), LONG_S)


def test_a_node_whose_prolog_fails_is_named_and_not_waited_for(commands: Commands, tmp_path: Path) -> None:
    argv = commands(GRANTED, "None")
    script(tmp_path / "sinfo", "echo 'n1|idle|main*|none'\necho 'n2|drained|main*|Prolog error'")
    with pytest.raises(LaunchError, match=r"granted n\[1-2\].*n2: Slurm says drained \(Prolog error\)") as caught:
        obtain(argv, ("n1", "n2"), 30)
    assert "prolog" in caught.value.remedy
    assert cancelled(tmp_path) == "9\n"


def test_nodes_that_were_woken_in_vain_are_named(commands: Commands, tmp_path: Path) -> None:
    argv = commands(GRANTED, "None")
    script(tmp_path / "sinfo", "".join(f"echo 'n{place}|down~|main*|ResumeTimeout reached'\n" for place in (1, 2)))
    with pytest.raises(LaunchError, match=r"granted n\[1-3\], and n\[1-2\] did not wake up in time") as caught:
        obtain(argv, ("n1", "n2", "n3"), 30)
    assert "ResumeProgram" in caught.value.remedy
    assert "NodeName=n[1-2] State=RESUME" in caught.value.remedy


def test_an_interrupt_gives_back_what_salloc_had_got(
    commands: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = commands(GRANTED, "None")

    def interrupted(self: Waiting, said: str) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(Waiting, "hopeless", interrupted)
    with pytest.raises(KeyboardInterrupt):
        obtain(argv, ("n1",), 30)
    assert cancelled(tmp_path) == "9\n"


def test_holding_ends_a_program_and_keeps_what_it_said() -> None:
    seen: list[str] = []

    def give_up(said: str) -> bool:
        seen.append(said)
        return "two" in said

    one = Holding(["sh", "-c", "echo one >&2; sleep 0.3; echo two >&2; exec sleep 90"])
    assert one.until(b"ready", LONG_S, give_up, look_s=0.1) is HolderStart.GIVEN_UP
    one.kill()
    assert one.said() == seen[-1] == "one\ntwo\n"


def test_holding_notices_at_once_that_a_program_is_ready_or_over() -> None:
    began = time.monotonic()
    for script_text, start in (
        ("echo noise; echo ready 7; exec cat >/dev/null", HolderStart.READY),
        ("", HolderStart.ENDED),
    ):
        one = Holding(["sh", "-c", script_text])
        assert one.until(b"ready", 30, lambda _: False, look_s=30) is start
        assert one.release(20)
        one.kill()
    assert time.monotonic() - began < 20


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(LaunchError, match="/no/such cannot be started: No such file or directory"):
        Holding(["/no/such"])


class Queue:
    """A Waiting that is asked every second, on a clock of its own; squeue and sinfo write down that they were asked."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.now_s = 0.0
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        self.says("squeue", "Resources")
        self.says("sinfo", "n1|idle#|main*|none")
        self.waiting = Waiting(("n1",), clock=lambda: self.now_s)

    def says(self, program: str, text: str) -> None:
        script(self.folder / program, f"echo x >>{self.folder}/{program}.asked\necho '{text}'")

    def asked(self, program: str) -> int:
        path = self.folder / f"{program}.asked"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def hopeless_after(self, seconds: int, said: str) -> float | None:
        """After which of so many seconds the waiting makes no sense any more; None where it goes on."""
        began = self.now_s
        while self.now_s < began + seconds:
            self.now_s += 1
            if self.waiting.hopeless(said):
                return self.now_s - began
        return None

    def asked_at(self, program: str, seconds: int, said: str) -> list[float]:
        """At which times it is asked."""
        times = []
        for _ in range(seconds):
            before = self.asked(program)
            assert self.hopeless_after(1, said) is None
            times += [self.now_s] * (self.asked(program) - before)
        return times


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Queue:
    return Queue(tmp_path, monkeypatch)


def test_ten_minutes_in_the_queue_cost_the_controller_few_questions(queue: Queue) -> None:
    times = queue.asked_at("squeue", 600, SAID_PENDING)
    assert times[:5] == [2, 6, 14, 30, 60]
    assert len(times) <= 25
    assert max(later - before for before, later in pairwise(times)) == 30
    assert queue.asked("sinfo") == 0


def test_nodes_that_boot_are_asked_about_every_few_seconds(queue: Queue) -> None:
    times = queue.asked_at("sinfo", 120, SAID_GRANTED)
    assert times[0] <= 3
    assert max(later - before for before, later in pairwise(times)) == 10


def test_nothing_is_asked_before_salloc_has_a_job(queue: Queue) -> None:
    assert queue.asked_at("squeue", 100, "salloc: error: Unable to contact slurm controller, trying again\n") == []


def test_what_changes_after_minutes_in_the_queue_is_not_left_alone(queue: Queue) -> None:
    assert queue.hopeless_after(300, SAID_PENDING) is None
    queue.says("squeue", "PartitionNodeLimit")
    hopeless = queue.hopeless_after(60, SAID_PENDING)
    assert hopeless is not None
    assert hopeless <= 32


def test_a_granted_node_that_fails_is_noticed_within_seconds_however_long_the_queue_was(queue: Queue) -> None:
    assert queue.hopeless_after(300, SAID_PENDING) is None
    queue.says("sinfo", "n1|down|main*|none")
    lost = queue.hopeless_after(60, SAID_GRANTED)
    assert lost is not None
    assert lost <= 5


def test_a_refusal_says_what_was_asked_for() -> None:
    request = SlurmRequest(account="no such", qos="high", arguments=("--comment=x",))
    error = with_request(LaunchError("Slurm grants no allocation.", "Ask."), request)
    assert error.what == (
        "Slurm grants no allocation. The job was asked for with '--account=no such' --qos=high --comment=x."
    )
    assert with_request(error, SlurmRequest()) is error
