"""Recorded machines: PCI devices and HCAs of other people's sysfs; and that every field is documented."""

from functools import cache
from pathlib import Path

import pytest

from seatrial.model.facts import NetworkInterface, NodeFacts
from seatrial.model.hardware import PciDevice, PciHop, PciKind
from seatrial.model.hca import Hca, Port, PortFamily, PortState
from seatrial.node.node import parse_facts
from tests.support.paths import ROOT, SHARED, needs_shared
from tests.unit.node.test_hwloc import unpack
from tests.unit.node.test_script import collect

NODES = SHARED / "nodes"
recorded = needs_shared(NODES)


def unpack_ttar(text: str, root: Path) -> None:
    """The text archive of Prometheus' exporters: Directory, or Path with Lines or SymlinkTo; Mode; dashes."""
    lines = iter(text.split("\n"))
    path = root
    for line in lines:
        word, _, rest = line.partition(": ")
        if word == "Directory":
            (root / rest).mkdir(parents=True, exist_ok=True)
        elif word == "Path":
            path = root / rest
            path.parent.mkdir(parents=True, exist_ok=True)
        elif word == "SymlinkTo":
            path.symlink_to(rest)
        elif word == "Lines":
            content = "".join(f"{next(lines)}\n" for _ in range(int(rest))).replace("NULLBYTE", "\0")
            path.write_text(content.removesuffix("EOF\n") if content.endswith("EOF\n") else content, "utf-8")


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recorded")


@cache
def machine(name: str, folder: Path) -> NodeFacts:
    """The facts of a recorded machine, by the collector."""
    root = folder / name
    if name == "node_exporter-sys":
        unpack_ttar((NODES / f"{name}.ttar").read_text("utf-8"), root)
    else:
        unpack(name, folder)
    return parse_facts(collect(str(root)))


@recorded
def test_a_device_faster_than_its_bridge_has_a_path_that_says_so(trees: Path) -> None:
    """node_exporter: an NVMe of PCIe 4.0 x4 behind a port of PCIe 3.0 x8."""
    facts = machine("node_exporter-sys", trees)
    nvme = facts.pci[0]
    assert (nvme.address, nvme.kind, nvme.class_code) == ("0000:01:00.0", PciKind.NVME, 0x010802)
    assert (nvme.vendor, nvme.driver, nvme.names, nvme.numa_node) == (0xC0A9, "nvme", ("nvme0",), None)
    assert nvme.path == (
        PciHop(address="0000:00:02.1", current_transfers_per_s=8e9, max_transfers_per_s=8e9,
               current_width=4, max_width=8),
        PciHop(address="0000:01:00.0", current_transfers_per_s=8e9, max_transfers_per_s=16e9,
               current_width=4, max_width=4),
    )  # fmt: skip


@recorded
def test_a_network_card_behind_a_bridge_without_link_files(trees: Path) -> None:
    card = machine("node_exporter-sys", trees).pci[1]
    assert (card.address, card.driver, card.names, card.numa_node) == ("0000:45:00.0", "igb", ("ens10f0",), 0)
    assert card.path == (
        PciHop(address="0000:40:01.3"),
        PciHop(address="0000:45:00.0", current_transfers_per_s=5e9, max_transfers_per_s=5e9,
               current_width=4, max_width=4),
    )  # fmt: skip


@recorded
def test_iwarp_that_calls_itself_infiniband_and_two_qdr_ports(trees: Path) -> None:
    facts = machine("node_exporter-sys", trees)
    iwarp, mellanox = facts.hcas
    assert (iwarp.name, iwarp.ports[0].link_layer, iwarp.ports[0].family) == ("i40iw0", "InfiniBand", PortFamily.IWARP)
    assert (iwarp.ports[0].data_bits_per_s, iwarp.ports[0].counters) == (10e9, {})
    assert facts.absent["hcas.i40iw0.ports.1.counters"].endswith("contains 'N/A (no PMA)'")
    assert (mellanox.name, mellanox.firmware, mellanox.board_id) == ("mlx4_0", "2.31.5050", "SM_1141000001000")
    for port in mellanox.ports:
        assert (port.family, port.state, port.physical_state) == (PortFamily.INFINIBAND, PortState.ACTIVE, "LinkUp")
        assert (port.speed_name, port.width, port.data_bits_per_s) == ("QDR", 4, 32e9)
    assert mellanox.ports[0].counters["port_xmit_discards"] == 5
    assert mellanox.ports[1].counters == {
        "link_error_recovery": 0, "link_downed": 0, "port_rcv_data": 0, "port_xmit_data": 0,
    }  # fmt: skip


@recorded
def test_a_true_scale_card_by_its_right_name(trees: Path) -> None:
    """hwloc fakepcilocalities: a QLE7340 on the second NUMA node."""
    facts = machine("fakepcilocalities", trees)
    (hca,) = facts.hcas
    assert (hca.driver, hca.hca_type, hca.pci_address, hca.numa_node) == (
        "ib_qib", "InfiniPath_QLE7340", "0000:43:00.0", 1,
    )  # fmt: skip
    (port,) = hca.ports
    assert (port.family, port.speed_name, port.data_bits_per_s) == (PortFamily.TRUE_SCALE, "QDR", 32e9)
    assert (port.lid, port.subnet_manager_lid, port.interfaces) == (298, 1, ("ib0",))
    assert port.counters["port_rcv_data"] == 2**32 - 1
    card = next(each for each in facts.pci if each.address == hca.pci_address)
    assert (card.kind, card.names) == (PciKind.NETWORK, ("ib0", "qib0"))
    assert [(hop.address, hop.current_transfers_per_s, hop.current_width) for hop in card.path] == [
        ("0000:40:03.0", None, None), ("0000:43:00.0", 8e9, 4),
    ]  # fmt: skip


@recorded
def test_ethernet_cards_and_a_console_that_is_no_gpu(trees: Path) -> None:
    facts = machine("fakepcilocalities", trees)
    assert {each.address: (each.kind, each.names) for each in facts.pci if each.address < "0000:10"} == {
        "0000:02:00.0": (PciKind.NETWORK, ("eth0",)), "0000:02:00.1": (PciKind.NETWORK, ("eth1",)),
        "0000:03:00.0": (PciKind.NETWORK, ("eth2",)), "0000:03:00.1": (PciKind.NETWORK, ("eth3",)),
        "0000:09:03.0": (PciKind.OTHER, ()),
    }  # fmt: skip
    assert {each.name: each.pci_address for each in facts.interfaces} == {
        "eth0": "0000:02:00.0", "eth1": "0000:02:00.1", "eth2": "0000:03:00.0", "eth3": "0000:03:00.1",
        "ib0": "0000:43:00.0", "lo": "",
    }  # fmt: skip
    assert "64 of 256 bytes are readable" in facts.absent["pci.max_payload_bytes"]


@recorded
def test_gpus_of_which_nothing_but_the_class_was_recorded(trees: Path) -> None:
    facts = machine("nvidiagpunumanodes", trees)
    assert [(each.address, each.kind, each.path) for each in facts.pci] == [
        (address, PciKind.GPU, (PciHop(address=address),))
        for address in ("0004:05:00.0", "0004:06:00.0", "0006:00:00.0", "0007:00:00.0", "0035:04:00.0", "0035:05:00.0")
    ]
    assert facts.absent["pci.max_width"] == "/sys/bus/pci/devices/*/max_link_width: no such file"


@recorded
@pytest.mark.parametrize("name", ["40intel64-4n10c+pci-conflicts", "nvidia-dgx-gb10"])
def test_machines_without_a_device_of_interest(trees: Path, name: str) -> None:
    facts = machine(name, trees)
    assert (facts.complete, facts.pci, facts.hcas) == (True, (), ())


@pytest.mark.parametrize("record", [PciDevice, PciHop, Hca, Port, NetworkInterface])
def test_every_field_is_documented(record: type[PciDevice]) -> None:
    text = "\n".join((ROOT / "docs" / name).read_text() for name in ("facts.md", "facts-devices.md"))
    assert [name for name in record.__struct_fields__ if f"| `{name}` |" not in text] == []


@pytest.mark.parametrize("words", [PciKind, PortFamily, PortState])
def test_every_word_is_documented(words: type[PciKind] | type[PortFamily] | type[PortState]) -> None:
    text = (ROOT / "docs" / "facts-devices.md").read_text()
    assert [word.value for word in words if f"`{word.value}`" not in text] == []
