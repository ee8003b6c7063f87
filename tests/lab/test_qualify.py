"""Idle nodes of a real Slurm are qualified: a slowed link is found, users' jobs come first, nothing is left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from seatrial.lab.cluster import planting
from seatrial.lab.cluster.daemons import slurm, wait_for_controller
from seatrial.lab.cluster.host_argv import as_user, in_space
from seatrial.lab.cluster.plan import LOGIN, LabPlan
from seatrial.lab.cluster.processes import pids_in, program
from seatrial.lab.faults.base import Parameters
from seatrial.process.process import Completed, run
from tests.lab.waiting import LONG_S, eventually, wait_until_idle
from tests.support.json_objects import parsed
from tests.support.processes import kill_all

pytestmark = pytest.mark.lab
POLICY = "minutes = 0.1\nkeep-free = 0\nnodes = 4\n"
MOST_SLICES = 9
GIVES_WAY_S = 5.0
SAVED_S = 8.0
"""slurmctld saves its state every 5 s: killed earlier, it would drain a node again that an earlier test has resumed."""
HALF = Parameters(percent=50)


class Timer:
    """Calls of qualify as a timer makes them, in a folder of the test's own."""

    def __init__(self, lab: LabPlan, folder: Path) -> None:
        self.lab, self.folder = lab, folder
        self.gate = folder / "gate"
        self.gate.mkdir(mode=0o755)
        (folder / "site.toml").write_text(f'[gate]\nfolder = "{self.gate}"\nshare = "50%"\n')
        self.says(POLICY)
        place = [f"SEATRIAL_ARCHIVE={folder / 'runs'}", f"SEATRIAL_SITE={folder / 'site.toml'}"]
        policy = str(folder / "policy.toml")
        self.words = ["env", *place, sys.executable, "-m", "seatrial", "qualify", policy]

    def says(self, policy: str) -> None:
        (self.folder / "policy.toml").write_text(policy)

    def call(self, *options: str) -> dict[str, Any]:
        """What a call reports, once the pause of the policy is over."""
        time.sleep(6)
        wait_until_idle(self.lab)
        done = self.slurm(*self.words, "--json", *options)
        assert done.returncode in (0, 1), done.stderr
        return parsed(done.stdout)

    def slurm(self, *words: str) -> Completed:
        return run(as_user(self.lab, words), timeout_s=150)

    def queue(self) -> str:
        return self.slurm("squeue", "--noheader", "--states=PENDING,RUNNING", "--format=%k %T").stdout.strip()


@pytest.fixture
def timer(lab4: LabPlan, tmp_path: Path) -> Timer:
    return Timer(lab4, tmp_path)


@pytest.fixture
def slice_begun(timer: Timer) -> "Iterator[Callable[[], subprocess.Popen[str]]]":
    """Begins a slice, and returns once it has its nodes."""
    processes: list[subprocess.Popen[str]] = []

    def begin() -> "subprocess.Popen[str]":
        argv = ["env", "--default-signal=INT", *as_user(timer.lab, [*timer.words, "--json"])]
        pipe = subprocess.PIPE
        processes.append(subprocess.Popen(argv, stdout=pipe, stderr=pipe, text=True, start_new_session=True))
        assert eventually(lambda: timer.queue() == "seatrial-qualify RUNNING"), timer.queue()
        return processes[-1]

    yield begin
    for process in processes:
        process.kill()
        process.wait(60)


@pytest.mark.alone
def test_a_users_job_gets_the_nodes_within_seconds(
    timer: Timer, slice_begun: "Callable[[], subprocess.Popen[str]]"
) -> None:
    process = slice_begun()
    began = time.monotonic()
    done = timer.slurm("srun", "--nodes=4", "--exclusive", "--mpi=none", "true")
    took_s = time.monotonic() - began
    out, err = process.communicate(timeout=LONG_S)
    assert done.ok, done.stderr
    assert took_s < GIVES_WAY_S
    assert process.returncode in (0, 1), err
    assert parsed(out)["slice"]["why"] == "a job that needs 4 nodes waits in main"


@pytest.mark.series
def test_a_controller_that_dies_during_a_slice_leaves_no_allocation(
    timer: Timer, slice_begun: "Callable[[], subprocess.Popen[str]]"
) -> None:
    time.sleep(SAVED_S)
    process = slice_begun()
    pids = [pid for pid in pids_in([timer.lab.space(LOGIN)]) if program(pid) == "slurmctld"]
    kill_all(pids)
    assert pids
    time.sleep(3)
    slurm(timer.lab, ["slurmctld"])
    wait_for_controller(timer.lab)
    process.communicate(timeout=150)
    assert process.returncode in (0, 1, 2)
    # A controller that had not saved the end of the job yet has it running again, until its time limit.
    assert eventually(lambda: timer.queue() == "", timeout_s=200), timer.queue()
    assert timer.call()["slice"]["nodes"] == ["n1", "n2", "n3", "n4"]


@pytest.mark.series
def test_a_full_disk_ends_the_slice_and_leaves_no_allocation(timer: Timer) -> None:
    small = timer.folder / "runs"
    small.mkdir()
    assert run(["mount", "-t", "tmpfs", "-o", "size=140k", "tmpfs", str(small)], timeout_s=60).ok
    try:
        # the login node's mounts are older than this one: the call has the network of the lab and the mounts of here
        _, _, *argv = as_user(timer.lab, timer.words)
        done = run(in_space(timer.lab.space(LOGIN), argv), timeout_s=120)
        assert done.returncode == 2, done.stdout
        assert "No space left" in done.stderr
        assert timer.queue() == ""
    finally:
        run(["umount", str(small)], timeout_s=60)
    assert timer.call()["slice"]["nodes"] == ["n1", "n2", "n3", "n4"]


def test_a_killed_call_leaves_no_allocation_and_the_next_one_goes_on(
    timer: Timer, slice_begun: "Callable[[], subprocess.Popen[str]]"
) -> None:
    process = slice_begun()
    os.kill(process.pid, signal.SIGKILL)  # env and nsenter replaced themselves by it
    assert eventually(lambda: timer.queue() == ""), timer.queue()
    found = timer.call()
    assert found["slice"]["nodes"] == ["n1", "n2", "n3", "n4"]


@pytest.mark.series
def test_a_link_that_was_slowed_is_found_after_some_slices_and_its_node_drained_and_no_other(timer: Timer) -> None:
    timer.says(f"{POLICY}drain = true\n")
    assert not [node for node in timer.call()["nodes"] if node["bad"]]
    planting.plant(timer.lab.name, "link-rate", "n3", HALF)
    found: dict[str, Any] = {}
    try:
        for _ in range(MOST_SLICES):
            found = timer.call()
            if any(node["bad"] for node in found["nodes"]):
                break
        (bad,) = [node for node in found["nodes"] if node["bad"]]
        assert (bad["node"], bad["verdict"], bad["findings"] >= 3) == ("n3", "SLOW", True)
        assert list(found["drains"]) == ["n3"]
        states = timer.slurm("sinfo", "--noheader", "--Node", "--partition=main", "--format=%N %T %E").stdout
        drained = [line for line in states.splitlines() if "drain" in line]
        assert len(drained) == 1 and drained[0].startswith("n3 drained seatrial: ")
    finally:
        timer.slurm("scontrol", "update", "NodeName=n3", "State=UNDRAIN")
