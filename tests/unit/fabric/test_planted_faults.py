"""Faults planted at random places of maps are named exactly, and nothing else is; bench/planted_map_faults.py: more."""

import random

import pytest

from tests.support import fabrics
from tests.support.map_faults import FAULTS, Original, named_exactly, original, plant

TREES = (
    "12 leaves x 4 hosts, 4 spines, 2 cables, 4xNDR, engines",
    "6 leaves x 8 hosts, 3 spines, 1 cables, 4xEDR",
    "20 leaves x 6 hosts, 5 spines, 4 cables, 4xHDR, engines",
)
DRAWS = 4


@pytest.fixture(scope="module", params=TREES)
def tree(request: pytest.FixtureRequest) -> Original:
    return original(fabrics.fabric_text(request.param))


@pytest.mark.parametrize("kind", FAULTS)
def test_a_planted_fault_is_named_and_nothing_else(tree: Original, kind: str) -> None:
    assert not tree.named and not tree.missing
    for seed in range(DRAWS):
        planted = plant(kind, tree, random.Random(seed))
        assert named_exactly(planted, tree), f"seed {seed}"


def test_a_fault_that_was_not_planted_is_not_counted_as_named(tree: Original) -> None:
    planted = plant("slower", tree, random.Random(1))
    other = plant("slower", tree, random.Random(2))
    assert not named_exactly(type(planted)(text=planted.text, named=other.named), tree)
