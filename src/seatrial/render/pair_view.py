"""What reports of runs have in common: their frame; and those of one pair: JSON fields, lines, and a test case."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import msgspec

from seatrial.judgement.outcome import RecordOutcome
from seatrial.model import subject, units
from seatrial.model.errors import ExitCode
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.measurement import Estimate
from seatrial.model.run import RunInfo
from seatrial.model.verdict import Finding
from seatrial.render.finding_text import sentence_of
from seatrial.render.report import Block, Case, Findings, Lines, Paragraph, Report


class OutcomeFields(msgspec.Struct, frozen=True, kw_only=True):
    """Why the outcome of one pair is as it is; the verdict is in the frame that all reports have."""

    reason: str
    complete: bool
    notes: tuple[str, ...]


class PairOutcome(OutcomeFields, frozen=True, kw_only=True):
    """The outcome with its pair."""

    source: str
    target: str


def run_line(run: RunInfo) -> tuple[str, ...]:
    """Which run, when it started, and with which MPI library where that is known."""
    return tuple(text for text in (run.run, run.started, run.mpi_library) if text)


class ReportedRun(Protocol):
    """What is derived from a run, as far as every report has it."""

    @property
    def word(self) -> str:
        """The word with which the report begins."""

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the command."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong or worth knowing, the gravest first."""


def run_report(
    run: RunInfo,
    outcome: ReportedRun,
    sentence: str,
    payload: Callable[[], msgspec.Struct],
    terminal: Callable[[int], Iterable[Block]],
    page: Callable[[], Iterable[Block]],
    cases: Iterable[Case],
    facts: Mapping[str, NodeFacts] = {},
    *,
    brief: bool = False,
) -> Report:
    """The report of a run: findings come first, and on a page the design of the run last.

    `brief`: a terminal shows findings without numbers, proof and remedy.
    """
    findings = Findings(findings=outcome.findings)
    first = msgspec.structs.replace(findings, brief=brief)
    return Report(
        word=outcome.word,
        sentence=sentence,
        exit_code=outcome.exit_code,
        run=run,
        payload=payload,
        terminal=lambda width: (first, *terminal(width)),
        page=lambda: (findings, *page(), Paragraph(text=run.design.statement if run.design else "", aside=True)),
        about=run_line(run),
        findings=outcome.findings,
        cases=tuple(cases),
        facts=facts,
    )


def pair_case(found: RecordOutcome) -> Case:
    """The pair as the subject of the run."""
    return Case(name=subject.pair(*found.pair).text, verdict=found.verdict, reason=found.reason)


def pair_sentence(found: RecordOutcome, plain: str) -> str:
    """The culprits, and why a run ended early; `plain` where nothing is at fault."""
    faults = sentence_of(found.findings)
    if not faults:
        return plain
    return faults if found.complete else f"{faults}; incomplete: {found.reason}"


def limit_text(limit: Limit) -> str:
    """117.7 MB/s, set by Ethernet link."""
    return f"{units.bandwidth(limit.limit_bytes_per_s)}, set by {limit.binding}"


def limit_levels(limits: Iterable[tuple[str, Limit | NoLimit]]) -> tuple[tuple[float, str], ...]:
    """The known limits as levels of a plot, each with what it is of."""
    known = ((name, limit) for name, limit in limits if isinstance(limit, Limit))
    return tuple((limit.limit_bytes_per_s, f"{name} {limit_text(limit)}") for name, limit in known)


def value_text(found: Estimate | None, say: Callable[[float], str]) -> str:
    """The value alone, for a cell; empty where there is none."""
    return say(found.value) if found else ""


def range_text(found: Estimate | None, metric: str) -> str:
    """The ends of its interval, for a cell beside the value; empty for one run, which has none."""
    return units.ends(found.value, found.low, found.high, metric) if found and found.runs > 1 else ""


def pair_report(
    run: RunInfo,
    outcome: RecordOutcome,
    sentence: str,
    payload: Callable[[], msgspec.Struct],
    rows: Iterable[tuple[str, str]],
    page: Callable[[], Iterable[Block]],
    terminal: Callable[[int], Iterable[Block]] = lambda _: (),
) -> Report:
    """The report of a run on one pair; `sentence`: what follows the pair where nothing is at fault.

    `rows`: label and text of what was found, above the blocks of the page and of a terminal; notes follow them.
    """
    summary = (*rows, *(("note", note) for note in outcome.notes))
    return run_report(
        run,
        outcome,
        pair_sentence(outcome, f"{outcome.pair[0]} to {outcome.pair[1]}: {sentence}"),
        payload,
        lambda width: (Lines(rows=summary), *terminal(width)),
        lambda: (Lines(title="What was found", rows=summary), *page()),
        () if outcome.findings else (pair_case(outcome),),
    )
