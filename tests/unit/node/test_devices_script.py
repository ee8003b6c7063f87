"""What facts.sh collects of PCI devices, HCAs and interfaces: hand-made machines, in every shell."""

import os
from pathlib import Path

import pytest

from seatrial.model.facts import PciHop, PciKind
from seatrial.model.hca import PortFamily
from seatrial.node.frame import Frame, parse_frame
from seatrial.node.node import parse_facts
from tests.support.collecting import SHELLS, program, write
from tests.support.collecting import collected_text as collect
from tests.unit.node.test_pci import CONNECTX_4, config_with

BUS = "sys/bus/pci/devices"
COMPLEX = "sys/devices/pci0000:40"
PORT, CARD, FUNCTION = "0000:40:01.0", "0000:41:00.0", "0000:41:00.1"
IB = "sys/class/infiniband"


def make_function(root: Path, place: str, **values: str) -> None:
    """A PCI function at `place`, below the complex, and its entry on the bus."""
    address = place.rpartition("/")[2]
    for file, value in values.items():
        if file != "class_code":
            write(root, f"{COMPLEX}/{place}/{file}", f"{value}\n")
    write(root, f"{COMPLEX}/{place}/class", f"{values['class_code']}\n")
    (root / BUS).mkdir(parents=True, exist_ok=True)
    (root / BUS / address).symlink_to(f"../../../devices/pci0000:40/{place}")


def make_hca_node(root: Path, config_bytes: int = 256) -> None:
    """Two functions of one card behind a root port; its first function is an HCA of two ports, its second virtual."""
    link = {"current_link_speed": "8.0 GT/s PCIe", "current_link_width": "8", "max_link_width": "16"}
    make_function(root, PORT, class_code="0x060400", vendor="0x8086", numa_node="1", **link)
    make_function(root, f"{PORT}/{CARD}", class_code="0x020700", vendor="0x15b3", numa_node="1", **link)
    make_function(root, f"{PORT}/{FUNCTION}", class_code="0x020700", vendor="0x15b3", numa_node="1", **link)
    make_function(root, "0000:40:14.0", class_code="0x0c0330", vendor="0x8086")
    card = root / COMPLEX / PORT / CARD
    (card / "config").write_bytes(config_with(0x60, CONNECTX_4)[:config_bytes])
    (root / COMPLEX / PORT / "config").write_bytes(bytes(config_bytes))
    (root / COMPLEX / PORT / FUNCTION / "physfn").symlink_to(f"../{CARD}")
    (card / "driver").symlink_to("../../../../bus/pci/drivers/mlx5_core")
    hca = f"{COMPLEX}/{PORT}/{CARD}/infiniband/mlx5_0"
    for file, value in (("node_type", "1: CA"), ("board_id", "MT_2180110032"), ("fw_ver", "12.28.2006"),
                        ("node_guid", "5254:0012:3456:7890")):  # fmt: skip
        write(root, f"{hca}/{file}", f"{value}\n")
    for port in (1, 2):
        for file, value in (("state", "4: ACTIVE"), ("rate", "100 Gb/sec (4X EDR)"), ("link_layer", "InfiniBand"),
                            ("gids/0", "fe80:0000:0000:0000:5254:0012:3456:7890"),
                            ("counters/symbol_error", str(port)), ("hw_counters/np_cnp_sent", "0")):  # fmt: skip
            write(root, f"{hca}/ports/{port}/{file}", f"{value}\n")
        write(root, f"{COMPLEX}/{PORT}/{CARD}/net/ib{port}/dev_port", f"{port - 1}\n")
        write(root, f"sys/class/net/ib{port}/duplex", "full\n")
        (root / f"sys/class/net/ib{port}/device").symlink_to(f"../../../devices/pci0000:40/{PORT}/{CARD}")
    (root / hca / "device").symlink_to(f"../../../{CARD}")
    (root / IB).mkdir(parents=True)
    (root / IB / "mlx5_0").symlink_to(f"../../devices/pci0000:40/{PORT}/{CARD}/infiniband/mlx5_0")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_node_with_an_hca(tmp_path: Path, shell: str) -> None:
    make_hca_node(tmp_path)
    text = collect(str(tmp_path), shell=shell)
    assert parse_frame(text).unknown == ()
    facts = parse_facts(text)
    card, function = facts.pci
    assert (card.address, card.kind, card.driver, card.numa_node) == (CARD, PciKind.NETWORK, "mlx5_core", 1)
    assert card.names == ("ib1", "ib2", "mlx5_0")
    assert card.path == (
        PciHop(address=PORT, current_transfers_per_s=8e9, current_width=8, max_width=16),
        PciHop(address=CARD, current_transfers_per_s=8e9, current_width=8, max_width=16, max_transfers_per_s=8e9,
               max_payload_bytes=256, max_payload_supported_bytes=512, max_read_request_bytes=512),
    )  # fmt: skip
    assert (function.address, function.virtual_function, card.virtual_function) == (FUNCTION, True, False)
    (hca,) = facts.hcas
    assert (hca.driver, hca.pci_address, hca.firmware) == ("mlx5_core", CARD, "12.28.2006")
    assert [port.counters for port in hca.ports] == [
        {"symbol_error": 1, "np_cnp_sent": 0}, {"symbol_error": 2, "np_cnp_sent": 0},
    ]  # fmt: skip
    assert [(port.family, port.interfaces) for port in hca.ports] == [
        (PortFamily.INFINIBAND, ("ib1",)), (PortFamily.INFINIBAND, ("ib2",)),
    ]  # fmt: skip
    assert {port.subnet_prefix for port in hca.ports} == {"fe80:0000:0000:0000"}
    assert [(each.name, each.pci_address, each.duplex) for each in facts.interfaces] == [
        ("ib1", CARD, "full"), ("ib2", CARD, "full"),
    ]  # fmt: skip


@pytest.mark.parametrize("shell", SHELLS)
def test_groups_of_the_iommu_are_read_with_their_types(tmp_path: Path, shell: str) -> None:
    make_hca_node(tmp_path)
    write(tmp_path, "sys/kernel/iommu_groups/27/type", "DMA-FQ\n")
    group = tmp_path / COMPLEX / PORT / CARD / "iommu_group"
    group.symlink_to("../../../../kernel/iommu_groups/27")
    text = collect(str(tmp_path), shell=shell)
    assert parse_frame(text).unknown == ()
    card, function = parse_facts(text).pci
    assert (card.iommu_group, card.iommu_type) == (27, "DMA-FQ")
    assert (function.iommu_group, function.iommu_type) == (None, "")


def test_no_serial_number_is_collected(tmp_path: Path) -> None:
    make_hca_node(tmp_path)
    assert "3456" not in collect(str(tmp_path))


def test_what_an_ordinary_user_sees_of_the_configuration_space_is_asked_once(tmp_path: Path) -> None:
    make_hca_node(tmp_path, config_bytes=64)
    text = collect(str(tmp_path))
    assert [line for line in text.splitlines() if line.startswith("@hex")] == [
        f"@hex /{BUS}/{CARD}/config|{config_with(0x60, CONNECTX_4)[:64].hex()}"
    ]
    facts = parse_facts(text)
    assert facts.pci[0].path[-1].max_payload_bytes is None
    assert facts.absent["pci.max_payload_bytes"] == (
        f"1 of 1 device: /{BUS}/{CARD}/config: 64 of 256 bytes are readable; the rest needs root"
    )


def test_each_bridge_is_listed_once(tmp_path: Path) -> None:
    make_hca_node(tmp_path)
    frame = parse_frame(collect(str(tmp_path)))
    assert frame.lists[f"/{BUS}/*"] == (CARD, FUNCTION, PORT)


def test_an_overlay_wins_file_by_file(tmp_path: Path) -> None:
    make_hca_node(tmp_path / "base")
    write(tmp_path, f"over/{COMPLEX}/{PORT}/{CARD}/current_link_width", "4\n")
    (tmp_path / "over" / BUS).mkdir(parents=True)
    (tmp_path / "over" / BUS / CARD).symlink_to(f"../../../devices/pci0000:40/{PORT}/{CARD}")
    facts = parse_facts(collect(f"{tmp_path}/over:{tmp_path}/base"))
    assert [(hop.address, hop.current_width) for hop in facts.pci[0].path] == [(PORT, 8), (CARD, 4)]


def with_program(tmp_path: Path, body: str, name: str = "ibv_devinfo") -> Frame:
    make_hca_node(tmp_path / "machine")
    program(tmp_path, name, body)
    return parse_frame(collect(f"{tmp_path}/machine:/", PATH=f"{tmp_path}:{os.environ['PATH']}"))


def test_of_ibv_devinfo_only_what_is_used_is_kept(tmp_path: Path) -> None:
    frame = with_program(
        tmp_path,
        r"printf 'hca_id:\tmlx5_0\n\ttransport:\t\tInfiniBand (0)\n\tnode_guid:\t\t5254:0012:3456:7890\n'; "
        r"printf '\t\tport:\t1\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t2048 (4)\n\t\t\tport_lid:\t\t3\n'",
    )
    assert frame.commands["ibv_devinfo"].lines == (
        "hca_id:\tmlx5_0", "\t\tport:\t1", "\t\t\tactive_mtu:\t\t2048 (4)",
    )  # fmt: skip
    assert frame.commands["ibv_devinfo"].status == 0


def test_of_opainfo_only_what_is_used_is_kept(tmp_path: Path) -> None:
    lines = (
        "hfi1_0:1                           PortGID:0xfe80000000000000:001175010165b19c",
        "   PortState:     Active",
        "   LinkSpeed      Act: 25Gb         En: 25Gb        ",
        "   LinkWidth      Act: 4            En: 4           ",
        "   LinkWidthDnGrd ActTx: 4  Rx: 3   En: 3,4         ",
        "   LCRC           Act: 14-bit       En: 14-bit,16-bit,48-bit       Mgmt: True ",
        "   Link Quality: 5 (Excellent)",
    )
    frame = with_program(tmp_path, f"cat <<'END'\n{chr(10).join(lines)}\nEND", "opainfo")
    assert frame.commands["opainfo"].lines == ("hfi1_0:1", *lines[2:5])


def test_a_failing_ibv_devinfo_does_no_harm(tmp_path: Path) -> None:
    frame = with_program(tmp_path, "echo 'Failed to get IB devices list: Function not implemented' >&2; exit 255")
    assert (frame.complete, frame.unknown) == (True, ())
    assert frame.commands["ibv_devinfo"].status == 255


def test_a_driver_whose_folder_was_not_recorded_has_a_name_all_the_same(tmp_path: Path) -> None:
    make_hca_node(tmp_path)
    assert not (tmp_path / "sys/bus/pci/drivers").exists()
    assert parse_frame(collect(str(tmp_path))).values[f"/{BUS}/{CARD}/driver"] == "mlx5_core"


def test_devices_without_a_class_and_odd_folders_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / BUS / "0000:00:01.0").mkdir(parents=True)
    (tmp_path / BUS / "odd").symlink_to("nowhere")
    write(tmp_path, f"{BUS}/0000:00:02.0/class", "")
    (tmp_path / IB / "mlx5_0").mkdir(parents=True)
    facts = parse_facts(collect(str(tmp_path)))
    assert (facts.pci, [hca.name for hca in facts.hcas], facts.hcas[0].ports) == ((), ["mlx5_0"], ())
