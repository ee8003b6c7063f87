"""Rules about GPUs that need more than one case: what the bus has, Xid numbers, notes on switches and the IOMMU."""

from typing import Any

import msgspec
import pytest

from seatrial.model.facts import GpuVendor, PciKind
from seatrial.model.verdict import Finding, FindingKind
from seatrial.node.sensors import LOG_KINDS
from seatrial.rules.catalogue import fact_findings, fact_notes
from seatrial.rules.hardware import XID_CLASSES, xid_remedy
from seatrial.rules.pcie import switched_adapters
from tests.support.facts_examples import CARD, all_alike, device, hop, settings
from tests.support.gpu_machines import BELOW_ONE_SWITCH, LOST, THROUGH, TRANSLATING, gpu, gpus, of_n2
from tests.support.paths import DATA


def test_a_gpu_on_the_bus_that_the_driver_does_not_list_is_named_by_its_address() -> None:
    (finding,) = (each for each in fact_findings(LOST) if each.kind is FindingKind.GPU_MISSING)
    assert "lists 3 of 4 GPUs on the bus: not 0000:14:00.0" in finding.statement


def test_a_gpu_that_differs_from_the_others_of_its_node_is_named_without_peers() -> None:
    facts = of_n2(gpus=gpus(3, power_limit_w=500.0)).facts["n2"]
    alone = type(of_n2())(facts={"n2": facts})
    (finding,) = (each for each in fact_findings(alone) if each.kind is FindingKind.GPU_SETTINGS_DIFFER)
    assert finding.statement == "Node n2: GPU 3: the power limit is 500 W, where most of the GPUs have 700 W."


def test_each_fault_has_its_own_remedy() -> None:
    readings = of_n2(gpus=gpus(1, repair_pending=True, repair_failed=True, reset_required=True))
    (finding,) = (each for each in fact_findings(readings) if each.kind is FindingKind.GPU_FAULT)
    assert "no spare rows" in finding.statement
    assert "waits for a reset" in finding.statement
    assert "Replace the GPU." in finding.remedy


def test_worn_sram_and_a_degraded_fabric_are_faults() -> None:
    readings = of_n2(gpus=gpus(1, sram_worn=True, fabric_faults=("bandwidth degraded",)))
    (finding,) = (each for each in fact_findings(readings) if each.kind is FindingKind.GPU_FAULT)
    assert finding.subject.name == "n2"
    assert "GPU 1: uncorrected errors of its SRAM exceed the vendor's threshold" in finding.statement
    assert "its NVLink fabric reports: bandwidth degraded" in finding.statement


def test_limits_that_lower_the_clock_of_a_gpu_of_amd_are_faults_and_a_power_cap_is_none() -> None:
    for reason, faulty in (("socket_thermal_violation", True), ("prochot_violation", True), ("ppt_violation", False)):
        findings = fact_findings(of_n2(gpus=gpus(1, slowdowns=(reason,))))
        assert any(each.kind is FindingKind.GPU_SLOWED for each in findings) == faulty


def test_a_gpu_that_the_driver_does_not_reach_is_a_fault() -> None:
    (finding,) = (each for each in fact_findings(of_n2(gpus=gpus(1, lost=True))) if each.kind is FindingKind.GPU_FAULT)
    assert "GPU 1: the driver does not reach it" in finding.statement
    assert "Xid 79" in finding.remedy


@pytest.mark.parametrize(
    ("fault", "kind", "nvidia", "amd"),
    [
        ({"uncorrected_errors": 2}, FindingKind.GPU_FAULT, "nvidia-smi -r", "amd-smi reset"),
        ({"lost": True}, FindingKind.GPU_FAULT, "Xid 79", "amdgpu"),
        ({"power_limit_w": 500.0}, FindingKind.GPU_SETTINGS_DIFFER, "nvidia-smi -pl", "amd-smi set"),
        ({"slowdowns": ("hw_thermal_slowdown",)}, FindingKind.GPU_SLOWED, "nvidia-smi -q", "amd-smi metric"),
    ],
)
def test_a_remedy_names_the_program_of_the_vendor(
    fault: dict[str, Any], kind: FindingKind, nvidia: str, amd: str
) -> None:
    for vendor, own, other in ((GpuVendor.NVIDIA, nvidia, amd), (GpuVendor.AMD, amd, nvidia)):
        readings = of_n2(gpus=tuple(msgspec.structs.replace(one, vendor=vendor) for one in gpus(1, **fault)))
        alone = type(readings)(facts={"n2": readings.facts["n2"]})
        (finding,) = (each for each in fact_findings(alone) if each.kind is kind)
        assert (own in finding.remedy, other in finding.remedy) == (True, False)


def test_a_translating_iommu_and_missing_switches_are_notes() -> None:
    assert {each.kind for each in fact_notes(TRANSLATING)} >= {FindingKind.IOMMU_TRANSLATES}
    assert FindingKind.IOMMU_TRANSLATES not in {each.kind for each in fact_notes(THROUGH)}
    assert FindingKind.GPU_ADAPTER_APART in {each.kind for each in fact_notes(THROUGH)}
    assert FindingKind.GPU_ADAPTER_APART not in {each.kind for each in fact_notes(BELOW_ONE_SWITCH)}
    assert switched_adapters(BELOW_ONE_SWITCH.facts["n1"]) == {"GPU 0": ("mlx5_0",)}


def grouped(one: int | None, other: int | None, line: str = "", kind: str = "identity") -> list[Finding]:
    """Notes on nodes whose GPU and adapter are below one switch, each in a group of the IOMMU."""
    switch = (hop("0000:00:01.0"), hop("0000:10:00.0"))
    pci = (
        device(CARD, *switch, hop("0000:11:00.0"), own=hop(CARD), names=("mlx5_0",), iommu_group=one, iommu_type=kind),
        device(gpu(0).address, *switch, hop("0000:11:01.0"), own=hop(gpu(0).address), kind=PciKind.GPU,
               iommu_group=other, iommu_type=kind),
    )  # fmt: skip
    return fact_notes(all_alike(gpus=(gpu(0),), pci=pci, settings=settings(command_line=line)))


@pytest.mark.parametrize(
    ("one", "other", "line", "redirects"),
    [
        (14, 15, "", True),
        (14, 15, "iommu=pt", True),
        (14, 14, "", False),
        (None, 15, "", False),
        (14, 15, "pcie_acs_override=downstream,multifunction", False),
    ],
)
def test_groups_of_the_iommu_show_switches_that_redirect(
    one: int | None, other: int | None, line: str, redirects: bool
) -> None:
    found = [each for each in grouped(one, other, line) if each.kind is FindingKind.ACS_REDIRECTS]
    assert bool(found) is redirects
    assert all("below one PCIe switch and in different IOMMU groups" in each.statement for each in found)
    assert all("GPU 0" in each.statement and "mlx5_0" in each.statement for each in found)


def test_groups_of_devices_below_different_root_ports_say_nothing_of_switches() -> None:
    apart = tuple(
        device(address, hop(root), own=hop(address), kind=kind, iommu_group=group)
        for address, root, kind, group in (
            (CARD, "0000:00:01.0", PciKind.NETWORK, 14), (gpu(0).address, "0000:00:02.0", PciKind.GPU, 15)
        )
    )  # fmt: skip
    notes = fact_notes(all_alike(gpus=(gpu(0),), pci=apart))
    assert FindingKind.ACS_REDIRECTS not in {each.kind for each in notes}


@pytest.mark.parametrize(
    ("kind", "line", "translates"),
    [
        ("DMA-FQ", "", True),
        ("DMA", "iommu=pt", True),
        ("identity", "intel_iommu=on", False),
        ("", "intel_iommu=on", True),
    ],
)
def test_the_type_of_a_group_says_whether_the_iommu_translates(kind: str, line: str, translates: bool) -> None:
    found = [each for each in grouped(14, 14, line, kind) if each.kind is FindingKind.IOMMU_TRANSLATES]
    assert bool(found) is translates
    assert all(f"(type {kind})" in each.statement for each in found if kind)


@pytest.mark.parametrize(("attached", "missing"), [(None, False), (4, False), (8, True)])
def test_gpus_that_the_driver_counts_and_does_not_describe_are_missing(attached: int | None, missing: bool) -> None:
    findings = fact_findings(of_n2(gpus=gpus(), attached_gpus=attached))
    found = next((each for each in findings if each.kind is FindingKind.GPU_MISSING), None)
    assert (found is not None) is missing
    assert found is None or "counts 8 GPUs and describes 4" in found.statement


def test_gpus_of_another_model_are_not_missing() -> None:
    other = tuple(msgspec.structs.replace(each, name="another model") for each in of_n2().facts["n2"].gpus)
    for had, lacking in ((other, []), (other[1:], ["n2"])):
        findings = fact_findings(of_n2(gpus=had, attached_gpus=None, pci=()))
        assert [each.subject.name for each in findings if each.kind is FindingKind.GPU_MISSING] == lacking


@pytest.mark.parametrize(
    ("name", "changes", "named"),
    [
        ("NVIDIA H100", {"power_limit_w": 500.0}, {FindingKind.GPU_SETTINGS_DIFFER}),
        ("NVIDIA H200", {"power_limit_w": 500.0}, set()),
        ("NVIDIA H100", {"vbios": "96.00.00.00.00"}, {FindingKind.GPU_SOFTWARE_DIFFERS}),
        ("NVIDIA H200", {"vbios": "96.00.00.00.00"}, set()),
        ("NVIDIA H200", {"driver": "535.54.03"}, {FindingKind.GPU_SOFTWARE_DIFFERS}),
    ],
)
def test_settings_and_firmware_are_those_of_a_model_and_the_driver_of_all(
    name: str, changes: dict[str, Any], named: set[FindingKind]
) -> None:
    others = tuple(gpu(index, name=name, **changes) for index in range(4))
    assert {finding.kind for finding in fact_findings(of_n2(gpus=others))} == named


def test_the_driver_and_sysfs_both_show_what_is_below_one_switch() -> None:
    facts = of_n2(gpus=(gpu(0, paths={"mlx5_0": "PXB", "GPU1": "NV4"}), gpu(1, paths={"mlx5_0": "SYS"}))).facts["n2"]
    assert switched_adapters(facts) == {"GPU 0": ("mlx5_0",), "GPU 1": ()}


def test_the_remedy_of_a_recorded_xid_says_what_its_number_means() -> None:
    lines = [line for line in (DATA / "gpu" / "xid-119.log").read_text().splitlines() if "Xid" in line]
    assert all(LOG_KINDS[0].pattern.search(line) for line in lines)
    assert {xid_remedy(line)[:7] for line in lines} == {"Xid 119"}
    assert "reset the GPU" in xid_remedy(lines[0])


@pytest.mark.parametrize("number", [13, 48, 74, 79, 94, 119, 143])
def test_numbers_of_each_class_are_known_once(number: int) -> None:
    assert sum(number in numbers for numbers in XID_CLASSES) == 1
    assert xid_remedy(f"NVRM: Xid (PCI:0000:9b:00): {number}, pid=1").startswith(f"Xid {number}: ")


@pytest.mark.parametrize("line", ["", "NVRM: Xid (PCI:0000:9b:00): 9999, pid=1", "Xid 79"])
def test_other_lines_have_no_remedy_of_their_own(line: str) -> None:
    assert xid_remedy(line) == ""
