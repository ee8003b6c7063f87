"""A report to how each of its nodes is; monitoring, the gate and the view of the cluster read it."""

from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from msgspec.structs import replace

from seatrial.model.errors import ExitCode
from seatrial.model.facts import NodeFacts
from seatrial.model.monitoring import Condition, Fault, Standing
from seatrial.model.run import RunKind
from seatrial.model.subject import Subject, SubjectKind
from seatrial.model.verdict import GOOD, Finding, Verdict
from seatrial.render.finding_text import brief
from seatrial.render.report import Report

ABOUT_NODES = (RunKind.CHECK, RunKind.NODES, RunKind.SOAK)
"""Runs that judge each node; a curve or a benchmark judges something else."""


def standings_of(report: Report) -> tuple[Standing, ...]:
    """One for each judged node and each part that a finding names, by name; none of a report on something else.

    A good node of a run that ended undecided is undecided, unless it was asked about: PASS is about the whole run.
    """
    if report.run is None or report.run.kind not in ABOUT_NODES:
        return ()
    undecided = report.exit_code is ExitCode.INCOMPLETE or report.word == Verdict.INCONCLUSIVE
    standings = {}
    for case in report.cases:
        subject = Subject.parse(case.name)
        if subject.kind is SubjectKind.NODE and ":" not in subject.name:  # n1:0 is a rank of a run on one machine
            open_too = undecided and not case.holds and case.verdict in (*GOOD, Verdict.MEASURED)
            verdict = Verdict.INCONCLUSIVE if open_too else case.verdict
            facts = report.facts.get(subject.name)
            standings[subject.name] = Standing(
                node=subject.name,
                verdict=verdict,
                of_limit=case.of_limit,
                figures=case.figures,
                condition=_condition(facts, report.run.started) if facts else None,
            )
    for node, faults in _faults(report.findings).items():
        before = standings.get(node) or Standing(node=node, verdict=faults[0].verdict)
        standings[node] = replace(before, verdict=faults[0].verdict, faults=tuple(faults))
    return tuple(standings[name] for name in sorted(standings))


def _condition(facts: NodeFacts, read: str) -> Condition:
    clocks = facts.processor.present_hz
    degrees = [sensor.value for sensor in facts.system.sensors if sensor.unit == "degC"]
    watts = [sensor.value for sensor in facts.system.sensors if sensor.unit == "W"]
    return Condition(
        read=read,
        clocks_hz=(min(clocks), median(clocks), max(clocks)) if clocks else None,
        hottest_celsius=max(degrees, default=None),
        power_w=max(watts, default=None),
        throttle_events=facts.processor.throttle_events,
    )


def _faults(findings: Iterable[Finding]) -> dict[str, list[Fault]]:
    """Faults of each node and other part, the gravest first; those included that may be of another part instead."""
    faults = defaultdict(list)
    for finding in sorted(findings, key=lambda finding: -finding.verdict.gravity):
        fault = Fault(
            kind=finding.kind.value, verdict=finding.verdict, text=brief(finding), shared=bool(finding.ambiguous_with)
        )
        for subject in (finding.subject, *finding.ambiguous_with):
            if finding.at_fault:
                faults[subject.name if subject.kind is SubjectKind.NODE else subject.text].append(fault)
    return faults
