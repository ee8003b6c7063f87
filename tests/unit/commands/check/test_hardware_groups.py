"""Nodes of another make with lesser ports are compared with what these can carry, and not with better ports."""

import msgspec
import pytest

from seatrial.commands.check.judge import judge
from seatrial.drift.peer_groups import comparable
from seatrial.model.facts import NodeFacts
from seatrial.model.hca import Hca, Port, PortFamily, PortState
from seatrial.model.run import RecordedRun
from seatrial.model.subject import node
from seatrial.model.system import Firmware
from seatrial.model.verdict import FindingKind
from tests.support.builders import Cluster, names, sail, slow_part

SLOW_KINDS = {FindingKind.SLOW_LINK, FindingKind.SLOW_PAIR, FindingKind.SLOW_UPLINK}


def with_rates(recorded: RecordedRun, lesser: dict[str, float]) -> RecordedRun:
    """The run on nodes of one model, where the interfaces of some carry only that share of the others' rate."""
    facts = {}
    for name, own in recorded.facts.items():
        rate = lesser.get(name, 1.0)
        ports = tuple(
            msgspec.structs.replace(one, speed_bits_per_s=one.speed_bits_per_s and one.speed_bits_per_s * rate)
            for one in own.interfaces
        )
        system = msgspec.structs.replace(own.system, firmware=Firmware(vendor="V", product="P"))
        facts[name] = msgspec.structs.replace(own, system=system, interfaces=ports)
    return msgspec.structs.replace(recorded, facts=facts, facts_after=facts)


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


@pytest.mark.parametrize(
    ("count", "lesser", "slow"),
    [
        (8, 4, {}),
        (8, 2, {}),
        (8, 1, {"n8": 0.5}),
        (16, 3, {"n14": 0.5, "n15": 0.5, "n16": 0.5}),
        (8, 4, {"n7": 0.35}),
        (8, 6, {}),
    ],
)
def test_a_quarter_of_a_model_with_another_link_rate_is_a_design(
    count: int, lesser: int, slow: dict[str, float]
) -> None:
    """The slower half of a cluster was named node by node, at 50 % of its peers and 98 % of its limit.

    A node that is slow within its own group is named, and so are few nodes of which a lower rate is not the design.
    """
    rates = dict.fromkeys(names(count)[count - lesser :], 0.5)
    parts = {
        part: share
        for name in names(count)
        for part, share in slow_part("node", name, min(rates.get(name, 1.0), slow.get(name, 1.0))).items()
        if share < 1
    }
    judgement = judge(with_rates(sail(Cluster(nodes=names(count), parts=parts, noise=0.002)), rates))
    assert {one.subject for one in judgement.findings if one.kind in SLOW_KINDS} == {node(name) for name in slow}
    assert not any("was slow once" in note for note in judgement.notes)


def test_other_adapters_of_one_model_are_a_group_and_lost_lanes_are_not() -> None:
    def known(name: str, adapter: str, speed: str, width: int, rate: float) -> NodeFacts:
        port = Port(
            number=1,
            family=PortFamily.INFINIBAND,
            state=PortState.ACTIVE,
            speed_name=speed,
            width=width,
            data_bits_per_s=rate,
        )
        return NodeFacts(hostname=name, complete=True, hcas=(Hca(name="mlx5_0", hca_type=adapter, ports=(port,)),))

    facts = {name: known(name, "MT4123", "HDR", 4, 200e9) for name in ("a1", "a2", "a3", "a4")}
    facts |= {name: known(name, "MT4119", "EDR", 4, 100e9) for name in ("b1", "b2")}
    facts["c1"] = known("c1", "MT4123", "HDR", 1, 50e9)
    assert [group.nodes for group in comparable(facts)] == [("a1", "a2", "a3", "a4", "c1"), ("b1", "b2")]
