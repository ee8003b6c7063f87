"""Numbers in text from outside."""

import math

import pytest

from seatrial.model.unit_text import finite, is_number, is_row, number_of, whole_number


@pytest.mark.parametrize(
    ("text", "number"), [("12", 12.0), ("1.", 1.0), (".5", 0.5), ("-1.5e-3", -0.0015), ("2.5D+3", 2500.0)]
)
def test_numbers_as_programs_print_them(text: str, number: float) -> None:
    assert is_number(text) and number_of(f" {text} ") == number


@pytest.mark.parametrize("text", ["nan", "NaN", "inf", "-Inf", "infinity", "1e999"])
def test_what_is_not_finite_is_a_number_and_not_finite(text: str) -> None:
    assert is_number(text) and not math.isfinite(number_of(text)) and not finite(text)


@pytest.mark.parametrize("text", ["", "x", "1_000", "1.2.3", "1e", "9" * 4301, "1." + "9" * 4301])
def test_anything_else_is_none(text: str) -> None:
    assert not is_number(text) and not finite(text)
    with pytest.raises(ValueError, match="is not a number"):
        number_of(text)


@pytest.mark.parametrize("text", ["9" * 19, "9" * 4301, "1_0", "1.0", ""])
def test_whole_numbers_have_at_most_18_digits(text: str) -> None:
    with pytest.raises(ValueError, match="not a whole number"):
        whole_number(text)
    assert whole_number("-" + "9" * 18) == -(10**18 - 1)


def test_rows() -> None:
    assert is_row(" 8  1.25\t.5 nan ") and is_row("8 1.2 Pass", words=frozenset(("Pass",)))
    assert not is_row("") and not is_row("Pass 1", words=frozenset(("Pass",))) and not is_row("8 1.2 Pass")
    assert not is_row("1 " * 1001)


@pytest.mark.parametrize(
    ("text", "number"), [("1e-320", 0.0), ("-1e-151", 0.0), ("1e151", math.inf), ("-1e300", -math.inf)]
)
def test_products_and_ratios_of_numbers_stay_numbers(text: str, number: float) -> None:
    assert number_of(text) == number
