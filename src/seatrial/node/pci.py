"""PCIe devices and their path to the root port, from a frame."""

import re
from functools import lru_cache

from seatrial.model.hardware import PciDevice, PciKind
from seatrial.model.words import count
from seatrial.node.frame import Frame, whole_number
from seatrial.node.pci_link import LINK_FILES, PCI, Link, link_of, read_links, why_no_cell, why_no_payload

ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
HOST_BRIDGE = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")


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
