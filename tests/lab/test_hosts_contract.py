"""The launcher for hosts without Slurm keeps the contract through a real sshd, and leaves no process behind."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import attempt, pids_in, program
from seatrial.process.process import run
from tests.lab.mpi_processes import COMPILERS, ROOT, of_mpi, require_compiler
from tests.lab.waiting import LONG_S, eventually
from tests.support.lab_hosts import without_slurm

pytestmark = pytest.mark.lab


@pytest.mark.parametrize("mpicc", COMPILERS)
def test_the_contract(ssh_lab: LabPlan, tmp_path: Path, mpicc: str) -> None:
    require_compiler(mpicc)
    words = [sys.executable, "-m", "tests.lab.hosts_contract", str(tmp_path), mpicc]
    done = run(without_slurm(ssh_lab, words, cwd=str(ROOT)), timeout_s=150)
    assert done.stdout == "the contract is kept\n", done.stderr
    assert eventually(lambda: not of_mpi(ssh_lab)), of_mpi(ssh_lab)


@pytest.mark.parametrize(("mpicc", "number"), [*zip(COMPILERS, (signal.SIGKILL, signal.SIGINT), strict=True)])
def test_no_rank_outlives_a_driver_that_is_killed_or_interrupted(
    ssh_lab: LabPlan, tmp_path: Path, mpicc: str, number: signal.Signals
) -> None:
    require_compiler(mpicc)
    words = [sys.executable, "-m", "seatrial", "check", "--no-nodes", "--hosts", "n[1-3]", "--mpicc", mpicc]
    words += ["--archive", str(tmp_path / "runs"), "--budget", "120s", "--run", "cut"]
    argv = without_slurm(ssh_lab, words, cwd=str(ROOT))
    with (tmp_path / "said").open("wb") as said, subprocess.Popen(argv, stdout=said, stderr=said) as driver:
        try:
            assert eventually(lambda: of_mpi(ssh_lab).count("seatrial-probe") == 3), (tmp_path / "said").read_text()
            time.sleep(0.5)
            driver.send_signal(number)  # nsenter has become the driver itself
            driver.wait(LONG_S)
        finally:
            driver.kill()
    assert eventually(lambda: not of_mpi(ssh_lab)), of_mpi(ssh_lab)
    if number is signal.SIGINT:
        assert driver.returncode in (1, 2)  # 1: there is a finding where others took the cores
        assert "INTERRUPTED" in (tmp_path / "said").read_text().upper()


def test_a_stopped_rank_does_not_keep_the_others(ssh_lab: LabPlan, tmp_path: Path) -> None:
    """SIGTERM does not end a stopped process; without more, Hydra would wait for it for ever."""
    words = [sys.executable, "-m", "seatrial", "check", "--no-nodes", "--hosts", "n[1-3]", "--mpicc", "mpicc.mpich"]
    words += ["--archive", str(tmp_path / "runs"), "--budget", "120s"]
    argv = without_slurm(ssh_lab, words, cwd=str(ROOT))
    with (tmp_path / "said").open("wb") as said, subprocess.Popen(argv, stdout=said, stderr=said) as driver:
        try:
            assert eventually(lambda: of_mpi(ssh_lab).count("seatrial-probe") == 3), (tmp_path / "said").read_text()
            (rank,) = [pid for pid in pids_in([ssh_lab.space("n2")]) if program(pid) == "seatrial-probe"]
            attempt(["kill", "-STOP", str(rank)])
        finally:
            driver.kill()
    assert eventually(lambda: not of_mpi(ssh_lab)), of_mpi(ssh_lab)


def test_a_host_that_is_known_by_its_address_is_measured(ssh_lab: LabPlan, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "seatrial", "link", "--hosts", "10.77.1.1,n2", "--max-size", "8KiB"]
    words += ["--archive", str(tmp_path / "runs"), "--budget", "10s"]
    done = run(without_slurm(ssh_lab, words, cwd=str(ROOT)), timeout_s=120)
    assert done.returncode in (0, 1, 2), done.stderr
    assert re.search(r"10\.77\.1\.1", done.stdout), done.stdout + done.stderr
