"""A comparison of rails for a terminal: verdict, findings, one line a rail; the sizes on demand are in the JSON."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from seatrial.commands.curve.rails import rows
from seatrial.commands.curve.rails.judge import RailComparison
from seatrial.render.sheet import labelled, rendered, text

if TYPE_CHECKING:
    from rich.console import RenderableType


def rails_as_text(found: RailComparison, *, width: int = 100, colour: bool = False) -> str:
    """The report, at most `width` columns wide; ends in a newline."""
    return rendered(_blocks(found), width=width, colour=colour)


def _blocks(found: RailComparison) -> Iterator["RenderableType"]:
    word, sentence = rows.headline(found)
    yield text(f"{word}  {sentence}", "bold")
    yield ""
    yield labelled(rows.summary(found), indent=3)
