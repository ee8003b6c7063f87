"""The doctor and the check on a cluster where launches do not work, each for a reason of its own."""

import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from seatrial.lab.cluster import planting
from seatrial.lab.cluster.daemons import alive
from seatrial.lab.cluster.host_argv import as_user, inside
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import named, pids_in, send
from seatrial.lab.faults.base import Parameters
from seatrial.launch.probe_build import default_folder
from seatrial.process.process import Completed, run
from tests.lab.waiting import LONG_S, eventually
from tests.support.json_objects import parsed
from tests.support.raised_lab import raised_lab

pytestmark = pytest.mark.lab
SEATRIAL = (sys.executable, "-m", "seatrial")
Seatrial = Callable[..., Completed]


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabPlan]:
    """Three nodes that Slurm may suspend, when it is told to."""
    with raised_lab("q", tmp_path_factory.getbasetemp(), nodes=3, leaves=1, suspend_after_s=3600) as plan:
        yield plan


@pytest.fixture
def lab(standing: LabPlan) -> Iterator[LabPlan]:
    wait_for(standing, lambda states: set(states.values()) == {"idle"})
    yield standing
    planting.clear(standing.name)
    for node in standing.node_names:
        run(as_user(standing, ["scontrol", "update", f"NodeName={node}", "State=RESUME"]), timeout_s=60)


def slurm(lab: LabPlan, *argv: str) -> str:
    """Standard output of one of Slurm's commands, which must succeed."""
    done = run(as_user(lab, argv), timeout_s=60)
    assert done.ok, done.stderr
    return done.stdout


def wait_for(lab: LabPlan, right: Callable[[dict[str, str]], bool]) -> None:
    assert eventually(lambda: right(states_of(lab)), every_s=0.2), states_of(lab)


def states_of(lab: LabPlan) -> dict[str, str]:
    lines = slurm(lab, "sinfo", "-hN", "-p", "main", "-o", "%N %T").splitlines()
    return {words[0]: words[1] for words in map(str.split, lines)}


def power_down(lab: LabPlan, node: str) -> None:
    """Until it is off: Slurm calls it suspended after a second, and a late order would end it when it is woken."""
    slurm(lab, "scontrol", "update", f"NodeName={node}", "State=POWER_DOWN")
    wait_for(lab, lambda states: states[node] == "idle~" and not alive(lab, node))


def asleep(lab: LabPlan, node: str) -> bool:
    """Whether it is off, and else a step to that.

    Slurm may call a node suspended that runs: one that was woken for a job which ended at that moment.
    """
    state = states_of(lab)[node]
    if state == "idle":
        slurm(lab, "scontrol", "update", f"NodeName={node}", "State=POWER_DOWN")
    elif state == "idle~" and alive(lab, node):
        send(named(pids_in([lab.space(node)]), "slurmd"), signal.SIGKILL)
    return state == "idle~" and not alive(lab, node)


def take_down(lab: LabPlan, node: str) -> None:
    """Until it stays down: what its slurmd had said before it was killed makes Slurm trust the node once more."""
    wait_for(lab, lambda _: not alive(lab, node))
    deadline = time.monotonic() + LONG_S
    seen_down = 0
    while seen_down < 5:
        down = states_of(lab)[node].startswith("down")
        seen_down = seen_down + 1 if down else 0
        if not down:
            slurm(lab, "scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=gone")
        assert time.monotonic() < deadline, states_of(lab)
        time.sleep(0.2)


@contextmanager
def partition(lab: LabPlan, change: str, back: str) -> Iterator[None]:
    slurm(lab, "scontrol", "update", "PartitionName=main", change)
    try:
        yield
    finally:
        slurm(lab, "scontrol", "update", "PartitionName=main", back)


@contextmanager
def hidden(lab: LabPlan, node: str, folder: Path) -> Iterator[None]:
    """An empty folder in the place of one, on one node."""
    assert run(inside(lab, node, ["mount", "-t", "tmpfs", "tmpfs", str(folder)]), timeout_s=60).ok
    try:
        yield
    finally:
        run(inside(lab, node, ["umount", str(folder)]), timeout_s=60)


def doctor(lab: LabPlan, *options: str, prefix: tuple[str, ...] = ()) -> dict[str, Any]:
    done = run(as_user(lab, [*prefix, *SEATRIAL, "doctor", "--json", *options]), timeout_s=180)
    found = parsed(done.stdout)
    assert isinstance(found, dict)
    assert found["exit_code"] == done.returncode
    return found


def blocked(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["kind"], one["statement"]) for one in found["remarks"] if one["verdict"] == "BLOCKED"]


def check(lab: LabPlan, archive: Path, *options: str) -> Completed:
    argv = [*SEATRIAL, "check", "--no-nodes", "--archive", str(archive), "--budget", "3s", "--json", *options]
    return run(as_user(lab, argv), timeout_s=180)


def test_pmi2_with_open_mpi_and_a_binary_missing_on_one_node(lab: LabPlan, tmp_path: Path) -> None:
    (one,) = (found := doctor(lab, "--mpi", "pmi2", "--nodes", "n[1-2]", "--mpicc", "mpicc.openmpi"))["remarks"][:1]
    assert one["verdict"] == "PASS"
    (obstacle,) = blocked(found)
    assert obstacle[0] == "mpi-type"
    assert re.search("OMPI was not built with SLURM's PMI support|MPI came up as 2 worlds of one rank", obstacle[1])
    came_up = "2 ranks came up on 2 nodes by (--mpi=pmix|mpiexec), as one world, and messages pass."
    assert re.fullmatch(came_up, found["remarks"][-1]["statement"])
    with hidden(lab, "n2", default_folder()):
        (missing,) = blocked(doctor(lab, "--nodes", "n[1-2]"))
        done = check(lab, tmp_path)
    assert missing[0] == "program-missing"
    assert missing[1].endswith("on n2.")
    assert done.returncode == 2
    assert "does not exist on n2." in done.stderr


def test_a_pure_environment_straight_below_salloc_is_recognised(lab: LabPlan) -> None:
    pure = 'exec salloc -N1 env -i "SLURM_CONF=$SLURM_CONF" "PATH=$PATH" "HOME=$HOME" "$@"'
    found = doctor(lab, prefix=("sh", "-c", pure, "sh"))
    ((kind, says),) = blocked(found)
    assert kind == "job-variables"
    assert re.fullmatch(r"This shell is inside job \d+ on n\d, and its SLURM_ variables are gone\.", says)


@pytest.mark.skipif(shutil.which("mpicc.mpich") is None, reason="no MPICH (libmpich-dev)")
def test_mpich_comes_up_as_singletons_and_the_type_that_works_is_found(lab: LabPlan) -> None:
    found = doctor(lab, "--mpicc", "mpicc.mpich", "--nodes", "n[1-2]")
    (singletons,) = [one for one in found["remarks"] if one["verdict"] == "BLOCKED"]
    assert "2 worlds of one rank" in singletons["statement"]
    assert singletons["remedy"] == "Use --mpi=pmi2, which works here."


def test_drained_and_down_nodes_and_a_partition_that_refuses(lab: LabPlan, tmp_path: Path) -> None:
    slurm(lab, "scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=bad DIMM")
    planting.plant(lab.name, "slurmd-killed", "n3", Parameters())
    take_down(lab, "n3")
    found = doctor(lab, "--nodes", "n[1-3]")
    assert [one[0] for one in blocked(found)] == ["node-down", "node-drained"]
    assert "n3 is down" in found["first"]
    assert "bad DIMM" in blocked(found)[1][1]
    assert "NOT_RUN" in [one["verdict"] for one in found["remarks"]]
    slurm(lab, "scontrol", "update", "NodeName=n2", "State=RESUME")
    planting.clear(lab.name)
    # A node that is still down or not responding would be a finding.
    wait_for(lab, lambda states: set(states.values()) == {"idle"})
    with partition(lab, "MaxNodes=1", "MaxNodes=UNLIMITED"):
        done = check(lab, tmp_path)
    assert done.returncode == 2, done.stdout
    assert "The partition allows jobs of 1 node (MaxNodes), and a pair needs two." in done.stderr
    with partition(lab, "MaxNodes=2", "MaxNodes=UNLIMITED"):
        request = parsed(slurm(lab, *SEATRIAL, "check", "--dry-run", "--json"))
    assert len(request["nodes"]) == 2
    stranger = ("unshare", "--user", "--map-user=65534", "--map-group=65534")
    with partition(lab, "AllowGroups=daemon", "AllowGroups=ALL"):
        found = doctor(lab, prefix=stranger)
    assert found["first"] == "The partition main is for the groups daemon (AllowGroups), and you are in none of them."


def test_a_suspended_node_is_woken_measured_and_left_and_nobody_is_disturbed(lab: LabPlan, tmp_path: Path) -> None:
    slurm(lab, "salloc", "-Q", "--no-shell", "--exclusive", "-N1", "-w", "n1")
    foreign = slurm(lab, "squeue", "-h", "-o", "%i %T %N").strip()
    power_down(lab, "n3")
    (note,) = [one["statement"] for one in doctor(lab)["remarks"] if one["kind"] == "node-suspended"]
    assert "n3 is suspended to save power" in note
    assert eventually(lambda: asleep(lab, "n3"), every_s=1), states_of(lab)  # the doctor's trial has woken it
    done = check(lab, tmp_path, "--nodes", "n[1-3]", "--idle-only")
    judged = parsed(done.stdout)
    assert "Slurm wakes n3" in done.stderr
    assert {pair["source"] for pair in judged["pairs"]} == {"n2", "n3"}
    assert all(pair["bandwidth_bytes_per_s"] for pair in judged["pairs"])
    assert slurm(lab, "squeue", "-h", "-o", "%i %T %N").strip() == foreign
    slurm(lab, "scancel", foreign.split()[0])
    wait_for(lab, lambda states: states["n3"] == "idle")
