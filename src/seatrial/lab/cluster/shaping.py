"""How a virtual link is held to the rate of a real one: pure arithmetic and the lines that tc reads."""

QUEUE_S = 0.020
BURST_S = 0.0007
SKB_SHARE = 0.75
PIECE_ROOM = 1.05
FRAME_HEADER_BYTES = 14
FRAME_WIRE_BYTES = 38
TCP_HEADER_BYTES = 52
LARGEST_SKB_BYTES = 65536


def tbf_rate_bit_per_s(design_bit_per_s: float, mtu: int) -> int:
    """The rate to give tbf so that a virtual link carries what a real Ethernet link of the design rate would.

    tbf counts MTU + 14 bytes a full frame (payload and Ethernet header). On a wire the frame takes MTU + 38: the
    header, 4 bytes of checksum, 8 of preamble and 12 of gap between frames (IEEE 802.3, clauses 3 and 4).
    """
    return int(design_bit_per_s * (mtu + FRAME_HEADER_BYTES) / (mtu + FRAME_WIRE_BYTES))


def tcp_limit_bytes_per_s(design_bit_per_s: float, mtu: int) -> float:
    """What TCP over IPv4 with time stamps carries at most: each frame of MTU + 38 bytes brings MTU - 52 of payload."""
    return design_bit_per_s / 8 * (mtu - TCP_HEADER_BYTES) / (mtu + FRAME_WIRE_BYTES)


def burst_bytes(rate_bit_per_s: float, mtu: int, sent_at_bit_per_s: float = 0.0) -> int:
    """The bucket of tbf: as much as the link carries while a timer is late, and never less than a few frames.

    A smaller bucket does not reach the rate, since the kernel wakes late; a larger one flatters short messages. It
    holds a whole piece of a sender with a link of `sent_at_bit_per_s`, with room for tc's rounding: tbf cuts up what
    does not fit, and so many single frames overrun the receiver's backlog whenever others take the cores.
    """
    least = 4 * (mtu + FRAME_HEADER_BYTES)
    if sent_at_bit_per_s:
        least = max(least, int(PIECE_ROOM * frames_per_skb(sent_at_bit_per_s, mtu) * (mtu + FRAME_HEADER_BYTES)))
    return max(int(rate_bit_per_s / 8 * BURST_S), least)


def frames_per_skb(rate_bit_per_s: float, mtu: int) -> int:
    """How many frames a sender may hand over in one piece: what fits well into the bucket, else tbf cuts it up."""
    frame = mtu + FRAME_HEADER_BYTES
    return max(1, min(int(SKB_SHARE * burst_bytes(rate_bit_per_s, mtu) / frame), LARGEST_SKB_BYTES // frame))


def shape_line(device: str, design_bit_per_s: float, mtu: int, sent_at_bit_per_s: float = 0.0) -> str:
    """One line for `tc -batch`: hold what leaves `device` to the design rate; see `burst_bytes`."""
    rate = tbf_rate_bit_per_s(design_bit_per_s, mtu)
    burst = burst_bytes(design_bit_per_s, mtu, sent_at_bit_per_s)
    queue = int(design_bit_per_s / 8 * QUEUE_S) + LARGEST_SKB_BYTES
    return f"qdisc replace dev {device} root tbf rate {rate}bit burst {burst} limit {queue}"
