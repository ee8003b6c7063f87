"""Bindings that are bad on purpose, on real nodes: each is named, and the advised one is what ranks then have."""

import sys
from pathlib import Path
from typing import Any

import pytest

from seatrial.archive.reader import find_run, read_run
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.process.process import run
from tests.support.json_objects import parsed

pytestmark = pytest.mark.lab


def placed(lab: LabPlan, archive: Path, *line: str, starts: int = 0) -> tuple[int, dict[str, Any]]:
    asked = ["placement", "--archive", str(archive), "--json", "--starts", str(starts), "--", *line, "true"]
    done = run(as_user(lab, [sys.executable, "-m", "seatrial", *asked]), timeout_s=120)
    assert done.stdout, done.stderr
    return done.returncode, parsed(done.stdout)


def test_bad_bindings_are_named_and_the_advised_one_is_applied(lab4: LabPlan, tmp_path: Path) -> None:
    code, found = placed(
        lab4, tmp_path, "srun", "-N2", "-n4", "--ntasks-per-node=2", "--cpu-bind=map_cpu:0,0", starts=1
    )
    assert (code, [one["kind"] for one in found["findings"]]) == (1, ["ranks-share-core"])
    assert found["advice"]["srun"] == ["--cpu-bind=map_cpu:0,1"]
    assert len(found["gains"]) == 2
    starts = read_run(find_run(tmp_path, found["run"])).starts
    masks = {start.variant: [rank.cpus for rank in start.ranks] for start in starts}
    assert masks == {"asked": [(0,)] * 4, "advised": [(0,), (1,), (0,), (1,)]}
    assert {rank.node for rank in starts[0].ranks} == {one["node"] for one in found["ranks"]}
    code, found = placed(lab4, tmp_path, "srun", "-N1", "-n2", "--cpu-bind=none")
    assert (code, [one["kind"] for one in found["findings"]]) == (1, ["ranks-unbound"])
    code, found = placed(lab4, tmp_path, "srun", "-N1", "-n2", "--cpu-bind=map_cpu:0,1")
    assert (code, found["verdict"], found["findings"]) == (0, "PASS", [])


def test_a_line_that_the_partition_never_grants_ends_soon(lab4: LabPlan, tmp_path: Path) -> None:
    line = ["placement", "--archive", str(tmp_path), "--", "srun", "-N2", "-n2", "-p", "debug", "true"]
    done = run(as_user(lab4, [sys.executable, "-m", "seatrial", *line]), timeout_s=120)
    assert done.returncode == 2
    assert "Slurm will not grant the line" in done.stderr
    assert "(PartitionNodeLimit)" in done.stderr
