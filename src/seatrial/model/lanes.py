"""InfiniBand's speeds: what one lane signals, and the part of it that is data.

InfiniBand Architecture Specification, volume 2, release 1.7, chapters 5 and 6: 8b/10b up to QDR, 64b/66b from FDR10 on;
HDR, NDR and XDR transcode 256 bits to 257 and add Reed-Solomon (544,514), so that a lane of HDR has 50 Gb/s exactly.
"""

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

BLOCK_8_10, BLOCK_64_66 = Fraction(8, 10), Fraction(64, 66)
WITH_CORRECTION = Fraction(514, 544) * Fraction(256, 257)
GIGA = 10**9


class Lane(NamedTuple):
    """One lane, exact: bits per second on the wire, and the part of them that is data."""

    signalled_bits_per_s: Fraction
    encoding: Fraction


LANES = {
    "SDR": Lane(Fraction("2.5") * GIGA, BLOCK_8_10),
    "DDR": Lane(Fraction(5) * GIGA, BLOCK_8_10),
    "QDR": Lane(Fraction(10) * GIGA, BLOCK_8_10),
    "FDR10": Lane(Fraction("10.3125") * GIGA, BLOCK_64_66),
    "FDR": Lane(Fraction("14.0625") * GIGA, BLOCK_64_66),
    "EDR": Lane(Fraction("25.78125") * GIGA, BLOCK_64_66),
    "HDR": Lane(Fraction("53.125") * GIGA, WITH_CORRECTION),
    "NDR": Lane(Fraction("106.25") * GIGA, WITH_CORRECTION),
    "XDR": Lane(Fraction("212.5") * GIGA, WITH_CORRECTION),
}


@lru_cache(maxsize=256)
def data_bits_per_s(width: int | None, speed_name: str) -> float | None:
    """Data rate of that many lanes, one direction; None for a speed or a width that is not known."""
    lane = LANES.get(speed_name)
    return float(width * lane.signalled_bits_per_s * lane.encoding) if lane and width else None
