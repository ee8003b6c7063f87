"""Facts left to the queue, a job for each node: free nodes are read, a busy one is waited for, a drained one named."""

import sys
from pathlib import Path
from typing import Any

import pytest

from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.process.process import Completed, run
from tests.lab.waiting import eventually
from tests.support.json_objects import parsed

pytestmark = pytest.mark.lab
SEATRIAL = (sys.executable, "-m", "seatrial")


def test_free_nodes_are_read_a_busy_one_is_waited_for_a_drained_one_is_named(lab4: LabPlan, tmp_path: Path) -> None:
    def typed(*argv: str) -> Completed:
        return run(as_user(lab4, argv), timeout_s=120)

    def look() -> dict[str, Any]:
        said = typed(*SEATRIAL, "runs", "collect", "later", "--json", "--archive", str(tmp_path))
        found: dict[str, Any] = parsed(said.stdout)
        return found

    typed("scontrol", "update", "NodeName=n4", "State=DRAIN", "Reason=broken")
    typed("salloc", "--no-shell", "--job-name=others", "--nodelist=n3", "--exclusive")
    try:
        done = typed(*SEATRIAL, "facts", "n[1-4]", "--detach", "--run", "later", "--archive", str(tmp_path), "--json")
        assert done.returncode == 0, done.stderr
        name = parsed(done.stdout)["name"]
        seen: list[dict[str, Any]] = []

        def waits_for_n3() -> bool:
            seen.append(look())
            return seen[-1]["read"] == ["n1", "n2"] and "Resources" in seen[-1]["waiting"].get("n3", "")

        assert eventually(waits_for_n3), seen[-1]
        found = seen[-1]
        assert (found["read"], list(found["waiting"])) == (["n1", "n2"], ["n3"])
        assert found["left_out"] == {"n4": "Slurm says drained (broken)"}
        typed(*found["cancel"].split())
        assert eventually(lambda: not look()["waiting"])
        found = look()
        assert (found["waiting"], found["failed"]) == ({}, {"n3": "its job was cancelled"})
        facts = typed(*SEATRIAL, "facts", "--from", found["folder"], "--json")
        assert set(parsed(facts.stdout)["nodes"]) == {"n1", "n2"}
        queued = ("squeue", "--noheader", "--format=%j")
        assert eventually(lambda: typed(*queued).stdout.split() == ["others"]), typed(*queued).stdout
        assert typed("squeue", "--noheader", f"--name={name}").stdout == ""
    finally:
        typed("scancel", "--name=others")
        typed("scontrol", "update", "NodeName=n4", "State=RESUME")
