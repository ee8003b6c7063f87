"""A comparison of rails as one page without scripts."""

from seatrial.diagnosis.rails import RailComparison
from seatrial.model.run import RunInfo
from seatrial.report import rails_words
from seatrial.report.curve_html import curve_page, plot_of
from seatrial.report.curve_words import POINTS_HEAD, point_rows


def rails_as_html(run: RunInfo, found: RailComparison) -> str:
    """The whole page; everything from outside is cleaned and escaped."""
    return curve_page(
        run,
        rails_words.headline(found),
        rails_words.summary(found),
        [plot_of(curve.points, "Bandwidth", over=f", {curve.variant}") for curve in found.curves],
        [
            ("The rails", rails_words.RAILS_HEAD, rails_words.table(found)),
            *((f"All sizes, {curve.variant}", POINTS_HEAD, point_rows(curve.points)) for curve in found.curves),
        ],
    )
