"""mtu-differs: the fabric interface has another MTU than most nodes'."""

from collections.abc import Iterator

from seatrial.drift.network_differences import MtuDifference, mtu_differences
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings, Rule, Violation


def look(readings: Readings) -> Iterator[Violation]:
    """All nodes are compared, whatever their make: they talk to each other. Without a majority each is named."""
    for one in mtu_differences(readings.facts):
        yield Violation(
            node=one.node,
            says=f"MTU {one.mtu_bytes} on {one.interface}, {_elsewhere(one)}",
            key=f"{one.node} {one.mtu_bytes}",
            remedy=f"Set it alike on all nodes and switch ports (ip link set {one.interface} mtu N).",
        )


def _elsewhere(one: MtuDifference) -> str:
    if one.usual_mtu_bytes is None:
        return "and there is no MTU that most of its peers have"
    return f"where its peers have {one.usual_mtu_bytes}"


RULE = Rule(kind=FindingKind.MTU_DIFFERS, title="MTU differs", look=look)
