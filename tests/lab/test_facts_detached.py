"""Facts left to the queue, a job for each node: free nodes are read, a busy one is waited for, a drained one named."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seatrial.lab.enter import as_user
from seatrial.lab.plan import LabPlan
from seatrial.launch.process import Completed, run

pytestmark = pytest.mark.lab
SEATRIAL = (sys.executable, "-m", "seatrial")


def wait_for(look: Callable[[], dict[str, Any]], read: list[str]) -> dict[str, Any]:
    """What `runs collect` says once these nodes are read, and for ten seconds at most otherwise."""
    deadline = time.monotonic() + 10
    found = look()
    while found["read"] != read and time.monotonic() < deadline:
        time.sleep(0.3)
        found = look()
    return found


def test_free_nodes_are_read_a_busy_one_is_waited_for_a_drained_one_is_named(lab4: LabPlan, tmp_path: Path) -> None:
    def typed(*argv: str) -> Completed:
        return run(as_user(lab4, argv), timeout_s=60)

    def look() -> dict[str, Any]:
        said = typed(*SEATRIAL, "runs", "collect", "later", "--json", "--archive", str(tmp_path))
        found: dict[str, Any] = json.loads(said.stdout)
        return found

    typed("scontrol", "update", "NodeName=n4", "State=DRAIN", "Reason=broken")
    typed("salloc", "--no-shell", "--job-name=others", "--nodelist=n3", "--exclusive")
    try:
        done = typed(*SEATRIAL, "facts", "n[1-4]", "--detach", "--run", "later", "--archive", str(tmp_path), "--json")
        assert done.returncode == 0, done.stderr
        name = json.loads(done.stdout)["name"]
        found = wait_for(look, ["n1", "n2"])
        assert (found["read"], list(found["waiting"])) == (["n1", "n2"], ["n3"])
        assert "Resources" in found["waiting"]["n3"]
        assert found["left_out"] == {"n4": "Slurm says drained (broken)"}
        typed(*found["cancel"].split())
        found = look()
        assert (found["waiting"], found["failed"]) == ({}, {"n3": "its job was cancelled"})
        facts = typed(*SEATRIAL, "facts", "--from", found["folder"], "--json")
        assert set(json.loads(facts.stdout)["nodes"]) == {"n1", "n2"}
        assert typed("squeue", "--noheader", "--format=%j").stdout.split() == ["others"]
        assert typed("squeue", "--noheader", f"--name={name}").stdout == ""
    finally:
        typed("scancel", "--name=others")
        typed("scontrol", "update", "NodeName=n4", "State=RESUME")
