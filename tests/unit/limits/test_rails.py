"""Devices and rails: what PCIe lets several ports add up to."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.limits.node import node_limits
from seatrial.limits.path import Rail, path_limit, together
from seatrial.model.facts import NodeFacts, PciDevice, PciKind
from seatrial.model.hca import PortState
from seatrial.model.limit import ComputePeak, Limit, NoLimit
from tests.support.limits_examples import device, device_limit, ethernet, hca, hop, is_limit, node, port
from tests.support.processor_time import within


def test_two_fdr_ports_on_pcie_3_x8_are_bound_by_pcie() -> None:
    facts = node("n1", hcas=(hca(port("FDR"), port("FDR", number=2)),))
    found = is_limit(device_limit(device(8e9, 8), facts))
    assert found.path == "n1 mlx5_0 > root"
    assert found.limit_bytes_per_s == pytest.approx(7.877e9, rel=1e-4)
    assert found.binding == "n1 mlx5_0: PCIe link 0000:00:02.0 to 0000:03:00.0 at 8.0 GT/s x8"
    assert [term.name for term in found.terms][1] == "n1 mlx5_0: 2 ports together, InfiniBand FDR 4X, MTU 4096"
    assert found.terms[1].bytes_per_s == pytest.approx(2 * 6.775e9, rel=1e-4)


def test_one_fdr_port_on_pcie_3_x8_is_not() -> None:
    found = is_limit(device_limit(device(8e9, 8, 256), node("n1", hcas=(hca(port("FDR")),))))
    assert found.binding == "n1 mlx5_0: InfiniBand FDR 4X, MTU 4096"


def test_the_payload_size_decides_whether_pcie_binds_an_fdr_port() -> None:
    found = is_limit(device_limit(device(8e9, 8, 128), node("n1", hcas=(hca(port("FDR")),))))
    assert found.limit_bytes_per_s == pytest.approx(6.63e9, rel=1e-3)
    assert "writes of 128 bytes" in found.binding


def test_inactive_ports_do_not_count() -> None:
    facts = node("n1", hcas=(hca(port("FDR"), port("FDR", number=2, state=PortState.DOWN)),))
    found = is_limit(device_limit(device(), facts))
    assert found.binding == "n1 mlx5_0 port 1: InfiniBand FDR 4X, MTU 4096"


def test_a_port_whose_rate_is_not_known_leaves_no_sum() -> None:
    facts = node("n1", hcas=(hca(port("FDR"), port("", number=2)),))
    found = is_limit(device_limit(device(), facts))
    assert len(found.terms) == 1
    assert any("port 2: active, and its data rate is not known" in why for why in found.unknown)


def test_an_ethernet_card() -> None:
    card = device(names=("eth0",))
    facts = node("n1", ethernet(speed=25e9, mtu=9000, pci_address=card.address))
    assert is_limit(device_limit(card, facts)).binding.startswith("n1 eth0: TCP payload at 25000 Mb/s")


def two_cards(shared_width: int) -> NodeFacts:
    """Two EDR cards below a switch whose uplink has so many lanes of PCIe 3.0."""
    uplink = (hop("0000:00:01.0", 8e9, shared_width), hop("0000:01:00.0", 8e9, shared_width))
    cards = []
    for number in (4, 5):
        below = (hop(f"0000:02:{number:02x}.0", 8e9, 16), hop(f"0000:{number:02x}:00.0", 8e9, 16))
        address, names = below[1].address, (f"mlx5_{number - 4}",)
        cards.append(PciDevice(address=address, kind=PciKind.NETWORK, names=names, path=(*uplink, *below)))
    hcas = tuple(hca(name=card.names[0], address=card.address) for card in cards)
    return node("n1", pci=tuple(cards), hcas=hcas)


def rails_of(facts: NodeFacts) -> Limit:
    return is_limit(next(found for found in node_limits(facts) if "together" in found.path))


def test_rails_below_one_link_share_it() -> None:
    found = rails_of(two_cards(16))
    assert found.path == "n1 mlx5_0, mlx5_1 together > root"
    assert found.limit_bytes_per_s == pytest.approx(15.754e9, rel=1e-4)
    assert found.binding == "n1: PCIe above several rails, full at 0000:00:01.0"


def test_rails_with_room_add_up() -> None:
    facts = two_cards(16)
    apart = tuple(msgspec.structs.replace(card, path=card.path[2:]) for card in facts.pci)
    found = rails_of(msgspec.structs.replace(facts, pci=apart))
    assert found.limit_bytes_per_s == pytest.approx(2 * 12.421e9, rel=1e-4)
    assert len(found.terms) == 1


def test_functions_of_one_card_share_its_link() -> None:
    ends = (hop("0000:00:01.0", 8e9, 8), hop("0000:03:00.0", 8e9, 8))
    second = (ends[0], hop("0000:03:00.1", 8e9, 8))
    cards = tuple(
        PciDevice(address=path[1].address, kind=PciKind.NETWORK, names=(f"mlx5_{number}",), path=path)
        for number, path in enumerate((ends, second))
    )
    hcas = tuple(hca(port("FDR"), name=card.names[0], address=card.address) for card in cards)
    found = rails_of(node("n1", pci=cards, hcas=hcas))
    assert found.limit_bytes_per_s == pytest.approx(7.877e9, rel=1e-4)


def test_every_path_of_a_node_has_a_limit_or_a_reason() -> None:
    facts = two_cards(16)
    gpu = PciDevice(
        address="0000:81:00.0", kind=PciKind.GPU, path=(hop("0000:80:01.0", 16e9, 16), hop("0000:81:00.0", 16e9, 16))
    )
    virtual = device(address="0000:04:00.1", virtual_function=True)
    bridge = device(address="0000:00:1f.0", kind=PciKind.BRIDGE)
    found = node_limits(msgspec.structs.replace(facts, pci=(*facts.pci, gpu, virtual, bridge), cores=4, sockets=1))
    assert [each.path for each in found] == [
        "n1 package 0 > memory",
        "n1 mlx5_0 > root",
        "n1 mlx5_1 > root",
        "n1 0000:81:00.0 > root",
        "n1 mlx5_0, mlx5_1 together > root",
        "n1 cores > floating point",
    ]
    for each in found:
        assert isinstance(each, Limit | NoLimit | ComputePeak)


def test_an_empty_node_breaks_nothing() -> None:
    for each in node_limits(NodeFacts(hostname="n1", complete=False)):
        assert isinstance(each, NoLimit)
        assert each.reason


rates = st.floats(1.0, 100.0)
links = st.lists(st.tuples(st.sampled_from("abcd"), rates), max_size=3, unique_by=lambda link: link[0])
rails = st.lists(
    st.builds(lambda rate, path: Rail(name="p", bytes_per_s=rate, links=tuple(path)), rates, links), max_size=5
)


@given(rails)
def test_rails_carry_no_more_than_their_ports_nor_than_their_first_links(these: list[Rail]) -> None:
    flow = together(these)
    assert flow.bytes_per_s <= sum(rail.bytes_per_s for rail in these) * (1 + 1e-12)
    assert flow.bytes_per_s == pytest.approx(sum(rate for _, rate in flow.cut))
    first: dict[str, float] = {}
    for rail in these:
        if rail.links:
            name, rate = rail.links[0]
            first[name] = min(first.get(name, rate), rate)
    free = sum(rail.bytes_per_s for rail in these if not rail.links)
    assert flow.bytes_per_s <= (free + sum(first.values())) * (1 + 1e-12)


def test_limits_of_a_node_with_many_adapters_take_linear_time() -> None:
    """The limits of 1,600 adapters in facts of 300 kB took half a minute."""
    many = 1600
    facts = NodeFacts(
        hostname="n1",
        complete=True,
        hcas=tuple(hca(port("FDR"), name=f"mlx5_{number}", address=f"d{number}") for number in range(many)),
        pci=tuple(device(address=f"d{number}") for number in range(many)),
    )
    with within(5):
        assert len([found for found in node_limits(facts) if found.path.endswith(" > root")]) == many + 1
        assert is_limit(path_limit(facts, msgspec.structs.replace(facts, hostname="n2"))).limit_bytes_per_s > 0
