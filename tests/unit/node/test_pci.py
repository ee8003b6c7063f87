"""PCI devices, their path and their links: from hand-made frames and configuration spaces."""

import pytest

from seatrial.model.facts import PciDevice, PciHop, PciKind
from seatrial.node.frame import Frame, parse_frame
from seatrial.node.pci import (
    LINK_FILES,
    ExpressCapability,
    express_capability,
    link_of,
    pci_address,
    pci_chain,
    pci_kind,
    read_pci,
)
from tests.support.collecting import facts_text

PCI = "/sys/bus/pci/devices"
FILES = (
    "class", "vendor", "device", "numa_node",
    "current_link_speed", "current_link_width", "max_link_speed", "max_link_width",
)  # fmt: skip
GEN3_X8 = ("8.0 GT/s PCIe", "8", "8.0 GT/s PCIe", "8")


def frame_of(functions: dict[str, tuple[str, ...]], *lines: str, complete: bool = True) -> Frame:
    """Address -> its cells, in the order of FILES."""
    columns = [
        f"@column {PCI}/* {file}|" + "\t".join(cells[number] for cells in functions.values())
        for number, file in enumerate(FILES)
    ]
    listed = f"@list {PCI}/*|{' '.join(functions)}"
    ending = ["#end n1", ""] if complete else [""]
    return parse_frame("\n".join(["#seatrial-facts 1 n1", listed, *columns, *lines, *ending]))


def one_card(*link: str) -> tuple[PciDevice, dict[str, str]]:
    """A card with these four link cells behind a root port of PCIe 3.0 x8."""
    devices, absent = read_pci(
        frame_of(
            {
                "0000:41:00.0": ("0x020000", "0x15b3", "0x1019", "1", *link),
                "0000:40:01.0": ("0x060400", "0x8086", "0x2030", "1", *GEN3_X8),
            },
            f"@real {PCI}/0000:41:00.0|/sys/devices/pci0000:40/0000:40:01.0/0000:41:00.0",
        )
    )
    assert len(devices) == 1
    return devices[0], absent


def config_with(place: int, express: bytes, before: bytes = b"") -> bytes:
    """A configuration space with a capability list that leads to a PCI Express capability at `place`."""
    config = bytearray(256)
    config[0x06] = 0x10
    config[0x34] = 0x40 if before else place
    config[0x40 : 0x40 + len(before)] = before
    config[place : place + len(express)] = express
    return bytes(config)


def express(
    *, kind: int = 0, device: int = 0, control: int = 0, link: int = 0, status: int = 0, following: int = 0
) -> bytes:
    """The capability's registers, PCI Express Base Specification 7.5.3."""
    flags = 2 | kind << 4
    return (
        bytes([0x10, following]) + flags.to_bytes(2, "little") + device.to_bytes(4, "little")
        + control.to_bytes(2, "little") + bytes(2) + link.to_bytes(4, "little") + bytes(2)
        + status.to_bytes(2, "little")
    )  # fmt: skip


CONNECTX_4 = express(device=2, control=2 << 12 | 1 << 5, link=3 | 16 << 4, status=3 | 8 << 4)
"""512 bytes of payload possible, 256 set, requests of 512; 8 GT/s x16 possible, running x8."""
CONNECTX_4_SAYS = ExpressCapability(
    max_payload_supported_bytes=512, max_payload_bytes=256, max_read_request_bytes=512,
    max_transfers_per_s=8e9, current_transfers_per_s=8e9, max_width=16, current_width=8,
)  # fmt: skip


def test_a_card_and_its_root_port() -> None:
    card, absent = one_card("8.0 GT/s PCIe", "8", "16.0 GT/s PCIe", "16")
    assert (card.kind, card.class_code, card.vendor, card.device) == (PciKind.NETWORK, 0x020000, 0x15B3, 0x1019)
    assert (card.numa_node, card.virtual_function) == (1, False)
    assert card.path == (
        PciHop(address="0000:40:01.0", current_transfers_per_s=8e9, max_transfers_per_s=8e9,
               current_width=8, max_width=8),
        PciHop(address="0000:41:00.0", current_transfers_per_s=8e9, max_transfers_per_s=16e9,
               current_width=8, max_width=16),
    )  # fmt: skip
    assert list(absent) == ["pci.max_payload_bytes"]


@pytest.mark.parametrize(
    ("text", "speed"),
    [("2.5 GT/s PCIe", 2.5e9), ("5.0 GT/s PCIe", 5e9), ("8 GT/s", 8e9), ("8.0 GT/s", 8e9), ("16.0 GT/s PCIe", 16e9),
     ("32.0 GT/s PCIe", 32e9), ("64.0 GT/s PCIe", 64e9), ("2.5 GT/s", 2.5e9)],
)  # fmt: skip
def test_speeds(text: str, speed: float) -> None:
    card, absent = one_card(text, "8", text, "8")
    assert (card.path[-1].current_transfers_per_s, card.path[-1].max_transfers_per_s) == (speed, speed)
    assert not [name for name in absent if "transfers" in name]


@pytest.mark.parametrize("text", ["Unknown", "Unknown speed", "", "66 MHz PCI-X", "8.0 GB/s", "0 GT/s", "fast"])
def test_a_speed_that_is_none_is_absent_with_its_word(text: str) -> None:
    card, absent = one_card(text or "?", "8", "8.0 GT/s PCIe", "8")
    assert card.path[-1].current_transfers_per_s is None
    why = absent["pci.0000:41:00.0.path.0000:41:00.0.current_transfers_per_s"]
    path = f"{PCI}/0000:41:00.0/current_link_speed"
    assert why == (f"{path} contains {text!r}" if text else f"{path}: no such file, or not readable")


@pytest.mark.parametrize("text", ["0", "255", "63", "-1", "3", "x8", "99999999999999999999"])
def test_a_width_that_is_none_is_absent_with_its_word(text: str) -> None:
    card, absent = one_card("8.0 GT/s PCIe", text, "8.0 GT/s PCIe", "8")
    assert card.path[-1].current_width is None
    assert absent["pci.0000:41:00.0.path.0000:41:00.0.current_width"].endswith(f"contains {text!r}")


def test_a_virtual_machine_has_no_links() -> None:
    lines = [
        f"@list {PCI}/*|0000:00:03.0", f"@column {PCI}/* class|0x020000", f"@column {PCI}/* numa_node|-1",
        *(f"@absent {PCI}/*/{file}|no such file" for file in LINK_FILES.values()),
        f"@list {PCI}/0000:00:03.0/virtio[0-9]*/net/*|virtio2/net/eth0",
        f"@real {PCI}/0000:00:03.0|/sys/devices/pci0000:00/0000:00:03.0",
        f"@link {PCI}/0000:00:03.0/driver|virtio-pci",
    ]  # fmt: skip
    devices, absent = read_pci(parse_frame(facts_text(*lines)))
    assert devices == (
        PciDevice(address="0000:00:03.0", kind=PciKind.NETWORK, class_code=0x020000, driver="virtio-pci",
                  names=("eth0",), path=(PciHop(address="0000:00:03.0"),)),
    )  # fmt: skip
    assert absent["pci.current_width"] == f"{PCI}/*/current_link_width: no such file"
    assert absent["pci.0000:00:03.0.numa_node"] == f"{PCI}/0000:00:03.0/numa_node contains '-1'"


def test_a_virtual_function_shares_the_link_of_its_physical_one() -> None:
    devices, absent = read_pci(
        frame_of(
            {
                "0000:41:00.0": ("0x020000", "0x15b3", "0x1019", "1", *GEN3_X8),
                "0000:41:00.2": ("0x020000", "0x15b3", "0x101a", "1", "Unknown", "0", "Unknown", "0"),
            },
            f"@real {PCI}/0000:41:00.0|/sys/devices/pci0000:40/0000:41:00.0",
            f"@real {PCI}/0000:41:00.2|/sys/devices/pci0000:40/0000:41:00.2",
            f"@link {PCI}/0000:41:00.2/physfn|0000:41:00.0",
        )
    )
    assert [each.virtual_function for each in devices] == [False, True]
    assert devices[1].path == (PciHop(address="0000:41:00.2"),)
    assert absent["pci.0000:41:00.2.path.0000:41:00.2.current_width"].endswith(
        "contains '0'; a virtual function shares the link of 0000:41:00.0"
    )
    assert absent["pci.max_payload_bytes"].startswith("1 of 1 device: ")


def test_payload_and_link_from_the_configuration_space() -> None:
    config = config_with(0x60, CONNECTX_4)
    devices, absent = read_pci(
        frame_of(
            {"0000:41:00.0": ("0x0c0600", "0x15b3", "0x1013", "0", "?", "?", "?", "?")},
            f"@real {PCI}/0000:41:00.0|/sys/devices/pci0000:40/0000:41:00.0",
            f"@hex {PCI}/0000:41:00.0/config|{config.hex()}",
        )
    )
    assert devices[0].path == (
        PciHop(address="0000:41:00.0", current_transfers_per_s=8e9, max_transfers_per_s=8e9, current_width=8,
               max_width=16, max_payload_bytes=256, max_payload_supported_bytes=512, max_read_request_bytes=512),
    )  # fmt: skip
    assert absent == {}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (f"@hex {PCI}/0000:41:00.0/config|{bytes(64).hex()}", "64 of 256 bytes are readable; the rest needs root"),
        (
            f"@hex {PCI}/0000:41:00.0/config|{config_with(0x60, CONNECTX_4)[:0x80].hex()}",
            "128 of 256 bytes are readable; the rest needs root",
        ),
        (f"@hex {PCI}/0000:41:00.0/config|{bytes(256).hex()}", "no PCI Express capability"),
        (f"@absent {PCI}/0000:41:00.0/config|no such file", "no such file"),
    ],
)
def test_why_the_payload_is_not_known(line: str, why: str) -> None:
    devices, absent = read_pci(frame_of({"0000:41:00.0": ("0x020000", "0x8086", "0x1521", "0", *GEN3_X8)}, line))
    assert devices[0].path[-1].max_payload_bytes is None
    assert absent["pci.max_payload_bytes"] == f"1 of 1 device: {PCI}/0000:41:00.0/config: {why}"


def test_sysfs_is_believed_before_the_configuration_space() -> None:
    hop = link_of("0000:41:00.0", ("16.0 GT/s PCIe", "Unknown", "4", "255"), CONNECTX_4_SAYS).hop
    assert (hop.current_transfers_per_s, hop.max_transfers_per_s, hop.current_width, hop.max_width) == (
        16e9,
        8e9,
        4,
        16,
    )


def test_capabilities_are_found_behind_others() -> None:
    power_management = bytes([0x01, 0x48]) + bytes(6)
    interrupts = bytes([0x05, 0x70])
    config = config_with(0x70, CONNECTX_4, power_management + interrupts)
    assert express_capability(config) == CONNECTX_4_SAYS


@pytest.mark.parametrize(
    ("code", "payload"), [(0, 128), (1, 256), (2, 512), (3, 1024), (4, 2048), (5, 4096), (6, None), (7, None)]
)
def test_payload_codes(code: int, payload: int | None) -> None:
    found = express_capability(config_with(0x40, express(device=code, control=code << 12 | code << 5)))
    assert found is not None
    assert (found.max_payload_supported_bytes, found.max_payload_bytes, found.max_read_request_bytes) == (payload,) * 3


@pytest.mark.parametrize(
    ("code", "speed"), [(0, None), (1, 2.5e9), (2, 5e9), (3, 8e9), (4, 16e9), (5, 32e9), (6, 64e9), (7, None)]
)
def test_speed_codes(code: int, speed: float | None) -> None:
    found = express_capability(config_with(0x40, express(link=code | 32 << 4, status=code | 1 << 4)))
    assert found is not None
    assert (found.max_transfers_per_s, found.current_transfers_per_s) == (speed, speed)
    assert (found.max_width, found.current_width) == (32, 1)


@pytest.mark.parametrize("kind", [0x9, 0xA])
def test_integrated_endpoints_have_no_link(kind: int) -> None:
    found = express_capability(config_with(0x40, express(kind=kind, control=1 << 5, link=0x43, status=0x43)))
    assert found is not None
    assert (found.max_payload_bytes, found.max_width, found.current_transfers_per_s) == (256, None, None)


@pytest.mark.parametrize(
    "config",
    [
        b"", b"\x86\x80", bytes(64), b"\xff" * 256, b"\xff" * 64,
        config_with(0x40, bytes([0x05, 0x40])),
        config_with(0x40, bytes([0x05, 0x50])),
        config_with(0x10, CONNECTX_4),
        config_with(0xF0, CONNECTX_4)[:256],
        config_with(0x60, CONNECTX_4)[:0x70],
    ],
    ids=["empty", "two bytes", "no list", "asleep", "asleep, user", "loop", "leads to nothing", "in the header",
         "cut by the end", "cut short"],
)  # fmt: skip
def test_configuration_spaces_without_the_capability(config: bytes) -> None:
    assert express_capability(config) is None


@pytest.mark.parametrize(
    ("place", "chain", "address"),
    [
        ("/sys/devices/pci0000:00/0000:00:02.1/0000:01:00.0", ("0000:00:02.1", "0000:01:00.0"), "0000:01:00.0"),
        ("/sys/devices/pci0000:00/0000:00:03.0/virtio2", ("0000:00:03.0",), "0000:00:03.0"),
        ("/sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0",
         ("10000:e0:06.0", "10000:e1:00.0"), "10000:e1:00.0"),
        ("/sys/devices/platform/soc/1f2b0000.pcie/pci0000:00/0000:00:00.0/0000:01:00.0",
         ("0000:00:00.0", "0000:01:00.0"), "0000:01:00.0"),
        ("/sys/bus/pci/devices/0004:05:00.0", ("0004:05:00.0",), "0004:05:00.0"),
        ("/sys/devices/pci0000:00/0000:00:14.0/usb1/1-3/1-3:1.0", ("0000:00:14.0",), ""),
        ("/sys/devices/virtual/net/lo", (), ""),
        ("", (), ""),
    ],
)  # fmt: skip
def test_places(place: str, chain: tuple[str, ...], address: str) -> None:
    assert pci_chain(place) == chain
    assert pci_address(place) == address


@pytest.mark.parametrize(
    ("code", "vendor", "kind"),
    [(0x020000, 0x8086, PciKind.NETWORK), (0x020700, 0x15B3, PciKind.NETWORK), (0x028000, 0, PciKind.NETWORK),
     (0x0C0600, 0x1077, PciKind.NETWORK), (0x0C0330, 0x8086, PciKind.OTHER), (0x030200, 0x10DE, PciKind.GPU),
     (0x030000, 0x10DE, PciKind.GPU), (0x038000, 0x1002, PciKind.GPU), (0x120000, 0x1002, PciKind.GPU),
     (0x030000, 0x1A03, PciKind.OTHER), (0x030000, 0x102B, PciKind.OTHER), (0x030000, None, PciKind.GPU),
     (0x010802, 0x144D, PciKind.NVME), (0x010601, 0x8086, PciKind.OTHER), (0x0B4000, 0x8086, PciKind.OTHER),
     (0x060400, 0x8086, PciKind.BRIDGE), (None, None, PciKind.OTHER)],
)  # fmt: skip
def test_kinds(code: int | None, vendor: int | None, kind: PciKind) -> None:
    assert pci_kind(code, vendor) is kind


def test_bridges_are_hops_and_no_devices_and_devices_are_sorted() -> None:
    devices, _ = read_pci(
        frame_of(
            {
                "0000:82:00.0": ("0x010802", "0x144d", "0xa80a", "1", *GEN3_X8),
                "0000:41:00.0": ("0x020000", "0x15b3", "0x1019", "0", *GEN3_X8),
                "0000:40:01.0": ("0x060400", "0x8086", "0x2030", "0", *GEN3_X8),
            }
        )
    )
    assert [each.address for each in devices] == ["0000:41:00.0", "0000:82:00.0"]


def test_a_bridge_that_the_bus_does_not_list_is_a_hop_without_a_link() -> None:
    devices, absent = read_pci(
        frame_of(
            {"0000:41:00.0": ("0x020000", "0x15b3", "0x1019", "0", *GEN3_X8)},
            f"@real {PCI}/0000:41:00.0|/sys/devices/pci0000:40/0000:40:01.0/0000:41:00.0",
        )
    )
    assert devices[0].path[0] == PciHop(address="0000:40:01.0")
    assert absent["pci.0000:41:00.0.path.0000:40:01.0.max_width"].endswith("no such file, or not readable")


def test_a_stream_that_breaks_off_before_the_bus_says_so() -> None:
    assert read_pci(parse_frame("#seatrial-facts 1 n1\n")) == ((), {"pci": f"{PCI}/*: the facts end before it"})
    assert read_pci(parse_frame(f"#seatrial-facts 1 n1\n@list {PCI}/*|\n#end n1\n")) == ((), {})
