"""Reports of results that tests made, in each form. The terminal's form does not depend on the run."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seatrial.commands.check.view import check_report
from seatrial.commands.facts.drift import Drift
from seatrial.commands.facts.drift_view import drift_report
from seatrial.commands.facts.view import facts_report
from seatrial.commands.limits.view import limits_report
from seatrial.commands.link.curve.judge import LinkCurve
from seatrial.commands.link.curve.view import curve_report
from seatrial.commands.link.transports.judge import Transports, TransportsByRail
from seatrial.commands.link.transports.view import transports_report
from seatrial.commands.placement.judge import Placement
from seatrial.commands.placement.view import placement_report
from seatrial.drift.changes import FactDrift
from seatrial.drift.comparison import FactDifference
from seatrial.model.errors import ExitCode
from seatrial.model.facts import NodeFacts
from seatrial.model.judgement import Judgement
from seatrial.model.limit import AnyLimit
from seatrial.model.run import RunInfo
from seatrial.model.verdict import Finding
from seatrial.render.envelope import envelope
from seatrial.render.html import as_html
from seatrial.render.json import json_text
from seatrial.render.report import Report
from seatrial.render.text import as_text
from tests.support.json_objects import parsed
from tests.support.report_examples import run_info

Facts = Mapping[str, NodeFacts]
NOW = "2026-11-23T04:00:00Z"


def as_json_text(report: Report, command: str = "") -> str:
    """What --json prints. `command`: for a report that has no kind of its own."""
    return json_text(envelope(report, command=command, time=NOW))


def check_text(run: RunInfo, judgement: Judgement, facts: Facts, *, width: int = 100, colour: bool = False) -> str:
    """A check for a terminal."""
    return as_text(check_report(run, judgement, facts), width=width, colour=colour)


def check_page(run: RunInfo, judgement: Judgement, facts: Facts) -> str:
    """A check as a page."""
    return as_html(check_report(run, judgement, facts))


def check_json_text(run: RunInfo, judgement: Judgement) -> str:
    """A check as JSON."""
    return as_json_text(check_report(run, judgement, {}))


def check_json(run: RunInfo, judgement: Judgement) -> dict[str, Any]:
    """The same, read again."""
    found: dict[str, Any] = parsed(check_json_text(run, judgement))
    return found


def curve_text(curve: LinkCurve) -> str:
    """A curve for a terminal."""
    return as_text(curve_report(run_info(), curve))


def curve_page(run: RunInfo, curve: LinkCurve) -> str:
    """A curve as a page."""
    return as_html(curve_report(run, curve))


def placement_text(found: Placement, *, width: int = 100) -> str:
    """A placement for a terminal."""
    return as_text(placement_report(run_info(), found), width=width)


def placement_page(run: RunInfo, found: Placement) -> str:
    """A placement as a page."""
    return as_html(placement_report(run, found))


def transports_text(found: Transports | TransportsByRail, *, width: int = 100) -> str:
    """An ablation for a terminal."""
    return as_text(transports_report(run_info(), found), width=width)


def transports_page(run: RunInfo, found: Transports | TransportsByRail) -> str:
    """An ablation as a page."""
    return as_html(transports_report(run, found))


def transports_json(run: RunInfo, found: Transports | TransportsByRail) -> str:
    """An ablation as JSON."""
    return as_json_text(transports_report(run, found))


def limits_text(limits: Sequence[AnyLimit], *, width: int = 100, colour: bool = False, sources: bool = False) -> str:
    """Limits for a terminal."""
    return as_text(limits_report(limits, sources=sources), width=width, colour=colour)


def limits_json_text(limits: Sequence[AnyLimit]) -> str:
    """Limits as JSON."""
    return as_json_text(limits_report(limits), "limits")


def facts_text(facts: Facts, *, width: int = 100, colour: bool = False) -> str:
    """Everything that was read, for a terminal."""
    return as_text(facts_report(facts, full=True), width=width, colour=colour)


def facts_json(facts: Facts) -> str:
    """Facts as JSON."""
    return as_json_text(facts_report(facts), "facts")


def drift_of(
    facts: Facts,
    differences: Iterable[FactDifference] = (),
    changes: Iterable[FactDrift] = (),
    against: Iterable[FactDifference] = (),
    findings: Iterable[Finding] = (),
) -> Report:
    """The report of these differences."""
    found = Drift(
        differences=tuple(differences),
        changes=tuple(changes),
        against=tuple(against),
        findings=tuple(findings),
        exit_code=ExitCode.FINDINGS if findings else ExitCode.PASS,
    )
    return drift_report(facts, found)
