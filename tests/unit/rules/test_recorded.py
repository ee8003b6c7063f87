"""The rules on whole machines: generated from a line of text."""

from pathlib import Path

import pytest

from seatrial.model.verdict import Finding, FindingKind
from seatrial.node.node import parse_facts
from seatrial.recordings.sysinfo import facts_from_sysinfo
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import fact_findings
from tests.support.collecting import collected_text, write
from tests.support.machine_forms import sysinfo
from tests.support.machines import machine, sysfs_tree

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
