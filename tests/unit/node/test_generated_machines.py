"""Machines from one line each: the collector's reading of their trees, hwloc's XML of them, and the two compared."""

import random
from pathlib import Path

import pytest

from seatrial.driver.facts_reading import read_recording
from seatrial.model.facts import Core, NodeFacts, PciHop, PciKind
from seatrial.model.hca import PortFamily, PortState
from seatrial.node.hwloc_machine import facts_from_xml
from tests.support.machine_forms import facts_of, hwloc_xml, sysinfo, tarball, ttar
from tests.support.machines import Machine, machine, mask, ranges, sysfs_tree

MACHINES = {
    "1 sockets x 4 cores": (4, 4, 1, 1),
    "1 socket x 8 cores x 4 threads, 4 NUMA nodes": (32, 8, 1, 4),
    "2 sockets x 8 cores x 2 threads, HCA mlx5_0 4xEDR gen3 x16 on socket 1": (32, 16, 2, 2),
    "2 sockets x 24 cores x 2 threads, 8 NUMA nodes, 16 DIMMs x 32 GiB, "
    "HCA mlx5_0 4xHDR gen4 x16 on socket 0, HCA mlx5_1 4xHDR gen4 x16 on socket 1": (96, 48, 2, 8),
    "4 sockets x 10 cores, HCA qib0 4xQDR gen3 x4 on socket 1": (40, 40, 4, 4),
    "8 sockets x 2 cores, 16 DIMMs x 16 GiB": (16, 16, 8, 8),
}
"""Description -> processors, cores, sockets, NUMA nodes."""
HDR = "2 sockets x 16 cores x 2 threads, 8 DIMMs x 32 GiB, HCA mlx5_0 4xHDR gen4 x16 on socket 1"


def counts(facts: NodeFacts) -> tuple[int | None, int | None, int | None, int | None]:
    return facts.processors, facts.cores, facts.sockets, facts.numa_nodes


@pytest.mark.parametrize("text", MACHINES)
def test_the_tree_and_the_xml_of_a_machine_say_the_same(text: str, tmp_path: Path) -> None:
    tree, xml = facts_of(machine(text), tmp_path), facts_from_xml(hwloc_xml(machine(text)), "n9")
    assert counts(tree) == counts(xml) == MACHINES[text]
    assert (tree.hostname, tree.kernel, tree.cpu_model) == (xml.hostname, xml.kernel, xml.cpu_model)
    assert tree.memory_bytes == xml.memory_bytes
    assert (tree.topology.source, xml.topology.source) == ("sysfs", "hwloc XML")
    assert tree.topology.cores == xml.topology.cores
    assert tree.topology.numa_nodes == xml.topology.numa_nodes
    assert set(tree.topology.caches) == set(xml.topology.caches)
    assert tree.topology.packages == xml.topology.packages
    assert [(hca.name, hca.pci_address) for hca in tree.hcas] == [(hca.name, hca.pci_address) for hca in xml.hcas]
    assert [[hop.address for hop in card.path] for card in tree.pci] == [
        [hop.address for hop in card.path] for card in xml.pci
    ]
    if MACHINES[text][2] == MACHINES[text][3]:  # else hwloc shows a socket of several NUMA nodes as a place near all
        assert [hca.numa_node for hca in tree.hcas] == [hca.numa_node for hca in xml.hcas]


def test_every_fact_of_a_machine_with_an_adapter(tmp_path: Path) -> None:
    facts = facts_of(machine(HDR), tmp_path)
    assert facts.topology.cores[17] == Core(processors=(17, 49), package=1, numa_node=1)
    assert facts.topology.numa_nodes[0].distances == (10, 32)
    (hca,) = facts.hcas
    (port,) = hca.ports
    assert (hca.name, hca.numa_node, hca.driver) == ("mlx5_0", 1, "mlx5_core")
    assert (port.family, port.state, port.speed_name, port.width) == (
        PortFamily.INFINIBAND, PortState.ACTIVE, "HDR", 4,
    )  # fmt: skip
    assert (port.data_bits_per_s, port.lid, port.interfaces) == (200e9, 7, ("ib0",))
    (card,) = facts.pci
    assert (card.kind, card.names, card.numa_node, card.vendor) == (PciKind.NETWORK, ("ib0", "mlx5_0"), 1, 0x15B3)
    assert card.path == tuple(
        PciHop(address=address, current_transfers_per_s=16e9, max_transfers_per_s=16e9, current_width=16, max_width=16)
        for address in ("0000:60:01.0", "0000:61:00.0")
    )
    assert (len(facts.memory.dimms), facts.memory.source, facts.memory.uncorrected_errors) == (8, "EDAC", 0)
    assert {dimm.size_bytes for dimm in facts.memory.dimms} == {32 << 30}
    assert facts.system.firmware.vendor == "Generated"


def test_a_card_in_a_slower_slot_and_one_that_lost_lanes(tmp_path: Path) -> None:
    slower_slot = "HCA a 4xHDR gen4 x16 behind gen3 x8 on socket 0"
    fewer_lanes = "HCA b 4xEDR gen3 x16 trained x4 on socket 0"
    first, second = facts_of(machine(f"1 socket x 4 cores, {slower_slot}, {fewer_lanes}"), tmp_path).pci
    assert [(hop.max_transfers_per_s, hop.max_width) for hop in first.path] == [(8e9, 8), (16e9, 16)]
    assert {(hop.current_transfers_per_s, hop.current_width) for hop in first.path} == {(8e9, 8)}
    assert {(hop.current_width, hop.max_width) for hop in second.path} == {(4, 16)}


@pytest.mark.parametrize("form", ["xml", "json", "tar.bz2", "tar.xz", "ttar", "tree"])
def test_every_form_of_a_recording_is_read(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"recording.{form}"
    if form == "xml":
        path.write_text(hwloc_xml(machine(HDR), "n3"))
    elif form == "json":
        path.write_text(sysinfo(machine(HDR), ("n3",)))
    else:
        tree = sysfs_tree(machine(HDR), tmp_path / "n3", "n3")
        if form == "ttar":
            ttar(tree, path)
        elif form == "tree":
            path = tree
        else:
            tarball(tree, path, f"w:{form.partition('.')[2]}")
    read = read_recording(path)
    (facts,) = read.facts.values()
    assert list(read.facts) == ["n3"] and not read.silent
    assert (facts.hostname, facts.complete, counts(facts)) == ("n3", True, (64, 32, 2, 2))
    assert [card.address for card in facts.pci] == ["0000:61:00.0"]


@pytest.mark.parametrize("text", ["2 sockets", "2 sockets x 4 cores, 3 bananas", "HCA mlx5_0 on socket 0"])
def test_another_description_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=text.rpartition(", ")[2]):
        machine(text)


def test_sets_as_the_kernel_and_as_hwloc_write_them() -> None:
    draw = random.Random(1)
    assert ranges((0, 1, 2, 8, 10, 11)) == "0-2,8,10-11"
    assert mask((0, 33)) == "0x00000002,0x00000001"
    assert (ranges(()), ranges((5,))) == ("", "5")
    node = Machine(sockets=2, cores_each=4, threads=2, numa_nodes=4)
    core = draw.randrange(node.cores)
    assert sum((node.processors_of_numa(one) for one in range(4)), ()).count(core) == 1
