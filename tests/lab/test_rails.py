"""Two rails between two nodes, one of them slowed: named, and the other is not."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.lab.cluster import planting
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.faults.base import Parameters
from seatrial.process.process import run
from tests.lab.waiting import decided, inconclusive
from tests.support.json_objects import parsed
from tests.support.raised_lab import raised_lab

pytestmark = [pytest.mark.lab, pytest.mark.alone]


@pytest.fixture
def two_rails(tmp_path: Path) -> Iterator[LabPlan]:
    with raised_lab("r", tmp_path, nodes=2, rails=2) as plan:
        yield plan


def test_the_slow_rail_is_named_and_what_it_costs_both(two_rails: LabPlan, tmp_path: Path) -> None:
    planting.plant(two_rails.name, "link-rate", "n2", Parameters(percent=50, rail="eth1"))
    asked = ["link", "n1", "n2", "--rails", "auto", "--max-size", "1MiB", "--json", "--archive", str(tmp_path)]
    argv = [sys.executable, "-m", "seatrial", *asked, "--budget"]
    budgets = iter(("30s", "60s", "120s"))  # on a busy machine six runs take longer
    done = decided(lambda: run(as_user(two_rails, [*argv, next(budgets)]), timeout_s=240), inconclusive)
    assert done.stdout, done.stderr
    found = parsed(done.stdout)
    assert (done.returncode, found["verdict"]) == (1, "SLOW"), found["reason"]
    slow, held = found["findings"]
    assert (slow["kind"], held["kind"]) == ("slow-rail", "rails-held-back")
    assert "eth1 alone" in slow["statement"]
    assert "eth1" in held["remedy"]
    good, bad, both = (one["plateau"]["bandwidth_bytes_per_s"]["value"] for one in found["rails"])
    limit = found["rails"][0]["limit"]["limit_bytes_per_s"]
    assert 0.8 * limit < good < 1.01 * limit
    assert 0.3 * limit < bad < 0.55 * limit
    assert both < 1.5 * limit
