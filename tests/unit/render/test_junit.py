"""JUnit XML: a CI system fails where the exit code is not 0, and hostile text is only text."""

import math
from collections.abc import Sequence
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.commands.check.view import check_report
from seatrial.model.errors import ExitCode
from seatrial.model.judgement import Judgement
from seatrial.model.run import RunInfo
from seatrial.model.verdict import Verdict
from seatrial.render.junit import as_junit
from seatrial.render.report import Case, Report
from tests.support.report_examples import EVIL, judgement, node, run_info, slow_node, troubled

UNDECIDED = (node("n1"), node("n2", math.nan, Verdict.INCONCLUSIVE, "too few runs"), node("n3", 0, Verdict.NOT_RUN))
INVALID = tuple(msgspec.structs.replace(one, verdict=Verdict.INVALID) for one in slow_node().findings)


def suite(report: Report) -> ElementTree.Element:
    """The only suite; its numbers are those of its cases."""
    root = ElementTree.fromstring(as_junit(report))  # noqa: S314 - our own
    (found,) = root
    for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert found.get(name) == root.get(name) == str(len(found.findall(f"testcase/{kind}")))
    assert found.get("tests") == root.get("tests") == str(len(found))
    return found


def outcomes(report: Report) -> dict[str, str]:
    """Name of each test case -> failure, error, skipped, or passed."""
    return {case.get("name") or "": case[0].tag if len(case) else "passed" for case in suite(report)}


def test_a_finding_is_a_failure_with_its_proof_and_remedy() -> None:
    report = check_report(run_info(), slow_node(), {})
    assert outcomes(report) == {
        "slow-link node:n3": "failure",
        "node:n1": "passed",
        "node:n2": "passed",
        "node:n4": "passed",
        "complete": "passed",
    }
    failure = suite(report).find("testcase/failure")
    assert failure is not None and failure.text is not None
    assert failure.get("type") == "SLOW"
    assert failure.get("message") == slow_node().findings[0].statement
    assert "(confirmed)" in failure.text
    assert "\nto do: Look at cable" in failure.text


def test_direction_and_untrusted_nodes_are_named() -> None:
    found = outcomes(check_report(*troubled(), {}))
    assert found["slow-uplink uplink:leaf1, out"] == found["node-down node:n5"] == "failure"
    assert (found["node:n1"], found["node:n2"], found["node:n3"]) == ("error", "error", "passed")


def test_what_was_not_decided_is_skipped_with_its_reason() -> None:
    report = check_report(run_info(), judgement(nodes=UNDECIDED, complete=False), {})
    assert outcomes(report) == {"node:n1": "passed", "node:n2": "skipped", "node:n3": "skipped", "complete": "error"}
    messages = [case[0].get("message") for case in suite(report) if len(case)]
    assert messages[0] == "INCONCLUSIVE: too few runs"


@pytest.mark.parametrize(
    ("run", "judged"),
    [
        (run_info(), judgement()),
        (run_info(), slow_node()),
        troubled(),
        (run_info(), judgement(complete=False)),
        (run_info(), judgement(pairs=(), nodes=(), complete=False)),
        (run_info(), judgement(findings=INVALID, complete=False)),
        (run_info(), judgement(damage=("journal.jsonl has changed",))),
    ],
)
def test_failures_and_errors_follow_the_exit_code(run: RunInfo, judged: Judgement) -> None:
    report = check_report(run, judged, {})
    found = suite(report)
    assert (found.get("failures") != "0") == (report.exit_code is ExitCode.FINDINGS)
    assert (found.get("errors") != "0") or report.exit_code is not ExitCode.INCOMPLETE
    assert report.exit_code is not ExitCode.PASS or found.get("errors") == found.get("failures") == "0"


def test_a_pair_at_fault_is_the_failure_where_there_are_no_findings() -> None:
    case = Case(name="pair:n1>n2", verdict=Verdict.SLOW, reason="60 % of its limit")
    report = Report(word="SLOW", exit_code=ExitCode.FINDINGS, payload=msgspec.Struct, cases=(case,))
    assert outcomes(report) == {"pair:n1>n2": "failure", "complete": "passed"}
    failure = suite(report).find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "60 % of its limit"


def test_a_run_that_passed_has_no_errors_whatever_a_subject_says() -> None:
    report = Report(payload=msgspec.Struct, cases=(Case(name="node:n1", verdict=Verdict.UNSTABLE, reason="it varies"),))
    assert outcomes(report) == {"node:n1": "skipped", "complete": "passed"}


@pytest.mark.parametrize("hostile", [EVIL, '"/><testcase name="x"/>', "]]>", "n\x1b[31m\x00\udc80\ufffe&amp;"])
def test_hostile_text_is_only_text(hostile: str) -> None:
    judged = slow_node(hostile)
    finding = msgspec.structs.replace(judged.findings[0], statement=hostile, remedy=hostile)
    judged = msgspec.structs.replace(judged, findings=(finding,))
    assert len(suite(check_report(run_info(run=hostile), judged, {}))) == 5


@given(st.lists(st.text(alphabet=st.characters(codec=None)), min_size=3, max_size=3))
def test_any_text_gives_xml(texts: Sequence[str]) -> None:
    name, reason, run = texts
    cases = (Case(name=name, verdict=Verdict.NOT_RUN, reason=reason),)
    report = Report(
        word="X", sentence=reason, exit_code=ExitCode.INCOMPLETE, payload=msgspec.Struct, about=(run,), cases=cases
    )
    assert len(suite(report)) == 2
