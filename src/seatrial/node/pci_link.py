"""The links of PCI functions: how fast, how wide, and how much of that is possible; from a frame."""

import re
from functools import lru_cache
from typing import NamedTuple

from seatrial.model.pci import PciHop
from seatrial.node.frame import Frame, whole_number
from seatrial.node.pci_config import ExpressCapability, express_capability, lanes

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


class Link(NamedTuple):
    """A hop, and the fields of its link that are not known."""

    hop: PciHop
    missing: tuple[str, ...]


def read_links(frame: Frame, addresses: tuple[str, ...]) -> dict[str, Link]:
    """Address -> its hop, from sysfs, and from the configuration space where that can be read."""
    columns = [frame.columns.get((f"{PCI}*", file), {}) for file in LINK_FILES.values()]
    return {
        address: link_of(address, tuple(column.get(address, "") for column in columns), _express(frame, address))
        for address in addresses
    }


@lru_cache(maxsize=8192)
def link_of(address: str, texts: tuple[str, ...], express: ExpressCapability | None = None) -> Link:
    """`texts`: of the four LINK_FILES, "" where there is none. What they do not tell, the capability may."""
    current_speed, max_speed, current_width, max_width = texts
    told = express or ExpressCapability()
    hop = PciHop(
        address=address,
        current_transfers_per_s=_transfers_per_s(current_speed) or told.current_transfers_per_s,
        max_transfers_per_s=_transfers_per_s(max_speed) or told.max_transfers_per_s,
        current_width=_lanes(current_width) or told.current_width,
        max_width=_lanes(max_width) or told.max_width,
        max_payload_bytes=told.max_payload_bytes,
        max_payload_supported_bytes=told.max_payload_supported_bytes,
        max_read_request_bytes=told.max_read_request_bytes,
    )
    return Link(hop, tuple(field for field in LINK_FILES if getattr(hop, field) is None))


def why_no_cell(frame: Frame, address: str, file: str) -> str:
    """Why a file of a function gave no value."""
    column = frame.columns.get((f"{PCI}*", file))
    if column is None:
        return frame.reason(f"{PCI}*/{file}")
    path = f"{PCI}{address}/{file}"
    return f"{path} says {column[address]!r}" if address in column else f"{path}: no such file, or not readable"


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
    found = SPEED.fullmatch(text.strip())
    return float(found[1]) * 1e9 or None if found else None


def _lanes(text: str) -> int | None:
    told = whole_number(text)
    return None if told is None else lanes(told)
