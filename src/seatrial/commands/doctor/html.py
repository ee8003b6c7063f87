"""What the doctor found, as one page without scripts: what is in the way first, with what the programs printed."""

from collections.abc import Sequence

from seatrial.commands.doctor.text import MARKS, first_of, headline, verdict_of
from seatrial.model.launching import Examination, Remark, Weight
from seatrial.render.json_text import Json
from seatrial.render.pages import STYLE, environment, own_file

KINDS = {Weight.OK: "ok", Weight.NOTE: "note", Weight.BLOCKED: "blocked", Weight.NOT_TRIED: "untried"}
"""The classes by which the style colours them."""
PARTS = (
    ("In the way", Weight.BLOCKED),
    ("Not tried", Weight.NOT_TRIED),
    ("Worth knowing", Weight.NOTE),
)


def examination_as_html(found: Examination) -> str:
    """The whole page; everything from outside is cleaned and escaped."""
    from markupsafe import Markup

    made_with = environment()
    first = first_of(found)
    parts = [(title, _rows(found, weight)) for title, weight in PARTS]
    return made_with.get_template("doctor.html.j2").render(
        word=verdict_of(found),
        sentence=headline(found),
        remedy=first.remedy if first is not None else "",
        style=own_file(made_with, STYLE),
        parts=[part for part in parts if part[1]],
        well=_rows(found, Weight.OK),
        newline=Markup("\n"),  # of a text it would be cleaned away
    )


def _rows(found: Examination, weight: Weight) -> Sequence[Json]:
    return [_row(one) for one in found.remarks if one.weight is weight]


def _row(one: Remark) -> Json:
    return {
        "kind": KINDS[one.weight],
        "mark": MARKS[one.weight],
        "step": one.step,
        "obstacle": one.obstacle.value if one.obstacle else "",
        "says": one.says,
        "remedy": one.remedy,
        "said": one.said.splitlines(),
    }
