"""From node to node over InfiniBand and its like: which ports, what binds, what gates."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.limits.path import gate_of, path_limit
from seatrial.model.facts import NodeFacts
from seatrial.model.hca import Hca, Port, PortFamily, PortState
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.words import Unknown
from tests.support.limits_examples import CARD, device, ethernet, hca, is_limit, node, port


def limit(source: NodeFacts, target: NodeFacts) -> Limit:
    return is_limit(path_limit(source, target))


def reason(source: NodeFacts, target: NodeFacts) -> str:
    found = path_limit(source, target)
    assert isinstance(found, NoLimit)
    return found.reason


def pair(*ports: Port, **more: object) -> tuple[NodeFacts, NodeFacts]:
    first, second = (node(name, hcas=(hca(*ports),), **more) for name in ("n1", "n2"))
    return first, second


@pytest.mark.parametrize(
    ("ports", "measured", "limit_megabytes", "ratio"),
    [
        pytest.param((port("HDR"),), 24_674, 24_842, 99.3, id="Azure HDR200"),
        pytest.param((port("HDR", 2),), 12_083, 12_421, 97.3, id="CSD3 HDR100"),
        pytest.param((port("EDR"),), 12_056, 12_421, 97.1, id="AlaSKA EDR"),
        pytest.param((port(family=PortFamily.EFA, data_bits_per_s=100e9),), 12_078, 12_500, 96.6, id="AWS EFA"),
        pytest.param((port(family=PortFamily.ROCE, data_bits_per_s=50e9, mtu_bytes=1024),), 5_733, 5_787, 99.1,
                     id="CSD3 RoCE 50, MTU 1024"),
        pytest.param((port(family=PortFamily.ROCE, data_bits_per_s=50e9),), 5_733, 6_127, 93.6,
                     id="CSD3 RoCE 50, MTU 4096"),
        pytest.param((port(family=PortFamily.ROCE, data_bits_per_s=25e9),), 3_046, 3_064, 99.4, id="AlaSKA RoCE 25"),
    ],
)  # fmt: skip
def test_public_measurements(ports: tuple[Port, ...], measured: int, limit_megabytes: int, ratio: float) -> None:
    found = limit(*pair(*ports))
    assert found.limit_bytes_per_s == pytest.approx(limit_megabytes * 1e6, abs=0.6e6)
    assert 100 * measured * 1e6 / found.limit_bytes_per_s == pytest.approx(ratio, abs=0.06)
    assert measured * 1e6 < found.gate_bytes_per_s


def test_the_terms_follow_the_path() -> None:
    found = limit(*pair(port("FDR"), pci=(device(payload=128),)))
    assert [term.name for term in found.terms] == [
        "n1 mlx5_0: PCIe link 0000:00:02.0 to 0000:03:00.0 at 8.0 GT/s x8, reads of 128 bytes",
        "n1 mlx5_0: InfiniBand FDR 4X, MTU 4096",
        "n2 mlx5_0: InfiniBand FDR 4X, MTU 4096",
        "n2 mlx5_0: PCIe link 0000:00:02.0 to 0000:03:00.0 at 8.0 GT/s x8, writes of 128 bytes",
    ]
    assert found.binding == found.terms[-1].name
    assert found.limit_bytes_per_s == pytest.approx(6.63e9, rel=1e-3)
    assert found.unknown == ()


def test_the_smaller_mtu_rules_both_ends() -> None:
    found = limit(node("n1", hcas=(hca(port(mtu=2048)),)), node("n2", hcas=(hca(port(mtu=4096)),)))
    assert {term.inputs["mtu_bytes"] for term in found.terms} == {2048.0}


def test_the_default_is_one_port_and_the_gate_is_all_of_them() -> None:
    one, other = pair(port(), port(number=2))
    found = limit(one, other)
    assert found.limit_bytes_per_s == pytest.approx(12.421e9, rel=1e-4)
    # Two EDR ports and the Gigabit interface; PCIe is not known and narrows nothing.
    assert found.gate_bytes_per_s == pytest.approx(2 * 12.421e9 + 117.69e6, rel=1e-4)
    narrowed = limit(*(msgspec.structs.replace(each, pci=(device(8e9, 16),)) for each in (one, other)))
    assert narrowed.gate_bytes_per_s == pytest.approx(15.754e9 + 117.69e6, rel=1e-4)


def test_the_best_port_counts_and_pcie_can_make_it_the_worse() -> None:
    slow = Hca(name="mlx4_0", pci_address="0000:81:00.0", ports=(port("FDR"),))
    both = [node(name, hcas=(slow, hca(port("HDR"))), pci=(device(2.5e9, 8),)) for name in ("n1", "n2")]
    assert "mlx4_0" in limit(both[0], both[1]).binding
    free = [msgspec.structs.replace(each, pci=(device(16e9, 16),)) for each in both]
    assert "InfiniBand HDR 4X" in limit(free[0], free[1]).binding


def test_ports_of_two_families_or_two_subnets_do_not_speak() -> None:
    omni = node("n2", hcas=(hca(port(family=PortFamily.OMNI_PATH, data_bits_per_s=100e9), name="hfi1_0"),))
    found = limit(node("n1", hcas=(hca(),)), omni)
    assert "TCP payload" in found.binding
    assert "the ends share no network but Ethernet (active HCAs of n1: mlx5_0; of n2: hfi1_0)" in found.unknown
    one, other = (
        node(name, hcas=(hca(port(subnet_prefix=prefix)),))
        for name, prefix in (("n1", "fe80:0000:0000:0001"), ("n2", "fe80:0000:0000:0002"))
    )
    assert "TCP payload" in limit(one, other).binding
    default = node("n2", hcas=(hca(port(subnet_prefix="fe80:0000:0000:0000")),))
    assert "InfiniBand" in limit(one, default).binding


def test_rails_are_paired_by_subnet() -> None:
    first, second = "fe80:0000:0000:0001", "fe80:0000:0000:0002"
    one = node("n1", hcas=(hca(port("HDR", subnet_prefix=first), port("EDR", number=2, subnet_prefix=second)),))
    other = node("n2", hcas=(hca(port("HDR", subnet_prefix=second)),))
    assert limit(one, other).binding == "n1 mlx5_0 port 2: InfiniBand EDR 4X, MTU 4096"


def test_no_ethernet_and_no_shared_network() -> None:
    lonely = node("n1", ethernet(state="down"), hcas=(hca(),))
    assert reason(lonely, node("n2")) == (
        "n1 shares only Ethernet with the other end (mlx5_0), and shows no Ethernet interface that is up"
    )


def test_a_rate_that_is_not_known_makes_no_limit() -> None:
    assert reason(node("n1", hcas=(hca(port("")),)), node("n2", hcas=(hca(),))) == (
        "n1 mlx5_0: active, and its data rate is not known"
    )


def test_a_family_that_is_not_known_may_be_faster_than_tcp() -> None:
    strange = pair(port(family=Unknown(word="9: NEW"), data_bits_per_s=100e9))
    assert reason(*strange) == "n1 has mlx5_0, which uses unknown '9: NEW': MPI may use it"


def test_a_port_whose_state_was_not_read_may_carry() -> None:
    assert "InfiniBand" in limit(*pair(port(state=None))).binding
    assert "TCP" in limit(*pair(port(state=PortState.INIT))).binding


def test_an_interface_without_a_speed_leaves_no_gate_but_a_limit() -> None:
    one, other = (node(name, ethernet("usb0", None), hcas=(hca(),)) for name in ("n1", "n2"))
    found = path_limit(one, other)
    assert isinstance(found, Limit)
    assert found.gate_bytes_per_s == math.inf
    assert any("no gate: n1 has usb0" in why for why in found.unknown)
    assert math.isfinite(limit(one, node("n2", hcas=(hca(),))).gate_bytes_per_s)


def test_an_interface_without_a_speed_is_bound_by_its_pcie_link() -> None:
    facts = node("n1", ethernet("eth0", None, pci_address=CARD), pci=(device(8e9, 8),))
    assert gate_of(facts).bytes_per_s == pytest.approx(7.877e9, rel=1e-4)


def test_roce_and_its_interface_are_one_wire() -> None:
    roce = port(family=PortFamily.ROCE, interfaces=("eth0",), mtu=None)
    facts = node("n1", ethernet(speed=25e9, mtu=9000), hcas=(hca(roce),))
    assert gate_of(facts).bytes_per_s == pytest.approx(3.094e9, rel=1e-3)
    other = msgspec.structs.replace(facts, hostname="n2")
    found = limit(facts, other)
    assert found.binding == "n1 mlx5_0: RoCE at 25 Gb/s, MTU 4096"
    assert found.limit_bytes_per_s == pytest.approx(3.064e9, rel=1e-3)


def test_roce_at_1500_is_bound_by_its_smaller_mtu() -> None:
    roce = port(family=PortFamily.ROCE, interfaces=("eth0",), mtu=None)
    one, other = (
        node(name, ethernet(speed=50e9, mtu=mtu), hcas=(hca(roce),)) for name, mtu in (("n1", 9000), ("n2", 1500))
    )
    assert limit(one, other).limit_bytes_per_s == pytest.approx(5.787e9, rel=1e-4)


def test_iwarp_is_tcp() -> None:
    iwarp = port(family=PortFamily.IWARP, interfaces=("eth0",))
    one, other = (node(name, ethernet(speed=10e9), hcas=(hca(iwarp, name="cxgb4_0"),)) for name in ("n1", "n2"))
    assert limit(one, other).limit_bytes_per_s == pytest.approx(1.177e9, rel=1e-3)


def test_ipoib_is_no_roce_interface_and_gives_no_mtu() -> None:
    ib = ethernet("ib0", 100e9, 2044, link_type=32)
    one, other = (node(name, ethernet(), ib, hcas=(hca(port(mtu=None, interfaces=("ib0",))),)) for name in ("n1", "n2"))
    assert limit(one, other).terms[0].inputs["mtu_bytes"] == 4096


ports = st.builds(
    lambda speed, width, mtu, family: port(
        speed, width, mtu, family=family, data_bits_per_s=25e9 * width, interfaces=("eth0",)
    ),
    st.sampled_from(["QDR", "FDR", "EDR", "HDR", ""]),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([None, 1024, 2048, 4096]),
    st.sampled_from([PortFamily.INFINIBAND, PortFamily.ROCE, PortFamily.OMNI_PATH, PortFamily.IWARP]),
)  # fmt: skip
cards = st.none() | st.builds(
    device,
    st.sampled_from([2.5e9, 8e9, 16e9, 64e9]),
    st.sampled_from([1, 4, 16]),
    st.none() | st.sampled_from([128, 512]),
)
ends = st.builds(
    lambda having, card, speed, mtu: node(
        "n1", ethernet(speed=speed, mtu=mtu, pci_address=CARD), hcas=(hca(*having),), pci=(card,) if card else ()
    ),
    st.lists(ports, min_size=1, max_size=3), cards, st.sampled_from([1e9, 25e9, 100e9]), st.sampled_from([1500, 9000]),
)  # fmt: skip


@given(ends, ends)
def test_the_gate_is_never_below_the_limit(here: NodeFacts, there: NodeFacts) -> None:
    found = limit(here, msgspec.structs.replace(there, hostname="n2"))
    assert found.limit_bytes_per_s <= found.gate_bytes_per_s * (1 + 1e-12)
    assert found.limit_bytes_per_s == min(term.bytes_per_s for term in found.terms)
    assert found.binding in {term.name for term in found.terms}
