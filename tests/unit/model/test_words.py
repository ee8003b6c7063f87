"""Numbers and names in sentences."""

import pytest

from seatrial.model.words import by_text, count, moment_of, some


def test_one_is_one_and_none_are_several() -> None:
    assert [count(number, "node") for number in (0, 1, 2)] == ["0 nodes", "1 node", "2 nodes"]
    assert [count(number, "switch", "switches") for number in (1, 2)] == ["1 switch", "2 switches"]


def test_many_names_are_cut_and_the_rest_is_counted() -> None:
    assert some(["a", "b", "c"], 3) == "a, b, c"
    assert some(["a", "b", "c", "d"], 3) == "a, b, c and 1 more"
    assert some([], 3) == ""


def test_every_text_once_with_those_it_is_said_of() -> None:
    assert by_text([("n1", "down"), ("n3", "busy"), ("n2", "down")]) == {"down": ["n1", "n2"], "busy": ["n3"]}
    assert by_text([]) == {}


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-00:01", "0001-01-01T00:00:00+00:01", "2026-02-29", "", "soon"])
def test_a_time_that_no_calendar_has_in_utc_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        moment_of(text)


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59+00:01", "0001-01-01T00:00:00-00:01", "2028-02-29"])
def test_the_first_and_the_last_times(text: str) -> None:
    assert moment_of(text).utcoffset() is not None
