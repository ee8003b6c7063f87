"""Student's distribution in columns, variances of many subjects, many tests, and numbers of runs."""

import math

import numpy as np
import pytest

from seatrial.locate.thresholds import adjusted_p, critical_value
from seatrial.statistics.estimates import quantile, ratio_tails, student_quantile, two_sided


def student_cdf(t: float, degrees: int) -> float:
    """P(T <= t): Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 (odd) and 26.7.4 (even)."""
    angle = math.atan(t / math.sqrt(degrees))
    cosine = math.cos(angle)
    even = degrees % 2 == 0
    term = 1.0 if even else cosine
    total = term if degrees > 1 else 0.0
    for step in range(2 if even else 3, degrees, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    between = math.sin(angle) * total if even else 2 / math.pi * (angle + math.sin(angle) * total)
    return (1 + between) / 2


@pytest.mark.parametrize("degrees", [1, 2, 3, 7, 30, 200])
@pytest.mark.parametrize("t", [0.0, 0.1, 1.0, 2.5, 6.0])
def test_tails_are_those_of_the_exact_series(t: float, degrees: int) -> None:
    expected = 2 * (1 - student_cdf(t, degrees))
    assert two_sided(np.array([t, -t]), np.array([degrees]))[0] == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_far_tails_keep_their_digits() -> None:
    """With 2 degrees P(|T| > t) = 1 - t/sqrt(2 + t^2), about 1/t^2 in the tail."""
    assert two_sided(np.array([1e6]), np.array([2.0]))[0] == pytest.approx(1e-12, rel=1e-6)


def test_fractional_degrees_lie_between_whole_ones() -> None:
    at = two_sided(np.array([2.0, 2.0, 2.0]), np.array([3.0, 3.5, 4.0]))
    assert at[0] > at[1] > at[2]


def test_unknown_numbers_stay_unknown() -> None:
    assert np.isnan(two_sided(np.array([np.nan, 1.0]), np.array([3.0, np.nan]))).all()


@pytest.mark.parametrize("degrees", [1, 2, 4, 10, 100])
def test_quantiles_are_those_of_the_exact_series(degrees: int) -> None:
    assert quantile(0.95, np.array([degrees]))[0] == pytest.approx(student_quantile(0.975, degrees), rel=1e-3)


@pytest.mark.parametrize("degrees", [1, 2, 5, 30])
@pytest.mark.parametrize("probability", [0.5, 0.9, 0.995, 1 - 1e-7])
def test_a_quantile_is_where_the_exact_series_has_its_probability(probability: float, degrees: int) -> None:
    t = student_quantile(probability, degrees)
    assert 1 - student_cdf(t, degrees) == pytest.approx(1 - probability, rel=1e-6)


def tail_of_three_degrees(t: float) -> float:
    """P(T > t) with three degrees of freedom, exact; the difference of two small angles keeps its digits."""
    x = math.sqrt(3) / t
    return (math.atan(x) - x / (1 + x * x)) / math.pi


@pytest.mark.parametrize("tests", [1, 24, 1000, 1_000_000])
def test_many_tests_together_err_as_often_as_they_may(tests: int) -> None:
    """Critical values by inverted normal bounds are 10 % too large for 24 tests and 65 % for a million."""
    critical = critical_value(tests, 3, 0.005)
    assert tests * tail_of_three_degrees(critical) == pytest.approx(0.005, rel=1e-6)
    assert adjusted_p(np.array([critical, -critical, math.inf]), tests, 3) == pytest.approx(
        [0.005, min(tests / 2, 1), 0], rel=1e-6
    )


def test_no_degrees_have_no_quantile_and_many_are_normal() -> None:
    found = quantile(0.95, np.array([0.0, 1e9]))
    assert math.isinf(found[0])
    assert found[1] == pytest.approx(1.959964, abs=1e-3)


def test_tails_of_a_ratio_of_variances() -> None:
    """With 2 and d degrees P(F > x) = (1 + 2x/d)^(-d/2)."""
    assert ratio_tails(1.0, 2, 2) == pytest.approx(1.0)
    assert ratio_tails(3.0, 2, 2) == pytest.approx(0.5)
    assert ratio_tails(3.0, 2, 4) == pytest.approx(2 * 2.5**-2)
    assert ratio_tails(1 / 3, 4, 2) == pytest.approx(2 * 2.5**-2)
    assert ratio_tails(1e9, 2, 4) == pytest.approx(0.0, abs=1e-12)
    assert ratio_tails(1e-9, 2, 4) == pytest.approx(0.0, abs=1e-8)
