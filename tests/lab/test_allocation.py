"""How allocations end on a real Slurm: COMPLETED after a run, and at once when the driver or salloc is killed."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from seatrial.archive.reader import find_run, read_run
from seatrial.lab.cluster import planting
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import pids_marked, program, send
from seatrial.lab.faults.base import Parameters
from seatrial.process.process import Completed, run
from tests.lab.waiting import decided, eventually, inconclusive

pytestmark = pytest.mark.lab
SEATRIAL = (sys.executable, "-m", "seatrial")
OF_SLURMD = ("REQUEST_STEP_COMPLETE", "MESSAGE_NODE_REGISTRATION_STATUS")
"""What the daemons of the nodes send by themselves; registrations come at any time."""
MOST_REQUESTS = 20
"""Of the commands of one check; a node's own reports that a step is over come on top."""
REQUESTS_OF_A_START = 3
"""To create, describe and cancel a step: Open MPI's TCP transport crashes now and then while it starts."""


def typed(lab: LabPlan, *argv: str) -> str:
    done = run(as_user(lab, argv), timeout_s=120)
    assert done.ok, done.stderr
    return done.stdout


def ours(lab: LabPlan) -> dict[str, str]:
    """Number -> state of the jobs that seatrial has made."""
    lines = typed(lab, "squeue", "--noheader", "--states=all", "--format=%i %T %j").splitlines()
    return {words[0]: words[1] for words in map(str.split, lines) if words[2].startswith("seatrial-")}


@contextmanager
def check_under_way(lab: LabPlan, folder: Path) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    """The driver of a check whose job runs, and that job's number."""
    before = set(ours(lab))
    argv = [*SEATRIAL, "check", "--no-nodes", "--archive", str(folder), "--nodes", "n[1-2]", "--budget", "8s"]
    with subprocess.Popen(as_user(lab, argv), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
        try:
            assert eventually(lambda: "RUNNING" in {state for job, state in ours(lab).items() if job not in before})
            (job,) = set(ours(lab)) - before
            yield driver, job
        finally:
            driver.kill()


def holders(lab: LabPlan, *names: str) -> list[int]:
    """The processes of the lab with one of these names."""
    return [pid for pid in pids_marked(f"SEATRIAL_LAB={lab.name}") if program(pid) in names]


def nothing_left(lab: LabPlan) -> bool:
    """Whether no process of the lab holds or keeps an allocation any more."""
    return eventually(lambda: not holders(lab, "salloc", "cat", "srun"))


@pytest.mark.alone
def test_good_runs_are_completed_jobs_and_ask_the_controller_little(lab4: LabPlan, tmp_path: Path) -> None:
    """A healthy lab has no finding; the requests are those of the last check."""
    before: set[str] = set()
    words = ["check", "--no-nodes", "--archive", str(tmp_path), "--budget", "20s", "--nodes", "n[1-4]"]

    def attempt() -> Completed:
        before.update(ours(lab4))
        typed(lab4, "sdiag", "--reset")
        return run(as_user(lab4, [*SEATRIAL, *words]), timeout_s=120)

    done = decided(attempt, inconclusive)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = typed(lab4, "sdiag").partition("by message type")[2].partition("by user")[0]
    asked = {
        line.split()[0]: int(line.partition("count:")[2].split()[0]) for line in counts.splitlines() if "(" in line
    }
    most = MOST_REQUESTS + REQUESTS_OF_A_START * len(read_run(find_run(tmp_path, "last")).losses)
    assert sum(count for name, count in asked.items() if name not in OF_SLURMD) <= most, asked
    assert "REQUEST_KILL_JOB" not in asked
    typed(lab4, *SEATRIAL, "facts", "n[1-2]")
    assert eventually(lambda: [s for job, s in ours(lab4).items() if job not in before] == ["COMPLETED"] * 2)
    assert nothing_left(lab4)


@pytest.mark.parametrize("after_s", [0.0, 1.5])
def test_a_killed_driver_has_no_job_left_within_seconds(lab4: LabPlan, tmp_path: Path, after_s: float) -> None:
    with check_under_way(lab4, tmp_path) as (driver, job):
        time.sleep(after_s)
        driver.kill()
        assert eventually(lambda: ours(lab4)[job] != "RUNNING", timeout_s=10)
    assert nothing_left(lab4)


def test_a_run_whose_salloc_is_killed_goes_on_and_gives_its_nodes_back(lab4: LabPlan, tmp_path: Path) -> None:
    with check_under_way(lab4, tmp_path) as (driver, job):
        # It has the nodes once its program, `cat` in the end, runs; until then that is called salloc for a moment, too.
        assert eventually(lambda: len(holders(lab4, "salloc")) == len(holders(lab4, "cat")) == 1)
        send(holders(lab4, "salloc"), signal.SIGKILL)
        assert driver.wait(120) in (0, 1, 2)
        assert eventually(lambda: ours(lab4)[job] == "CANCELLED"), ours(lab4)
    assert nothing_left(lab4)
    assert list(tmp_path.glob("*/run.json"))


def test_a_detached_check_with_findings_is_a_completed_job(lab4: LabPlan, tmp_path: Path) -> None:
    planting.plant(lab4.name, "mtu", "n2", Parameters(mtu=1400))
    before = set(ours(lab4))
    options = ["--archive", str(tmp_path), "--nodes", "n[1-4]", "--budget", "8s", "--run", "later"]
    typed(lab4, *SEATRIAL, "check", "--detach", "--no-nodes", *options)
    (job,) = set(ours(lab4)) - before
    assert eventually(lambda: ours(lab4)[job] not in ("PENDING", "RUNNING", "COMPLETING"), timeout_s=120)
    assert ours(lab4)[job] == "COMPLETED", (tmp_path / "later.submitted" / "output.txt").read_text()
    collected = run(as_user(lab4, [*SEATRIAL, "runs", "collect", "later", "--archive", str(tmp_path)]), timeout_s=60)
    assert collected.returncode == 1, collected.stdout
