"""Ranks that die on a real Slurm: killed in each session or once, and ended by the kernel for want of memory."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from bench.dead_ranks import PROBE, faults, one_run

from seatrial.archive.journal import SessionLost, of_type
from seatrial.archive.reader import find_run, read_entries, read_run
from seatrial.commands.check.judge import judge
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import named, pids_in
from seatrial.model.loss import LossCause, SessionLoss
from tests.lab.waiting import LONG_S, decided, eventually

pytestmark = pytest.mark.lab
SOON_S = 0.8
"""On an idle machine the rest of such a check takes less than two seconds."""
MEMORY = Path("/sys/fs/cgroup/memory")


def losses_in(archive: Path) -> list[SessionLoss]:
    """The sessions that the newest run lost."""
    return [entry.loss for entry in of_type(read_entries(find_run(archive, "last")), SessionLost)]


def mpi_crashed(archive: Path, found: dict[str, Any]) -> bool:
    """Whether more sessions ended by a signal than the test killed: Open MPI 4.1 crashes in some of its starts."""
    return sum(loss.loss.cause is LossCause.SIGNAL for loss in losses_in(archive)) > len(found["killed"])


def test_a_rank_killed_in_each_session_is_a_finding_on_its_node(lab4: LabPlan, tmp_path: Path) -> None:
    options, draw = ("--no-nodes", "--no-loaded"), random.Random(1)
    attempt = partial(one_run, lab4, tmp_path, "n3", *options, once=False, draw=draw, latest_s=SOON_S)
    found = decided(attempt, partial(mpi_crashed, tmp_path))
    assert not faults(found, once=False), found
    losses = losses_in(tmp_path)
    assert len(losses) >= 3
    assert all(one.loss.deaths for one in losses)


@pytest.mark.alone
def test_a_rank_killed_once_is_a_note(lab4: LabPlan, tmp_path: Path) -> None:
    attempt = partial(one_run, lab4, tmp_path, "n2", "--no-nodes", once=True, draw=random.Random(2))
    found = decided(attempt, lambda one: one["verdict"] == "INCONCLUSIVE" or mpi_crashed(tmp_path, one))
    assert not faults(found, once=True), found
    assert (found["exit"], found["verdict"], found["complete"]) == (0, "PASS", True)


@pytest.fixture
def small_memory() -> Iterator[Path]:
    """A memory cgroup that a rank soon outgrows; what it had before it was moved there does not count."""
    if not (MEMORY / "memory.limit_in_bytes").exists():
        pytest.skip("no memory cgroup of version 1")
    group = MEMORY / f"seatrial-oom-{os.getpid()}"
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text("64K")
    yield group
    assert eventually(lambda: removed(group))


def removed(group: Path) -> bool:
    """Whether a control group could be removed: not while a process in it is ending, although none is listed then."""
    with suppress(OSError):
        group.rmdir()
    return not group.exists()


def killed_there(lost: SessionLoss) -> bool:
    """Whether SIGKILL ended n4's rank, as the kernel does: Open MPI 4.1 crashes by others in some of its starts."""
    signals = {death.signal for death in lost.loss.deaths if death.first and death.node == "n4"}
    return signals == {signal.SIGKILL}


def test_a_rank_that_the_kernel_kills_for_want_of_memory(lab4: LabPlan, tmp_path: Path, small_memory: Path) -> None:
    """The cgroup is not Slurm's, which therefore says no more than Killed; the kernel's counter says the rest."""
    words = [sys.executable, "-m", "seatrial", "check", "--no-nodes", "--no-loaded", "--json"]
    argv = as_user(lab4, [*words, "--archive", str(tmp_path)])
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    moved: set[int] = set()
    deadline = time.monotonic() + LONG_S
    while process.poll() is None and time.monotonic() < deadline:
        for pid in set(named(pids_in([lab4.space("n4")]), PROBE)) - moved:
            with suppress(ProcessLookupError):  # its session may have ended meanwhile
                (small_memory / "cgroup.procs").write_text(str(pid))
            moved.add(pid)
        time.sleep(0.05)
    process.communicate(timeout=LONG_S)
    recorded = read_run(find_run(tmp_path, "last"))
    killed = [one for one in recorded.losses if one.loss.suspects == ("n4",) and killed_there(one)]
    assert len(killed) >= 2, recorded.losses
    (finding,) = (one for one in judge(recorded).findings if one.kind == "rank-died")
    assert (finding.subject.text, process.returncode) == ("node:n4", 1)
    assert f"out of memory (signal 9 (SIGKILL)) {len(killed)} times" in finding.statement
    assert "memory limit" in finding.remedy
