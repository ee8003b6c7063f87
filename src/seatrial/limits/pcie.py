"""PCIe links: what their lanes carry, which two functions are their ends, and what both ends support."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from seatrial.model.hardware import PciHop

ENCODINGS = {
    2.5e9: 8 / 10,
    5e9: 8 / 10,
    8e9: 128 / 130,
    16e9: 128 / 130,
    32e9: 128 / 130,
    64e9: 242 / 256,
}
"""Raw transfers per second and lane -> the part that is left after line encoding.

PCI Express Base Specification, physical layer: 8b/10b up to 5 GT/s, 128b/130b from 8 GT/s. At 64 GT/s nothing is
encoded, but links are in FLIT mode: of 256 bytes 236 are packets, 6 link layer, 14 CRC and forward error correction.
The 242 that hwloc counts is taken here too; Linux counts all 256 (PCIE_SPEED2MBS_ENC) and the packets have 236.
"""

FLIT_MODE = 64e9
"""From this rate on links are always in FLIT mode, and the packet overhead below does not apply."""

WRITE_OVERHEAD_BYTES = 24
"""Around the payload of a memory write: framing and sequence number 4, header 16 (64-bit address), LCRC 4.

The same sum at 2.5 and 5 GT/s: start 1, sequence number 2, LCRC 4, end 1. Intel AN 829 gives 5 to 7 dwords.
"""

READ_OVERHEAD_BYTES = 20
"""Around the payload of a completion, whose header has 12 bytes; also of a write to a 32-bit address."""


class LinkState(msgspec.Struct, frozen=True, kw_only=True):
    """Speed and width of a link; None where not known."""

    transfers_per_s: float | None = None
    width: int | None = None

    def __str__(self) -> str:
        """8.0 GT/s x4."""
        speed = "unknown speed" if self.transfers_per_s is None else f"{self.transfers_per_s / 1e9:.1f} GT/s"
        return f"{speed} x{'?' if self.width is None else self.width}"


class PciLink(NamedTuple):
    """The two ends of one link. `upper`: a root port or a switch's downstream port; None where the path has none."""

    upper: PciHop | None
    lower: PciHop

    @property
    def ends(self) -> tuple[PciHop, ...]:
        """The known ends, upper first."""
        return (self.lower,) if self.upper is None else (self.upper, self.lower)

    @property
    def name(self) -> str:
        """Its name and identity: its upper end, which has no other link below it."""
        return " to ".join(end.address for end in self.ends)


def link_pairs(path: Sequence[PciHop]) -> tuple[PciLink, ...]:
    """The links of a path that begins at the root port, from there down.

    The registers of a root port or a switch's downstream port describe the link below it, those of a switch's upstream
    port or of a device of the link above it (Link Status, PCI Express Base Specification 7.5.3.8). So hops are the ends
    of links two by two; between the two ports of a switch there is none. The last hop of an odd path has no partner.
    """
    pairs = [PciLink(path[at], path[at + 1]) for at in range(0, len(path) - 1, 2)]
    return (*pairs, PciLink(None, path[-1])) if len(path) % 2 else tuple(pairs)


def trainable(link: PciLink) -> LinkState:
    """What both ends support: the smaller of their maximum speeds and widths. None: an end does not report it.

    A link in this state is as fast as possible, even if one end alone could do more.
    """
    speeds = [end.max_transfers_per_s for end in link.ends]
    widths = [end.max_width for end in link.ends]
    return LinkState(
        transfers_per_s=None if None in speeds else min(speed for speed in speeds if speed is not None),
        width=None if None in widths else min(width for width in widths if width is not None),
    )


def current(link: PciLink) -> LinkState:
    """The speed and width of the link: the smaller of both ends' where they disagree."""
    return LinkState(
        transfers_per_s=min(
            (end.current_transfers_per_s for end in link.ends if end.current_transfers_per_s), default=None
        ),
        width=min((end.current_width for end in link.ends if end.current_width), default=None),
    )


def ends_agree(link: PciLink) -> bool:
    """Whether all ends report the same state. If not, one of them is emulated."""
    speeds = {end.current_transfers_per_s for end in link.ends if end.current_transfers_per_s}
    widths = {end.current_width for end in link.ends if end.current_width}
    return len(speeds) < 2 and len(widths) < 2


def raw_bytes_per_s(state: LinkState) -> float | None:
    """After line encoding, one direction: transfers × encoding × lanes / 8. None: not known, or not a PCIe speed."""
    encoding = ENCODINGS.get(state.transfers_per_s or 0.0)
    if encoding is None or state.transfers_per_s is None or not state.width:
        return None
    return state.transfers_per_s * encoding * state.width / 8


def payload_share(payload_bytes: float, overhead_bytes: int = WRITE_OVERHEAD_BYTES) -> float:
    """Part of a link's bytes that is payload in full packets: 0.914 at 256 bytes. Link layer packets not counted."""
    return payload_bytes / (payload_bytes + overhead_bytes)
