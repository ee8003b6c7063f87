"""PCIe devices, their links and their path to the root port, from a frame and from configuration space.

Configuration space: PCI Local Bus Specification 3.0, chapter 6.1 (header) and 6.7 (capabilities list); PCI Express Base
Specification, section 7.5.3 (PCI Express Capability Structure).
"""

import re
from functools import lru_cache
from typing import NamedTuple

import msgspec

from seatrial.model.facts import PciDevice, PciHop, PciKind
from seatrial.model.words import count
from seatrial.node.frame import Frame, whole_number

ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
HOST_BRIDGE = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
STATUS, POINTER, HEADER_BYTES = 0x06, 0x34, 0x40
HAS_CAPABILITIES = 1 << 4
"""Bit 4 of the status register."""
PCI_EXPRESS = 0x10
"""Capability ID."""
WITHOUT_LINK = (0x9, 0xA)
"""Device/port types of integrated endpoints and event collectors: their link registers mean nothing (7.5.3.1)."""
CODED_SPEEDS = {1: 2.5e9, 2: 5e9, 3: 8e9, 4: 16e9, 5: 32e9, 6: 64e9}
"""Link speed codes (7.5.3.6, 7.5.3.8): transfers per second and lane."""
WIDTHS = (1, 2, 4, 8, 12, 16, 32)


class ExpressCapability(msgspec.Struct, frozen=True, kw_only=True):
    """What of it is used here; None: a reserved code, or no link."""

    max_payload_supported_bytes: int | None = None
    max_payload_bytes: int | None = None
    max_read_request_bytes: int | None = None
    max_transfers_per_s: float | None = None
    current_transfers_per_s: float | None = None
    max_width: int | None = None
    current_width: int | None = None


@lru_cache(maxsize=8192)
def express_capability(config: bytes) -> ExpressCapability | None:
    """The capability of a configuration space; None where it has none, or is not there in full.

    The list is walked through the first 256 bytes; a list that loops or leads out of them ends there.
    """
    place = _find(config, PCI_EXPRESS)
    if place is None or place + 0x14 > len(config):
        return None
    flags, supported, control = (
        _number(config, place + 2, 2),
        _number(config, place + 4, 4),
        _number(config, place + 8, 2),
    )
    link, status = _number(config, place + 0xC, 4), _number(config, place + 0x12, 2)
    if flags >> 4 & 0xF in WITHOUT_LINK:
        link = status = 0
    return ExpressCapability(
        max_payload_supported_bytes=_size(supported & 7),
        max_payload_bytes=_size(control >> 5 & 7),
        max_read_request_bytes=_size(control >> 12 & 7),
        max_transfers_per_s=CODED_SPEEDS.get(link & 0xF),
        current_transfers_per_s=CODED_SPEEDS.get(status & 0xF),
        max_width=lanes(link >> 4 & 0x3F),
        current_width=lanes(status >> 4 & 0x3F),
    )


def lanes(number: int) -> int | None:
    """A valid width of PCI Express; None for 0 (no link), 63 and 255 (all ones: no answer) and others."""
    return number if number in WIDTHS else None


def _find(config: bytes, wanted: int) -> int | None:
    if len(config) < HEADER_BYTES or not _number(config, STATUS, 2) & HAS_CAPABILITIES:
        return None
    seen: set[int] = set()
    place = config[POINTER] & 0xFC
    while HEADER_BYTES <= place < len(config) - 1 and place not in seen:
        if config[place] == wanted:
            return place
        seen.add(place)
        place = config[place + 1] & 0xFC
    return None


def _number(config: bytes, start: int, count: int) -> int:
    return int.from_bytes(config[start : start + count], "little")


def _size(code: int) -> int | None:
    """128 bytes, doubled for each step of the code; 6 and 7 are reserved."""
    return 128 << code if code <= 5 else None


PCI = "/sys/bus/pci/devices/"
CONFIG_BYTES = 256
"""What holds the capabilities; an ordinary user gets 64, which hold none."""
SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9])?) GT/s(?: PCIe)?")
""" "8.0 GT/s PCIe", from older kernels "8 GT/s"; "Unknown" or "Unknown speed" where there is no link."""
LINK_FILES = {
    "current_transfers_per_s": "current_link_speed",
    "max_transfers_per_s": "max_link_speed",
    "current_width": "current_link_width",
    "max_width": "max_link_width",
}


ERROR_KINDS = ("correctable", "nonfatal", "fatal")
"""The kinds of Advanced Error Reporting (Linux, Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats)."""


class Link(NamedTuple):
    """A hop, and the fields of its link that are not known."""

    hop: PciHop
    missing: tuple[str, ...]


def read_links(frame: Frame, addresses: tuple[str, ...]) -> dict[str, Link]:
    """Address -> its hop, from sysfs, and from the configuration space where that can be read."""
    columns = [frame.columns.get((f"{PCI}*", file), {}) for file in LINK_FILES.values()]
    links = {
        address: link_of(address, tuple(column.get(address, "") for column in columns), _express(frame, address))
        for address in addresses
    }
    return {address: _with_errors(link, frame) for address, link in links.items()}


def _with_errors(link: Link, frame: Frame) -> Link:
    """The hop with the errors that the kernel has counted on it, where it counts them (AER)."""
    counts = {kind: frame.integer(f"{PCI}{link.hop.address}/aer_dev_{kind}") for kind in ERROR_KINDS}
    errors = {kind: total for kind, total in counts.items() if total is not None}
    return link._replace(hop=msgspec.structs.replace(link.hop, errors=errors)) if errors else link


@lru_cache(maxsize=8192)
def link_of(address: str, texts: tuple[str, ...], express: ExpressCapability | None = None) -> Link:
    """`texts`: of the four LINK_FILES, "" where there is none. What they lack, the capability may contain."""
    current_speed, max_speed, current_width, max_width = texts
    capability = express or ExpressCapability()
    hop = PciHop(
        address=address,
        current_transfers_per_s=_transfers_per_s(current_speed) or capability.current_transfers_per_s,
        max_transfers_per_s=_transfers_per_s(max_speed) or capability.max_transfers_per_s,
        current_width=_lanes(current_width) or capability.current_width,
        max_width=_lanes(max_width) or capability.max_width,
        max_payload_bytes=capability.max_payload_bytes,
        max_payload_supported_bytes=capability.max_payload_supported_bytes,
        max_read_request_bytes=capability.max_read_request_bytes,
    )
    return Link(hop, tuple(field for field in LINK_FILES if getattr(hop, field) is None))


def why_no_cell(frame: Frame, address: str, file: str) -> str:
    """Why a file of a function has no value."""
    column = frame.columns.get((f"{PCI}*", file))
    if column is None:
        return frame.reason(f"{PCI}*/{file}")
    path = f"{PCI}{address}/{file}"
    return f"{path} contains {column[address]!r}" if address in column else f"{path}: no such file, or not readable"


def why_no_payload(frame: Frame, address: str) -> str:
    """Why the payload sizes of a function are not known; where one configuration space was cut short, all are."""
    short = [path for path, config in frame.raw.items() if path.startswith(PCI) and len(config) < CONFIG_BYTES]
    if short:
        return f"{short[0]}: {len(frame.raw[short[0]])} of {CONFIG_BYTES} bytes are readable; the rest needs root"
    config = f"{PCI}{address}/config"
    return f"{config}: no PCI Express capability" if config in frame.raw else frame.reason(config)


def _express(frame: Frame, address: str) -> ExpressCapability | None:
    config = frame.raw.get(f"{PCI}{address}/config", b"")
    return express_capability(config) if len(config) >= CONFIG_BYTES else None


def _transfers_per_s(text: str) -> float | None:
    match = SPEED.fullmatch(text.strip())
    return float(match[1]) * 1e9 or None if match else None


def _lanes(text: str) -> int | None:
    width = whole_number(text)
    return None if width is None else lanes(width)


@lru_cache(maxsize=4096)
def pci_chain(place: str) -> tuple[str, ...]:
    """Addresses from below the host bridge (pciDDDD:BB) down to the last PCI function of `place`.

    Of several host bridges the last counts: a volume management device has a PCI domain of its own below it. Empty
    where there is none, as for virtual devices.
    """
    chain: list[str] = []
    for step in place.split("/"):
        if HOST_BRIDGE.fullmatch(step):
            chain = []
        elif ADDRESS.fullmatch(step):
            chain.append(step)
    return tuple(chain)


@lru_cache(maxsize=4096)
def pci_address(place: str) -> str:
    """The PCI function of a device, also of one behind virtio; "" without one.

    USB devices lie below a PCI function too, that of the USB controller, which is not their own.
    """
    chain = pci_chain(place)
    if not chain or "/usb" in place.partition(chain[-1])[2]:
        return ""
    return chain[-1]


HEX_NUMBER = re.compile(r"0x[0-9a-f]{1,8}")
NAMES = ("net/*", "infiniband/*", "nvme/*", "drm/card[0-9]*", "virtio[0-9]*/net/*")
CONSOLES = frozenset({0x1A03, 0x102B, 0x1013, 0x1234, 0x1B36, 0x1AF4, 0x15AD, 0x80EE, 0x19E5})
"""Vendors of displays that compute nothing: ASPEED and Matrox of management controllers, Cirrus, Bochs, QXL, virtio,
VMware and VirtualBox of virtual machines, Huawei of its own management controller (https://pci-ids.ucw.cz)."""


def read_pci(frame: Frame) -> tuple[tuple[PciDevice, ...], dict[str, str]]:
    """Network, GPU and NVMe devices, sorted by address. Second: name of a fact -> why it is not known."""
    listed = frame.lists.get(f"{PCI}*")
    if listed is None:
        return (), {"pci": frame.reason(f"{PCI}*")}
    links = read_links(frame, listed)
    classes = frame.columns.get((f"{PCI}*", "class"), {})
    chosen = sorted(address for address, code in classes.items() if not code.startswith("0x06"))
    devices = tuple(_device(frame, address, classes[address], links) for address in chosen)
    absent: dict[str, str] = {}
    for device in devices:
        absent.update(_absences(frame, device, links))
    physical = [each for each in devices if not each.virtual_function]
    lacking = [each.address for each in physical if each.path[-1].max_payload_bytes is None]
    if lacking:
        why = why_no_payload(frame, lacking[0])
        absent["pci.max_payload_bytes"] = f"{len(lacking)} of {count(len(physical), 'device')}: {why}"
    return devices, absent


def pci_kind(class_code: int | None, vendor: int | None = None) -> PciKind:
    """What a device is for, by its class code (PCI Code and ID Assignment Specification, section 1).

    Processing accelerators (0x12) count as GPUs, some of which call themselves so; displays of vendors that make none
    but for consoles do not.
    """
    if class_code is None:
        return PciKind.OTHER
    base, sub = class_code >> 16, class_code >> 8
    if base == 0x02 or sub == 0x0C06:
        return PciKind.NETWORK
    if base == 0x12 or (base == 0x03 and vendor not in CONSOLES):
        return PciKind.GPU
    if sub == 0x0108:
        return PciKind.NVME
    return PciKind.BRIDGE if base == 0x06 else PciKind.OTHER


def _device(frame: Frame, address: str, code: str, links: dict[str, Link]) -> PciDevice:
    folder = f"{PCI}{address}"
    class_code, vendor = _hexadecimal(code), _hexadecimal(_cell(frame, address, "vendor"))
    numa_node = whole_number(_cell(frame, address, "numa_node"))
    names = {name.rpartition("/")[2] for pattern in NAMES for name in frame.lists.get(f"{folder}/{pattern}", ())}
    chain = pci_chain(frame.real.get(folder, "")) or (address,)
    return PciDevice(
        address=address,
        kind=pci_kind(class_code, vendor),
        class_code=class_code,
        vendor=vendor,
        device=_hexadecimal(_cell(frame, address, "device")),
        driver=frame.values.get(f"{folder}/driver", ""),
        names=tuple(sorted(names)),
        numa_node=numa_node if numa_node is not None and numa_node >= 0 else None,
        path=tuple(_link(links, each).hop for each in chain),
        virtual_function=f"{folder}/physfn" in frame.values,
        iommu_group=whole_number(frame.values.get(f"{folder}/iommu_group", "")),
        iommu_type=_cell(frame, address, "iommu_group/type").strip(),
    )


def _link(links: dict[str, Link], address: str) -> Link:
    """One that the list lacks is known by its address alone."""
    return links[address] if address in links else link_of(address, ("",) * len(LINK_FILES))


def _cell(frame: Frame, address: str, file: str) -> str:
    return frame.columns.get((f"{PCI}*", file), {}).get(address, "")


def _hexadecimal(text: str) -> int | None:
    return int(text, 16) if HEX_NUMBER.fullmatch(text) else None


def _absences(frame: Frame, device: PciDevice, links: dict[str, Link]) -> dict[str, str]:
    """Reasons for missing values: once for a file that no function has, else for each hop."""
    folder, group = f"{PCI}{device.address}", f"pci.{device.address}"
    absent = {}
    if folder not in frame.real:
        absent[f"{group}.path"] = frame.reason(folder)
    if device.numa_node is None:
        absent[f"{group}.numa_node"] = why_no_cell(frame, device.address, "numa_node")
    for hop in device.path:
        for field in _link(links, hop.address).missing:
            file = LINK_FILES[field]
            if (f"{PCI}*", file) not in frame.columns:
                absent[f"pci.{field}"] = why_no_cell(frame, hop.address, file)
                continue
            why = why_no_cell(frame, hop.address, file)
            if device.virtual_function and hop.address == device.address:
                why += f"; a virtual function shares the link of {frame.values[f'{folder}/physfn']}"
            absent[f"{group}.path.{hop.address}.{field}"] = why
    return absent
