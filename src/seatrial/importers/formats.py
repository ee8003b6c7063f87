"""Every form of matrix that can be read, and how each is recognised."""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping

from seatrial.importers.fields import Source, pieces, whole_text
from seatrial.importers.linktest import LIST, is_linktest, parse_linktest, parse_linktest_files
from seatrial.importers.mpigraph import parse_mpigraph
from seatrial.importers.osu import parse_osu, parse_osu_files
from seatrial.importers.pair_lines import parse_csv, parse_nxnlatbw
from seatrial.model.errors import UsageError
from seatrial.model.pair_table import PairTable

Pieces = Iterator[bytes]
FORMATS: dict[str, tuple[Callable[[str], bool], Callable[[Pieces], PairTable]]] = {
    "mpigraph": (lambda text: "START mpiGraph" in text or "\nRecv\t" in text, parse_mpigraph),
    "osu": (lambda text: bool(re.search(r"#\s*OSU\s", text)), lambda text: parse_osu(whole_text(text, "osu"))),
    "linktest": (is_linktest, lambda text: parse_linktest(whole_text(text, "linktest"))),
    "nxnlatbw": (lambda text: bool(re.search(r"(?m)^\d+,\d+,[\d.]+,[\d.]+\s*$", text)), parse_nxnlatbw),
    "csv": (bool, parse_csv),
}
"""Name -> how its beginning is recognised, how it is read; the first that is recognised is taken."""
FOLDERS: dict[str, Callable[[Mapping[str, str]], PairTable]] = {
    "osu": parse_osu_files,
    "linktest": parse_linktest_files,
}
"""Forms that also come as a folder of files."""


def read_matrix(source: Source, form: str = "auto") -> PairTable:
    """A table of pairs from another tool's output. Raises UsageError for an unknown form, or another text.

    The first PIECE_BYTES decide which form it is. Tables of numbers are read piece by piece.
    """
    text = pieces(source)
    if form == "auto":
        first = next(text, b"")
        beginning = first.decode("utf-8", errors="replace")
        form = next((name for name, (fits, _) in FORMATS.items() if fits(beginning)), "csv")
        text = itertools.chain([first], text)
    return FORMATS[_known(form)][1](text)


def read_matrix_files(texts: Mapping[str, str], form: str = "auto") -> PairTable:
    """A table of pairs from a folder, file name -> text.

    Raises UsageError in the same cases, or for a form of one file only.
    """
    if form == "auto":
        form = "linktest" if LIST in texts else "osu"
    if _known(form) not in FOLDERS:
        raise UsageError(f"--format {form} is of one file, and this is a folder.", f"Folders: {', '.join(FOLDERS)}.")
    return FOLDERS[form](texts)


def _known(form: str) -> str:
    if form not in FORMATS:
        raise UsageError(f"--format {form!r} is not a known format.", f"Known: auto, {', '.join(FORMATS)}.")
    return form
