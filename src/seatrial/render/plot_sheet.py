"""A sheet of paper for pictures, in the pixels of a page: lines, areas and words, by matplotlib.

matplotlib is an optional part of an installation (`seatrial[plots]`): this module is executed when a picture is drawn,
after `plot_style.require_library`.
"""

import io
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from matplotlib import rc_context, rcParamsDefault
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from seatrial.model.errors import SeatrialError
from seatrial.render.escape import clean
from seatrial.render.plot_style import HATCHES, INK, WHITE

PIXELS_PER_INCH, DOTS_PER_INCH = 96, 160
"""Pixels of a page, as CSS counts them, and dots of a PNG."""
POINTS = 72 / PIXELS_PER_INCH
"""Points of a pixel, for sizes of letters and lines."""
SETTINGS: dict[Any, Any] = {
    "text.parse_math": False,  # names have dollar signs, which are not formulas
    "svg.fonttype": "none",  # words that can be searched and copied
    "svg.hashsalt": "seatrial",  # the same report gives the same file
    "pdf.fonttype": 42,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # the font that matplotlib brings with it
    "hatch.linewidth": 0.8,
    "hatch.color": "#16202a",
}
UNDATED = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
SIDES: dict[str, Literal["left", "center", "right"]] = {"start": "left", "middle": "center", "end": "right"}


@contextmanager
def drawing() -> Iterator[None]:
    """The library with our settings, in which sheets are made and written.

    No matplotlibrc, which may be anybody's in the current folder, changes them. The library prints no words on letters
    that its font lacks.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with rc_context({**rcParamsDefault, **SETTINGS}):
            yield


class Sheet:
    """A white sheet, made within `drawing`; places are pixels from its upper left corner, to the right and down."""

    def __init__(self, width: float, height: float) -> None:
        self._figure = Figure(figsize=(width / PIXELS_PER_INCH, height / PIXELS_PER_INCH))
        self._axes = self._figure.add_axes((0, 0, 1, 1))
        self._axes.set_xlim(0, width)
        self._axes.set_ylim(height, 0)
        self._axes.axis("off")
        self._drawn = 0

    def _above(self) -> int:
        """The order of what is drawn next: above everything before."""
        self._drawn += 1
        return self._drawn

    def line(self, xs: Sequence[float], ys: Sequence[float], colour: str, width: float = 1, dashes: str = "-") -> None:
        """A line through these points."""
        self._axes.plot(
            xs,
            ys,
            color=colour,
            linewidth=width * POINTS,
            linestyle=dashes,
            solid_capstyle="butt",
            zorder=self._above(),
        )

    def dots(self, xs: Sequence[float], ys: Sequence[float], colour: str, marker: str) -> None:
        """A mark at each of these points."""
        self._axes.plot(xs, ys, color=colour, linestyle="", marker=marker, markersize=6 * POINTS, zorder=self._above())

    def areas(
        self, corners: Iterable[tuple[float, float, float, float]], colour: str, hatch: str = "", edge: str = WHITE
    ) -> None:
        """Rectangles of one colour: left, top, width and height of each. `hatch`: one of `HATCHES`."""
        shapes = [
            ((left, top), (left + width, top), (left + width, top + height), (left, top + height))
            for left, top, width, height in corners
        ]
        self._axes.add_collection(
            PolyCollection(shapes, facecolor=colour, edgecolor=edge, linewidth=0.8 * POINTS, zorder=self._above()),
            autolim=False,
        )
        if hatch:  # over the colour: the lines of a pattern have the colour of its edge
            self._axes.add_collection(
                PolyCollection(
                    shapes, facecolor="none", edgecolor=INK, linewidth=0, hatch=HATCHES[hatch], zorder=self._above()
                ),
                autolim=False,
            )

    def words(
        self,
        x: float,
        y: float,
        text: str,
        *,
        anchor: str = "start",
        colour: str = INK,
        size: float = 12,
        bold: bool = False,
        turned: bool = False,
        halo: bool = False,
    ) -> None:
        """A text on a line at `y`; `turned`: upwards; `halo`: what is behind it is pale."""
        drawn = self._axes.text(
            x,
            y,
            clean(text),
            color=colour,
            fontsize=size * POINTS,
            fontweight="bold" if bold else "normal",
            ha=SIDES[anchor],
            va="baseline",
            zorder=self._above(),
            rotation=90 if turned else 0,
            rotation_mode="anchor" if turned else "default",
        )
        if halo:  # an outline would make paths of the letters, which cannot be searched
            drawn.set_bbox({"facecolor": WHITE, "edgecolor": "none", "alpha": 0.75, "pad": 1})

    def file(self, form: str) -> bytes:
        """The sheet as a file of one of `FORMS`. Raises SeatrialError."""
        made = io.BytesIO()
        try:
            self._figure.savefig(made, format=form, dpi=DOTS_PER_INCH, metadata=UNDATED[form])
        except (ValueError, RuntimeError) as error:
            raise SeatrialError(f"matplotlib cannot draw the picture ({error}).", "Draw less at once.") from error
        return made.getvalue()
