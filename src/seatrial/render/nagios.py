"""A report as one line of a monitoring plugin, for Nagios, Icinga and whatever calls plugins as they do.

Format: https://nagios-plugins.org/doc/guidelines.html: state, text, and performance data behind a bar, with values of
digits, point and minus only. What was not decided is UNKNOWN, never OK.
"""

import enum
import math
from collections.abc import Iterable

from seatrial.model.errors import ExitCode
from seatrial.model.verdict import Verdict
from seatrial.render.escape import clean
from seatrial.render.report import Gauge, Report

GRAVE = (Verdict.DOWN, Verdict.BLOCKED, Verdict.INVALID)
"""Findings with one of these make the state critical: something does not work, or data are wrong."""


class State(enum.IntEnum):
    """The exit codes of plugins."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


def state_of(report: Report) -> State:
    """The state by the report's exit code, and among findings by the gravest that names a fault."""
    if report.exit_code is ExitCode.PASS:
        return State.OK
    if report.exit_code is not ExitCode.FINDINGS:
        return State.UNKNOWN
    found = report.findings
    grave = any(one.verdict in GRAVE and one.names_fault for one in found) if found else report.word in GRAVE
    return State.CRITICAL if grave else State.WARNING


def as_nagios(report: Report) -> tuple[State, str]:
    """The exit code, and the line without its end."""
    state = state_of(report)
    findings = Gauge(name="findings", value=sum(finding.at_fault for finding in report.findings))
    counted = any(gauge.name == findings.name for gauge in report.gauges)
    gauges = report.gauges if counted else (*report.gauges, findings)
    return state, f"{_line(state, report.headline)} | {' '.join(_performance(gauges))}"


def unknown(sentence: str) -> str:
    """The line of a command that could not be carried out."""
    return _line(State.UNKNOWN, sentence)


def _line(state: State, text: str) -> str:
    """A bar would end the text, and a line break the line."""
    return f"SEATRIAL {state.name}: {' '.join(clean(text).replace('|', '/').split())}"


def _performance(gauges: Iterable[Gauge]) -> Iterable[str]:
    for gauge in gauges:
        if gauge.value is not None and math.isfinite(gauge.value):
            value = f"{gauge.value:.9f}".rstrip("0").rstrip(".")
            yield f"{gauge.name}={value}{gauge.unit}"
