"""The transport that Open MPI takes by itself, on nodes whose settings choose none, proved by ablation."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.lab.cluster import stop
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan, MpiSettings, make_plan
from seatrial.lab.cluster.start import needed_folders, raise_lab
from seatrial.process.process import run
from tests.lab.waiting import decided, inconclusive
from tests.support.json_objects import parsed

pytestmark = [pytest.mark.lab, pytest.mark.alone]


@pytest.fixture
def unset2(tmp_path: Path) -> Iterator[LabPlan]:
    folders = (*needed_folders(), str(tmp_path))
    plan = make_plan(name=f"t{os.getpid()}", nodes=2, folders=folders, mpi_settings=MpiSettings.NONE)
    raise_lab(plan)
    try:
        yield plan
    finally:
        stop.raze(plan.name)


def test_the_default_is_ofi_and_absent_devices_are_invalid(unset2: LabPlan, tmp_path: Path) -> None:
    asked = ["transports", "--archive", str(tmp_path), "--json", "--starts"]
    argv = as_user(unset2, [sys.executable, "-m", "seatrial", *asked])
    starts = iter("357")  # what is lost in noise takes more of them
    done = decided(lambda: run([*argv, next(starts)], timeout_s=300), inconclusive)
    assert done.stdout, done.stderr
    found = parsed(done.stdout)
    assert (found["verdict"], found["carried_by"]) == ("PASS", "OFI"), found["reason"]
    variants = {one["variant"]["name"]: one for one in found["variants"]}
    assert not variants["control"]["changed"]
    assert variants["default"]["devices"] == ["eth0"]
    for absent in ("forced UCX", "forced PSM2", "forced InfiniBand verbs"):
        assert "The probe did not start" in variants[absent]["failure"]
