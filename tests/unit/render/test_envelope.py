"""The published JSON Schema: it is up to date, it is valid, and it refuses what is not an object of ours."""

import json
from typing import Any

import pytest

from seatrial.cli.schema.records import published_schema
from seatrial.render.envelope import WORDS
from seatrial.render.json import json_text
from seatrial.render.text import STYLES
from tests.support.command_line import Seatrial
from tests.support.json_objects import SCHEMA_FILE, frame, validator
from tests.support.report_examples import run_info, slow_node
from tests.support.reports import check_json_text


def test_the_published_file_is_up_to_date(seatrial: Seatrial) -> None:
    """To renew it: seatrial report --schema > docs/schema/report.schema.json"""
    assert SCHEMA_FILE.read_text() == json_text(published_schema())
    assert seatrial("report", "--schema").out == SCHEMA_FILE.read_text()


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
