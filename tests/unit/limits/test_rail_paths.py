"""Rails that two nodes share, and what physics permits over one, over two, and behind one PCIe link."""

import pytest

from seatrial.judgement.pair_limit import limit_of_flow
from seatrial.limits.rail_paths import no_rail_because, only, rail_limit, rail_named, rails_of, shared_rails
from seatrial.model.facts import NodeFacts
from seatrial.model.hca import PortFamily
from seatrial.model.limit import NoLimit
from seatrial.model.measurement import Estimate
from tests.support.limits_examples import check_formula, device, ethernet, hca, is_limit, node, port

EACH = 1e9 / 8 * 1448 / 1538


def two(name: str, **second: object) -> NodeFacts:
    return node(name, ethernet("eth0"), ethernet("eth1", **second))  # type: ignore[arg-type]


def test_two_interfaces_are_two_rails_and_add_up() -> None:
    here, there = two("n1"), two("n2")
    assert [rail.name for rail in shared_rails(here, there).rails] == ["eth0", "eth1"]
    one = is_limit(rail_limit(here, there, ["eth1"]))
    assert one.limit_bytes_per_s == pytest.approx(EACH)
    assert one.gate_bytes_per_s == pytest.approx(EACH)
    assert "eth1" in one.binding
    both = is_limit(rail_limit(here, there, ["eth0", "eth1"]))
    assert both.limit_bytes_per_s == pytest.approx(2 * EACH)
    assert both.gate_bytes_per_s == pytest.approx(2 * EACH)
    assert both.binding == "eth0 and eth1 together, each at its limit"
    term = both.binding_term
    check_formula(term, term.bytes_per_s)


def test_more_than_one_rail_carries_is_compared_with_all() -> None:
    facts = {name: two(name) for name in ("n1", "n2")}
    for share, rails in ((0.98, 1), (1.05, 1), (1.8, 2), (2.3, 2)):
        measured = Estimate(value=share * EACH, low=share * EACH, high=share * EACH, confidence=0.5, runs=2, method="")
        limit = limit_of_flow(facts, ("n1", "n2"), measured)
        assert is_limit(limit).limit_bytes_per_s == pytest.approx(rails * EACH)
    assert isinstance(limit_of_flow(facts, ("n1", "n9"), None), NoLimit)


def test_a_pcie_link_that_both_rails_share_binds_them_together() -> None:
    """Two EDR ports of one dual-port card on PCIe 3.0 x8: 7.9 GB/s for both, though each has 12 alone."""
    shared = device(8e9, 8)
    here, there = (node(name, hcas=(hca(port("EDR"), port("EDR", number=2)),), pci=(shared,)) for name in ("n1", "n2"))
    assert [rail.name for rail in shared_rails(here, there).rails] == ["mlx5_0:1", "mlx5_0:2"]
    alone = is_limit(rail_limit(here, there, ["mlx5_0:1"]))
    both = is_limit(rail_limit(here, there, ["mlx5_0:1", "mlx5_0:2"]))
    assert "PCIe" in alone.binding
    assert both.limit_bytes_per_s == pytest.approx(alone.limit_bytes_per_s)
    assert "PCIe above several rails" in both.binding


def test_a_slower_rail_of_the_kind_is_left_out_and_said() -> None:
    found = shared_rails(two("n1", speed=1e8), two("n2"))
    assert [rail.name for rail in found.rails] == ["eth0"]
    assert "eth1 is left out: according to its facts it carries 11.8 MB/s, eth0 117.7 MB/s" in found.left_out[0]


def test_a_rail_that_is_down_at_one_end_is_no_rail_and_said() -> None:
    here, there = two("n1"), two("n2", state="down")
    found = shared_rails(here, there)
    assert [rail.name for rail in found.rails] == ["eth0"]
    assert found.left_out == ("n2 has eth1, but it is not up",)
    assert no_rail_because(there, "eth7") == "n2 has no eth7: it has eth0"


def test_infiniband_comes_before_ethernet_and_an_hca_stands_for_its_port() -> None:
    facts = [
        node(name, ethernet("eth0"), hcas=(hca(), hca(name="mlx5_1", address="0000:04:00.0"))) for name in ("n1", "n2")
    ]
    assert [rail.name for rail in shared_rails(*facts).rails] == ["mlx5_0:1", "mlx5_1:1"]
    named = rail_named(facts[0], "mlx5_1")
    assert named is not None
    assert (named.name, named.kind) == ("mlx5_1:1", str(PortFamily.INFINIBAND))
    assert [each.name for each in only(facts[0], ["mlx5_1:1"]).hcas] == ["mlx5_1"]
    assert only(facts[0], ["mlx5_1:1"]).interfaces == ()
    assert [rail.name for rail in rails_of(only(facts[0], ["eth0"]))] == ["eth0"]


def test_without_a_speed_there_is_no_limit() -> None:
    here, there = two("n1", speed=None), two("n2")
    found = rail_limit(here, there, ["eth0", "eth1"])
    assert isinstance(found, NoLimit)
    assert "eth1 is up and its speed is unknown" in found.reason
