"""What docs/commands.md and the README promise on a cluster, and the example of docs/lab.md, run as written there."""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from seatrial.lab.cluster import state, stop
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.process.process import Completed, run
from tests.lab.waiting import decided, eventually, inconclusive
from tests.support.json_objects import parsed
from tests.support.promises import as_tested, promised_in, write_named_files
from tests.support.raised_lab import raised_lab

pytestmark = [pytest.mark.lab, pytest.mark.alone]
SEATRIAL = (sys.executable, "-m", "seatrial")
ROOT = Path(__file__).resolve().parents[2]
WITH_US = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


@pytest.fixture
def two_nodes(tmp_path: Path) -> Iterator[LabPlan]:
    with raised_lab("d", tmp_path, nodes=2) as plan:
        yield plan


def wait_for_an_empty_queue(lab: LabPlan) -> None:
    """Commands take idle nodes, and the detached check before may still be at work."""
    assert eventually(lambda: run(as_user(lab, ["squeue", "-h"]), timeout_s=60).stdout == "")


UNDECIDED = ("collect", "nodes --for")
"""What one run or a few cycles do not decide: exit code 2."""


def test_what_one_can_type_on_a_cluster(two_nodes: LabPlan, tmp_path: Path) -> None:
    commands = promised_in("docs/commands.md", on_a_cluster=True)
    assert len(commands) >= 20
    assert set(promised_in("README.md", on_a_cluster=True)) <= set(commands)
    write_named_files(tmp_path)
    runs = {"SEATRIAL_ARCHIVE": str(tmp_path / "runs")}
    for command in commands:
        if command.startswith(("seatrial check", "seatrial facts n")):
            wait_for_an_empty_queue(two_nodes)
        argv = as_user(two_nodes, shlex.split(as_tested(command)), cwd=str(tmp_path))
        attempt = partial(run, argv, timeout_s=150, extra_environment={**WITH_US, **runs})
        undecided = any(word in command for word in UNDECIDED)
        done = attempt() if undecided else decided(attempt, inconclusive)
        wanted = (0, 2) if undecided else (0,)
        assert done.returncode in wanted, f"{command}: {done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
    the_plateau_is_what_the_link_carries(two_nodes, tmp_path)
    several_ranks_share_the_link(two_nodes, tmp_path)


def reported(lab: LabPlan, folder: Path, kind: str) -> dict[str, Any]:
    """The report of the last run of that kind."""
    measured = max((folder / "runs").glob(f"*-{kind}-*"))
    report = run(as_user(lab, [*SEATRIAL, "report", str(measured), "--json"], cwd=str(folder)), timeout_s=60)
    return parsed(report.stdout)


def the_plateau_is_what_the_link_carries(lab: LabPlan, folder: Path) -> None:
    """What the table's `seatrial link` measured is true of the virtual link."""
    found = reported(lab, folder, "curve")
    assert found["verdict"] == "PASS", found["reason"]
    assert 0.9 < found["plateau"]["bandwidth_bytes_per_s"]["value"] / found["limit"]["limit_bytes_per_s"] < 1.01
    assert found["limit"]["limit_bytes_per_s"] == pytest.approx(117.67e6, rel=0.001)
    assert found["latency"]["segments"]
    assert len(found["points"]) >= 20
    assert all(point["latency_mean_s"]["value"] > 0 for point in found["points"])
    ranks = found["ranks"]
    assert ranks["one_machine"]
    assert not ranks["measured"]["share"]
    assert ranks["default"]["failure"] == ""
    assert [rank["cpus"] for rank in ranks["default"]["ranks"]] == [[0], [0]], "mpirun binds to each node's core 0"
    assert ranks["default"]["share"]


def several_ranks_share_the_link(lab: LabPlan, folder: Path) -> None:
    """What the table's `seatrial link --ranks-per-node` measured is true of the virtual link."""
    found = reported(lab, folder, "saturate")
    assert [one["ranks"] for one in found["by_ranks"]] == [1, 2]
    assert found["complete"]
    for one in found["by_ranks"]:
        assert 0.8 < one["bandwidth_bytes_per_s"]["value"] / found["limit"]["limit_bytes_per_s"] < 1.01


def typed(line: str) -> Completed:
    return run(shlex.split(line), timeout_s=150, extra_environment=WITH_US, cwd=str(ROOT))


def test_the_example_of_the_lab(tmp_path: Path) -> None:
    if "lab" in state.lab_names():
        pytest.skip("a lab named `lab` stands on this machine, and the example would use it")
    block = re.search(r"```\n(seatrial lab up.*?)```", (ROOT / "docs/lab.md").read_text(), re.DOTALL)
    assert block
    lines = block.group(1).strip().splitlines()
    assert len(lines) == 6
    try:
        for line in lines:
            options = f" --no-nodes --archive {tmp_path}" if line.endswith("seatrial check") else ""
            done = decided(partial(typed, line + options), inconclusive)
            assert done.returncode == (1 if "seatrial check" in line else 0), f"{line}: {done.stdout}{done.stderr}"
            if "seatrial check" in line:
                assert "node:n3" in done.stdout.splitlines()[2]
    finally:
        stop.raze("lab")
