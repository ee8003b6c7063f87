"""The order by similarity: culprits and groups become blocks, however few pairs were measured."""

from itertools import groupby

import numpy as np
import pytest

from seatrial.model.run_values import Reals
from seatrial.render.pair_canvas import similarity_order

COUNT, GROUPS = 60, 3
CULPRITS = (7, 20)


def made_map(*, measured: float) -> Reals:
    """Pairs of three groups, slower by a fifth across, and two nodes at 60 %; a share of them was measured."""
    draw = np.random.default_rng(1)
    values = np.exp(draw.normal(0, 0.005, (COUNT, COUNT)))
    group = np.arange(COUNT) % GROUPS
    values[group[:, None] != group] *= 0.8
    for culprit in CULPRITS:
        values[culprit] *= 0.6
        values[:, culprit] *= 0.6
    np.fill_diagonal(values, np.nan)
    values[draw.random((COUNT, COUNT)) > measured] = np.nan
    return values


@pytest.mark.parametrize(("measured", "strays"), [(1.0, 0), (0.3, 3)])
def test_culprits_come_first_and_groups_are_together(measured: float, strays: int) -> None:
    order = similarity_order(made_map(measured=measured))
    assert sorted(order) == list(range(COUNT))
    assert sorted(order[:2]) == list(CULPRITS)
    runs = [group for group, _ in groupby(number % GROUPS for number in order[2:])]
    assert len(runs) <= GROUPS + 2 * strays


@pytest.mark.parametrize("count", [0, 1, 3])
def test_rows_without_a_value_stay_as_they_were(count: int) -> None:
    assert similarity_order(np.full((count, count), np.nan)) == tuple(range(count))


def test_a_value_of_zero_counts_as_missing() -> None:
    values = np.ones((4, 4))
    values[2, 3] = 0.0
    assert sorted(similarity_order(values)) == [0, 1, 2, 3]
