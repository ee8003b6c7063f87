"""packet-loss: a node's link loses frames at random."""

from seatrial.lab.cluster.host_argv import in_space
from seatrial.lab.cluster.network import port
from seatrial.lab.cluster.plan import FABRIC, LabPlan
from seatrial.lab.cluster.processes import attempt, call
from seatrial.lab.faults.base import Fault, Parameters
from seatrial.model.subject import Direction

PER = 100_000


def rules(table: str, device: str, percent: float) -> str:
    """An nft ruleset that drops that share of the frames that come in on `device`, at random."""
    share = max(1, round(percent / 100 * PER))
    return (
        f"table netdev {table} {{\n  chain loss {{\n"
        f'    type filter hook ingress device "{device}" priority 0; policy accept;\n'
        f"    numgen random mod {PER} < {share} drop\n  }}\n}}\n"
    )


def places(plan: LabPlan, subject: str, rail: str | None = None) -> dict[Direction, tuple[str, str]]:
    """Where frames are dropped, as (namespace, device): behind the cable, so that a sender never learns of it."""
    interface = rail or plan.rail_names[0]
    end = port(subject, plan.rail_names.index(interface))
    return {Direction.OUT: (plan.space(FABRIC), end), Direction.IN: (plan.space(subject), interface)}


def plant(plan: LabPlan, subject: str, parameters: Parameters) -> None:
    """Drop frames both ways unless one direction is given."""
    for direction, (space, device) in places(plan, subject, parameters.rail).items():
        if parameters.direction in (None, Direction.BOTH, direction):
            text = rules(f"loss-{subject}", device, parameters.percent or 0)
            call(in_space(space, ["nft", "-f", "-"]), stdin=text)


def clear(plan: LabPlan, subject: str) -> None:
    """Lose nothing any more."""
    for space, _device in places(plan, subject).values():
        attempt(in_space(space, ["nft", "delete", "table", "netdev", f"loss-{subject}"]))


FAULT = Fault(
    kind="packet-loss",
    description="The node's link loses that percentage of its frames at random, both ways or in one direction: a dirty "
    "connector, a failing transceiver. TCP repeats them, so it shows as retransmissions and lost speed.",
    takes="node",
    marks="frames",
    needs=(("percent",),),
    may=("direction", "rail"),
    plant=plant,
    clear=clear,
)
