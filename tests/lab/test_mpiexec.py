"""Ranks that the MPI's own launcher starts inside an allocation."""

import math
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from bench.dead_ranks import faults, one_run

from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import pids_in, program, send, start_ticks
from seatrial.process.process import Completed
from tests.lab.mpi_processes import COMPILERS, of_mpi, require_compiler
from tests.lab.test_dead_ranks import SOON_S, mpi_crashed
from tests.lab.waiting import decided, eventually
from tests.support.json_objects import parsed
from tests.support.processes import read_of

pytestmark = pytest.mark.lab
InLab = Callable[..., Completed]
SEATRIAL = (sys.executable, "-m", "seatrial")
BY_MPIEXEC = ("--start", "mpiexec")


def driver_of(lab: LabPlan, folder: Path) -> int:
    """The seatrial that measures into a folder; the shell around it names the folder, too, and its keeper does not.

    A program that the driver is just starting looks like it, but began later.
    """
    pids = [pid for pid in pids_in([lab.space("login")]) if program(pid).startswith("python")]
    alike = [pid for pid in pids if str(folder).encode() in read_of(pid, "cmdline")]
    return min(alike, key=lambda pid: start_ticks(pid) or math.inf)


def test_the_first_line_says_what_started_the_ranks(lab4: LabPlan, in_lab: InLab, tmp_path: Path) -> None:
    words = [*SEATRIAL, "link", "n1", "n3", "--max-size", "8KiB", "--budget", "5s", "--archive", str(tmp_path)]
    require_compiler("mpicc.mpich")
    said = {}
    for run, options in {"mpiexec": BY_MPIEXEC, "srun": ("--mpi", "pmi2", "--mpicc", "mpicc.mpich")}.items():
        done = in_lab(lab4, [*words, *options, "--json", "--run", run])
        assert done.returncode in (0, 1, 2), done.stderr  # nobody judges rates beside other labs
        said[run] = parsed(done.stdout)["headline"]
    assert said["mpiexec"].endswith("(started by mpiexec)")
    assert "started by" not in said["srun"]
    compared = in_lab(lab4, [*SEATRIAL, "compare", "mpiexec", "srun", "--archive", str(tmp_path)])
    assert "start" in compared.stdout + compared.stderr
    refused = in_lab(lab4, [*words, *BY_MPIEXEC, "--mpi", "pmix"])
    assert (refused.returncode, "--mpi is an option of srun" in refused.stderr) == (64, True), refused.stderr


@pytest.mark.parametrize("mpicc", COMPILERS)
@pytest.mark.parametrize("own_job", [False, True])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_rank_outlives_the_driver(
    lab4: LabPlan, tmp_path: Path, mpicc: str, number: signal.Signals, *, own_job: bool
) -> None:
    """In an allocation of seatrial's own, and inside a user's job, which goes on."""
    require_compiler(mpicc)
    words = [*SEATRIAL, "check", "--no-nodes", *BY_MPIEXEC, "--mpicc", mpicc, "--archive", str(tmp_path / "runs")]
    around = ["salloc", "-w", "n[1-3]", "--exclusive", "sh", "-c", '"$@"; sleep 60', "sh"] if own_job else []
    argv = as_user(lab4, [*around, *words, "--nodes", "n[1-3]", "--budget", "120s"])
    with (tmp_path / "said").open("wb") as said, subprocess.Popen(argv, stdout=said, stderr=said) as outer:
        try:
            assert eventually(lambda: of_mpi(lab4).count("seatrial-probe") == 3), (tmp_path / "said").read_text()
            time.sleep(0.5)
            send([driver_of(lab4, tmp_path)], number)
            assert eventually(lambda: not of_mpi(lab4)), of_mpi(lab4)
        finally:
            outer.kill()


@pytest.mark.series
@pytest.mark.parametrize("mpicc", COMPILERS)
def test_a_rank_killed_in_each_session_is_a_finding_on_its_node(lab4: LabPlan, tmp_path: Path, mpicc: str) -> None:
    require_compiler(mpicc)
    options, draw = ("--no-nodes", "--no-loaded", *BY_MPIEXEC, "--mpicc", mpicc), random.Random(1)
    attempt = partial(one_run, lab4, tmp_path, "n3", *options, once=False, draw=draw, latest_s=SOON_S)
    found = decided(attempt, partial(mpi_crashed, tmp_path))
    if mpicc == "mpicc.openmpi":
        assert not faults(found, once=False), found
    else:  # where Hydra trips over a dead rank, it does not always say which one died, and no node is blamed then
        named = {subject for kind, subject, _ in found["findings"] if kind == "rank-died"}
        assert named and named <= {"node:n3", "cluster:all"}, found
