"""Labs as a whole: they stand side by side, serve Slurm and MPI, and leave nothing behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.fabric.slurm_topology import parse_topology
from seatrial.lab.cluster import planting, state, stop
from seatrial.lab.cluster.host_argv import in_space
from seatrial.lab.cluster.plan import LabPlan, make_plan
from seatrial.lab.cluster.processes import all_pids, call, kill_all, pids_in, program, state_letter
from seatrial.lab.cluster.start import needed_folders, raise_lab
from seatrial.lab.faults.base import Parameters
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.process.process import Completed, run
from tests.lab.waiting import eventually
from tests.support.json_objects import parsed
from tests.support.processes import read_of

pytestmark = pytest.mark.lab
InLab = Callable[..., Completed]
FORKING_DAEMON = """
import os, time
os.setsid()
for _ in range(500):
    time.sleep(0.0002)
    if os.fork():
        os._exit(0)
time.sleep(60)
"""
SEATRIAL = (sys.executable, "-m", "seatrial")
DAEMONS = ("slurmctld", "slurmd", "slurmstepd", "slurmscriptd")


def traces(name: str) -> set[str]:
    """Everything of this machine that the lab of that name could leave behind."""
    found = set(stop.remains(name))
    for path in (Path("/proc/self/mountinfo"), Path("/proc/net/dev")):
        found |= {line for line in path.read_text().splitlines() if name in line}
    for pid in all_pids():
        if program(pid) in DAEMONS and state_letter(pid) not in ("", "Z"):
            of_lab = f"SEATRIAL_LAB={name}\0".encode() in read_of(pid, "environ")  # daemons of other labs come and go
            found |= {f"process {pid}"} if of_lab else set()
    return found


def small(name: str) -> LabPlan:
    return make_plan(name=name, nodes=2, folders=needed_folders())


def test_every_node_runs_jobs_under_its_own_name(lab4: LabPlan, in_lab: InLab) -> None:
    done = in_lab(lab4, ["srun", "-N4", "hostname"])
    assert sorted(done.stdout.split()) == ["n1", "n2", "n3", "n4"], done.stderr
    assert in_lab(lab4, ["hostname"]).stdout == "login\n"
    assert in_lab(lab4, ["hostname"], host="n2").stdout == "n2\n"


def test_a_node_shows_its_own_link_and_its_design_rate(lab4: LabPlan, in_lab: InLab) -> None:
    done = in_lab(lab4, ["sh", "-c", "ls /sys/class/net; cat /sys/class/net/eth0/speed; ls /sys/fs/cgroup"], host="n3")
    words = done.stdout.split()
    assert words[:3] == ["eth0", "lo", "1000"], done.stderr
    assert len(words) > 3


def test_slurm_knows_the_switches(lab4: LabPlan, in_lab: InLab) -> None:
    text = in_lab(lab4, ["scontrol", "show", "topology"]).stdout
    assert parse_topology(text).leaf_of == {"n1": "leaf1", "n2": "leaf1", "n3": "leaf2", "n4": "leaf2"}


def test_exit_codes_input_and_folder_pass_through(
    lab4: LabPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    argv = [*SEATRIAL, "lab", "run", "--name", lab4.name, "--", "sh", "-c", "cat; pwd; exit 7"]
    done = run(argv, timeout_s=60, stdin="hello\n")
    assert done.returncode == 7, done.stderr
    assert done.stdout.splitlines() == ["hello", str(tmp_path)]


def test_two_labs_stand_at_once_and_do_not_see_each_other(lab4: LabPlan, lab_name: str, in_lab: InLab) -> None:
    raise_lab(small(lab_name))
    done = in_lab(small(lab_name), ["srun", "-N2", "sh", "-c", "hostname; grep -c nsfs /proc/self/mountinfo"])
    assert sorted(done.stdout.split()) == ["0", "0", "n1", "n2"], done.stderr
    assert len(in_lab(lab4, ["srun", "-N4", "hostname"]).stdout.split()) == 4
    with pytest.raises(SeatrialError, match="is running already"):
        raise_lab(small(lab_name))


@pytest.mark.parametrize("shift", [1, -1])
def test_a_lab_stands_in_a_mount_namespace_of_its_own_whatever_its_number(lab_name: str, shift: int) -> None:
    """Since Linux 6.18 a namespace made later on another processor may have the smaller number."""
    cores = sorted(os.sched_getaffinity(0))
    around = ["taskset", "-c", str(cores[0]), "unshare", "--mount", "taskset", "-c", str(cores[shift % len(cores)])]
    if shift < 0:
        around[2], around[-1] = around[-1], around[2]
    lab = f'"$@" lab up --node-count 2 --name {lab_name} && "$@" lab run --name {lab_name} -- srun -N2 hostname'
    done = run([*around, "sh", "-c", f'{lab}; "$@" lab down --name {lab_name}', "sh", *SEATRIAL], timeout_s=120)
    assert {"n1", "n2"} <= set(done.stdout.split()), done.stderr


def test_down_leaves_nothing(lab_name: str, in_lab: InLab) -> None:
    raise_lab(small(lab_name))
    assert traces(lab_name)
    in_lab(small(lab_name), ["sbatch", "-N2", "--wrap", "srun sleep 100", "-o", "/dev/null"])
    planting.plant(lab_name, "node-hung", "n2", Parameters())
    stop.raze(lab_name)
    assert traces(lab_name) == set()
    stop.raze(lab_name)
    with pytest.raises(UsageError, match=lab_name):
        state.standing(lab_name)


@pytest.mark.parametrize("after_s", [0.05, 0.15, 0.25, 0.4])
def test_what_a_killed_up_had_built_can_be_removed(lab_name: str, after_s: float) -> None:
    child = os.fork()
    if child == 0:
        try:
            raise_lab(make_plan(name=lab_name, nodes=8, folders=needed_folders()))
        finally:
            os._exit(0)
    time.sleep(after_s)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    stop.raze(lab_name)
    time.sleep(0.2)
    assert traces(lab_name) == set()


def test_what_a_killed_up_had_started_and_not_yet_moved_in_is_ended(lab_name: str) -> None:
    """As nsenter is between its start and the lab's namespace, and `ip -batch` that makes the namespaces."""
    variable, _, value = state.raised(lab_name).partition("=")
    late = subprocess.Popen(["/usr/bin/sleep", "60"], env={**os.environ, variable: value})
    stop.raze(lab_name)
    assert late.wait(timeout=60) == -signal.SIGKILL


def test_a_daemon_that_forks_while_it_is_looked_for_does_not_escape(lab_name: str) -> None:
    space = f"{lab_name}-x"
    call(["ip", "netns", "add", space])
    try:
        for _ in range(10):
            subprocess.Popen(in_space(space, [sys.executable, "-S", "-c", FORKING_DAEMON])).wait(timeout=60)
            assert kill_all([space]) == []
            time.sleep(0.01)
            assert pids_in([space]) == []
    finally:
        kill_all([space])
        call(["ip", "netns", "delete", space])


def test_a_terminated_up_tears_down_by_itself(lab_name: str) -> None:
    child = os.fork()
    if child == 0:
        try:
            raise_lab(make_plan(name=lab_name, nodes=32, folders=needed_folders()))
        finally:
            os._exit(0)
    assert eventually(state.state_file(lab_name).exists, every_s=0.005)
    os.kill(child, signal.SIGTERM)
    os.waitpid(child, 0)
    assert traces(lab_name) == set()


def test_a_daemon_that_dies_fails_the_raising_with_its_last_words(
    lab_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = "seatrial.lab.cluster.start.slurm_conf"
    monkeypatch.setattr(broken, lambda *_: "ClusterName=x\nNoSuchKey=1\n")
    with pytest.raises(SeatrialError, match="slurmctld"):
        raise_lab(small(lab_name))
    assert traces(lab_name) == set()


def test_status_tells_what_stands(lab4: LabPlan) -> None:
    planting.plant(lab4.name, "mtu", "n3", Parameters(mtu=1400))
    done = run([*SEATRIAL, "lab", "status", "--json"], timeout_s=60)
    labs = {lab["name"]: lab for lab in parsed(done.stdout)["labs"]}
    mine = labs[lab4.name]
    assert mine["standing"]
    assert set(mine["node_states"]) == {"n1", "n2", "n3", "n4"}
    mtu = {"kind": "mtu", "subject": "n3", "parameters": {"mtu": 1400}, "every_s": 0.0}
    assert mine["planted"] == [mtu]
    assert f"Lab {lab4.name}: 4 nodes" in run([*SEATRIAL, "lab", "status"], timeout_s=60).stdout


def test_an_unknown_lab_or_host_is_refused(lab4: LabPlan, in_lab: InLab) -> None:
    done = run([*SEATRIAL, "lab", "run", "--name", "nowhere", "--", "true"], timeout_s=60)
    assert done.returncode == 64
    assert lab4.name in done.stderr
    with pytest.raises(UsageError, match="n9"):
        in_lab(lab4, ["true"], host="n9")


def test_others_than_root_are_refused_politely() -> None:
    code = "from seatrial.lab.cluster.processes import require_lab; require_lab()"
    argv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c", code]
    done = run(argv, timeout_s=60, cwd="/")
    if "SeatrialError" not in done.stderr:
        pytest.skip("this Python cannot be run by others than root")
    assert "as root" in done.stderr
