"""JSON as every report writes it."""

import json
import math
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.measurement import Kernel, Phase
from seatrial.model.run_values import RunMetric
from seatrial.model.subject import Subject, node
from seatrial.render.json import MetricName, filled, json_text


class Scored(msgspec.Struct):
    value: float


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(alphabet=st.characters(codec=None))
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)


def finite(value: Any) -> Any:
    """A value with None for what JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: finite(content) for key, content in value.items()}
    return [finite(content) for content in value] if isinstance(value, list) else value


@given(values)
def test_whatever_was_found_can_be_written_and_read_back(value: object) -> None:
    text = json_text(value)
    assert text.isascii() and text.endswith("\n")
    assert json.loads(text, parse_constant=pytest.fail) == finite(value)


def test_both_ways_of_writing_give_the_same_text() -> None:
    plain = {"a": [1, {"b": None}], "c": [], "d": {}, "é": "😀"}
    assert json_text(plain) == json.dumps(plain, indent=1) + "\n"
    assert json_text({**plain, "e": "\ud800"}) == json.dumps({**plain, "e": "\ud800"}, indent=1) + "\n"


@pytest.mark.parametrize("name", ["n1", "\ud800"])
def test_what_is_not_finite_is_null(name: str) -> None:
    value = {"a": (math.inf, [-math.inf, 1.5]), "b": [Scored(value=math.nan)], "c": name, "d": np.float64(0.5)}
    assert json.loads(json_text(value)) == {"a": [None, [None, 1.5]], "b": [{"value": None}], "c": name, "d": 0.5}


class Judged(msgspec.Struct):
    subject: Subject
    metric: RunMetric
    values: tuple[Scored, ...]
    hidden: int = 0

    @property
    def share(self) -> float:
        return 0.25


class Row(msgspec.Struct, kw_only=True):
    share: float
    subject: Subject
    metric: MetricName
    values: tuple[Scored, ...] = msgspec.field(name="scores")
    note: str


METRIC = RunMetric(phase=Phase.SURVEY, variant="", kernel=Kernel.ONEWAY, message_bytes=8, window_messages=1)


def test_a_printed_record_is_filled_by_name_from_records_and_values() -> None:
    row = filled(Row, Judged(node("n3"), METRIC, (Scored(1.5),)), note="fine")
    assert json.loads(json_text(row)) == {
        "share": 0.25, "subject": "node:n3", "metric": METRIC.name, "scores": [{"value": 1.5}], "note": "fine",
    }  # fmt: skip


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="scores"):
        filled(Row, Judged(node("n3"), METRIC, (Scored(1.5),)), note="fine", values=7)
