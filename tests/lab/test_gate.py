"""The gate on a real Slurm with slurmdbd: as HealthCheckProgram, against an administrator, a full disk, and a silent
controller."""

import os
import random
import re
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from seatrial.archive.gate import leave_verdicts
from seatrial.lab.cluster import state
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LOGIN, LabPlan
from seatrial.lab.cluster.processes import pids_in, program, send
from seatrial.model.gate import GatePolicy
from seatrial.model.monitoring import Fault, NodeStanding, OpenFault
from seatrial.model.verdict import Verdict
from seatrial.process.process import Completed, run
from tests.lab.waiting import eventually, wait_until_idle
from tests.support.gate_cluster import GATE
from tests.support.paths import ROOT
from tests.support.raised_lab import raised_lab

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(
        not (shutil.which("slurmdbd") and shutil.which("mariadbd")), reason="no slurmdbd or mariadb-server"
    ),
]
SLOW = Fault(kind="slow-link", verdict=Verdict.SLOW, text="link at 60 % of its limit")
REASON = "seatrial: link at 60 % of its limit, run r1"


class Site:
    """A lab with accounting, a folder of verdicts, and what Slurm says."""

    def __init__(self, lab: LabPlan) -> None:
        self.lab = lab
        self.policy = GatePolicy(folder=Path(), age_s=3600, share=0.5, per_hour=1000)

    def slurm(self, *words: str) -> Completed:
        return run(as_user(self.lab, [*words]), timeout_s=60)

    def gate(self, node: str, step: str = "drain") -> str:
        """The answer of the gate, as slurmd of that node would start it."""
        argv = [str(GATE), f"--{step}", "--from", str(self.policy.folder)]
        path = f"{self.policy.folder.parent}:{os.environ['PATH']}"
        done = run(as_user(self.lab, ["env", f"PATH={path}", *argv], host=node), timeout_s=120)
        assert done.ok, done.stderr
        return done.stdout.strip()

    def leave(self, *bad: str, good: tuple[str, ...] = ()) -> None:
        """Verdicts of this moment."""
        judged = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
        faults = (OpenFault(fault=SLOW, run="r1", since=judged),)
        nodes = [NodeStanding(node=node, verdict=Verdict.SLOW, run="r1", judged=judged, faults=faults) for node in bad]
        nodes += [NodeStanding(node=node, verdict=Verdict.PASS, run="r1", judged=judged) for node in good]
        leave_verdicts(self.policy, nodes)

    def drain(self, node: str) -> None:
        """Ask until the gate has drained the node: on a busy machine others may not respond, which counts."""
        answers: list[str] = []

        def drained() -> bool:
            answers.append(self.gate(node))
            return answers[-1].endswith("; drained")

        assert eventually(drained), answers

    def reasons(self) -> dict[str, str]:
        """Drained node -> reason."""
        lines = self.slurm("sinfo", "--noheader", "--Node", "--states=drain", "--format=%N|%E").stdout.splitlines()
        return dict(line.strip().split("|", 1) for line in lines)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Four nodes; the folder of pytest's temporary files is seen in them."""
    with raised_lab("g", tmp_path_factory.getbasetemp(), nodes=4, accounts=True) as plan:
        yield Site(plan)


@pytest.fixture
def site(running: Site, tmp_path: Path) -> Iterator[Site]:
    folder = tmp_path / "gate"
    folder.mkdir(mode=0o755)
    running.policy = GatePolicy(folder=folder, age_s=3600, share=0.5, per_hour=1000)
    wait_until_idle(running.lab)
    time.sleep(1.1)  # what happened in the second of its look counts for the gate as after it
    yield running
    for node in running.reasons():
        running.slurm("scontrol", "update", f"NodeName={node}", "State=UNDRAIN")
    wait_until_idle(running.lab)


def test_a_bad_node_is_drained_and_comes_back_when_it_is_good(site: Site) -> None:
    site.leave("n2", good=("n1",))
    assert site.gate("n1") == "good n1: run r1"
    assert site.gate("n3") == "unknown n3: no verdict"
    assert site.gate("n2", "comment").startswith("bad n2: ")
    assert f"Comment={REASON}" in site.slurm("scontrol", "show", "node", "n2").stdout
    assert site.reasons() == {}
    site.drain("n2")
    assert site.reasons() == {"n2": REASON}
    site.leave(good=("n2",))
    assert site.gate("n2") == "good n2: run r1; resumed"
    assert site.reasons() == {}
    assert "Comment=" not in site.slurm("scontrol", "show", "node", "n2").stdout


def test_the_share_and_the_number_of_an_hour_are_kept(site: Site) -> None:
    site.leave("n1", "n2", "n3", "n4")
    assert "1 of 1 nodes of debug" in site.gate("n1")

    def two() -> bool:
        answers.extend(map(site.gate, ("n4", "n3", "n2", "n1", "n4")))
        return sorted(site.reasons()) == ["n2", "n3"]

    answers: list[str] = []
    assert eventually(two), answers
    assert "nodes of main would be out of service" in site.gate("n4")
    site.leave(good=("n2", "n3", "n4"))
    assert [site.gate(node).endswith("; resumed") for node in ("n2", "n3", "n4")] == [True, True, False]
    # slurmdbd knows of drains that are over.
    site.policy = GatePolicy(folder=site.policy.folder, age_s=3600, share=0.5, per_hour=2)
    site.leave("n4")
    assert "in an hour" in site.gate("n4")
    assert site.reasons() == {}


def test_a_node_with_a_job_is_drained_when_it_is_over(site: Site) -> None:
    site.leave("n3")
    assert site.slurm("sbatch", "--nodelist=n3", "--output=/dev/null", "--wrap", "sleep 600").ok
    try:
        assert eventually(lambda: site.slurm("squeue", "--noheader", "--states=R").stdout.strip() != "")
        assert "not drained, since it is" in site.gate("n3")
        assert site.reasons() == {}
    finally:
        site.slurm("scancel", "--user=root")
    wait_until_idle(site.lab)
    site.drain("n3")


@pytest.mark.parametrize("times", [6, pytest.param(50, marks=pytest.mark.series)])
def test_the_drain_of_an_administrator_is_never_undone(site: Site, times: int) -> None:
    """He drains the node at any moment while the gate drains and resumes it."""
    dice = random.Random(7)
    for _ in range(times):
        # Not at the very beginning of a second, in which the gate's own drain comes: see docs/gate.md. A busy machine
        # has half a second for the command.
        at_s = int(time.time() + dice.uniform(0, 2.0)) + 1 + dice.uniform(0.2, 0.5)
        site.leave("n2")

        def drain(at_s: float = at_s) -> None:
            time.sleep(max(at_s - time.time(), 0.0))
            site.slurm("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=fan broken")

        administrator = threading.Thread(target=drain)
        administrator.start()
        said = [site.gate("n2")]
        site.leave(good=("n2",))
        said.append(site.gate("n2"))
        administrator.join()
        said.append(site.gate("n2"))
        assert site.reasons() == {"n2": "fan broken"}, (at_s, said)
        site.slurm("scontrol", "update", "NodeName=n2", "State=UNDRAIN")


@pytest.mark.parametrize("word", ["good", "bad"])
def test_a_drain_between_the_look_and_the_change_is_not_lost(site: Site, word: str) -> None:
    site.policy = msgspec.structs.replace(site.policy, share=0.99)  # on a busy machine others may not respond
    site.leave("n2")
    if word == "good":
        site.drain("n2")
        site.leave(good=("n2",))
    real = shutil.which("scontrol")
    drain = f"{real} update NodeName=n2 State=DRAIN Reason='fan broken'"
    script = site.policy.folder.parent / "scontrol"
    script.write_text(f'#!/bin/sh\n[ "$1" != --quiet ] || {drain}\nexec {real} "$@"\n')
    script.chmod(0o755)
    said = site.gate("n2")
    events = site.slurm(
        "sacctmgr", "--noheader", "--parsable2", "show", "event", "nodes=n2", "format=Start,End,State,Reason"
    ).stdout
    assert said.endswith("; drained by others meanwhile"), (said, events)
    assert site.reasons() == {"n2": "fan broken"}


def test_a_silent_controller_lets_every_node_pass_in_time(site: Site) -> None:
    site.leave("n1", good=("n2",))
    pids = [pid for pid in pids_in([site.lab.space(LOGIN)]) if program(pid) == "slurmctld"]
    send(pids, signal.SIGSTOP)
    try:
        began = time.monotonic()
        assert site.gate("n1").startswith("error n1: ")
        assert site.gate("n2", "report") == "good n2: run r1"
        assert time.monotonic() - began < 60
    finally:
        send(pids, signal.SIGCONT)
    assert eventually(lambda: site.slurm("sinfo", "--noheader").ok)
    assert site.reasons() == {}


def test_a_full_disk_lets_the_node_pass(site: Site) -> None:
    site.leave("n1", good=("n2",))
    answers = site.policy.folder / "answers"
    script = f'mount -t tmpfs -o size=4k,nr_inodes=8 none {answers} && head -c 4096 /dev/zero >{answers}/x; exec "$@"'
    argv = [str(GATE), "--from", str(site.policy.folder), "--node", "n2"]
    done = run(["unshare", "--mount", "sh", "-c", script, "sh", *argv], timeout_s=60)
    assert (done.returncode, done.stdout) == (0, "good n2: run r1\n")


def test_slurmd_starts_it_as_health_check_program(site: Site) -> None:
    """Slurm's own settings of it, with a script of the site around the gate."""
    conf = state.folder(site.lab.name) / "slurm.conf"
    shipped = (ROOT / "contrib" / "slurm" / "seatrial-health").read_text()
    for name, value in (("gate", str(GATE)), ("folder", str(site.policy.folder)), ("step", "--drain")):
        shipped, times = re.subn(rf"^{name}=\S+", f"{name}={value}", shipped, flags=re.MULTILINE)
        assert times == 1
    script = site.policy.folder.parent / "health"
    script.write_text(re.sub(r"# export SLURM_CONF=\S+", f"export SLURM_CONF={conf}", shipped))
    script.chmod(0o755)
    site.leave("n4", good=("n1", "n2", "n3"))
    before = conf.read_text()
    conf.write_text(f"{before}HealthCheckProgram={script}\nHealthCheckInterval=3\nHealthCheckNodeState=ANY\n")
    try:
        assert site.slurm("scontrol", "reconfigure").ok
        assert eventually(lambda: site.reasons() == {"n4": REASON})
        assert eventually(lambda: len(list((site.policy.folder / "answers").iterdir())) == 4)
        site.leave(good=("n4",))
        assert eventually(lambda: site.reasons() == {})
    finally:
        conf.write_text(before)
        site.slurm("scontrol", "reconfigure")
