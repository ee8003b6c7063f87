"""A short form of bench/locate_grid.py: recall at least that of medians with MAD, false names rare, no false PASS."""

import math

import pytest

from tests.support.pair_tables import Cell, score


@pytest.mark.parametrize("nodes", [8, pytest.param(24, marks=pytest.mark.series)])
@pytest.mark.parametrize("noise", [0.001, 0.01, 0.05, 0.15])
@pytest.mark.parametrize("slow_share", [0.001, pytest.param(0.25, marks=pytest.mark.series), 0.4])
def test_recall_is_at_least_that_of_medians(nodes: int, noise: float, slow_share: float) -> None:
    draws = 12
    for loss in (0.005, 0.02, 0.1, 0.5):
        cell = Cell(nodes=nodes, noise=noise, slow_share=slow_share, loss=loss)
        ours, theirs = score(cell, draws, seed=5)
        assert ours.recall >= theirs.recall - 2 * math.sqrt(max(theirs.recall * (1 - theirs.recall), 0.08) / draws)
        assert ours.wrong_draws <= 1
        if noise == 0.001 and loss >= 0.02:
            assert ours.recall >= 0.95
            assert ours.passed == 0


@pytest.mark.parametrize("loss", [0.02, 0.1])
def test_the_default_effect_names_2_percent_at_little_noise(loss: float) -> None:
    for nodes in (8, 32):
        ours, _ = score(Cell(nodes=nodes, noise=0.001, slow_share=0.1, loss=loss), 20, seed=2, effect=None)
        assert ours.recall >= 0.95
        assert ours.wrong_draws == 0


@pytest.mark.parametrize("disturbed", [{"outliers": 0.02}, {"missing": 0.4}, {"outliers": 0.01, "missing": 0.2}])
def test_outliers_and_gaps_hide_no_slow_node_and_make_none(disturbed: dict[str, float]) -> None:
    for nodes in (8, 24):
        cell = Cell(nodes=nodes, noise=0.01, slow_share=0.001, loss=0.1, **disturbed)
        ours, theirs = score(cell, 20, seed=3)
        assert ours.recall >= min(theirs.recall, 0.95)
        healthy, _ = score(Cell(nodes=nodes, noise=0.01, **disturbed), 50, seed=4)
        assert ours.wrong_draws + healthy.wrong_draws <= 2


def test_healthy_tables_get_no_names() -> None:
    wrong = draws = baseline = 0
    for nodes, noise in ((8, 0.05), (8, 0.001), (16, 0.15), (32, 0.01)):
        ours, theirs = score(Cell(nodes=nodes, noise=noise), 50, seed=6)
        wrong, draws, baseline = wrong + ours.wrong_draws, draws + ours.draws, baseline + theirs.wrong_draws
    assert wrong <= 0.015 * draws
    assert wrong < baseline
