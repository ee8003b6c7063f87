"""The table of importers: every format of another tool's matrix, how it is recognised, and how it is read."""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from seatrial.importers.fields import PIECE_BYTES, Source, pieces, whole_text
from seatrial.importers.linktest import LIST, is_linktest, parse_linktest, parse_linktest_files
from seatrial.importers.mpigraph import parse_mpigraph
from seatrial.importers.nccl_tests import is_nccl_folder, parse_nccl_files
from seatrial.importers.osu import parse_osu, parse_osu_files
from seatrial.importers.other_outputs import UTF8_MARK, refuse_unread
from seatrial.importers.pair_evidence import NotPairs, UnclearPairs
from seatrial.importers.pair_lines import is_nxnlatbw, parse_csv, parse_nxnlatbw
from seatrial.importers.pair_squares import is_square
from seatrial.importers.pair_tables import parse_pair_table, refuse_conditions
from seatrial.model.errors import UsageError
from seatrial.model.pair_table import PairTable

Pieces = Iterator[bytes]
Files = Mapping[str, str]
"""File name -> text."""


class Importer(NamedTuple):
    """`fits` recognises the beginning of a file, `read` reads it. The others are for formats that come as a folder."""

    fits: Callable[[str], bool]
    read: Callable[[Pieces], PairTable]
    fits_folder: Callable[[Files], bool] | None = None
    read_folder: Callable[[Files], PairTable] | None = None


FORMATS = {
    "mpigraph": Importer(lambda text: "START mpiGraph" in text or "\nRecv\t" in text, parse_mpigraph),
    "nccl": Importer(
        lambda text: is_nccl_folder({"the file": text}),
        lambda text: parse_nccl_files({"the file": whole_text(text, "nccl")}),
        is_nccl_folder,
        parse_nccl_files,
    ),
    "osu": Importer(
        lambda text: bool(re.search(r"#\s*(?:OSU|OMB-Py)\s", text)),
        lambda text: parse_osu(whole_text(text, "osu")),
        lambda texts: LIST not in texts,
        parse_osu_files,
    ),
    "linktest": Importer(
        is_linktest,
        lambda text: parse_linktest(whole_text(text, "linktest")),
        lambda texts: LIST in texts,
        parse_linktest_files,
    ),
    "nxnlatbw": Importer(is_nxnlatbw, parse_nxnlatbw),
    "csv": Importer(bool, parse_csv),
}
"""The first format that fits is taken; csv fits any text. docs/judge-pairs.md has a row for each."""


def read_matrix(source: Source, form: str = "auto") -> PairTable:
    """A table of pairs from another tool's output. Raises UsageError for an unknown format, or another text.

    The first PIECE_BYTES decide which format it is. Tables of numbers are read piece by piece.
    """
    importer = None if form == "auto" else _importer(form)
    text = pieces(source)
    first = next(text, b"").removeprefix(UTF8_MARK)
    refuse_unread(first)
    beginning = first.decode("utf-8", errors="replace")
    if importer is None:
        importer = next(importer for importer in FORMATS.values() if importer.fits(beginning))
    try:
        table = importer.read(itertools.chain([first], text))
    except NotPairs as error:
        table = _otherwise(first, beginning, importer, error)
    if importer is FORMATS["csv"] and len(first) <= PIECE_BYTES and len(table.source) > table.pairs:
        refuse_conditions(beginning)
    return table


def _otherwise(first: bytes, beginning: str, importer: Importer, error: NotPairs) -> PairTable:
    """The pairs of a table whose lines are none of pairs, as `error` says, in a form that people write.

    Raises UsageError.
    """
    if importer not in (FORMATS["csv"], FORMATS["nxnlatbw"]) or len(first) > PIECE_BYTES:
        raise error
    try:
        return parse_pair_table(beginning)
    except UnclearPairs:
        raise
    except NotPairs as other:
        raise other if is_square(beginning) else error from other
    except UsageError:
        raise error from None  # what it says of lines fits any text


def read_matrix_files(texts: Files, form: str = "auto") -> PairTable:
    """A table of pairs from a folder. Raises UsageError in the same cases, and for a format of one file only."""
    folders = {name: importer for name, importer in FORMATS.items() if importer.fits_folder is not None}
    if form == "auto":
        form = next(name for name, importer in folders.items() if importer.fits_folder and importer.fits_folder(texts))
    read = _importer(form).read_folder
    if read is None:
        raise UsageError(
            f"--format {form} reads one file, not a folder.", f"Formats for folders: {', '.join(folders)}."
        )
    return read(texts)


def _importer(form: str) -> Importer:
    if form not in FORMATS:
        raise UsageError(f"--format {form!r} is not a known format.", f"Known: auto, {', '.join(FORMATS)}.")
    return FORMATS[form]
