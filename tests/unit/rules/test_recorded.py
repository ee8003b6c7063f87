"""The rules on machines that really exist."""

from pathlib import Path

import pytest

from seatrial.driver.facts_reading import read_recording
from seatrial.model.verdict import Finding, FindingKind
from seatrial.recordings.sysinfo import facts_from_sysinfo
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import fact_findings
from tests.support.paths import SHARED, needs_shared

DATA = SHARED / "nodes"
pytestmark = needs_shared(DATA)


def found(path: Path) -> list[Finding]:
    facts = read_recording(path).facts
    return fact_findings(Readings(facts=facts, after=facts))


def test_sixteen_identical_nodes_are_well() -> None:
    facts = facts_from_sysinfo((DATA / "alaska-sysinfo.json").read_text())
    readings = Readings(facts=facts, after=facts)
    assert [len(group) for group in readings.peers] == [16]
    assert fact_findings(readings) == []


def test_a_device_faster_than_its_bridge_is_well_and_the_rest_of_that_machine_is_not() -> None:
    findings = found(DATA / "node_exporter-sys.ttar")
    assert {one.kind for one in findings} == {FindingKind.GOVERNOR, FindingKind.MEMORY_ERRORS}
    statements = " ".join(one.statement for one in findings)
    assert "powersave on 4 of 4 processors" in statements
    assert "5 uncorrected memory errors" in statements


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("20em64t-hybrid-1p6c2t+2ca4co1t.tar.bz2", [FindingKind.GOVERNOR]),  # intel_pstate that balances performance
        ("2arm-2c.tar.bz2", [FindingKind.GOVERNOR]),  # ondemand
        ("fakepcilocalities.tar.bz2", []),  # QDR on PCIe 3.0 x4: 31.5 of 32 Gb/s
        ("nvidiaDGX2.xml", []),
        ("cxlmem+dax.v2.xml", []),
    ],
)
def test_recorded_machines(name: str, kinds: list[FindingKind]) -> None:
    assert [one.kind for one in found(DATA / "hwloc" / name)] == kinds
