"""The peers' level and scatter, whatever part of the nodes is slow."""

import math
from itertools import permutations

import numpy as np
import pytest

from tests.support.evidence import peers_of


def fleet(count: int, slow: int, share: float, noise: float, seed: int) -> dict[tuple[str, str], float]:
    draw = np.random.default_rng(seed)
    pace = {f"n{place}": share if place < slow else 1.0 for place in range(count)}
    return {
        (one, other): min(pace[one], pace[other]) * math.exp(draw.normal(0, noise))
        for one, other in permutations(pace, 2)
    }


@pytest.mark.parametrize("noise", [0.001, 0.01, 0.05])
@pytest.mark.parametrize(("count", "slow"), [(4, 0), (4, 1), (8, 0), (8, 3), (40, 0), (40, 16)])
def test_level_and_scatter_are_those_of_the_healthy_pairs(count: int, slow: int, noise: float) -> None:
    found = [peers_of(fleet(count, slow, 0.6, noise, seed)) for seed in range(30)]
    centres = [abs(one.log) / noise for one in found if one]
    scatters = [one.scatter / noise for one in found if one]
    assert np.median(centres) < 0.6
    assert max(centres) < 3
    assert 0.75 < np.median(scatters) < 1.25
    assert np.quantile(scatters, 0.95) < 2


def test_dead_pairs_count_for_nothing_and_nothing_gives_nothing() -> None:
    assert peers_of({}) is None
    assert peers_of({("n1", "n2"): 0.0}) is None
    values = fleet(6, 0, 1.0, 0.01, 1)
    assert peers_of(values | {("n1", "x"): 0.0}) == peers_of(values)


def test_equal_values_scatter_by_the_least() -> None:
    found = peers_of(dict.fromkeys(permutations("abcd", 2), 5.0))
    assert found is not None
    assert found.log == pytest.approx(math.log(5.0))
    assert found.scatter == 0.0005
