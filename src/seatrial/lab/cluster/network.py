"""The wiring of a lab as lines for `ip -batch` and `tc -batch`, and how links are shaped to their rates; pure."""

from seatrial.lab.cluster.plan import FABRIC, LOGIN, SPINE, LabPlan

QUEUE_S = 0.020
BURST_S = 0.0007
SKB_SHARE = 0.75
PIECE_ROOM = 1.05
FRAME_HEADER_BYTES = 14
FRAME_WIRE_BYTES = 38
LARGEST_SKB_BYTES = 65536


def tbf_rate_bit_per_s(design_bit_per_s: float, mtu: int) -> int:
    """The rate to give tbf so that a virtual link carries what a real Ethernet link of the design rate would.

    tbf counts MTU + 14 bytes a full frame (payload and Ethernet header). On a wire the frame takes MTU + 38: the
    header, 4 bytes of checksum, 8 of preamble and 12 of gap between frames (IEEE 802.3, clauses 3 and 4).
    """
    return int(design_bit_per_s * (mtu + FRAME_HEADER_BYTES) / (mtu + FRAME_WIRE_BYTES))


def burst_bytes(rate_bit_per_s: float, mtu: int, sent_at_bit_per_s: float = 0.0) -> int:
    """The bucket of tbf: as much as the link carries while a timer is late, and never less than a few frames.

    A smaller bucket does not reach the rate, since the kernel wakes late; a larger one flatters short messages. It
    holds a whole piece of a sender with a link of `sent_at_bit_per_s`, with room for tc's rounding: tbf cuts up what
    does not fit, and the many single frames overrun the receiver's backlog while others use the cores.
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


# In the fabric's namespace `p-HOST` is a host's port on its switch, `up-LEAF` the leaf's end of its trunk and
# `dn-LEAF` the spine's end of it. A second rail repeats all of this beside the first, without a connection to it.


def port(host: str, rail: int = 0) -> str:
    """A host's port on its switch: `p-n3`, on the second rail `p1-n3`."""
    return f"p{rail or ''}-{host}"


def trunk(end: str, leaf: str, rail: int = 0) -> str:
    """One end, `up` or `dn`, of a leaf's trunk: `up-leaf1`, on the second rail `up1-leaf1`."""
    return f"{end}{rail or ''}-{leaf}"


def switch(name: str, rail: int = 0) -> str:
    """The bridge of a leaf or the spine; each rail has its own: `leaf1`, on the second rail `leaf1-1`."""
    return f"{name}-{rail}" if rail else name


def wiring(plan: LabPlan) -> list[str]:
    """The namespaces and the cables between them; the cables begin and end inside, none is visible outside."""
    fabric = plan.space(FABRIC)
    lines = [f"netns add {space}" for space in plan.spaces]
    for host in plan.hosts:
        for rail, interface in enumerate(interfaces(plan, host)):
            ends = f"name {interface} netns {plan.space(host)} type veth peer name {port(host, rail)}"
            lines.append(f"link add {ends} netns {fabric}")
    return lines


def interfaces(plan: LabPlan, host: str) -> tuple[str, ...]:
    """Interfaces of a host; the login node is on the first rail only."""
    return plan.rail_names[:1] if host == LOGIN else plan.rail_names


def switches(plan: LabPlan) -> list[str]:
    """Within the fabric: the bridges, the trunks between them, and every port plugged in."""
    return ["link set lo up", *(line for rail in range(plan.rails) for line in _switches(plan, rail))]


def _switches(plan: LabPlan, rail: int) -> list[str]:
    lines = []
    spine = switch(SPINE, rail)
    for bridge in (spine, *(switch(leaf, rail) for leaf in plan.leaf_names)):
        lines += [f"link add name {bridge} mtu {plan.mtu} type bridge", f"link set {bridge} up"]
    for leaf in plan.leaf_names:
        up, down = (trunk(end, leaf, rail) for end in ("up", "dn"))
        lines.append(f"link add name {up} type veth peer name {down}")
        lines += plugged(up, switch(leaf, rail), plan.mtu) + plugged(down, spine, plan.mtu)
    for host in plan.hosts if rail == 0 else plan.node_names:
        leaf = SPINE if host == LOGIN else plan.leaf_of(host)
        lines += plugged(port(host, rail), switch(leaf, rail), plan.mtu)
    return lines


def plugged(port: str, switch: str, mtu: int) -> list[str]:
    """A port becomes part of a switch."""
    return [f"link set {port} mtu {mtu}", f"link set {port} master {switch} up"]


def host_side(plan: LabPlan, host: str) -> list[str]:
    """Within a host: its interfaces with their addresses."""
    lines = ["link set lo up"]
    for rail, interface in enumerate(interfaces(plan, host)):
        lines += [
            f"link set {interface} mtu {plan.mtu} gso_max_segs {frames_per_skb(plan.rate_of(host), plan.mtu)} up",
            f"address add {plan.address(host, rail)}/16 dev {interface}",
        ]
    return lines


def port_rates(plan: LabPlan) -> list[str]:
    """Within the fabric: what every switch port may send, the trunks at both ends."""
    lines = []
    for rail in range(plan.rails):
        lines += [
            shape_line(port(host, rail), plan.rate_of(host), plan.mtu, _faster(plan, host)) for host in plan.node_names
        ]
        for leaf in plan.leaf_names:
            ends = (trunk(end, leaf, rail) for end in ("up", "dn"))
            lines += [shape_line(end, plan.uplink_rate_bit_per_s, plan.mtu, plan.fastest_bit_per_s) for end in ends]
    return lines


def _faster(plan: LabPlan, host: str) -> float:
    """The rate of senders that are faster than a port; 0 where none is."""
    return plan.fastest_bit_per_s if plan.fastest_bit_per_s > plan.rate_of(host) else 0.0


def hosts_file(plan: LabPlan) -> str:
    """/etc/hosts of the whole lab."""
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost"]
    return "\n".join([*lines, *(f"{plan.address(host)} {host}" for host in plan.hosts), ""])


def speed_file(plan: LabPlan, host: str = "") -> str:
    """/sys/class/net/eth0/speed: the design rate in Mb/s, as a real card shows it."""
    return f"{plan.rate_of(host) // 10**6}\n"
