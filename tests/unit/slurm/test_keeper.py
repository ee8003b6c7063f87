"""Who cancels the jobs of a program that was killed, with a scancel of our own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from seatrial.model.errors import LaunchError
from seatrial.process.keeper import MARK, Duty, EndProcesses, Keeper, KeeperCommand
from seatrial.slurm.argv import salloc
from seatrial.slurm.queue import job_ending, new_job_name
from tests.lab.waiting import LONG_S, eventually

HOLDER = """
import time
from seatrial.process.keeper import Keeper
from seatrial.slurm.queue import job_ending, new_job_name
name = new_job_name()
kept = Keeper(job_ending(name))
print(name, flush=True)
time.sleep(60)
"""
DEAF = "import signal, sys, time; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"


@pytest.fixture
def cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file to which a scancel on PATH writes what it is told."""
    (tmp_path / "scancel").write_text(f'#!/bin/sh\ncd {tmp_path} && echo "$@" >half && mv half cancelled\n')
    (tmp_path / "scancel").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path / "cancelled"


def quick(name: str) -> tuple[Duty, ...]:
    """The duties for a job without their pauses."""
    first, second, end = job_ending(name)
    assert isinstance(first, KeeperCommand)
    assert isinstance(second, KeeperCommand)
    assert isinstance(end, EndProcesses)
    return (replace(first, pause_s=0.05), replace(second, after_s=0.0), replace(end, patience_s=0.2, grace_s=0.2))


def wait_for(path: Path) -> str:
    """What a program writes to a file, once it has: a file is empty for a moment after it was made."""
    assert eventually(lambda: path.exists() and path.read_text().endswith("\n"), every_s=0.02)
    return path.read_text()


def writing(path: Path, word: str) -> tuple[str, ...]:
    return ("sh", "-c", 'echo "$2" >>"$1"', "sh", str(path), word)


def deaf(*words: str, mark: str = "") -> "subprocess.Popen[str]":
    """A program that ignores SIGTERM."""
    environment = {**os.environ, **({MARK: mark} if mark else {})}
    process = subprocess.Popen(
        [sys.executable, "-c", DEAF, *words], stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_jobs_of_a_killed_program_are_cancelled(cancelled: Path, how: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        name = holder.stdout.readline().strip()
        assert not cancelled.exists()
        holder.send_signal(how)
        holder.wait(LONG_S)
    assert name.startswith("seatrial-")
    assert wait_for(cancelled) == f"--user={os.geteuid()} --name={name}\n"


def test_a_dismissed_keeper_cancels_nothing(cancelled: Path) -> None:
    one = Keeper(quick("seatrial-1"))
    one.dismiss()
    one.dismiss()
    time.sleep(0.2)
    assert not cancelled.exists()


def test_a_released_keeper_goes_on_until_slurm_hears(cancelled: Path, tmp_path: Path) -> None:
    heard = (tmp_path / "scancel").read_text().partition("\n")[2]
    asked_before = f"[ -e {tmp_path}/asked ] || {{ : >{tmp_path}/asked; exit 1; }}"
    (tmp_path / "scancel").write_text(f"#!/bin/sh\n{asked_before}\n{heard}")
    one = Keeper(quick("seatrial-1"))
    one.release()
    one.dismiss()
    assert wait_for(cancelled).endswith("--name=seatrial-1\n")


def test_a_salloc_that_hangs_at_its_end_is_killed_and_no_other(cancelled: Path) -> None:
    names = [new_job_name(), new_job_name()]
    assert names[0] != names[1]
    hanging, elsewhere = (deaf(*salloc(["n1"], 60, "", name)) for name in names)
    Keeper(quick(names[0])).release()
    with hanging, elsewhere:
        assert hanging.wait(LONG_S) == -signal.SIGKILL
        assert elsewhere.poll() is None
        elsewhere.kill()


def test_duties_are_carried_out_in_order_and_a_needed_one_that_fails_ends_them(tmp_path: Path) -> None:
    log, over = tmp_path / "log", tmp_path / "over"
    never = KeeperCommand(argv=writing(tmp_path / "no", "never"))
    one = Keeper([never])
    one.take(
        [
            KeeperCommand(argv=writing(log, "first")),
            KeeperCommand(argv=("false",)),
            KeeperCommand(argv=("/no/such/program",)),
            KeeperCommand(
                argv=(*writing(log, "second")[:2], 'echo second >>"$1"; ls "$1.x"; : >"$1.x"', "sh", str(log)),
                tries=3, pause_s=0.01,
            ),
            KeeperCommand(argv=writing(over, "over")),
            KeeperCommand(argv=("false",), tries=2, pause_s=0.01, needed=True),
            never,
        ]
    )  # fmt: skip
    one.release()
    assert wait_for(over) == "over\n"
    assert log.read_text().split() == ["first", "second"]
    time.sleep(0.2)
    assert not (tmp_path / "no").exists()


def test_programs_that_bear_a_mark_are_ended_whatever_session_they_are_in() -> None:
    mark = f"here-{os.getpid()}"  # another run of the tests may be on this machine
    marked, other = deaf(mark=mark), deaf(mark="elsewhere")
    Keeper([EndProcesses(words=(f"{MARK}={mark}",), grace_s=0.1)]).release()
    with marked, other:
        assert marked.wait(LONG_S) == -signal.SIGKILL
        assert other.poll() is None
        other.kill()


def test_a_keeper_is_deaf_to_signals_and_never_bears_a_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MARK, "outer")
    done = tmp_path / "done"
    one = Keeper([KeeperCommand(argv=writing(done, "$" + MARK))])
    process = one._process
    assert process is not None
    status = Path(f"/proc/{process.pid}/status")
    wanted = (1 << 0) | (1 << 1) | (1 << 14)
    deadline = time.monotonic() + LONG_S
    while time.monotonic() < deadline:
        ignored = next(line for line in status.read_text().splitlines() if line.startswith("SigIgn"))
        if int(ignored.split()[1], 16) & wanted == wanted:
            break
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        process.send_signal(number)
    assert f"{MARK}=".encode() not in Path(f"/proc/{process.pid}/environ").read_bytes()
    one.release()
    assert wait_for(done)


def test_a_keeper_that_was_killed_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = tmp_path / "done"
    one = Keeper()
    assert one._process is not None
    one._process.kill()
    one._process.wait()
    one.take([KeeperCommand(argv=writing(done, "done"))])
    one.release()
    assert wait_for(done) == "done\n"
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(LaunchError, match="cannot be started"):
        Keeper().take([])
