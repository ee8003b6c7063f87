"""JSON as every report writes it."""

import json
import math

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from seatrial.render.json import finite, json_text, number


class Scored(msgspec.Struct):
    value: float


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(alphabet=st.characters(codec=None))
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)


@given(values)
def test_whatever_was_found_can_be_written_and_read_back(value: object) -> None:
    text = json_text(finite(value))
    assert text.isascii() and text.endswith("\n")
    assert json.loads(text) == finite(value)


def test_both_ways_of_indenting_give_the_same_text() -> None:
    plain = {"a": [1, {"b": None}], "c": [], "d": {}}
    assert json_text(plain) == json.dumps(plain, indent=1) + "\n"
    assert json_text({**plain, "e": "\ud800"}) == json.dumps({**plain, "e": "\ud800"}, indent=1) + "\n"


def test_what_is_not_finite_is_null() -> None:
    assert finite({"a": (math.inf, [-math.inf, 1.5]), "b": math.nan}) == {"a": [None, [None, 1.5]], "b": None}
    assert (number(math.nan), number(None), number(0.0)) == (None, None, 0.0)
    assert json.loads(json_text({"a": math.inf, "b": [Scored(value=math.nan)]})) == {"a": None, "b": [{"value": None}]}


def test_records_are_objects() -> None:
    assert json.loads(json_text({"a": [Scored(value=1.5)]})) == {"a": [{"value": 1.5}]}
