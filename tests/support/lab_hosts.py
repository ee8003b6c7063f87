"""What tests expect of a lab's network and made-up hardware."""

from seatrial.lab.cluster.hardware import CARD, ROOT_PORT_FOLDER
from seatrial.lab.cluster.network import FRAME_WIRE_BYTES

CARD_FOLDER = f"{ROOT_PORT_FOLDER}/{CARD}"
TCP_HEADER_BYTES = 52


def tcp_limit_bytes_per_s(design_bit_per_s: float, mtu: int) -> float:
    """What TCP over IPv4 with time stamps carries at most: each frame of MTU + 38 bytes brings MTU - 52 of payload."""
    return design_bit_per_s / 8 * (mtu - TCP_HEADER_BYTES) / (mtu + FRAME_WIRE_BYTES)
