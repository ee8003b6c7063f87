"""The wiring of a lab as lines for `ip -batch` and `tc -batch`: pure.

In the fabric's namespace `p-HOST` is a host's port on its switch, `up-LEAF` the leaf's end of its trunk and
`dn-LEAF` the spine's end of it. A second rail has all of this once more, beside the first and never touching it.
"""

from seatrial.lab.cluster.plan import FABRIC, LOGIN, SPINE, LabPlan
from seatrial.lab.cluster.shaping import frames_per_skb, shape_line


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
    """The namespaces and the cables between them; the cables begin and end inside, none ever shows outside."""
    fabric = plan.space(FABRIC)
    lines = [f"netns add {space}" for space in plan.spaces]
    for host in plan.hosts:
        for rail, interface in enumerate(interfaces(plan, host)):
            ends = f"name {interface} netns {plan.space(host)} type veth peer name {port(host, rail)}"
            lines.append(f"link add {ends} netns {fabric}")
    return lines


def interfaces(plan: LabPlan, host: str) -> tuple[str, ...]:
    """Those of a host; the login node hangs on the first rail alone."""
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
            f"link set {interface} mtu {plan.mtu} gso_max_segs {frames_per_skb(plan.rate_bit_per_s, plan.mtu)} up",
            f"address add {plan.address(host, rail)}/16 dev {interface}",
        ]
    return lines


def port_rates(plan: LabPlan) -> list[str]:
    """Within the fabric: what every switch port may send, the trunks at both ends."""
    lines = []
    for rail in range(plan.rails):
        lines += [shape_line(port(host, rail), plan.rate_bit_per_s, plan.mtu) for host in plan.node_names]
        for leaf in plan.leaf_names:
            ends = (trunk(end, leaf, rail) for end in ("up", "dn"))
            lines += [shape_line(end, plan.uplink_rate_bit_per_s, plan.mtu, plan.rate_bit_per_s) for end in ends]
    return lines


def hosts_file(plan: LabPlan) -> str:
    """/etc/hosts of the whole lab."""
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost"]
    return "\n".join([*lines, *(f"{plan.address(host)} {host}" for host in plan.hosts), ""])


def speed_file(plan: LabPlan) -> str:
    """/sys/class/net/eth0/speed: the design rate in Mb/s, as a real card shows it."""
    return f"{plan.rate_bit_per_s // 10**6}\n"
