"""Numbers of a real Slurm equal what its commands print while the queue is held; a silent controller is unknown."""

import signal
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LOGIN, LabPlan
from seatrial.lab.cluster.processes import pids_in, program, send
from seatrial.process.process import Completed, run
from tests.lab.waiting import eventually

pytestmark = pytest.mark.lab
JOBS, NODES = 6, 4


def in_lab(lab: LabPlan, *words: str) -> Completed:
    return run(as_user(lab, [*words]), timeout_s=60)


def states_of_jobs(lab: LabPlan) -> Counter[str]:
    """How many jobs are in each state, by squeue."""
    return Counter(in_lab(lab, "squeue", "--noheader", "--format=%T").stdout.split())


def numbers(lab: LabPlan, folder: Path, *options: str) -> tuple[Completed, dict[tuple[str, ...], float]]:
    """A call with a cache of its own, and its numbers by name and label values."""
    folder.mkdir(exist_ok=True)
    environment = [f"XDG_CACHE_HOME={folder}", f"SEATRIAL_ARCHIVE={folder / 'archive'}"]
    done = in_lab(lab, "env", *environment, sys.executable, "-m", "seatrial", "metrics", *options)
    families = text_string_to_metric_families(done.stdout)
    samples = [sample for family in families for sample in family.samples]
    return done, {(sample.name, *sample.labels.values()): sample.value for sample in samples}


def test_the_numbers_are_those_of_slurms_own_commands(lab4: LabPlan, tmp_path: Path) -> None:
    day = datetime.now(UTC).date()
    for _ in range(JOBS):
        done = in_lab(lab4, "sbatch", "--nodes=1", "--exclusive", "--output=/dev/null", "--wrap", "sleep 600")
        assert done.ok, done.stderr
    try:
        assert eventually(lambda: states_of_jobs(lab4)["RUNNING"] == NODES)
        _, found = numbers(lab4, tmp_path / "cache")
        states = states_of_jobs(lab4)
        nodes = Counter(in_lab(lab4, "sinfo", "--noheader", "--Node", "--partition=main", "--format=%T").stdout.split())
        assert states.total() == JOBS
        assert found["slurm_jobs",] == JOBS
        assert found["slurm_jobs_running",] == states["RUNNING"] == found["slurm_partition_jobs_running", "main"]
        assert found["slurm_jobs_pending",] == states["PENDING"]
        assert found["slurm_user_jobs_running", "root"] == states["RUNNING"]
        assert found["slurm_nodes",] == NODES
        assert found["slurm_nodes_alloc",] == nodes["allocated"]
        assert found["slurm_nodes_idle",] == nodes["idle"]
        assert found["slurm_partition_nodes_alloc", "main"] == nodes["allocated"]
        assert (
            sum(value for (name, *_), value in found.items() if name == "slurm_node_cpus_alloc")
            == 2 * states["RUNNING"]
        )
        later = datetime.now(UTC).date() != day  # slurmctld counts from midnight in UTC
        assert found["slurm_sdiag_jobs_submitted",] >= JOBS or later
        assert {found["seatrial_slurm_command_answered", name] for name in ("sinfo", "squeue", "sdiag")} == {1}
    finally:
        in_lab(lab4, "scancel", "--user=root")


def test_a_controller_that_does_not_answer_makes_its_numbers_unknown_in_time(lab4: LabPlan, tmp_path: Path) -> None:
    pids = [pid for pid in pids_in([lab4.space(LOGIN)]) if program(pid) == "slurmctld"]
    assert pids
    send(pids, signal.SIGSTOP)
    try:
        done, found = numbers(lab4, tmp_path / "cache")
    finally:
        send(pids, signal.SIGCONT)
    assert done.returncode == 0, done.stderr
    assert not [name for name, *_ in found if name.startswith("slurm_")]
    assert found["seatrial_slurm_command_answered", "sinfo"] == 0
    assert found["seatrial_nodes", "PASS"] == 0
    assert "these numbers are unknown" in done.stderr
