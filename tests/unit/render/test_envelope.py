"""The published JSON Schema is printed, and it refuses what is not an object of ours."""

import json
from typing import Any

import pytest

from seatrial.render.envelope import WORDS
from seatrial.render.text import STYLES
from tests.support.command_line import Seatrial
from tests.support.json_objects import frame, validator
from tests.support.report_examples import run_info, slow_node
from tests.support.reports import check_json_text


def test_the_schema_is_printed(seatrial: Seatrial) -> None:
    assert json.loads(seatrial("report", "--schema").out) == validator().schema


def test_a_report_fits() -> None:
    assert frame(check_json_text(run_info(), slow_node()))["verdict"] == "SLOW"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format", 1),
        ("verdict", "FINE"),
        ("findings", [{"kind": "slow-link"}]),
        ("data", None),
        ("data", []),
        ("error", {"what": "no kind"}),
        ("kind", "error"),
        ("versions", {}),
        ("exit_code", "1"),
        ("run", 7),
    ],
)
def test_what_does_not_fit_is_refused(field: str, value: Any) -> None:
    report = json.loads(check_json_text(run_info(), slow_node()))
    assert list(validator().iter_errors({**report, field: value}))


@pytest.mark.parametrize("field", ["format", "kind", "run", "time", "verdict", "headline", "findings", "data", "error"])
def test_no_field_of_the_frame_may_be_missing(field: str) -> None:
    report = json.loads(check_json_text(run_info(), slow_node()))
    del report[field]
    assert list(validator().iter_errors(report))


def test_every_word_of_a_headline_is_listed() -> None:
    assert set(STYLES) <= set(WORDS)
