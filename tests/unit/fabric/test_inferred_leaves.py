"""Leaf switches inferred from latencies: right where there is a clear gap, and nothing where there is none."""

import itertools
import random
from collections.abc import Mapping

import pytest

from seatrial.commands.check.notes import infer_leaves
from tests.support.builders import leaves, names


def latencies(
    leaf_of: Mapping[str, str], far: float = 1.5e-6, near: float = 1.1e-6, noise: float = 0.02, seed: int = 1
) -> dict[frozenset[str], float]:
    draw = random.Random(seed)
    pairs = itertools.combinations(leaf_of, 2)
    return {
        frozenset(pair): (near if leaf_of[pair[0]] == leaf_of[pair[1]] else far) * draw.gauss(1, noise)
        for pair in pairs
    }


@pytest.mark.parametrize(("nodes", "per_leaf"), [(4, 2), (8, 4), (24, 8), (20, 10)])
def test_leaves_are_found_where_latencies_differ(nodes: int, per_leaf: int) -> None:
    leaf_of = leaves(nodes, per_leaf)
    found = infer_leaves(latencies(leaf_of))
    assert found is not None
    wanted = {tuple(sorted(name for name in leaf_of if leaf_of[name] == leaf)) for leaf in set(leaf_of.values())}
    assert set(found.groups) == wanted
    assert found.near_s == pytest.approx(1.1e-6, rel=0.03)
    assert found.far_s == pytest.approx(1.5e-6, rel=0.03)


def test_one_late_pair_changes_nothing() -> None:
    known = latencies(leaves(16, 8))
    known[frozenset(("n1", "n2"))] = 1.52e-6
    found = infer_leaves(known)
    assert found is not None and len(found.groups) == 2


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_inferred_from_noise(seed: int) -> None:
    flat = dict.fromkeys(names(12), "leaf1")
    assert infer_leaves(latencies(flat, noise=0.02, seed=seed)) is None
    late = latencies(flat, seed=seed)
    for ends in late:
        if "n3" in ends:
            late[ends] *= 2
    assert infer_leaves(late) is None


def test_nothing_is_inferred_from_too_few_pairs_or_nodes() -> None:
    known = latencies(leaves(16, 4))
    assert infer_leaves(dict(list(known.items())[:20])) is None
    assert infer_leaves(latencies(leaves(3, 2))) is None
    assert infer_leaves({}) is None
    assert infer_leaves(dict.fromkeys(map(frozenset, itertools.combinations(names(4), 2)), 0.0)) is None
