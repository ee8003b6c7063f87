"""Variances of many subjects, many tests at once, and the number of runs that a claim needs."""

import math

import numpy as np
import pytest

from seatrial.statistics.change_errors import (
    ALL_ALIKE,
    LEAST_DEVIATION,
    digamma,
    shrink,
    trigamma,
    trigamma_inverse,
)
from seatrial.statistics.estimates import runs_to_decide, runs_to_detect
from seatrial.statistics.strata import adjusted, adjusted_together


def test_special_functions() -> None:
    assert digamma(1) == pytest.approx(-0.5772156649)
    assert trigamma(1) == pytest.approx(math.pi**2 / 6)
    assert trigamma_inverse(trigamma(2.7)) == pytest.approx(2.7)


def test_the_typical_variance_and_its_strength_are_found_again() -> None:
    """True variances scatter like 10 s^2 / chi^2(10), which is what 10 degrees mean."""
    chance = np.random.default_rng(3)
    true = 4e-6 * 10 / chance.chisquare(10, 5000)
    found = shrink(true * chance.chisquare(3, 5000) / 3, np.full(5000, 3.0))
    assert found.typical == pytest.approx(4e-6, rel=0.1)
    assert found.typical_degrees == pytest.approx(10, rel=0.3)
    assert (found.degrees == 3 + found.typical_degrees).all()
    assert np.mean((found.variances - true) ** 2) < np.mean((true * chance.chisquare(3, 5000) / 3 - true) ** 2)


def test_four_variances_that_are_alike_are_no_more_certain_than_all_their_runs() -> None:
    found = shrink(np.array([1.0e-4, 1.1e-4, 0.9e-4, 1.0e-4]), np.full(4, 2.0))
    assert found.typical_degrees == ALL_ALIKE
    assert found.degrees == pytest.approx(np.full(4, 8.0))


def test_variances_that_are_alike_become_one() -> None:
    chance = np.random.default_rng(4)
    found = shrink(1e-6 * chance.chisquare(4, 3000) / 4, np.full(3000, 4.0))
    assert found.typical_degrees > 50
    assert found.typical_degrees <= ALL_ALIKE


def test_few_subjects_keep_their_own_and_none_is_zero() -> None:
    found = shrink(np.array([4e-6, 0.0]), np.array([2.0, 2.0]))
    assert found.variances.tolist() == [4e-6, LEAST_DEVIATION**2]
    assert found.typical_degrees == 0


def test_a_subject_without_a_variance_gets_the_typical_one() -> None:
    chance = np.random.default_rng(5)
    variances = 1e-6 * chance.chisquare(3, 50) / 3
    degrees = np.full(50, 3.0)
    variances[0], degrees[0] = np.nan, 0
    found = shrink(variances, degrees)
    assert found.variances[0] == pytest.approx(found.typical)


def test_adjusted_p_values() -> None:
    """The example of Benjamini and Hochberg (1995), section 3.3: four of 15 are named at 5 %."""
    p_values = np.array([0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
                         0.5719, 0.6528, 0.7590, 1.0])  # fmt: skip
    assert (adjusted(p_values) <= 0.05).sum() == 4
    shuffled = np.random.default_rng(1).permutation(15)
    assert adjusted(p_values[shuffled]) == pytest.approx(adjusted(p_values)[shuffled])


def test_untested_subjects_do_not_count_and_families_are_one() -> None:
    together = adjusted_together([np.array([0.01, np.nan]), np.array([0.02, 0.5])])
    assert together[0][0] == pytest.approx(0.03)
    assert np.isnan(together[0][1])
    assert together[1] == pytest.approx([0.03, 0.5])
    assert adjusted_together([]) == []


def test_runs_needed_follow_the_square_of_deviation_over_effect() -> None:
    """Normal theory: 2 (1.96 + 1.28)^2 (1.15/2)^2 = 7 runs of each set; Student's quantiles add one or two."""
    needed = runs_to_detect(0.02, 0.0115)
    assert needed is not None and 7 <= needed <= 9
    half = runs_to_detect(0.01, 0.0115)
    assert half is not None and 3.3 * needed < half < 4.2 * needed
    assert runs_to_detect(0.0001, 0.05) is None


def test_many_subjects_and_runs_that_exist_already_count() -> None:
    alone, among_many = runs_to_detect(0.02, 0.0115), runs_to_detect(0.02, 0.0115, confidence=1 - 0.01 / 64)
    assert alone is not None and among_many is not None and among_many > 1.5 * alone
    with_many_before = runs_to_detect(0.02, 0.0115, before=100)
    assert with_many_before is not None and with_many_before < alone


def test_a_small_change_is_shown_to_be_small_and_a_large_one_to_be_there() -> None:
    assert runs_to_decide(0.001, 0.02, 0.005, held=1) == runs_to_decide(-0.001, 0.02, 0.005, held=1)
    few, many = runs_to_decide(0.0, 0.02, 0.004, held=1), runs_to_decide(0.0, 0.02, 0.012, held=1)
    assert few is not None and many is not None and few < many
    assert runs_to_decide(0.5, 0.02, 0.001, held=4) == 5
    assert runs_to_decide(0.02, 0.02, math.nan) is None
