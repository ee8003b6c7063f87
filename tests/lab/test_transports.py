"""The transport that Open MPI takes by itself, on nodes whose settings choose none, proved by ablation."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.lab.cluster import state
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan, MpiSettings, parameters
from seatrial.process.process import run
from tests.lab.waiting import decided, inconclusive
from tests.support.json_objects import parsed

pytestmark = [pytest.mark.lab, pytest.mark.alone]


@pytest.fixture
def unset(lab4: LabPlan) -> Iterator[LabPlan]:
    """The settings of MPI that all hosts see choose nothing meanwhile."""
    file = state.folder(lab4.name) / "overlay" / "openmpi"
    file.write_text(parameters(MpiSettings.NONE))
    try:
        yield lab4
    finally:
        file.write_text(parameters(lab4.mpi_settings))


def test_the_default_is_ofi_and_absent_devices_are_invalid(unset: LabPlan, tmp_path: Path) -> None:
    asked = ["link", "n1", "n3", "--transports", "--archive", str(tmp_path), "--json", "--starts"]
    argv = as_user(unset, [sys.executable, "-m", "seatrial", *asked])
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
