"""PCIe: the tables, the ends of links, the least over every hop."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.limits.pcie import (
    LinkState,
    PciLink,
    current,
    ends_agree,
    link_pairs,
    payload_share,
    raw_bytes_per_s,
    trainable,
)
from seatrial.limits.pcie_path import MemoryAccess, ceilings, pcie_terms
from seatrial.model.facts import PciDevice, PciHop, PciKind
from seatrial.model.limit import NoLimit
from tests.support.limits_examples import CARD, ROOT_PORT, check_formula, device, device_limit, hop, is_limit, node


@pytest.mark.parametrize(
    ("transfers", "width", "gigabytes_per_s"),
    [
        (2.5e9, 1, 0.250), (2.5e9, 4, 1.00), (2.5e9, 8, 2.00), (2.5e9, 16, 4.00),
        (5e9, 1, 0.500), (5e9, 4, 2.00), (5e9, 8, 4.00), (5e9, 16, 8.00),
        (8e9, 1, 0.9846), (8e9, 4, 3.938), (8e9, 8, 7.877), (8e9, 16, 15.754),
        (16e9, 1, 1.9692), (16e9, 4, 7.877), (16e9, 8, 15.754), (16e9, 16, 31.508),
        (32e9, 1, 3.9385), (32e9, 4, 15.754), (32e9, 8, 31.508), (32e9, 16, 63.015),
        (64e9, 1, 7.5625), (64e9, 4, 30.25), (64e9, 8, 60.5), (64e9, 16, 121.0),
    ],
)  # fmt: skip
def test_table_of_generations(transfers: float, width: int, gigabytes_per_s: float) -> None:
    rate = raw_bytes_per_s(LinkState(transfers_per_s=transfers, width=width))
    assert rate == pytest.approx(gigabytes_per_s * 1e9, abs=0.0005e9)


@pytest.mark.parametrize(
    ("payload", "percent", "rates"),
    [
        (128, 84.2, (6.63, 13.27, 26.53, 53.07)),
        (256, 91.4, (7.20, 14.40, 28.81, 57.61)),
        (512, 95.5, (7.52, 15.05, 30.10, 60.19)),
        (1024, 97.7, (7.70, 15.39, 30.79, 61.57)),
    ],
)
def test_table_of_payload_sizes(payload: int, percent: float, rates: tuple[float, ...]) -> None:
    assert 100 * payload_share(payload) == pytest.approx(percent, abs=0.05)
    for (transfers, width), gigabytes_per_s in zip(((8e9, 8), (8e9, 16), (16e9, 16), (32e9, 16)), rates, strict=True):
        (term,) = pcie_terms(device(transfers, width, payload), "n1", "mlx5_0", MemoryAccess.WRITE).terms
        assert term.bytes_per_s == pytest.approx(gigabytes_per_s * 1e9, abs=0.006e9)
        check_formula(term, term.bytes_per_s)


@pytest.mark.parametrize(
    "state", [LinkState(), LinkState(transfers_per_s=8e9), LinkState(transfers_per_s=7e9, width=8)]
)
def test_no_rate_of_what_is_not_known(state: LinkState) -> None:
    assert raw_bytes_per_s(state) is None


def test_a_term_names_link_state_and_where_it_was_read() -> None:
    (term,) = pcie_terms(device(payload=256), "n1", "mlx5_0", MemoryAccess.WRITE).terms
    assert term.name == "n1 mlx5_0: PCIe link 0000:00:02.0 to 0000:03:00.0 at 8.0 GT/s x8, writes of 256 bytes"
    assert "/sys/bus/pci/devices/0000:00:02.0 and /sys/bus/pci/devices/0000:03:00.0" in term.source
    assert "MaxPayload of 0000:00:02.0" in term.source
    assert not term.nominal


def test_unknown_payload_gives_the_raw_rate_and_says_so() -> None:
    found = pcie_terms(device(), "n1", "mlx5_0", MemoryAccess.WRITE)
    assert found.terms[0].bytes_per_s == pytest.approx(7.877e9, rel=1e-4)
    assert "payload_bytes" not in found.terms[0].inputs
    assert any("MaxPayload of PCIe is not known" in why for why in found.unknown)


def test_flit_mode_names_its_convention() -> None:
    found = pcie_terms(device(64e9, 16, 512), "n1", "mlx5_0", MemoryAccess.WRITE)
    assert found.terms[0].bytes_per_s == pytest.approx(121.0e9)
    assert any("242 of 256 bytes" in why for why in found.unknown)


def test_reads_are_bound_by_the_request_and_cost_four_bytes_less() -> None:
    ends = tuple(hop(address, max_payload_bytes=512, max_read_request_bytes=256) for address in (ROOT_PORT, CARD))
    both = device(path=ends)
    (read,) = pcie_terms(both, "n1", "x", MemoryAccess.READ).terms
    (write,) = pcie_terms(both, "n1", "x", MemoryAccess.WRITE).terms
    assert read.inputs["payload_bytes"] == 256
    assert (write.inputs["payload_bytes"], write.inputs["overhead_bytes"]) == (512, 24)
    assert read.bytes_per_s == pytest.approx(7.8769e9 * 256 / 276, rel=1e-4)
    assert "MaxReadReq of 0000:03:00.0" in read.source


def test_a_device_faster_than_its_bridge_is_bound_by_the_bridge_and_could_do_no_better() -> None:
    # The recorded machine of node_exporter: sys.ttar, 0000:01:00.0 below 0000:00:02.1.
    bridge = hop("0000:00:02.1", 8e9, 4, max_width=8)
    below = hop("0000:01:00.0", 8e9, 4, max_transfers_per_s=16e9)
    (link,) = link_pairs((bridge, below))
    assert trainable(link) == current(link) == LinkState(transfers_per_s=8e9, width=4)
    (term,) = pcie_terms(PciDevice(address="0000:01:00.0", kind=PciKind.NVME, path=(bridge, below)), "n1", "nvme0",
                         MemoryAccess.WRITE).terms  # fmt: skip
    assert "0000:00:02.1" in term.name
    assert "8.0 GT/s x4" in term.name
    assert term.bytes_per_s == pytest.approx(3.938e9, rel=1e-3)


def test_a_link_trained_below_what_both_ends_support() -> None:
    link = PciLink(hop(ROOT_PORT, 8e9, 16, current_width=8), hop(CARD, 16e9, 16, current_width=8))
    assert trainable(link) == LinkState(transfers_per_s=8e9, width=16)
    assert current(link).width == 8


def switched() -> tuple[PciHop, ...]:
    """Root port, the two ports of a switch, a card: two links, and none inside the switch."""
    return (hop("a", 16e9, 16), hop("b", 16e9, 16), hop("c", 8e9, 8), hop("d", 8e9, 8))


def test_hops_are_the_ends_of_links_two_by_two() -> None:
    path = switched()
    assert link_pairs(path) == (PciLink(path[0], path[1]), PciLink(path[2], path[3]))
    assert link_pairs(path[:1]) == (PciLink(None, path[0]),)
    assert link_pairs(()) == ()
    assert [link.name for link in link_pairs(path[:3])] == ["a to b", "c"]


def test_the_least_over_every_hop_binds() -> None:
    found = is_limit(device_limit(PciDevice(address="d", kind=PciKind.GPU, path=switched()), node("n1")))
    assert found.path == "n1 d > root"
    assert "c to d" in found.binding
    assert found.limit_bytes_per_s == pytest.approx(7.877e9, rel=1e-4)


def test_ends_that_disagree_are_told_and_the_gate_takes_the_better() -> None:
    odd = device(path=(hop(ROOT_PORT, 2.5e9, 1), hop(CARD, 8e9, 8)))
    assert not ends_agree(link_pairs(odd.path)[0])
    found = pcie_terms(odd, "n1", "x", MemoryAccess.WRITE)
    assert found.terms[0].bytes_per_s == 0.25e9
    assert any("disagree" in why for why in found.unknown)
    ((name, ceiling),) = ceilings(odd)
    assert name == ROOT_PORT
    assert ceiling == pytest.approx(7.877e9, rel=1e-4)


def test_a_virtual_function_tells_nothing_and_its_bridge_does() -> None:
    function = device(path=(hop(ROOT_PORT), PciHop(address="0000:03:00.4")))
    (term,) = pcie_terms(function, "n1", "x", MemoryAccess.WRITE).terms
    assert term.bytes_per_s == pytest.approx(7.877e9, rel=1e-4)


@pytest.mark.parametrize("path", [(), (PciHop(address=CARD),), (PciHop(address=ROOT_PORT), PciHop(address=CARD))])
def test_no_limit_where_no_link_tells_its_state(path: tuple[PciHop, ...]) -> None:
    found = device_limit(device(path=path), node("n1"))
    assert isinstance(found, NoLimit)
    assert found.reason == "n1 mlx5_0: PCIe 0000:03:00.0 reports no link state"


speeds = st.sampled_from([2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9])
widths = st.sampled_from([1, 2, 4, 8, 12, 16])
payloads = st.none() | st.sampled_from([128, 256, 512, 1024, 2048, 4096])
hops = st.builds(
    lambda at, speed, width, payload: hop(f"0000:{at:02x}:00.0", speed, width, max_payload_bytes=payload),
    st.integers(0, 255), speeds, widths, payloads,
)  # fmt: skip


@given(st.lists(hops, min_size=1, max_size=6))
def test_no_hop_is_below_the_limit(path: list[PciHop]) -> None:
    found = is_limit(device_limit(device(path=tuple(path)), node("n1")))
    for each in path:
        raw = raw_bytes_per_s(LinkState(transfers_per_s=each.current_transfers_per_s, width=each.current_width))
        assert raw is not None
        assert found.limit_bytes_per_s <= raw
    for (_, ceiling), term in zip(ceilings(device(path=tuple(path))), found.terms, strict=True):
        assert term.bytes_per_s <= ceiling


def test_the_limit_of_a_gpu_says_that_idle_links_are_slower() -> None:
    facts = node("n1", pci=(device(kind=PciKind.GPU), device(address="0000:09:00.0")))
    gpu, network = (is_limit(device_limit(each, facts)) for each in facts.pci)
    assert any("while it is idle" in why for why in gpu.unknown)
    assert not any("idle" in why for why in network.unknown)
