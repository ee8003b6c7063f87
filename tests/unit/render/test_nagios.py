"""The line of a monitoring plugin: what is not decided is never OK, and nothing in the text can break the line."""

import math
import re

import msgspec
import pytest

from seatrial.model import subject
from seatrial.model.errors import ExitCode
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.render.nagios import as_nagios, unknown
from seatrial.render.report import Gauge, Report

LINE = re.compile(r"SEATRIAL (OK|WARNING|CRITICAL|UNKNOWN): [^|\n]* \| ([a-z_]+=-?[0-9.]+(s|%)?( |$))+")


def finding(verdict: Verdict, kind: FindingKind = FindingKind.SLOW_LINK) -> Finding:
    return Finding(kind=kind, subject=subject.node("n3"), verdict=verdict, statement="It is.", remedy="Mend it.")


def report(code: ExitCode, *findings: Finding, sentence: str = "n3: link at 60 %", **gauges: float | None) -> Report:
    return Report(
        word="SLOW",
        sentence=sentence,
        exit_code=code,
        payload=msgspec.Struct,
        findings=findings,
        gauges=tuple(Gauge(name=name, value=value) for name, value in gauges.items()),
    )


@pytest.mark.parametrize(
    ("code", "findings", "state"),
    [
        (ExitCode.PASS, (), "OK"),
        (ExitCode.PASS, (finding(Verdict.NOTE),), "OK"),
        (ExitCode.INCOMPLETE, (), "UNKNOWN"),
        (ExitCode.INCOMPLETE, (finding(Verdict.INVALID),), "UNKNOWN"),
        (ExitCode.INCOMPLETE, (finding(Verdict.INCONCLUSIVE),), "UNKNOWN"),
        (ExitCode.INCOMPLETE, (finding(Verdict.NOT_RUN),), "UNKNOWN"),
        (ExitCode.FINDINGS, (finding(Verdict.SLOW),), "WARNING"),
        (ExitCode.FINDINGS, (finding(Verdict.UNSTABLE), finding(Verdict.MISCONFIGURED)), "WARNING"),
        (ExitCode.FINDINGS, (finding(Verdict.SLOW), finding(Verdict.INVALID)), "WARNING"),
        (ExitCode.FINDINGS, (finding(Verdict.SLOW), finding(Verdict.DOWN)), "CRITICAL"),
        (ExitCode.FINDINGS, (finding(Verdict.BLOCKED),), "CRITICAL"),
        (ExitCode.FINDINGS, (finding(Verdict.INVALID, FindingKind.DATA_CORRUPT),), "CRITICAL"),
    ],
)
def test_the_state(code: ExitCode, findings: tuple[Finding, ...], state: str) -> None:
    number, line = as_nagios(report(code, *findings))
    assert line.startswith(f"SEATRIAL {state}: SLOW n3: link at 60 %")
    assert number == ("OK", "WARNING", "CRITICAL", "UNKNOWN").index(state)
    assert LINE.fullmatch(line)


@pytest.mark.parametrize("text", ["a|b=1", "two\nlines\r\n", "\x1b[31mred", "  | | ", "\u2028|"])
def test_no_text_breaks_the_line(text: str) -> None:
    _, line = as_nagios(report(ExitCode.PASS, sentence=text))
    assert LINE.fullmatch(line), line
    assert "|" not in unknown(text) and "\n" not in unknown(text)


def test_performance_data_has_plain_numbers_only() -> None:
    made = report(ExitCode.PASS, rate=1.25e11, time=2e-6, none=None, infinite=math.inf, nothing=math.nan, negative=-3.0)
    _, line = as_nagios(made)
    assert line.partition(" | ")[2] == "rate=125000000000 time=0.000002 negative=-3 findings=0"
