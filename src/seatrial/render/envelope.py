"""The JSON object that every command prints with --json: the same frame for all, and fields that reports share."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from seatrial import __version__
from seatrial.model import formats
from seatrial.model.errors import FULL, ErrorKind, ExitCode, SeatrialError
from seatrial.model.past import FactChange, Past, PastRatio
from seatrial.model.run import RunInfo
from seatrial.model.verdict import ComparisonOutcome, Finding, Verdict
from seatrial.render import finding_text
from seatrial.render.finding_text import drain_of
from seatrial.render.json import filled
from seatrial.render.report import Report


def _described(text: str, **schema: object) -> msgspec.Meta:
    return msgspec.Meta(description=text, extra_json_schema=schema)


class FindingFields(Finding, frozen=True, kw_only=True):
    """One finding; docs/report.md describes each field."""

    drain: Annotated[str, _described("The line that takes its node out of Slurm's service, or empty.")]


def finding_fields(finding: Finding, run: RunInfo | None = None) -> FindingFields:
    """One finding, with the fields that docs/report.md describes. `run`: the one that it is of."""
    return filled(FindingFields, finding, brief=finding_text.brief(finding), drain=drain_of(finding, run))


class PastFields(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of the past that the nodes of a run were compared with, and what changed since; docs/report.md."""

    name: str
    runs: tuple[str, ...]
    facts_run: str
    changed: tuple[FactChange, ...]
    nodes: tuple[PastRatio, ...]


def past_fields(past: Past | None, ratios: Sequence[PastRatio]) -> PastFields | None:
    """What the nodes of a run were compared with from the past; None without a baseline."""
    if past is None:
        return None
    return filled(PastFields, past, runs=[earlier.run for earlier in past.runs], nodes=ratios)


ERROR = "error"
"""The kind of an object that has no data, since the command could not be carried out."""

WORDS = tuple(dict.fromkeys([*Verdict, "INCOMPLETE", *(outcome.value.upper() for outcome in ComparisonOutcome)]))
"""The words with which headlines begin."""


class Versions(msgspec.Struct, frozen=True, kw_only=True):
    """Versions of the programs that measured and judged."""

    seatrial: Annotated[str, _described("The version that judged and printed.")]
    recorded_by: Annotated[str | None, _described("The version that measured the run; null without a run.")]
    mpi: Annotated[str | None, _described("The MPI library of the run, as it calls itself; null if unknown.")]


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a command could not be carried out, or could not write all of its result."""

    exit_code: Annotated[int, _described("The exit code of the process.")]
    kind: ErrorKind
    what: Annotated[str, _described("What was wrong, with the value.")]
    remedy: Annotated[str, _described("What to do about it; can be empty.")]

    @property
    def sentence(self) -> str:
        """The sentence that standard error shows."""
        return f"{self.what} {self.remedy}".strip()


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON object of every command; docs/report.md describes it."""

    format: Annotated[
        int,
        _described(
            "Version of this form. It rises when a field changes its meaning or is removed.", const=formats.REPORT
        ),
    ]
    kind: Annotated[
        str,
        _described(
            "What `data` holds: the command that measured the run, or the command as it was typed; "
            "`error` where there is no data."
        ),
    ]
    run: Annotated[str | None, _described("The name of the run; null for a command without one.")]
    time: Annotated[
        str, _described("When the run began, else when the command was carried out: UTC, ISO 8601.", format="date-time")
    ]
    cluster: Annotated[str | None, _described("The cluster's name as Slurm has it; null if unknown.")]
    versions: Versions
    verdict: Annotated[
        str | None,
        _described(
            "The word with which the headline begins: a verdict, INCOMPLETE or MEASURED; "
            "null for a command that does not judge.",
            enum=[*WORDS, None],
        ),
    ]
    headline: Annotated[
        str,
        _described("The first line of the report, with what the second adds; of an error its sentence; else empty."),
    ]
    exit_code: Annotated[int, _described("The exit code of the process.")]
    findings: tuple[FindingFields, ...]
    data: Annotated[Any, _described("The command's own fields; null if `kind` is `error`.", type=["object", "null"])]
    error: Annotated[Failure | None, _described("Why the command failed; null if it did not.")]


def envelope(report: Report, *, command: str, time: str, error: Failure | None = None) -> Envelope:
    """The object for a report. `time`: UTC, ISO 8601; `error`: what could not be written beside it.

    `command`: as it was typed, for a report without a kind of its own.
    """
    run = report.run
    return Envelope(
        format=formats.REPORT,
        kind=report.kind or (run.kind.value if run else command),
        run=run.run if run else report.run_name or None,
        time=(run.started if run else "") or time,
        cluster=(run.cluster if run else "") or None,
        versions=_versions(run),
        verdict=report.word or None,
        headline=report.headline,
        exit_code=error.exit_code if error else int(report.exit_code),
        findings=tuple(finding_fields(finding, run) for finding in report.findings),
        data=report.payload(),
        error=error,
    )


def failure_of(error: SeatrialError, kind: ErrorKind | None = None) -> Failure:
    """The record of an error. `kind`: where the place says more than the error. No argument is to blame for a full
    disk, whatever the error says.
    """
    full = isinstance(error.__cause__, OSError) and error.__cause__.errno in FULL
    code, usual = (ExitCode.INCOMPLETE, ErrorKind.NO_SPACE) if full else (error.exit_code, error.kind)
    return Failure(exit_code=code, kind=kind or usual, what=error.what, remedy=error.remedy)


def error_envelope(error: Failure, *, time: str) -> Envelope:
    """The object of a command that could not be carried out."""
    return Envelope(
        format=formats.REPORT,
        kind=ERROR,
        run=None,
        time=time,
        cluster=None,
        versions=_versions(None),
        verdict=None,
        headline=error.sentence,
        exit_code=error.exit_code,
        findings=(),
        data=None,
        error=error,
    )


def _versions(run: RunInfo | None) -> Versions:
    if run is None:
        return Versions(seatrial=__version__, recorded_by=None, mpi=None)
    return Versions(seatrial=__version__, recorded_by=run.seatrial or None, mpi=run.mpi_library or None)
