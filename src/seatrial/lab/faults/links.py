"""Faults of links and of the network: rates, MTU, lost frames, corrupted data."""

from collections.abc import Callable

from seatrial.lab.cluster.host_argv import in_space
from seatrial.lab.cluster.network import port, shape_line, trunk
from seatrial.lab.cluster.plan import FABRIC, LabPlan
from seatrial.lab.cluster.processes import attempt, batch, call
from seatrial.lab.faults.base import LabFault, Parameters, faulty_rate
from seatrial.model.subject import Direction

PER = 100_000
"""The resolution of the share of frames that are dropped or corrupted."""
LARGE_BYTES = 4000
"""Frames above it are pieces of large messages: those of MPI's own short ones stay as they are."""
CORRUPT_BIT = 200 * 8
"""Place of the four bytes that are changed, from the TCP header: behind what MPI writes at the start of a message."""
FLIPPED = 0x00010000
"""One bit of them."""


def set_node_rate(
    plan: LabPlan, node: str, rate_bit_per_s: float, direction: Direction = Direction.BOTH, rail: str | None = None
) -> None:
    """Limit a node's link on one rail (the first) to a rate: what it sends (out), what it receives (in), or both."""
    interface = rail or plan.rail_names[0]
    design = plan.fastest_bit_per_s
    if direction is not Direction.IN:
        batch("tc", plan.space(node), [shape_line(interface, rate_bit_per_s, plan.mtu, design)])
    if direction is not Direction.OUT:
        end = port(node, plan.rail_names.index(interface))
        batch("tc", plan.space(FABRIC), [shape_line(end, rate_bit_per_s, plan.mtu, design)])


def reset_node_rates(plan: LabPlan, node: str) -> None:
    """Return every link of a node to the design rate."""
    for rail in plan.rail_names:
        set_node_rate(plan, node, plan.rate_of(node), rail=rail)


def slow_link(plan: LabPlan, node: str, parameters: Parameters) -> None:
    """Slow down a node's link: the given direction, or both."""
    rate = faulty_rate(plan.rate_of(node), parameters)
    set_node_rate(plan, node, rate, parameters.direction or Direction.BOTH, parameters.rail)


def set_uplink_rate(plan: LabPlan, leaf: str, rate_bit_per_s: float) -> None:
    """Limit the trunk between a leaf and the spine to a rate, both ways."""
    ends = (trunk(end, leaf) for end in ("up", "dn"))
    lines = [shape_line(end, rate_bit_per_s, plan.mtu, plan.fastest_bit_per_s) for end in ends]
    batch("tc", plan.space(FABRIC), lines)


def change_mtu(plan: LabPlan, node: str, parameters: Parameters) -> None:
    """Set the MTU of the node's interface; the switch port keeps the design's."""
    batch("ip", plan.space(node), [f"link set {parameters.rail or plan.rail_names[0]} mtu {parameters.mtu}"])


def reset_mtu(plan: LabPlan, node: str) -> None:
    """Return every interface of the node to the design's MTU."""
    batch("ip", plan.space(node), [f"link set {rail} mtu {plan.mtu}" for rail in plan.rail_names])


def drop_rules(table: str, device: str, percent: float) -> str:
    """An nft ruleset that drops that share of the frames that arrive at `device`, at random."""
    share = max(1, round(percent / 100 * PER))
    return (
        f"table netdev {table} {{\n  chain loss {{\n"
        f'    type filter hook ingress device "{device}" priority 0; policy accept;\n'
        f"    numgen random mod {PER} < {share} drop\n  }}\n}}\n"
    )


def drop_places(plan: LabPlan, node: str, rail: str | None = None) -> dict[Direction, tuple[str, str]]:
    """Places that drop frames, as (namespace, device): behind the cable, so that the sender does not notice."""
    interface = rail or plan.rail_names[0]
    end = port(node, plan.rail_names.index(interface))
    return {Direction.OUT: (plan.space(FABRIC), end), Direction.IN: (plan.space(node), interface)}


def corrupt_rules(table: str, device: str, percent: float) -> str:
    """An nft ruleset that flips one bit in that share of the large TCP frames that arrive at `device`, at random.

    The sender leaves TCP's checksum to its adapter, as real ones do (CHECKSUM_PARTIAL on a veth), so nothing below MPI
    notices: the errors are those of a bad adapter, bus or memory behind the checksum.
    """
    share = max(1, round(percent / 100 * PER))
    return (
        f"table netdev {table} {{\n  chain corrupt {{\n"
        f'    type filter hook ingress device "{device}" priority 0; policy accept;\n'
        f"    meta length > {LARGE_BYTES} meta l4proto tcp numgen random mod {PER} < {share} "
        f"@th,{CORRUPT_BIT},32 set @th,{CORRUPT_BIT},32 ^ {FLIPPED:#010x} counter\n  }}\n}}\n"
    )


def plant_rules(name: str, rules: Callable[[str, str, float], str]) -> Callable[[LabPlan, str, Parameters], None]:
    """Load rules of nft for what the node sends, what it receives, or both, as table NAME-NODE."""

    def plant(plan: LabPlan, node: str, parameters: Parameters) -> None:
        for direction, (space, device) in drop_places(plan, node, parameters.rail).items():
            if parameters.direction in (None, Direction.BOTH, direction):
                text = rules(f"{name}-{node}", device, parameters.percent or 0)
                call(in_space(space, ["nft", "-f", "-"]), stdin=text)

    return plant


def remove_rules(name: str) -> Callable[[LabPlan, str], None]:
    """Remove what `plant_rules` of that name has loaded."""

    def clear(plan: LabPlan, node: str) -> None:
        for space, _device in drop_places(plan, node).values():
            attempt(in_space(space, ["nft", "delete", "table", "netdev", f"{name}-{node}"]))

    return clear


LINKS = (
    LabFault(
        kind="link-rate",
        description="The node's link carries less than its design rate, both ways: a bad cable, a port that trained "
        "down. The rate that the node reports stays the design's.",
        marks="link",
        needs=(("percent", "rate"),),
        may=("rail",),
        plant=slow_link,
        clear=reset_node_rates,
    ),
    LabFault(
        kind="uplink-rate",
        description="The trunk between a leaf switch and the spine carries less than its design rate, both ways: a "
        "trunk that lost a cable. Only traffic between leaves suffers.",
        takes="leaf",
        marks="link",
        needs=(("percent", "rate"),),
        plant=lambda plan, leaf, given: set_uplink_rate(plan, leaf, faulty_rate(plan.uplink_rate_bit_per_s, given)),
        clear=lambda plan, leaf: set_uplink_rate(plan, leaf, plan.uplink_rate_bit_per_s),
    ),
    LabFault(
        kind="one-way-rate",
        description="The node's link carries less than its design rate in one direction: out is what the node sends, "
        "in what it receives. Tests that add up both directions miss it easily.",
        marks="link",
        needs=(("percent", "rate"), ("direction",)),
        may=("rail",),
        plant=slow_link,
        clear=reset_node_rates,
    ),
    LabFault(
        kind="mtu",
        description="The node's interface has another MTU than the rest of the fabric: a setting lost at a "
        "reinstallation. TCP agrees on the smaller one, so little bandwidth is lost and nobody notices.",
        marks="mtu",
        needs=(("mtu",),),
        may=("rail",),
        plant=change_mtu,
        clear=reset_mtu,
    ),
    LabFault(
        kind="packet-loss",
        description="The node's link loses that percentage of its frames at random, both ways or in one direction: a "
        "dirty connector, a failing transceiver. TCP resends them: retransmissions rise and bandwidth falls.",
        marks="frames",
        needs=(("percent",),),
        may=("direction", "rail"),
        plant=plant_rules("loss", drop_rules),
        clear=remove_rules("loss"),
    ),
    LabFault(
        kind="data-corrupt",
        description="One bit is flipped in that percentage of the large frames that the node sends and receives, or of "
        "one direction: a bad adapter, bus or memory. No checksum notices, MPI delivers the data, and programs compute "
        "wrong results. For real.",
        marks="data",
        needs=(("percent",),),
        may=("direction", "rail"),
        plant=plant_rules("corrupt", corrupt_rules),
        clear=remove_rules("corrupt"),
    ),
)
