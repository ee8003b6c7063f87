"""PCIe links: what their lanes carry, which two functions are their ends, and what both ends support."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from seatrial.model.facts import PciHop
from seatrial.model.pcie import link_bytes_per_s, links_of, links_text

FLIT_MODE = 64e9
"""The rate from which links are always in FLIT mode, and the packet overhead below does not apply."""

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
    bytes_per_s: float | None = None
    """After line encoding, one direction, where only this product of both was reported."""

    def __str__(self) -> str:
        """8.0 GT/s x4; of a product that several links have: PCIe 3.0 x16 or 4.0 x8 or 5.0 x4."""
        if self.bytes_per_s is not None and None in (self.transfers_per_s, self.width):
            return f"PCIe {links_text(self.bytes_per_s)}"
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
        """Name and identity: the upper end, which has no other link below it."""
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
    states = [state_of(end) for end in link.ends]
    products = [state.bytes_per_s for state in states if state.bytes_per_s]
    if products:  # as in hwloc's XML, where one end may be ambiguous and the other not
        return _of_product(min(products))
    return LinkState(
        transfers_per_s=min((state.transfers_per_s for state in states if state.transfers_per_s), default=None),
        width=min((state.width for state in states if state.width), default=None),
    )


def state_of(end: PciHop) -> LinkState:
    """What one end reports."""
    return LinkState(
        transfers_per_s=end.current_transfers_per_s, width=end.current_width, bytes_per_s=end.current_bytes_per_s
    )


def _of_product(bytes_per_s: float) -> LinkState:
    """A link of this rate, with the speed and the width if only one link has this rate."""
    links = links_of(bytes_per_s)
    speed, width = links[0] if len(links) == 1 else (None, None)
    return LinkState(transfers_per_s=speed, width=width, bytes_per_s=bytes_per_s)


def ends_agree(link: PciLink) -> bool:
    """Whether all ends report the same state. If not, one of them is emulated."""
    states = [state_of(end) for end in link.ends]
    speeds = {state.transfers_per_s for state in states if state.transfers_per_s}
    widths = {state.width for state in states if state.width}
    products = {state.bytes_per_s for state in states if state.bytes_per_s}
    return len(speeds) < 2 and len(widths) < 2 and len(products) < 2


def raw_bytes_per_s(state: LinkState) -> float | None:
    """After line encoding, one direction: transfers × encoding × lanes / 8, or the product that was reported.

    None: not known, or not a PCIe speed.
    """
    if state.transfers_per_s is None or not state.width:
        return state.bytes_per_s
    return link_bytes_per_s(state.transfers_per_s, state.width)


def payload_share(payload_bytes: float, overhead_bytes: int = WRITE_OVERHEAD_BYTES) -> float:
    """Part of a link's bytes that is payload in full packets: 0.914 at 256 bytes. Link layer packets not counted."""
    return payload_bytes / (payload_bytes + overhead_bytes)
