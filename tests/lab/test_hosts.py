"""`check --hosts` on lab nodes through a real sshd: faults are named, and hosts that cannot be measured as well."""

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from seatrial.lab.cluster import planting, state
from seatrial.lab.cluster.host_argv import inside
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.cluster.processes import attempt, call, pids_in, pids_marked, program, send
from seatrial.lab.cluster.ssh import SYSTEM_FOLDER, start_sshd
from seatrial.lab.faults.base import Parameters
from seatrial.process.keeper import NAME as KEEPER
from seatrial.process.process import Completed, run
from tests.lab.waiting import decided, eventually, inconclusive
from tests.support.json_objects import parsed
from tests.support.lab_hosts import without_slurm
from tests.support.processes import read_of

pytestmark = pytest.mark.lab
ROOT = Path(__file__).resolve().parents[2]
UNBOUND = {"mpicc.openmpi": "--bind-to none", "mpicc.mpich": "-bind-to none"}
"""Virtual nodes share the cores of this machine: ranks that are bound would all be on its first core."""
BOUNDED_S = 60.0
MTU = "/sys/class/net/eth0/mtu"
CHANGING = f"""
import sys, time
from seatrial.driver.custody import Custody
from seatrial.driver.reach import Reach, locate
from seatrial.judgement.comparison.records import FileSetting
reach = Reach(launcher="ssh")
setting = FileSetting(fact="interfaces.eth0.mtu_bytes", places=(("{MTU}",),), present="1500", earlier="600")
with Custody(sys.argv[1], reach, (), 1.0) as custody:
    custody.protect([locate(reach, "n2", setting)])
    print([done.returncode for done in custody.switch(usual=False)], flush=True)
    time.sleep(300)
"""
"""A proof that has changed a setting of n2, until it is killed."""
DAEMON = shutil.which("prted") or shutil.which("orted") or "/usr/bin/orted"


def check(
    plan: LabPlan, folder: Path, *words: str, mpicc: str = "mpicc.openmpi", extra: Sequence[str] = ()
) -> Completed:
    """A check without Slurm, with what suits the lab."""
    if shutil.which(mpicc) is None:
        pytest.skip(f"{mpicc} is not installed")
    common = ["--mpicc", mpicc, f"--mpirun-options={UNBOUND[mpicc]}", "--archive", str(folder / "runs")]
    argv = [sys.executable, "-m", "seatrial", "check", "--no-nodes", *words, *common]
    return run(without_slurm(plan, argv, cwd=str(ROOT), extra=extra), timeout_s=200)


def findings(done: Completed) -> list[dict[str, Any]]:
    """Of a check with --json."""
    assert done.stdout, done.stderr
    return parsed(done.stdout)["findings"]  # type: ignore[no-any-return]


@pytest.fixture
def clean(ssh_lab: LabPlan) -> Iterator[LabPlan]:
    """The lab; what a test changed of its keys and its sshd is restored, and planted faults are cleared."""
    folder = state.folder(ssh_lab.name) / "ssh"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    try:
        yield ssh_lab
    finally:
        planting.clear(ssh_lab.name)
        for name, content in before.items():
            if (folder / name).read_bytes() != content:
                (folder / name).write_bytes(content)
        restart_sshd(ssh_lab)


def restart_sshd(plan: LabPlan) -> None:
    """Let every node have one that runs."""
    for node in plan.node_names:
        servers = [pid for pid in pids_in([plan.space(node)]) if program(pid) == "sshd"]
        if servers:
            attempt(["kill", "-CONT", *map(str, servers)])
        else:
            start_sshd(plan, node)


def sshd_of(plan: LabPlan, node: str) -> list[str]:
    """The processes of a node's sshd."""
    return [str(pid) for pid in pids_in([plan.space(node)]) if program(pid) == "sshd"]


def seatrial(plan: LabPlan, *words: str) -> Completed:
    """Another command without Slurm."""
    argv = [sys.executable, "-m", "seatrial", *words]
    return run(without_slurm(plan, argv, cwd=str(ROOT)), timeout_s=120)


@pytest.mark.alone
def test_a_slow_link_is_named(clean: LabPlan, tmp_path: Path) -> None:
    planting.plant(clean.name, "link-rate", "n2", Parameters(percent=80))
    done = decided(lambda: check(clean, tmp_path, "--hosts", "n[1-4]", "--no-loaded"), inconclusive)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "node:n2" in done.stdout


def test_the_nodes_of_a_pbs_job_are_measured(clean: LabPlan, tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("n1\nn1\nn3\nn3\n")
    extra = [f"PBS_NODEFILE={tmp_path / 'nodes'}", "PBS_JOBID=7.server"]
    done = check(clean, tmp_path, "--run", "pbs", "--json", "--no-loaded", "--budget", "3s", extra=extra)
    assert done.returncode in (0, 1, 2), done.stderr
    info = json.loads((tmp_path / "runs" / "pbs" / "run.json").read_text())
    assert (info["launcher"], info["job"], info["nodes"]) == ("ssh", "7.server", ["n1", "n3"])
    again = run([sys.executable, "-m", "seatrial", "report", "pbs", "--archive", str(tmp_path / "runs")], timeout_s=60)
    assert again.returncode == done.returncode


def wrong_key(plan: LabPlan) -> None:
    """n2 is known under the key of another host."""
    path = state.folder(plan.name) / "ssh" / "known_hosts"
    lines = path.read_text().splitlines()
    other = next(line.split(maxsplit=1)[1] for line in lines if line.startswith("n1,"))
    path.write_text("\n".join(f"n2,10.77.1.2 {other}" if line.startswith("n2,") else line for line in lines) + "\n")


def unknown_key(plan: LabPlan) -> None:
    """n2 is not known."""
    path = state.folder(plan.name) / "ssh" / "known_hosts"
    path.write_text("".join(line for line in path.read_text().splitlines(True) if not line.startswith("n2,")))


def no_key_accepted(plan: LabPlan) -> None:
    """n2 asks for a password."""
    call(inside(plan, "n2", ["sh", "-c", f": >/tmp/none; mount --bind /tmp/none {SYSTEM_FOLDER}/user.pub"]))


def hanging(plan: LabPlan) -> None:
    """The sshd of n2 accepts connections and does nothing more."""
    attempt(["kill", "-STOP", *sshd_of(plan, "n2")])


def no_sshd(plan: LabPlan) -> None:
    """n2 has none."""
    attempt(["kill", "-KILL", *sshd_of(plan, "n2")])
    assert eventually(lambda: not sshd_of(plan, "n2"))


def no_daemon(plan: LabPlan) -> None:
    """Open MPI is not installed on n2."""
    call(inside(plan, "n2", ["sh", "-c", f": >/tmp/none; mount --bind /tmp/none {DAEMON}"]))


@pytest.mark.parametrize(
    ("arrange", "undo", "says"),
    [
        (wrong_key, "", "the host key of n2 is not the one in known_hosts"),
        (hanging, "", "does not answer"),
        (no_daemon, f"umount {DAEMON}", f"{DAEMON} does not exist there; install the same MPI on all hosts"),
        *(
            pytest.param(*case, marks=pytest.mark.series)
            for case in (
                (unknown_key, "", "the host key of the host is unknown"),
                (no_key_accepted, f"umount {SYSTEM_FOLDER}/user.pub", "a password (Permission denied (publickey))"),
                (no_sshd, "", "no sshd listens on n2 port 22"),
            )
        ),
    ],
)
def test_a_host_that_cannot_be_measured_is_named_and_the_others_are_measured(
    clean: LabPlan, tmp_path: Path, arrange: Any, undo: str, says: str
) -> None:
    arrange(clean)
    began = time.monotonic()
    try:
        done = check(clean, tmp_path, "--hosts", "n[1-3]", "--json", "--no-loaded", "--budget", "3s", "--run", "r")
        alone = check(clean, tmp_path, "--hosts", "n2,nowhere", "--budget", "3s")
    finally:
        if undo:
            attempt(inside(clean, "n2", ["sh", "-c", undo]))
    assert time.monotonic() - began < 2 * BOUNDED_S
    (found,) = [one for one in findings(done) if one["subject"] == "node:n2"]
    assert says in json.dumps(found, ensure_ascii=False)
    assert done.returncode == 1
    assert json.loads((tmp_path / "runs" / "r" / "run.json").read_text())["nodes"][:2] == ["n1", "n3"]
    assert alone.returncode == 2
    assert says in alone.stderr
    assert len(alone.stderr.strip().splitlines()) <= 2, alone.stderr


def test_the_probe_is_copied_to_a_host_that_does_not_have_it(clean: LabPlan, tmp_path: Path) -> None:
    """Every host has its own /tmp; pytest's folder is the only one in it that all hosts see."""
    folder = "/tmp/seatrial-probe-of-one-host"
    done = check(clean, tmp_path, "--hosts", "n[1-2]", "--no-loaded", "--budget", "3s", "--probe-dir", folder)
    assert done.returncode in (0, 1, 2), done.stderr
    assert "Archive:" in done.stdout, done.stdout + done.stderr
    copied = run(inside(clean, "n2", ["find", folder, "-name", "seatrial-probe", "-perm", "700"]), timeout_s=60)
    assert copied.stdout.count("seatrial-probe\n") == 1


def test_facts_and_recordings_of_hosts(clean: LabPlan, tmp_path: Path) -> None:
    unknown_key(clean)
    done = seatrial(clean, "facts", "--hosts", "n[1-3]", "--json")
    assert done.returncode == 2, done.stderr
    assert sorted(parsed(done.stdout)["nodes"]) == ["n1", "n3"]
    assert "n2 gave no facts: the host key of the host is unknown" in done.stderr
    output = tmp_path / "hosts.tar.gz"
    recorded = seatrial(clean, "facts", "--hosts", "n[1-3]", "--output", str(output))
    assert recorded.returncode == 2, recorded.stderr
    assert recorded.stdout.startswith("2 nodes in"), recorded.stdout
    again = seatrial(clean, "facts", "--from", str(output), "--json")
    assert sorted(parsed(again.stdout)["nodes"]) == ["n1", "n3"]


@pytest.mark.parametrize("mpicc", UNBOUND)
def test_the_doctor_starts_the_probe_on_hosts_and_names_the_one_that_cannot_be_reached(
    clean: LabPlan, mpicc: str
) -> None:
    if shutil.which(mpicc) is None:
        pytest.skip(f"{mpicc} is not installed")
    words = ["doctor", "--hosts", "n[1-3]", "--mpicc", mpicc, f"--mpirun-options={UNBOUND[mpicc]}", "--json"]
    done = seatrial(clean, *words)
    remarks = parsed(done.stdout)["remarks"]
    assert done.returncode == 0, done.stdout + done.stderr
    assert remarks[-1]["statement"] == "3 ranks came up on 3 nodes, as one world, and messages pass."
    assert [one["step"] for one in remarks] == ["probe", "hosts", "places", "start"]
    no_key_accepted(clean)
    try:
        one_less = seatrial(clean, *words)
    finally:
        attempt(inside(clean, "n2", ["sh", "-c", f"umount {SYSTEM_FOLDER}/user.pub"]))
    assert one_less.returncode == 1
    (found,) = parsed(one_less.stdout)["findings"]
    assert (found["kind"], found["subject"]) == ("node-silent", "node:n2")
    assert "ssh cannot log in to n2 without a password" in found["statement"]


def test_a_launch_line_of_mpirun_over_ssh(clean: LabPlan, tmp_path: Path) -> None:
    """Two ranks on a core of each host; the facts that show it are read over ssh."""
    common = ["--starts", "0", "--archive", str(tmp_path / "runs"), "--json", "--hosts", "n[1-2]"]
    line = ["mpirun.openmpi", "--allow-run-as-root", "--host", "n1:2,n2:2", "--bind-to", "none", "-n", "4", "true"]
    pinned = [*line[:-1], "taskset", "-c", "0", "true"]
    done = seatrial(clean, "placement", *common, "--", *pinned)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "ranks-share-core" in done.stdout
    found = parsed(done.stdout)["ranks"]
    assert sorted({rank["node"] for rank in found}) == ["n1", "n2"]
    assert all(rank["cores"] for rank in found)
    elsewhere = seatrial(clean, "placement", *common, "--", *[word.replace("n2:2", "n3:2") for word in line])
    assert elsewhere.returncode == 64, elsewhere.stdout + elsewhere.stderr
    assert "Ranks came up on n3, which --hosts does not name" in elsewhere.stderr


@pytest.mark.parametrize("left", ["its keeper", "a later command"])
def test_a_setting_of_a_host_is_restored_after_a_kill(clean: LabPlan, left: str, tmp_path: Path) -> None:
    name = f"proof-{left.rsplit(maxsplit=1)[-1]}"
    state_home = [f"XDG_STATE_HOME={tmp_path / 'state'}"]
    argv = [sys.executable, "-c", CHANGING, name]
    with subprocess.Popen(
        without_slurm(clean, argv, cwd=str(ROOT), extra=state_home), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "[0]\n"
        assert (mtu_of(clean), len(notes_of(clean, name))) == ("600", 1)
        ours = pids_marked(state_home[0])
        keepers = [pid for pid in ours if KEEPER.encode() in read_of(pid, "cmdline")]
        assert len(keepers) == 1
        # First the keeper, where it is not left: it would begin as soon as the other is gone.
        send([*(keepers if left != "its keeper" else []), *(pid for pid in ours if pid not in keepers)], signal.SIGKILL)
    if left != "its keeper":
        assert mtu_of(clean) == "600"
        argv = [sys.executable, "-m", "seatrial", "compare", "--restore"]
        restored = run(without_slurm(clean, argv, cwd=str(ROOT), extra=state_home), timeout_s=120)
        assert restored.stdout == "Restored: interfaces.eth0.mtu_bytes of n2 is 1500 again.\n", restored.stderr
    assert eventually(lambda: mtu_of(clean) == "1500")
    assert eventually(lambda: not notes_of(clean, name) and not list((tmp_path / "state").rglob("*.json")))


def mtu_of(plan: LabPlan) -> str:
    """What n2 has now."""
    return run(inside(plan, "n2", ["cat", MTU]), timeout_s=60).stdout.strip()


def notes_of(plan: LabPlan, name: str) -> list[str]:
    """What was left on n2 for a person who looks there."""
    done = run(inside(plan, "n2", ["ls", "/run/seatrial", "/var/tmp/seatrial"]), timeout_s=60)
    return [line for line in done.stdout.splitlines() if f".{name}." in line]
