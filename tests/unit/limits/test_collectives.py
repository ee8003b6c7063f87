"""Bus bandwidth of collectives: the factors of nccl-tests, and what no algorithm exceeds."""

import pytest

from seatrial.limits.collectives import COLLECTIVES, bus_bandwidth_limit, bus_factor


@pytest.mark.parametrize(
    ("collective", "ranks", "factor"),
    [("all_reduce", 8, 1.75), ("all_gather", 8, 0.875), ("reduce_scatter", 2, 0.5), ("alltoall", 16, 0.9375),
     ("broadcast", 8, 1.0), ("reduce", 8, 1.0), ("sendrecv", 8, 1.0)],
)  # fmt: skip
def test_factors_are_those_of_nccl_tests(collective: str, ranks: int, factor: float) -> None:
    assert bus_factor(collective, ranks) == factor


def test_unknown_collectives_and_single_ranks_have_none() -> None:
    assert bus_factor("all_reduce", 1) is None
    assert bus_factor("osu_bw", 8) is None
    assert bus_bandwidth_limit("osu_bw", 8, 2, 50.0) is None
    assert bus_bandwidth_limit("all_reduce", 1, 1, 50.0) is None
    assert bus_bandwidth_limit("hypercube", 8, 2, 50.0) is None


@pytest.mark.parametrize("collective", [name for name, formulas in COLLECTIVES.items() if formulas.most])
@pytest.mark.parametrize("nodes", [2, 4, 16])
def test_a_ring_with_one_rank_on_each_node_is_never_above_the_limit(collective: str, nodes: int) -> None:
    """A ring reaches a bus bandwidth of one link, which is the definition of the factors."""
    limit = bus_bandwidth_limit(collective, nodes, nodes, 50.0)
    assert limit is not None
    assert limit >= 50.0 - 1e-9


def test_a_ring_over_nodes_of_several_ranks_stays_below_and_reduction_in_switches_reaches_the_limit() -> None:
    """Each node sends all data once: algorithm bandwidth is that of its links, bus bandwidth 2(n-1)/n times as much."""
    assert bus_bandwidth_limit("all_reduce", 16, 2, 50.0) == 50.0 * 1.875
    assert bus_bandwidth_limit("all_reduce", 8, 1, 450.0) == 450.0 * 1.75
    assert bus_bandwidth_limit("all_gather", 16, 2, 50.0) == pytest.approx(50.0 * 2 * 15 / 16)


def test_all_to_all_shares_the_links_of_a_node() -> None:
    """Four ranks of each of two nodes send half of their data to the other node."""
    limit = bus_bandwidth_limit("alltoall", 8, 2, 50.0)
    assert limit == pytest.approx(50.0 / (4 * 0.5) * 7 / 8)
