"""The JSON report: complete, in base units, the same bytes for the same run."""

import json
import math
import re

import msgspec

from seatrial.model.judgement import Judgement, NodeVerdict, PairVerdict
from seatrial.model.run import Design, NodeState
from seatrial.model.verdict import Experiment, Finding
from tests.support.json_objects import parsed
from tests.support.report_examples import SICK, estimate, judgement, run_info, slow_node, troubled
from tests.support.reports import check_json, check_json_text


def test_the_planted_node_is_named_with_its_number() -> None:
    report = check_json(run_info(), slow_node())
    assert (report["format"], report["verdict"], report["exit_code"], report["complete"]) == (2, "SLOW", 1, True)
    finding = report["findings"][0]
    assert (finding["kind"], finding["subject"], finding["direction"]) == ("slow-link", "node:n3", "both")
    assert finding["measured"]["value"] == SICK
    assert [each["confirmed"] for each in finding["experiments"]] == [True, True]
    sick = [pair for pair in report["pairs"] if "n3" in (pair["source"], pair["target"])]
    assert len(sick) == 6
    assert all(math.isclose(pair["of_limit"], 0.6, rel_tol=1e-3) and pair["verdict"] == "SLOW" for pair in sick)


def test_what_was_not_measured_is_there_too() -> None:
    run, judged = troubled()
    report = check_json(run, judged)
    assert [(lost["node"], lost["fault"]) for lost in report["lost"]] == [("n5", True), ("n6", False)]
    never = next(pair for pair in report["pairs"] if pair["verdict"] == "NOT_RUN")
    assert (never["bandwidth_bytes_per_s"], never["limit_bytes_per_s"], never["of_limit"]) == (None, None, None)
    assert report["findings"][0]["ambiguous_with"] == ["uplink:leaf2"]
    assert report["verdict"] == "INVALID"


def test_nothing_judged_is_no_pass() -> None:
    assert check_json(run_info(), judgement(pairs=(), nodes=()))["verdict"] == "NOT_RUN"


def test_same_input_same_bytes_and_no_control_characters() -> None:
    judged = slow_node("n\x1b[31m3\udc80")
    text = check_json_text(run_info(), judged)
    assert text == check_json_text(run_info(), slow_node("n\x1b[31m3\udc80"))
    assert text.isascii()
    assert "\x1b" not in text
    assert json.loads(text)["findings"][0]["subject"] == "node:n\x1b[31m3\udc80"


def test_infinity_becomes_null() -> None:
    wide = msgspec.structs.replace(estimate(1e6), low=-math.inf, high=math.inf)
    healthy = judgement()
    pair = msgspec.structs.replace(healthy.pairs[0], bandwidth_bytes_per_s=wide)
    report = parsed(check_json_text(run_info(), judgement(pairs=(pair,))))
    assert report["pairs"][0]["bandwidth_bytes_per_s"]["high"] is None


def test_every_field_of_the_records_is_reported() -> None:
    report = check_json(*troubled())

    def fields(record: type[msgspec.Struct]) -> set[str]:
        return {field.name for field in msgspec.structs.fields(record)}

    assert fields(Judgement) <= set(report)
    assert fields(NodeVerdict) == set(report["nodes"][0])
    assert fields(PairVerdict) - {"limit"} <= set(report["pairs"][0])
    assert fields(Finding) | {"drain"} == set(report["findings"][0])
    assert fields(NodeState) == set(report["lost"][0])
    assert fields(Design) == set(report["design"])
    assert fields(Experiment) == set(check_json(run_info(), slow_node())["findings"][0]["experiments"][0])


def test_the_text_is_indented_as_the_standard_library_does() -> None:
    """Numbers aside, of which 0.0000402 and 4.02e-05 are the same one."""
    text, number = check_json_text(run_info(), slow_node()), re.compile(r"-?\d[\d.e+-]*")
    assert number.sub("0", text) == number.sub("0", json.dumps(json.loads(text), indent=1) + "\n")
