"""A sheet of paper for pictures, in the pixels of a page: lines, areas and words, by matplotlib.

matplotlib is an optional part of an installation (`seatrial[plots]`), and is loaded when a sheet is made.
"""

import io
import logging
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import PurePath
from typing import Any, Literal

import msgspec

from seatrial.model.errors import SeatrialError, UsageError
from seatrial.render.escape import clean
from seatrial.render.html import page_style

FORMS = ("svg", "png", "pdf")
"""Endings of names of files for pictures."""
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
HATCHES = {"lines": "////", "dots": "...", "cross": "xxx", "dashes": "---"}
"""The patterns of verdicts, as matplotlib names them."""
WHITE, INK = "#ffffff", "#16202a"
DARK = 0.45
"""Luminance below which words on a colour are white."""
SIDES: dict[str, Literal["left", "center", "right"]] = {"start": "left", "middle": "center", "end": "right"}


class Colours(msgspec.Struct, frozen=True, kw_only=True):
    """The colours of a page in the light: by their names in the style sheet, by verdict, and of curves."""

    names: dict[str, str]
    verdicts: dict[str, str]
    curves: tuple[str, ...]

    def of(self, verdict: str, shade: int = 0) -> str:
        """The colour of an area with a verdict; `shade`: 0 for strong to 2 for weak."""
        return paler(self.verdicts.get(verdict, self.names["unsure"]), 1 - shade / 4)


@cache
def colours() -> Colours:
    """The colours of page.css, which alone declares them."""
    style = page_style()
    names = dict(re.findall(r"--(\w+): (#\w{6})", style.partition("}")[0]))
    inks = re.findall(r"\.c\d \{ --ink: (?:var\(--(\w+)\)|(#\w{6}))", style)
    return Colours(
        names=names,
        verdicts={word: names[name] for word, name in re.findall(r"\.v\.(\w+) \{ fill: var\(--(\w+)\)", style)},
        curves=tuple(names[name] if name else plain for name, plain in inks),
    )


def paler(colour: str, part: float) -> str:
    """A colour mixed with white; `part`: the share of the colour."""
    return "#" + "".join(f"{round(255 - (255 - value) * part):02x}" for value in _bytes(colour))


def words_on(colour: str) -> str:
    """The colour of words on a colour: black or white."""
    red, green, blue = _bytes(colour)
    return WHITE if (0.299 * red + 0.587 * green + 0.114 * blue) / 255 < DARK else INK


def _bytes(colour: str) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue


def form_of(path: PurePath) -> str:
    """What a name of a file ends with, in small letters and without the dot."""
    return path.suffix[1:].lower()


def require_library() -> None:
    """Raises UsageError if matplotlib is not installed."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        install = f"Install it: {sys.executable} -m pip install matplotlib"
        raise UsageError("--plot needs matplotlib, which is not installed.", install)


@contextmanager
def drawing() -> Iterator[None]:
    """The library with our settings, in which sheets are made and written.

    It prints no words on folders for its own files, nor on letters that its font lacks. Raises UsageError.
    """
    require_library()
    logging.getLogger("matplotlib").setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from matplotlib import rc_context

        with rc_context(SETTINGS):
            yield


class Sheet:
    """A white sheet, made within `drawing`; places are pixels from its upper left corner, to the right and down."""

    def __init__(self, width: float, height: float) -> None:
        from matplotlib.figure import Figure

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

    def dots(self, xs: Sequence[float], ys: Sequence[float], colour: str, marker: str, size: float = 6) -> None:
        """A mark at each of these points."""
        self._axes.plot(
            xs, ys, color=colour, linestyle="", marker=marker, markersize=size * POINTS, zorder=self._above()
        )

    def areas(
        self, corners: Iterable[tuple[float, float, float, float]], colour: str, hatch: str = "", edge: str = WHITE
    ) -> None:
        """Rectangles of one colour: left, top, width and height of each. `hatch`: one of `HATCHES`."""
        from matplotlib.collections import PolyCollection

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
