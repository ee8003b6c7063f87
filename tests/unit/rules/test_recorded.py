"""The rules on whole machines: generated in every clone, recorded where the larger data set is."""

from pathlib import Path

import pytest

from seatrial.driver.facts_reading import read_recording
from seatrial.model.verdict import Finding, FindingKind
from seatrial.node.node import parse_facts
from seatrial.recordings.sysinfo import facts_from_sysinfo
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import fact_findings
from tests.support.collecting import collected_text, write
from tests.support.machine_forms import sysinfo
from tests.support.machines import machine, sysfs_tree
from tests.support.paths import SHARED, needs_shared

DATA = SHARED / "nodes"
recorded = needs_shared(DATA)
HDR = "2 sockets x 4 cores x 2 threads, 8 DIMMs x 32 GiB, HCA mlx5_0 4xHDR gen4 x16"


def findings_of(tree: Path) -> list[Finding]:
    facts = {"n1": parse_facts(collected_text(str(tree)))}
    return fact_findings(Readings(facts=facts, after=facts))


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (f"{HDR} on socket 1", []),
        ("4 sockets x 4 cores, 8 DIMMs x 16 GiB, HCA qib0 4xQDR gen3 x4 on socket 1", []),
        (f"{HDR} trained x8 on socket 1", [FindingKind.PCIE_LINK_DEGRADED]),
        (f"{HDR} behind gen3 x16 on socket 0", [FindingKind.PCIE_STARVES_PORT]),
    ],
)
def test_generated_machines(text: str, kinds: list[FindingKind], tmp_path: Path) -> None:
    assert [one.kind for one in findings_of(sysfs_tree(machine(text), tmp_path))] == kinds


@pytest.mark.parametrize(
    ("path", "content", "kind"),
    [
        ("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave", FindingKind.GOVERNOR),
        ("/sys/devices/system/edac/mc/mc1/ue_count", "5", FindingKind.MEMORY_ERRORS),
    ],
)
def test_one_file_of_a_generated_machine_is_wrong(path: str, content: str, kind: FindingKind, tmp_path: Path) -> None:
    tree = sysfs_tree(machine(f"{HDR} on socket 1"), tmp_path)
    assert findings_of(tree) == []
    write(tree, path, f"{content}\n")
    assert [one.kind for one in findings_of(tree)] == [kind]


def test_sixteen_generated_nodes_are_well() -> None:
    names = tuple(f"n{number}" for number in range(16))
    facts = facts_from_sysinfo(sysinfo(machine(f"{HDR} on socket 1"), names))
    readings = Readings(facts=facts, after=facts)
    assert [len(group) for group in readings.peers] == [16]
    assert fact_findings(readings) == []


def found(path: Path) -> list[Finding]:
    facts = read_recording(path).facts
    return fact_findings(Readings(facts=facts, after=facts))


@recorded
def test_sixteen_identical_nodes_are_well() -> None:
    facts = facts_from_sysinfo((DATA / "alaska-sysinfo.json").read_text())
    readings = Readings(facts=facts, after=facts)
    assert [len(group) for group in readings.peers] == [16]
    assert fact_findings(readings) == []


@recorded
def test_a_device_faster_than_its_bridge_is_well_and_the_rest_of_that_machine_is_not() -> None:
    findings = found(DATA / "node_exporter-sys.ttar")
    assert {one.kind for one in findings} == {FindingKind.GOVERNOR, FindingKind.MEMORY_ERRORS}
    statements = " ".join(one.statement for one in findings)
    assert "powersave on 4 of 4 processors" in statements
    assert "5 uncorrected memory errors" in statements


@recorded
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
