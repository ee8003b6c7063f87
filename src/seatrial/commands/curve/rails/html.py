"""A comparison of rails as one page without scripts."""

from seatrial.commands.curve.html import plot_of
from seatrial.commands.curve.rails import rows
from seatrial.commands.curve.rails.judge import RailComparison
from seatrial.commands.curve.rows import POINTS_HEAD, point_rows
from seatrial.model.run import RunInfo
from seatrial.render.curve_plot import curve_page


def rails_as_html(run: RunInfo, found: RailComparison) -> str:
    """The whole page; everything from outside is cleaned and escaped."""
    return curve_page(
        run,
        rows.headline(found),
        rows.summary(found),
        [plot_of(curve.points, "Bandwidth", over=f", {curve.variant}") for curve in found.curves],
        [
            ("The rails", rows.RAILS_HEAD, rows.table(found)),
            *((f"All sizes, {curve.variant}", POINTS_HEAD, point_rows(curve.points)) for curve in found.curves),
        ],
    )
