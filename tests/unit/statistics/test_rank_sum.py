"""Tail probabilities are exact for small groups and never much too small for large ones."""

import itertools

import numpy as np
import pytest

from seatrial.statistics.strata import count_tail, rank_sum_tail


@pytest.mark.parametrize(("total", "size"), [(10, 3), (12, 5), (9, 7), (6, 1)])
def test_the_rank_sum_is_exact(total: int, size: int) -> None:
    sums = [sum(chosen) for chosen in itertools.combinations(range(1, total + 1), size)]
    for limit in range(min(sums) - 1, max(sums) + 2):
        expected = sum(one <= limit for one in sums) / len(sums)
        assert rank_sum_tail(limit, size, total) == pytest.approx(expected, abs=1e-12)


def test_of_large_groups_it_agrees_with_draws() -> None:
    draw = np.random.default_rng(1)
    sums = sorted(int(draw.permutation(3000)[:1200].sum()) + 1200 for _ in range(2000))
    assert rank_sum_tail(sums[40], 1200, 3000) == pytest.approx(0.02, abs=0.01)


def test_counts_are_hypergeometric() -> None:
    draws = list(itertools.combinations(range(9), 4))
    for found in range(6):
        expected = sum(sum(one < 3 for one in chosen) >= found for chosen in draws) / len(draws)
        assert count_tail(found, 4, 3, 9) == pytest.approx(expected)
