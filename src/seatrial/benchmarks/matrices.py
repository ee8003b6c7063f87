"""Every form of matrix that can be read, and how each is recognised."""

import re
from collections.abc import Callable

from seatrial.benchmarks.mpigraph import parse_mpigraph
from seatrial.benchmarks.pairs_lines import parse_csv, parse_nxnlatbw
from seatrial.model.errors import UsageError
from seatrial.model.pair_table import PairTable

FORMATS: dict[str, tuple[Callable[[str], bool], Callable[[str], PairTable]]] = {
    "mpigraph": (lambda text: "START mpiGraph" in text or "\nRecv\t" in text, parse_mpigraph),
    "nxnlatbw": (lambda text: bool(re.search(r"(?m)^\d+,\d+,[\d.]+,[\d.]+\s*$", text)), parse_nxnlatbw),
    "csv": (bool, parse_csv),
}
"""Name -> how it is recognised, how it is read; the first that is recognised is taken."""


def read_matrix(text: str, form: str = "auto") -> PairTable:
    """A table of pairs from another tool's output. Raises UsageError for an unknown form, or another text."""
    if form == "auto":
        form = next((name for name, (fits, _) in FORMATS.items() if fits(text)), "csv")
    if form not in FORMATS:
        raise UsageError(f"--format {form!r} is none that can be read.", f"There are auto, {', '.join(FORMATS)}.")
    return FORMATS[form][1](text)
