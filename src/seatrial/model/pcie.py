"""What the lanes of a PCIe link carry: encodings, generations, and which links have a given rate."""

from functools import lru_cache

ENCODINGS = {2.5e9: 8 / 10, 5e9: 8 / 10, 8e9: 128 / 130, 16e9: 128 / 130, 32e9: 128 / 130, 64e9: 242 / 256}
"""Raw transfers per second and lane -> the part that is left after line encoding.

PCI Express Base Specification, physical layer: 8b/10b up to 5 GT/s, 128b/130b from 8 GT/s. At 64 GT/s nothing is
encoded, but links are in FLIT mode: of 256 bytes 236 are packets, 6 link layer, 14 CRC and forward error correction.
The 242 that hwloc counts (include/private/misc.h) is taken here too; Linux counts all 256 (PCIE_SPEED2MBS_ENC).
"""

GENERATIONS = {2.5e9: "1.0", 5e9: "2.0", 8e9: "3.0", 16e9: "4.0", 32e9: "5.0", 64e9: "6.0"}
"""The version of the specification that introduced each rate."""

MARKETED_WIDTHS = (1, 2, 4, 8, 16)
"""Lanes of links in real hardware; no cards exist with the 12 and 32 of the older specifications."""

SAME_PRODUCT = 1e-5
"""hwloc writes six decimals of the product; different products differ by 4 % or more."""


def link_bytes_per_s(transfers_per_s: float, width: int) -> float | None:
    """After line encoding, one direction: transfers × encoding × lanes / 8. None: not a PCIe speed, or no lanes."""
    encoding = ENCODINGS.get(transfers_per_s)
    return transfers_per_s * encoding * width / 8 if encoding is not None and width else None


@lru_cache(maxsize=1024)
def links_of(bytes_per_s: float) -> tuple[tuple[float, int], ...]:
    """Transfers per second and lanes of every link with this rate: 15.754e9 is 3.0 x16, 4.0 x8 or 5.0 x4."""
    return tuple(
        (transfers, width)
        for transfers in ENCODINGS
        for width in MARKETED_WIDTHS
        if bytes_per_s and abs((link_bytes_per_s(transfers, width) or 0.0) - bytes_per_s) <= SAME_PRODUCT * bytes_per_s
    )


def links_text(bytes_per_s: float) -> str:
    """3.0 x16 or 4.0 x8 or 5.0 x4; "" where no PCIe link has this rate."""
    return " or ".join(f"{GENERATIONS[transfers]} x{width}" for transfers, width in links_of(bytes_per_s))
