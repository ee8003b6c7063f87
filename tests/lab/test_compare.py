"""A suspect that `compare --prove` takes back on a real node, and that is restored although SIGTERM ends the proof.

test_restoration.py kills proofs of another setting.
"""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.lab.cluster import planting
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.node_groups import name_of
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.faults.base import Parameters
from seatrial.process.process import run
from tests.lab.waiting import eventually
from tests.support.json_objects import parsed

pytestmark = [pytest.mark.lab, pytest.mark.alone]
"""Beside other tests, a core that they have slowed before the change may lose nothing by a quota."""
QUOTA_PERCENT = 8
"""Much less than a core's share for one of several programs that want it."""
MEASURE = ("nodes", "n2", "--trials", "arithmetic", "--repetitions", "1")


def quota_file(plan: LabPlan) -> tuple[Path, str]:
    """The file with the quota of n2's control group, and what it contains without one."""
    folders = run(["find", "/sys/fs/cgroup", "-maxdepth", "3", "-name", name_of(plan.name, "n2")], timeout_s=60).stdout
    for folder in folders.split():
        for name, unlimited in (("cpu.cfs_quota_us", "-1"), ("cpu.max", "max")):
            if (file := Path(folder) / name).is_file():
                return file, unlimited
    raise AssertionError(f"no quota in {folders}")


def seatrial(plan: LabPlan, *words: str) -> list[str]:
    return as_user(plan, [sys.executable, "-m", "seatrial", *words])


def test_a_proof_that_is_ended_restores_the_node(lab4: LabPlan, tmp_path: Path) -> None:
    archive = ["--archive", str(tmp_path)]
    assert run(seatrial(lab4, *MEASURE, *archive, "--run", "before"), timeout_s=150).returncode in (0, 1, 2)
    planting.plant(lab4.name, "cpu-quota", "n2", Parameters(percent=QUOTA_PERCENT))
    assert run(seatrial(lab4, *MEASURE, *archive, "--run", "after"), timeout_s=150).returncode in (0, 1, 2)
    file, unlimited = quota_file(lab4)
    changed = file.read_text().strip()
    asked = seatrial(lab4, "compare", "before", "after", *archive, "--prove", "--blocks", "1")

    planned = parsed(run([*asked, "--dry-run", "--json"], timeout_s=150).stdout)["proofs"]
    assert [proof["outcome"] for proof in planned] == ["planned"]
    said = f"processor.quota_processors from {changed} to {unlimited} on n2 ({file};"
    assert said in planned[0]["statement"]
    assert file.read_text().strip() == changed, "a dry run changed it"

    with subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "Run 2 of 4, setting B" in line:
                break
        assert file.read_text().split()[:1] == [unlimited], "".join(lines)
        process.send_signal(signal.SIGTERM)  # nsenter has become the command itself
        process.stderr.read()
        assert process.wait(timeout=150) != 0
    assert eventually(lambda: file.read_text().strip() == changed), "it was not restored"
