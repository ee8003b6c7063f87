"""The wiring of a lab as lines for `ip -batch` and `tc -batch`: pure.

In the fabric's namespace `p-HOST` is a host's port on its switch, `up-LEAF` the leaf's end of its trunk and
`dn-LEAF` the spine's end of it.
"""

from seatrial.lab.plan import FABRIC, LOGIN, SPINE, LabPlan
from seatrial.lab.shaping import frames_per_skb, shape_line


def wiring(plan: LabPlan) -> list[str]:
    """The namespaces and the cables between them; the cables begin and end inside, none ever shows outside."""
    fabric = plan.space(FABRIC)
    lines = [f"netns add {space}" for space in plan.spaces]
    for host in plan.hosts:
        lines.append(f"link add name eth0 netns {plan.space(host)} type veth peer name p-{host} netns {fabric}")
    return lines


def switches(plan: LabPlan) -> list[str]:
    """Within the fabric: the bridges, the trunks between them, and every port plugged in."""
    lines = ["link set lo up"]
    for switch in (SPINE, *plan.leaf_names):
        lines += [f"link add name {switch} mtu {plan.mtu} type bridge", f"link set {switch} up"]
    for leaf in plan.leaf_names:
        lines.append(f"link add name up-{leaf} type veth peer name dn-{leaf}")
        lines += plugged(f"up-{leaf}", leaf, plan.mtu) + plugged(f"dn-{leaf}", SPINE, plan.mtu)
    for host in plan.hosts:
        lines += plugged(f"p-{host}", SPINE if host == LOGIN else plan.leaf_of(host), plan.mtu)
    return lines


def plugged(port: str, switch: str, mtu: int) -> list[str]:
    """A port becomes part of a switch."""
    return [f"link set {port} mtu {mtu}", f"link set {port} master {switch} up"]


def host_side(plan: LabPlan, host: str) -> list[str]:
    """Within a host: its interface with its address."""
    return [
        "link set lo up",
        f"link set eth0 mtu {plan.mtu} gso_max_segs {frames_per_skb(plan.rate_bit_per_s, plan.mtu)} up",
        f"address add {plan.address(host)}/16 dev eth0",
    ]


def port_rates(plan: LabPlan) -> list[str]:
    """Within the fabric: what every switch port may send, the trunks at both ends."""
    lines = [shape_line(f"p-{host}", plan.rate_bit_per_s, plan.mtu) for host in plan.node_names]
    for leaf in plan.leaf_names:
        lines += [shape_line(f"{end}-{leaf}", plan.uplink_rate_bit_per_s, plan.mtu) for end in ("up", "dn")]
    return lines


def hosts_file(plan: LabPlan) -> str:
    """/etc/hosts of the whole lab."""
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost"]
    return "\n".join([*lines, *(f"{plan.address(host)} {host}" for host in plan.hosts), ""])


def speed_file(plan: LabPlan) -> str:
    """/sys/class/net/eth0/speed: the design rate in Mb/s, as a real card shows it."""
    return f"{plan.rate_bit_per_s // 10**6}\n"
