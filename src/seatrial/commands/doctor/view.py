"""Obstacles of a launch: the report of `seatrial doctor`."""

from collections.abc import Iterator

from seatrial.model.launching import Examination, Remark, Weight
from seatrial.render.json import FORMAT, Json
from seatrial.render.report import Block, Card, Cards, Lines, Report

MARKS = {Weight.OK: "ok", Weight.NOTE: "note", Weight.BLOCKED: "BLOCKED", Weight.NOT_TRIED: "not tried"}
STYLES = {Weight.OK: "ok", Weight.NOTE: "note", Weight.BLOCKED: "blocked", Weight.NOT_TRIED: "untried"}
"""The classes by which page.css colours them."""
PARTS = (("Obstacles", Weight.BLOCKED), ("Not tried", Weight.NOT_TRIED), ("Worth knowing", Weight.NOTE))


def doctor_report(found: Examination) -> Report:
    """The whole report; on the page what is in the way comes first, with what the programs printed."""
    first = first_of(found)
    return Report(
        word=verdict_of(found),
        sentence=headline(found),
        exit_code=found.exit_code,
        payload=lambda: doctor_fields(found),
        terminal=lambda _: _terminal(found),
        page=lambda: _page(found),
        remedy=first.remedy if first else "",
    )


def doctor_fields(found: Examination) -> Json:
    """docs/doctor.md describes each field."""
    first = first_of(found)
    return {
        "format": FORMAT,
        "verdict": verdict_of(found),
        "exit_code": int(found.exit_code),
        "first": first.says if first else "",
        "remarks": [
            {
                "step": one.step,
                "weight": one.weight.value,
                "obstacle": one.obstacle.value if one.obstacle else None,
                "says": one.says,
                "remedy": one.remedy,
                "said": one.said,
            }
            for one in found.remarks
        ],
    }


def verdict_of(found: Examination) -> str:
    """BLOCKED, INCOMPLETE or PASS."""
    return "BLOCKED" if found.blocked else "INCOMPLETE" if found.untried else "PASS"


def headline(found: Examination) -> str:
    """The first obstacle, and how many more there are."""
    first = first_of(found)
    if first is None:
        return found.remarks[-1].says if found.remarks else "Nothing was tried."
    more = len(found.blocked) - 1
    others = f" ({more} more below)" if more > 0 else ""
    return f"{first.says}{others}"


def first_of(found: Examination) -> Remark | None:
    """The first obstacle, else the first step that was not tried."""
    return next(iter((*found.blocked, *found.untried)), None)


def _terminal(found: Examination) -> Iterator[Block]:
    first = first_of(found)
    if first is not None and first.remedy:
        yield Lines(rows=(("to do", first.remedy),), tight=True)
    yield Lines(rows=tuple(_lines(found)), indent=0)


def _lines(found: Examination) -> Iterator[tuple[str, str]]:
    for one in found.remarks:
        kind = f"{one.obstacle.value}: " if one.obstacle else ""
        yield MARKS[one.weight], f"{one.step}: {kind}{one.says}"
        if one.remedy:
            yield "", f"to do: {one.remedy}"


def _page(found: Examination) -> Iterator[Block]:
    for title, weight in PARTS:
        cards = tuple(_card(one) for one in found.remarks if one.weight is weight)
        if cards:
            yield Cards(title=title, cards=cards)
    if well := tuple((one.step, one.says) for one in found.remarks if one.weight is Weight.OK):
        yield Lines(title="All is well", rows=well)


def _card(one: Remark) -> Card:
    return Card(
        mark=MARKS[one.weight],
        style=STYLES[one.weight],
        title=f"{one.step}: {one.obstacle.value}" if one.obstacle else one.step,
        statement=one.says,
        rows=(("to do", one.remedy),) if one.remedy else (),
        printed=tuple(one.said.splitlines()),
        unfolded=one.weight is Weight.BLOCKED,
    )
