"""What the reports of one pair have in common: JSON fields, lines, and the pair as a test case."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from seatrial.judgement.outcome import RecordOutcome
from seatrial.model import subject, units
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.run import RunInfo
from seatrial.render.finding_text import sentence_of
from seatrial.render.report import Block, Case, Paragraph, Report


class OutcomeFields(msgspec.Struct, frozen=True, kw_only=True):
    """Why the outcome of one pair is as it is; the verdict is in the frame that all reports have."""

    reason: str
    complete: bool
    notes: tuple[str, ...]


class PairOutcome(OutcomeFields, frozen=True, kw_only=True):
    """The outcome with its pair."""

    source: str
    target: str


class PathLimitFields(msgspec.Struct, frozen=True, kw_only=True):
    """The limit of a path and the term that binds, or why no limit is known."""

    limit_bytes_per_s: float | None
    limit_binding: str | None
    no_limit_because: str | None


def limit_fields(limit: Limit | NoLimit) -> PathLimitFields:
    """The limit as the forms of single paths have it."""
    if isinstance(limit, NoLimit):
        return PathLimitFields(limit_bytes_per_s=None, limit_binding=None, no_limit_because=limit.reason)
    return PathLimitFields(
        limit_bytes_per_s=limit.limit_bytes_per_s, limit_binding=limit.binding, no_limit_because=None
    )


def run_line(run: RunInfo) -> tuple[str, ...]:
    """Which run, when it started, and with which MPI library where that is known."""
    return tuple(text for text in (run.run, run.started, run.mpi_library) if text)


def design_note(run: RunInfo) -> Iterator[Paragraph]:
    """The last paragraph of a page: what was to be measured, and what such a design can show."""
    if run.design and run.design.statement:
        yield Paragraph(text=run.design.statement, aside=True)


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


def pair_report(
    run: RunInfo,
    outcome: RecordOutcome,
    sentence: str,
    payload: Callable[[], msgspec.Struct],
    terminal: Callable[[int], Iterable[Block]],
    page: Callable[[], Iterable[Block]],
) -> Report:
    """The report of a run on one pair; `sentence`: what follows the pair where nothing is at fault."""
    return Report(
        word=outcome.word,
        sentence=pair_sentence(outcome, f"{outcome.pair[0]} to {outcome.pair[1]}: {sentence}"),
        exit_code=outcome.exit_code,
        run=run,
        payload=payload,
        terminal=terminal,
        page=page,
        about=run_line(run),
        findings=tuple(outcome.findings),
        cases=() if outcome.findings else (pair_case(outcome),),
    )
