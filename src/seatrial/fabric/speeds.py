"""InfiniBand's speeds in order, one lane's data rate each."""

LANE_DATA_BITS_PER_S = {
    "SDR": 2e9,
    "DDR": 4e9,
    "QDR": 8e9,
    "FDR10": 10e9,
    "FDR": 14.0625e9 * 64 / 66,
    "EDR": 25e9,
    "HDR": 50e9,
    "NDR": 100e9,
    "XDR": 200e9,
}
"""After line encoding: 8b/10b up to QDR, 64b/66b up to EDR, PAM4 with forward error correction beyond."""


def data_bits_per_s(width: int | None, speed: str) -> float | None:
    """What a link of that width and speed carries in one direction; None where either is not known."""
    lane = LANE_DATA_BITS_PER_S.get(speed)
    return width * lane if width and lane else None
