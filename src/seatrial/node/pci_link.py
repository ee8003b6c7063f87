"""Links of PCI functions: speed, width and the maximum of both, from a frame and from configuration space.

Configuration space: PCI Local Bus Specification 3.0, chapter 6.1 (header) and 6.7 (capabilities list); PCI Express Base
Specification, section 7.5.3 (PCI Express Capability Structure).
"""

import re
from functools import lru_cache
from typing import NamedTuple

import msgspec

from seatrial.model.hardware import PciHop
from seatrial.node.frame import Frame, whole_number

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
    told = whole_number(text)
    return None if told is None else lanes(told)
