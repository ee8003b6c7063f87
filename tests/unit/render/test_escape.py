"""Names and reasons from outside can neither steer a terminal nor leave their place in a page."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from seatrial.model.words import natural_key, natural_sorted
from seatrial.render.escape import clean, cleaned, in_ascii, shorten


@pytest.mark.parametrize(
    ("dirty", "text"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b2Jgone", "gone"),
        ("\x1b]0;title\x07n1", "n1"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\rb\nc\td", "a b c d"),
        ("back\b\x7f\x00space", "backspace"),
        ("\u202egnp.exe\u2066", "gnp.exe"),
        ("n\udc80", "n\ufffd"),
        ("\x1bc reset", "reset"),
        ("\x1b]0;never ended", "0;never ended"),
        ("[bold]n1[/bold]", "[bold]n1[/bold]"),
        ("grün 節点", "grün 節点"),
    ],
)
def test_clean(dirty: str, text: str) -> None:
    assert clean(dirty) == text


@given(st.text())
def test_nothing_that_controls_is_left(text: str) -> None:
    assert not {unicodedata.category(character) for character in clean(text)} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_a_template_prints_texts_cleaned_and_everything_else_as_it_is() -> None:
    assert cleaned("n1\x1b[31m\n") == "n1"
    assert cleaned(3) == 3
    ours = Markup("<b>\n</b>")
    assert cleaned(ours) is ours


def test_shorten_says_that_it_cut() -> None:
    assert shorten("n123456", 4) == "n12…"
    assert shorten("n123", 4) == "n123"


def test_natural_order() -> None:
    ordered = ["N1", "n1", "n2", "n10", "rack1n10", "rack2n1"]
    assert natural_sorted(["n10", "n2", "rack2n1", "n1", "rack1n10", "N1"]) == ordered


@given(st.lists(st.text(alphabet="n0123٣-", max_size=6), unique=True))
def test_natural_order_is_total(names: list[str]) -> None:
    assert len({natural_key(name) for name in names}) == len(names)
    assert natural_sorted(reversed(names)) == natural_sorted(names)


def test_signs_of_drawings_have_ascii_of_their_length_and_names_keep_their_letters() -> None:
    assert in_ascii("n1 │ ·· ▁▄█ µs köln…") == "n1 | .. .=# us köln…"
