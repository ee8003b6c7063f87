"""The limit of a path: what binds, what gates, and when there is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.limits.path import path_limit
from seatrial.limits.ports import tcp_payload_share
from seatrial.model.facts import NetworkInterface, NodeFacts, PciDevice, PciHop, PciKind
from seatrial.model.hca import Hca, Port, PortFamily, PortState
from seatrial.model.limit import Limit, NoLimit
from tests.support.limits_examples import ethernet, node


def limit(source: NodeFacts, target: NodeFacts) -> Limit:
    found = path_limit(source, target)
    assert isinstance(found, Limit)
    return found


def reason(source: NodeFacts, target: NodeFacts) -> str:
    found = path_limit(source, target)
    assert isinstance(found, NoLimit)
    assert found.path == f"{source.hostname}>{target.hostname}"
    return found.reason


def test_the_slower_end_binds() -> None:
    found = limit(node("n1", ethernet(speed=10e9)), node("n3"))
    assert found.path == "n1>n3"
    assert found.binding == "n3 eth0: TCP payload at 1000 Mb/s, MTU 1500"
    assert found.limit_bytes_per_s == pytest.approx(117.69e6, rel=1e-4)
    assert found.gate_bytes_per_s == found.limit_bytes_per_s
    assert len(found.terms) == 2


def test_the_smaller_mtu_rules_both_ends() -> None:
    found = limit(node("n1", ethernet(mtu=9000)), node("n2"))
    assert {term.inputs["mtu_bytes"] for term in found.terms} == {1500.0}
    assert found.terms[0].source == "/sys/class/net/eth0/speed on n1, MTU of n2"
    assert found.terms[1].source == "/sys/class/net/eth0/speed and mtu on n2"
    assert found.gate_bytes_per_s == pytest.approx(125e6 * tcp_payload_share(1500))


def test_the_gate_counts_every_interface_of_the_poorer_end() -> None:
    two = node("n1", ethernet("eth0", 25e9, 9000), ethernet("eth1", 10e9, 1500))
    three = node("n2", *(ethernet(f"eth{number}", 25e9, 9000) for number in range(3)))
    found = limit(two, three)
    assert found.limit_bytes_per_s == pytest.approx(25e9 / 8 * tcp_payload_share(9000))
    assert found.gate_bytes_per_s == pytest.approx(
        25e9 / 8 * tcp_payload_share(9000) + 10e9 / 8 * tcp_payload_share(1500)
    )


def test_bond_members_and_vlans_are_not_counted_twice() -> None:
    members = (ethernet("eth0", 25e9, enslaved=True), ethernet("eth1", 25e9, enslaved=True))
    bonded = node("n1", *members, ethernet("bond0", 50e9, lower=("eth0", "eth1")),
                  ethernet("bond0.7", 50e9, lower=("bond0",)))  # fmt: skip
    plain = node("n2", ethernet(speed=100e9))
    assert limit(bonded, plain).gate_bytes_per_s == pytest.approx(50e9 / 8 * tcp_payload_share(1500))
    assert limit(bonded, plain).binding.startswith("n1 bond0:")


@pytest.mark.parametrize(
    ("interface", "chosen"),
    [
        (ethernet("eth1", 100e9), "eth1"),
        (ethernet("eth1", 1e9), "eth0"),
        (ethernet("aaa0", 1e9), "aaa0"),
        (ethernet("eth1", 100e9, state="down"), "eth0"),
        (ethernet("eth1", 100e9, bridge=True), "eth0"),
        (ethernet("eth1", 100e9, enslaved=True), "eth0"),
        (ethernet("eth1", 100e9, link_type=32), "eth0"),
        (ethernet("eth1", None), "eth0"),
    ],
)
def test_fabric_interface(interface: NetworkInterface, chosen: str) -> None:
    for order in ((ethernet(), interface), (interface, ethernet())):
        found = node("n1", *order).fabric_interface
        assert found is not None
        assert found.name == chosen


def test_no_interface() -> None:
    lonely = node("n2", ethernet(state="down"), absent={"interfaces": "eth7: in /proc/net/dev, but not in /sys"})
    assert lonely.fabric_interface is None
    assert reason(node("n1"), lonely) == (
        "n2 shows no Ethernet interface that is up (eth7: in /proc/net/dev, but not in /sys)"
    )


def test_unknown_speed_of_any_interface_that_is_up() -> None:
    absent = {"interfaces.eth1.speed_bits_per_s": "/sys/class/net/eth1/speed contains '-1'"}
    partly = node("n1", ethernet(), ethernet("eth1", None), absent=absent)
    expected = "n1 eth1 is up and its speed is unknown (/sys/class/net/eth1/speed contains '-1')"
    assert reason(partly, node("n2")) == reason(node("n2"), partly) == expected


DOWN = Hca(name="mlx5_0", ports=(Port(number=1, family=PortFamily.INFINIBAND, state=PortState.DOWN),))
UNREAD = Hca(name="mlx5_0")


def test_other_reasons() -> None:
    assert reason(node("n1"), node("n1")).startswith("both ranks are on one node")
    assert reason(node("n1", hcas=(UNREAD,)), node("n2", hcas=(UNREAD,))) == (
        "n1 has mlx5_0, whose ports could not be read: MPI may use it"
    )
    assert "truncated" in reason(node("n1"), node("n2", complete=False))
    assert "MTU is unknown" in reason(node("n1", ethernet(mtu=None)), node("n2"))
    assert "no room" in reason(node("n1", ethernet(mtu=40)), node("n2"))


@pytest.mark.parametrize("other", [(), (DOWN,)])
def test_a_port_without_a_partner_leaves_tcp_and_says_so(other: tuple[Hca, ...]) -> None:
    found = limit(node("n1", hcas=(UNREAD,)), node("n2", hcas=other))
    assert "TCP payload" in found.binding
    assert "the ends share no network but Ethernet (active HCAs of n1: mlx5_0; of n2: none)" in found.unknown
    assert not any("active HCAs" in why for why in limit(node("n1", hcas=(DOWN,)), node("n2")).unknown)


def card(speed: float, width: int) -> PciDevice:
    ends = (
        PciHop(address=address, current_transfers_per_s=speed, current_width=width)
        for address in ("0000:40:01.0", "0000:41:00.0")
    )
    return PciDevice(address="0000:41:00.0", kind=PciKind.NETWORK, path=tuple(ends))


def test_pcie_binds_only_where_it_is_the_slower() -> None:
    wired = ethernet(pci_address="0000:41:00.0")
    usual = node("n1", wired, pci=(card(8e9, 8),))
    found = limit(usual, node("n2"))
    assert [term.bytes_per_s > found.limit_bytes_per_s for term in found.terms] == [True, False, False]
    assert found.limit_bytes_per_s == pytest.approx(117.69e6, rel=1e-4)
    assert "n2 eth0: its PCIe path is not known" in found.unknown
    fast = node("n1", ethernet(speed=25e9, mtu=9000, pci_address="0000:41:00.0"), pci=(card(2.5e9, 1),))
    found = limit(fast, node("n2", ethernet(speed=25e9, mtu=9000)))
    assert found.binding == "n1 eth0: PCIe link 0000:40:01.0 to 0000:41:00.0 at 2.5 GT/s x1"
    assert found.limit_bytes_per_s == found.gate_bytes_per_s == 0.25e9


speeds = st.sampled_from([1e8, 1e9, 10e9, 25e9, 100e9, 400e9])
ends = st.lists(st.tuples(speeds, st.integers(68, 65535)), min_size=1, max_size=4)


@given(ends, ends)
def test_the_gate_is_never_below_the_limit(here: list[tuple[float, int]], there: list[tuple[float, int]]) -> None:
    first, second = (
        node(name, *(ethernet(f"eth{number}", *values) for number, values in enumerate(end)))
        for name, end in (("n1", here), ("n2", there))
    )
    forth, back = limit(first, second), limit(second, first)
    assert forth.limit_bytes_per_s <= forth.gate_bytes_per_s
    assert forth.limit_bytes_per_s == back.limit_bytes_per_s
    assert forth.binding in {term.name for term in forth.terms}
