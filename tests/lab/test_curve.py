"""A curve over a virtual link of a known rate."""

import sys
from functools import partial
from pathlib import Path

import pytest

from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.process.process import run
from tests.lab.waiting import decided, inconclusive
from tests.support.json_objects import parsed

pytestmark = [pytest.mark.lab, pytest.mark.alone]


def test_the_plateau_is_what_the_link_carries(lab4: LabPlan, tmp_path: Path) -> None:
    asked = ["curve", "n1", "n2", "--budget", "15s", "--per-octave", "1", "--archive", str(tmp_path), "--json"]
    argv = as_user(lab4, [sys.executable, "-m", "seatrial", *asked])
    done = decided(partial(run, argv, timeout_s=150), inconclusive)
    assert done.stdout, done.stderr
    found = parsed(done.stdout)
    assert (done.returncode, found["verdict"]) == (0, "PASS"), found["reason"]
    assert 0.9 < found["plateau"]["bandwidth_bytes_per_s"]["value"] / found["limit_bytes_per_s"] < 1.01
    assert found["limit_bytes_per_s"] == pytest.approx(117.67e6, rel=0.001)
    assert found["latency"]["segments"]
    assert len(found["points"]) >= 20
    assert all(point["latency_mean_s"]["value"] > 0 for point in found["points"])
    ranks = found["ranks"]
    assert ranks["one_machine"]
    assert not ranks["measured"]["share"]
    assert ranks["default"]["failure"] == ""
    assert [rank["cpus"] for rank in ranks["default"]["ranks"]] == [[0], [0]], "mpirun binds to each node's core 0"
    assert ranks["default"]["share"]
