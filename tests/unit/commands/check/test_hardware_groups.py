"""Nodes of another make with lesser ports are compared with what these can carry, and not with better ports."""

import msgspec
import pytest

from seatrial.commands.check.judge import judge
from seatrial.model.run import RecordedRun
from seatrial.model.subject import node
from seatrial.model.system import Firmware
from seatrial.model.verdict import FindingKind
from tests.support.builders import Cluster, names, sail, slow_part

SLOW_KINDS = {FindingKind.SLOW_LINK, FindingKind.SLOW_PAIR, FindingKind.SLOW_UPLINK}


def with_lesser_port(recorded: RecordedRun, name: str, product: str) -> RecordedRun:
    """The run on nodes of one make, where `name` is of that product and its port carries 250 Mb/s."""
    facts = {}
    for known, own in recorded.facts.items():
        firmware = Firmware(vendor="V", product=product if known == name else "P")
        system = msgspec.structs.replace(own.system, firmware=firmware)
        ports = own.interfaces
        if known == name:
            ports = tuple(msgspec.structs.replace(one, speed_bits_per_s=250e6) for one in ports)
        facts[known] = msgspec.structs.replace(own, system=system, interfaces=ports)
    return msgspec.structs.replace(recorded, facts=facts, facts_after=facts)


@pytest.mark.parametrize(("product", "share", "slow"), [("Q", 0.25, 0), ("P", 0.25, 1), ("Q", 0.2, 1)])
def test_a_lesser_port_is_no_fault_on_a_node_of_another_make(product: str, share: float, slow: int) -> None:
    recorded = sail(Cluster(nodes=names(8), parts=slow_part("node", "n8", share), noise=0.002))
    judgement = judge(with_lesser_port(recorded, "n8", product))
    assert [one.subject for one in judgement.findings if one.kind in SLOW_KINDS] == [node("n8")] * slow
