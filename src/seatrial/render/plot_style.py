"""The style of pictures in files: forms, colours and patterns, without the library that draws."""

import logging
import re
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import PurePath

import msgspec

from seatrial.model.errors import UsageError
from seatrial.render.html import page_style

FORMS = ("svg", "png", "pdf")
"""Endings of names of files for pictures."""
HATCHES = {"lines": "////", "dots": "...", "cross": "xxx", "dashes": "---"}
"""The patterns of verdicts, as matplotlib names them."""
WHITE, INK = "#ffffff", "#16202a"
DARK = 0.45
"""Luminance below which words on a colour are white."""


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
    """Load matplotlib, an optional part of an installation, before anything is measured.

    Raises UsageError if it is not there, or fails: by a broken installation, or by a variable or file that it reads.
    """
    if find_spec("matplotlib") is None:
        install = f"Install it: {sys.executable} -m pip install matplotlib"
        raise UsageError("--plot needs matplotlib, which is not installed.", install)
    logging.getLogger("matplotlib").setLevel(logging.CRITICAL)  # it would print what it does not know in a matplotlibrc
    try:
        import_module("matplotlib.figure")
    except Exception as error:
        raise UsageError(
            f"--plot needs matplotlib, which fails ({error}).", "Mend that, or leave --plot out."
        ) from error
