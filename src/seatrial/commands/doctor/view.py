"""Obstacles of a launch: the report of `seatrial doctor`."""

from collections.abc import Iterator

import msgspec

from seatrial.model.launching import Examination
from seatrial.model.verdict import INCOMPLETE, Finding, FindingKind, Verdict
from seatrial.model.words import count
from seatrial.render.report import Block, Findings, Lines, Report

OUT_OF_SERVICE = (FindingKind.NODE_DOWN, FindingKind.NODE_SILENT)
PARTS = (("Obstacles", Verdict.BLOCKED), ("Not tried", Verdict.NOT_RUN), ("Worth knowing", Verdict.NOTE))


class DoctorFields(msgspec.Struct, frozen=True, kw_only=True):
    """Steps of a launch in the order in which they were tried; docs/doctor.md describes each field."""

    first: str
    remarks: tuple[Finding, ...]


def doctor_report(found: Examination) -> Report:
    """The whole report; on the page what is in the way comes first, with what the programs printed."""
    first = first_of(found)
    return Report(
        word="BLOCKED" if found.blocked else INCOMPLETE if found.untried else "PASS",
        sentence=headline(found),
        exit_code=found.exit_code,
        payload=lambda: DoctorFields(first=first.statement if first else "", remarks=found.remarks),
        terminal=lambda _: _terminal(found),
        page=lambda: _parts(found),
        findings=tuple(one for one in found.remarks if one.verdict is not Verdict.PASS),
        remedy=first.remedy if first else "",
    )


def headline(found: Examination) -> str:
    """The first obstacle, and how many more there are; else what came up, and what wakes the nodes that sleep."""
    first = first_of(found)
    if first is None:
        noted = [one for one in found.remarks if one.verdict is Verdict.NOTE and one.kind in OUT_OF_SERVICE]
        without = f" Without nodes that are out of service: {count(len(noted), 'note')} below." if noted else ""
        asleep = [f" {one.statement}" for one in found.remarks if one.kind is FindingKind.NODE_SUSPENDED]
        return f"{found.remarks[-1].statement}{without}{''.join(asleep)}" if found.remarks else "Nothing was tried."
    more = len(found.blocked) - 1
    others = f" ({more} more below)" if more > 0 else ""
    return f"{first.statement}{others}"


def first_of(found: Examination) -> Finding | None:
    """The first obstacle, else the first step that was not tried."""
    return next(iter((*found.blocked, *found.untried)), None)


def _terminal(found: Examination) -> Iterator[Block]:
    first = first_of(found)
    if first is not None and first.remedy:
        yield Lines(rows=(("to do", first.remedy),), tight=True)
    yield from _parts(found)


def _parts(found: Examination) -> Iterator[Block]:
    """What is in the way comes first, what works last."""
    for title, verdict in PARTS:
        yield Findings(title=title, findings=tuple(one for one in found.remarks if one.verdict is verdict))
    if well := tuple((one.step, one.statement) for one in found.remarks if one.verdict is Verdict.PASS):
        yield Lines(title="All is well", rows=well, indent=0)
