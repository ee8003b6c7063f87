"""A check that is told the cables names them, on a real cluster."""

import sys
from functools import partial
from pathlib import Path

import pytest

from seatrial.lab.cluster import planting
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.faults.base import Parameters
from seatrial.process.process import run
from tests.lab.waiting import decided, inconclusive
from tests.support.fabrics import fat_tree, tables_of
from tests.support.json_objects import parsed

pytestmark = [pytest.mark.lab, pytest.mark.alone]


def test_the_slow_trunks_are_named_as_cables(lab4: LabPlan, tmp_path: Path) -> None:
    """Two leaves with one trunk each: no pair can tell which of the two it is."""
    (tmp_path / "map").write_text(fat_tree(2, 2, 1))
    (tmp_path / "tables").write_text(tables_of(fat_tree(2, 2, 1)))
    planting.plant(lab4.name, "uplink-rate", "leaf2", Parameters(percent=50))
    files = ["--fabric", str(tmp_path / "map"), "--routes", str(tmp_path / "tables")]
    words = ["check", "--no-nodes", "--no-loaded", "--design", "sparse", "--budget", "60s", "--json"]
    asked = [*words, "--archive", str(tmp_path / "runs"), *files]
    argv = as_user(lab4, [sys.executable, "-m", "seatrial", *asked])
    done = decided(partial(run, argv, timeout_s=150), inconclusive)
    assert done.returncode == 1, done.stderr
    report = parsed(done.stdout)
    (finding,) = [one for one in report["findings"] if one["metric"] == "bandwidth_bytes_per_s"]
    assert finding["kind"] == "slow-cable"
    assert {finding["subject"], *finding["ambiguous_with"]} == {"link:leaf1[3]-spine1[1]", "link:leaf2[3]-spine1[2]"}
    assert [one["leaf"] for one in report["nodes"]] == ["leaf1", "leaf1", "leaf2", "leaf2"]
