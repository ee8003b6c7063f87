"""A curve for a terminal: verdict, what was found, two small plots, sizes as other tools have them, the pieces."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from seatrial.commands.curve import rows as curve_words
from seatrial.commands.curve.judge import Curve
from seatrial.commands.curve.plot import plot_lines
from seatrial.model import units
from seatrial.render.sheet import labelled, rendered, text

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_COLUMNS = 100


def curve_as_text(curve: Curve, *, width: int = 100, colour: bool = False) -> str:
    """The report, at most `width` columns wide; ends in a newline."""
    return rendered(_blocks(curve, min(width, MOST_COLUMNS)), width=width, colour=colour)


def _blocks(curve: Curve, width: int) -> Iterator["RenderableType"]:
    word, sentence = curve_words.headline(curve)
    yield text(f"{word}  {sentence}", "bold")
    yield ""
    yield labelled(curve_words.summary(curve), indent=3)
    yield from _plot(curve, width, "latency")
    yield from _plot(curve, width, "bandwidth")
    if rows := curve_words.tool_rows(curve):
        yield ""
        yield text(curve_words.TOOLS_TITLE)
        yield from (_verbatim(line) for line in _columns([curve_words.TOOLS_HEAD, *rows]))
    if pieces := curve_words.pieces(curve):
        yield ""
        yield text("The latency in straight pieces, start-up + size / rate")
        yield from (_verbatim(line) for line in _columns([curve_words.PIECES_HEAD, *pieces]))


def _plot(curve: Curve, width: int, what: str) -> Iterator["RenderableType"]:
    found = [
        (point.message_bytes, one.value)
        for point in curve.points
        if (one := point.latency_s if what == "latency" else point.bandwidth_bytes_per_s) is not None
    ]
    if len(found) < 2:
        return
    say = units.duration if what == "latency" else units.bandwidth
    values = [value for _, value in found]
    marks = [float(one.first_bytes) for one in curve.latency.switches] if curve.latency else []
    yield ""
    yield text(f"{what} over message size" + (" (┊ protocol switch)" if marks else ""))
    yield from (
        _verbatim(line)
        for line in plot_lines(
            found,
            columns=width,
            labels=(say(max(values)), say(min(values))),
            marks=marks,
            ends=(units.size(found[0][0]), units.size(found[-1][0])),
        )
    )


def _verbatim(line: str) -> "RenderableType":
    """A line whose blanks matter; it holds nothing from outside."""
    from rich.text import Text

    return Text(line, no_wrap=True, overflow="crop")


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return ["  ".join(f"{cell:>{wide}}" for cell, wide in zip(row, widths, strict=True)) for row in rows]
