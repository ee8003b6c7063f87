"""What the reports of one pair have in common: lines, JSON fields, and the pair as a test case."""

from collections.abc import Iterator

from seatrial.judgement.outcome import Outcome
from seatrial.model import subject, units
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.run import RunInfo
from seatrial.render.headline import sentence_of
from seatrial.render.json import Json
from seatrial.render.report import Case, Paragraph


def run_line(run: RunInfo) -> tuple[str, ...]:
    """Which run, when it started, and with which MPI library where that is known."""
    return tuple(text for text in (run.run, run.started, run.mpi_library) if text)


def design_note(run: RunInfo) -> Iterator[Paragraph]:
    """The last paragraph of a page: what was to be measured, and what such a design can show."""
    if run.design and run.design.statement:
        yield Paragraph(text=run.design.statement, aside=True)


def pair_case(found: Outcome) -> Case:
    """The pair as the subject of the run."""
    return Case(name=subject.pair(*found.pair).text, verdict=found.verdict, reason=found.reason)


def pair_sentence(found: Outcome, plain: str) -> str:
    """The culprits, and why a run ended early; `plain` where nothing is at fault."""
    faults = sentence_of(found.findings)
    if not faults:
        return plain
    return faults if found.complete else f"{faults}; incomplete: {found.reason}"


def limit_text(limit: Limit) -> str:
    """117.7 MB/s, set by Ethernet link."""
    return f"{units.bandwidth(limit.limit_bytes_per_s)}, set by {limit.binding}"


def outcome_fields(found: Outcome) -> Json:
    """Pair and outcome; the verdict is in the frame that all reports have."""
    return {"source": found.pair[0], "target": found.pair[1], **reason_fields(found)}


def reason_fields(found: Outcome) -> Json:
    """Why one outcome is as it is."""
    return {
        "reason": found.reason,
        "complete": found.complete,
        "notes": list(found.notes),
    }


def limit_fields(limit: Limit | NoLimit) -> Json:
    """The limit and the term that binds, or why no limit is known."""
    known = limit if isinstance(limit, Limit) else None
    return {
        "limit_bytes_per_s": known.limit_bytes_per_s if known else None,
        "limit_binding": known.binding if known else None,
        "no_limit_because": limit.reason if isinstance(limit, NoLimit) else None,
    }
