"""Curves as SVG on a page without scripts: logarithmic axes, ticks, a line for each series."""

from collections.abc import Sequence

from seatrial.model.run import RunInfo
from seatrial.render.json_text import Json
from seatrial.render.pages import STYLE, environment, own_file

Row = tuple[str, ...]

WIDTH, HEIGHT = 960, 360


LEFT, RIGHT, TOP, BOTTOM = 90, WIDTH - 20, 10, HEIGHT - 30


MOST_TICKS = 12


def curve_page(
    run: RunInfo,
    headline: tuple[str, str],
    summary: Sequence[tuple[str, str]],
    plots: Sequence[Json | None],
    tables: Sequence[tuple[str, Row, Sequence[Row]]],
) -> str:
    """The page from its parts: verdict and sentence, label and text of each line, drawings, tables with their heads."""
    made_with = environment()
    return made_with.get_template("curve.html.j2").render(
        run=run,
        word=headline[0],
        sentence=headline[1],
        style=own_file(made_with, STYLE),
        summary=summary,
        plots=[plot for plot in plots if plot],
        tables=tables,
    )
