"""A suspect that `compare --prove` takes back on a real node, and that is restored although SIGTERM ends the proof."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.lab.cluster import planting
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.faults.base import Parameters
from seatrial.process.process import run
from tests.lab.waiting import eventually
from tests.support.json_objects import parsed

pytestmark = pytest.mark.lab
PLANTED_MTU = 600
"""TCP then carries 7 % less."""
CURVE = ["curve", "n2", "n1", "--max-size", "1MiB", "--per-octave", "1", "--budget", "4s"]


def mtu_of(plan: LabPlan, node: str) -> str:
    done = run(as_user(plan, ["cat", "/sys/class/net/eth0/mtu"], host=node), timeout_s=60)
    return done.stdout.strip()


def seatrial(plan: LabPlan, *words: str) -> list[str]:
    return as_user(plan, [sys.executable, "-m", "seatrial", *words])


def test_a_proof_that_is_ended_restores_the_node(lab4: LabPlan, tmp_path: Path) -> None:
    archive = ["--archive", str(tmp_path)]
    assert run(seatrial(lab4, *CURVE, *archive, "--run", "before"), timeout_s=150).returncode in (0, 1, 2)
    planting.plant(lab4.name, "mtu", "n2", Parameters(mtu=PLANTED_MTU))
    assert run(seatrial(lab4, *CURVE, *archive, "--run", "after"), timeout_s=150).returncode in (0, 1, 2)
    asked = seatrial(lab4, "compare", "before", "after", *archive, "--prove", "--blocks", "1")

    planned = parsed(run([*asked, "--dry-run", "--json"], timeout_s=150).stdout)["proofs"]
    assert [proof["outcome"] for proof in planned] == ["planned"]
    assert f"interfaces.eth0.mtu_bytes from {PLANTED_MTU} to 1500 on n2" in planned[0]["statement"]
    assert mtu_of(lab4, "n2") == str(PLANTED_MTU), "a dry run changed it"

    with subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "Run 2 of 4, setting B" in line:
                break
        assert mtu_of(lab4, "n2") == "1500", "".join(lines)
        process.send_signal(signal.SIGTERM)  # nsenter has become the command itself
        process.stderr.read()
        assert process.wait(timeout=150) != 0
    assert eventually(lambda: mtu_of(lab4, "n2") == str(PLANTED_MTU)), "it was not restored"
