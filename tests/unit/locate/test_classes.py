"""Topology classes: leaf switches show where latencies have a clear gap, and nothing shows where they have none."""

import itertools
import random
from collections.abc import Mapping

import pytest

from seatrial.locate.table import topology_classes
from tests.support.builders import leaves, names
from tests.support.pair_tables import pair_table

Times = dict[tuple[str, str], float]


def latencies(
    leaf_of: Mapping[str, str], far: float = 1.5e-6, near: float = 1.1e-6, noise: float = 0.02, seed: int = 1
) -> Times:
    draw = random.Random(seed)
    times = {}
    for one, other in itertools.combinations(leaf_of, 2):
        times[one, other] = times[other, one] = (near if leaf_of[one] == leaf_of[other] else far) * draw.gauss(1, noise)
    return times


@pytest.mark.parametrize(("nodes", "per_leaf"), [(4, 2), (8, 4), (24, 8), (20, 10)])
def test_leaves_are_found_where_latencies_differ(nodes: int, per_leaf: int) -> None:
    leaf_of = leaves(nodes, per_leaf)
    found = topology_classes(pair_table([*leaf_of], latency=latencies(leaf_of)))
    assert found is not None
    wanted = {tuple(name for name in leaf_of if leaf_of[name] == leaf) for leaf in set(leaf_of.values())}
    assert set(found.groups) == wanted
    assert found.near_s == pytest.approx(1.1e-6, rel=0.03)
    assert found.far_s == pytest.approx(1.5e-6, rel=0.03)


def test_one_late_pair_changes_nothing() -> None:
    known = latencies(leaves(16, 8))
    known["n1", "n2"] = known["n2", "n1"] = 1.52e-6
    found = topology_classes(pair_table(names(16), latency=known))
    assert found is not None and len(found.groups) == 2


@pytest.mark.parametrize("seed", range(20))
def test_noise_and_a_late_node_are_no_distances(seed: int) -> None:
    flat = dict.fromkeys(names(12), "leaf1")
    assert topology_classes(pair_table(names(12), latency=latencies(flat, seed=seed))) is None
    late = {pair: time_s * (2 if "n3" in pair else 1) for pair, time_s in latencies(flat, seed=seed).items()}
    assert topology_classes(pair_table(names(12), latency=late)) is None


def test_too_few_pairs_or_nodes_show_no_distances() -> None:
    few = dict([*latencies(leaves(16, 4)).items()][:40])
    assert topology_classes(pair_table(names(16), latency=few)) is None
    assert topology_classes(pair_table(names(3), latency=latencies(leaves(3, 2)))) is None
    assert topology_classes(pair_table([])) is None
    nothing = dict.fromkeys(itertools.permutations(names(4), 2), 0.0)
    assert topology_classes(pair_table(names(4), latency=nothing)) is None
