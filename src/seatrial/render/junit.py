"""A report as JUnit XML, for CI systems: one test case for each finding and for each subject that was judged.

Findings are failures; numbers faster than physics are errors, since impossible numbers prove nothing. A subject that
no finding names has passed, was skipped (NOT_RUN, INCONCLUSIVE), or is an error. A run whose exit code is INCOMPLETE is
an error, too. So there are failures where the exit code is 1, errors where it is 2, and neither where it is 0.
"""

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from seatrial.model.errors import ExitCode
from seatrial.model.verdict import UNDECIDED, Finding, FindingKind, Verdict
from seatrial.render import finding_text
from seatrial.render.escape import clean
from seatrial.render.report import Case, Report

ERRORS = (Verdict.INVALID, Verdict.NOT_RUN)
"""Findings with these make no run a failure: impossible numbers prove nothing, and what was not tried may be good."""
_NOT_IN_XML = dict.fromkeys([0xFFFE, 0xFFFF], "\ufffd")
"""Characters that `clean` keeps and XML 1.0 does not allow."""


def as_junit(report: Report) -> str:
    """One test suite in UTF-8; all text from outside is cleaned and escaped. Ends in a newline."""
    cases = [*_findings(report), *_subjects(report), _whole(report)]
    counts = {kind: sum(f"<{kind} " in case for case in cases) for kind in ("failure", "error", "skipped")}
    name = _quoted(" ".join(("seatrial", *report.about[:1])))
    plural = {"failures": counts["failure"], "errors": counts["error"], "skipped": counts["skipped"]}
    numbers = " ".join(f'{kind}="{number}"' for kind, number in plural.items())
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name={_quoted(report.headline)} tests="{len(cases)}" {numbers}>',
        f' <testsuite name={name} tests="{len(cases)}" {numbers}>',
        *cases,
        " </testsuite>",
        "</testsuites>",
    ]
    return "\n".join(lines) + "\n"


def _findings(report: Report) -> Iterator[str]:
    alone = report.exit_code is ExitCode.FINDINGS and all(one.verdict in ERRORS for one in report.findings)
    for finding in report.findings:
        if finding.verdict is Verdict.NOTE:
            continue
        doubtful = finding.verdict in ERRORS and finding.kind is not FindingKind.DATA_CORRUPT
        kind = "error" if doubtful and not alone else "failure"
        outcome = _element(kind, finding.verdict.value, finding.statement, _details(finding))
        yield _case("finding", f"{finding.kind} {finding_text.subject_text(finding)}", outcome)


def _details(finding: Finding) -> str:
    """Numbers, proof and remedy, one a line, and what programs printed."""
    rows = [f"{label}: {words}" for label, words in finding_text.rows(finding)]
    return "\n".join(map(clean, (*rows, *finding.printed.splitlines())))


def _subjects(report: Report) -> Iterator[str]:
    named = {finding.subject.text for finding in report.findings}
    for case in report.cases:
        if case.name not in named:
            yield _case("subject", case.name, _subject(case, report))


def _subject(case: Case, report: Report) -> str:
    """A subject that did not pass is the failure itself where the report has no findings, but their exit code."""
    word = case.verdict.value
    if case.verdict in (Verdict.PASS, Verdict.MEASURED):
        return ""
    if case.verdict in UNDECIDED or report.exit_code is ExitCode.PASS:
        return _element("skipped", word, case.reason)
    alone = report.exit_code is ExitCode.FINDINGS and not report.findings
    return _element("failure" if alone else "error", word, case.reason)


def _whole(report: Report) -> str:
    """The run itself, so that no report is without a test case."""
    incomplete = report.exit_code is ExitCode.INCOMPLETE
    return _case("run", "complete", _element("error", report.word, report.sentence) if incomplete else "")


def _case(group: str, name: str, outcome: str) -> str:
    head = f"  <testcase classname={_quoted(f'seatrial.{group}')} name={_quoted(name)}"
    return f"{head}>\n   {outcome}\n  </testcase>" if outcome else f"{head}/>"


def _element(kind: str, word: str, message: str, details: str = "") -> str:
    which = "" if kind == "skipped" else f" type={_quoted(word)}"
    text = message if kind != "skipped" else f"{word}: {message}" if message else word
    return f"<{kind} message={_quoted(text)}{which}>{escape(details.translate(_NOT_IN_XML))}</{kind}>"


def _quoted(text: str) -> str:
    return quoteattr(clean(text).translate(_NOT_IN_XML))
