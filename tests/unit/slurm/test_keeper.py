"""Who cancels the jobs of a program that was killed, with a scancel of our own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seatrial.process import keeper
from seatrial.process.keeper import Keeper
from seatrial.slurm.argv import asking, salloc
from seatrial.slurm.queue import cancel_own

HOLDER = """
import time
from seatrial.process.keeper import Keeper
from seatrial.slurm.argv import asking
from seatrial.slurm.queue import cancel_own
print(Keeper(cancel_own, asking).name, flush=True)
time.sleep(60)
"""


@pytest.fixture
def cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file to which a scancel on PATH writes what it is told."""
    (tmp_path / "scancel").write_text(f'#!/bin/sh\ncd {tmp_path} && echo "$@" >half && mv half cancelled\n')
    (tmp_path / "scancel").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path / "cancelled"


def wait_for(path: Path) -> str:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not path.exists():
        time.sleep(0.02)
    return path.read_text()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_jobs_of_a_killed_program_are_cancelled(cancelled: Path, how: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        name = holder.stdout.readline().strip()
        assert not cancelled.exists()
        holder.send_signal(how)
        holder.wait(20)
    assert name.startswith("seatrial-")
    assert wait_for(cancelled) == f"--user={os.geteuid()} --name={name}\n"


def test_a_dismissed_keeper_cancels_nothing(cancelled: Path) -> None:
    one = Keeper(cancel_own, asking)
    one.dismiss()
    one.dismiss()
    time.sleep(0.2)
    assert not cancelled.exists()


def test_a_released_keeper_goes_on_until_slurm_hears(
    cancelled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = (tmp_path / "scancel").read_text().partition("\n")[2]
    deaf = f"[ -e {tmp_path}/asked ] || {{ : >{tmp_path}/asked; exit 1; }}"
    (tmp_path / "scancel").write_text(f"#!/bin/sh\n{deaf}\n{heard}")
    monkeypatch.setattr(keeper, "WAITING", keeper.WAITING.replace("sleep", ":"))
    one = Keeper(cancel_own, asking)
    one.release()
    one.dismiss()
    assert wait_for(cancelled).endswith(f"--name={one.name}\n")


def test_a_salloc_that_hangs_at_its_end_is_killed_and_no_other(
    cancelled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "WAITING", keeper.WAITING.replace("sleep", ":"))
    one, other = Keeper(cancel_own, asking), Keeper(cancel_own, asking)
    hanging, elsewhere = (
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", *salloc(["n1"], 60, "", of.name)])
        for of in (one, other)
    )
    one.release()
    assert hanging.wait(20) == -signal.SIGKILL
    assert elsewhere.poll() is None
    elsewhere.kill()
    elsewhere.wait()
    other.dismiss()


def test_no_two_have_one_name(cancelled: Path) -> None:
    keepers = Keeper(cancel_own, asking), Keeper(cancel_own, asking)
    assert keepers[0].name != keepers[1].name
    for one in keepers:
        one.dismiss()
    assert not cancelled.exists()
