"""What the doctor found, for a terminal and as JSON."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from seatrial.model import formats
from seatrial.model.launching import Examination, Remark, Weight
from seatrial.render.json_text import json_text
from seatrial.render.sheet import labelled, rendered, text

if TYPE_CHECKING:
    from rich.console import RenderableType

MARKS = {Weight.OK: "ok", Weight.NOTE: "note", Weight.BLOCKED: "BLOCKED", Weight.NOT_TRIED: "not tried"}


def examination_as_text(found: Examination, *, width: int = 100, colour: bool = False) -> str:
    """The verdict first, then every step; at most `width` columns wide; ends in a newline."""
    return rendered(_blocks(found), width=width, colour=colour)


def verdict_of(found: Examination) -> str:
    """BLOCKED, INCOMPLETE or PASS."""
    return "BLOCKED" if found.blocked else "INCOMPLETE" if found.untried else "PASS"


def _blocks(found: Examination) -> Iterator["RenderableType"]:
    yield text(f"{verdict_of(found)}  {headline(found)}", "bold")
    first = first_of(found)
    if first is not None and first.remedy:
        yield labelled([("to do", first.remedy)], indent=3)
    yield ""
    yield labelled(_lines(found), indent=0)


def headline(found: Examination) -> str:
    """What a tired reader must know if he reads one line only."""
    first = first_of(found)
    if first is None:
        return found.remarks[-1].says if found.remarks else "Nothing was tried."
    more = len(found.blocked) - 1
    others = f" ({more} more below)" if more > 0 else ""
    return f"{first.says}{others}"


def first_of(found: Examination) -> Remark | None:
    """The first thing in the way, else the first that was not tried."""
    return next(iter((*found.blocked, *found.untried)), None)


def _lines(found: Examination) -> Iterator[tuple[str, str]]:
    for one in found.remarks:
        kind = f"{one.obstacle.value}: " if one.obstacle else ""
        yield MARKS[one.weight], f"{one.step}: {kind}{one.says}"
        if one.remedy:
            yield "", f"to do: {one.remedy}"


def examination_as_json(found: Examination) -> str:
    """One object; ends in a newline."""
    first = first_of(found)
    return json_text(
        {
            "format": formats.REPORT,
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
    )
