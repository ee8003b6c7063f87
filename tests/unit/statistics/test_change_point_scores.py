"""The scorer of change points, and our changes beside binary segmentation on labelled series."""

import numpy as np
import pytest

from tests.support.change_point_scores import (
    binary_segmentation,
    covering,
    f1,
    matched,
)


def test_an_answer_counts_for_one_true_place_only() -> None:
    assert matched({10, 14}, {12}) == {10}
    assert matched({10, 14}, {12, 16}) == {10, 14}
    assert matched({10}, {16}) == set()
    assert matched({10}, {15}) == {10}


def test_f1_is_that_of_the_definition() -> None:
    annotations = {"a": [50], "b": [52, 80], "c": []}
    assert f1(annotations, []) == pytest.approx(2 * 1 * (11 / 18) / (1 + 11 / 18))
    assert f1(annotations, [51]) == pytest.approx(2 * (8 / 9) / (1 + 8 / 9))
    assert f1(annotations, [51, 20]) == pytest.approx(2 * (2 / 3) * (8 / 9) / (2 / 3 + 8 / 9))
    assert f1({"a": []}, []) == 1


def test_covering_is_that_of_the_definition() -> None:
    assert covering({"a": [50]}, [50], 100) == 1
    assert covering({"a": [50]}, [], 100) == 0.5
    assert covering({"a": [50]}, [40], 100) == pytest.approx((50 * 0.8 + 50 * 50 / 60) / 100)
    assert covering({"a": [50], "b": []}, [], 100) == 0.75


def test_binary_segmentation_divides_clear_levels_only() -> None:
    values = np.random.default_rng(1).normal(size=200)
    assert binary_segmentation(values) == []
    values[120:] += 5
    assert binary_segmentation(values) == [120]
    steps = np.concatenate([np.full(20, float(10 * (number % 2))) for number in range(12)])
    assert len(binary_segmentation(steps + 0.01 * np.random.default_rng(2).normal(size=240))) <= 5
