"""All limits in a few lines: the answer before its terms."""

from collections.abc import Sequence

from seatrial.model import units
from seatrial.model.limit import ComputePeak, Limit, NoLimit
from seatrial.model.words import count
from seatrial.render.escape import shorten
from seatrial.render.report import Table, columns

MOST_ROWS = 24
MOST_LETTERS = 100
"""Characters of what sets a limit, or of why it is unknown: the terms follow below."""


def limits_table(limits: Sequence[Limit | NoLimit | ComputePeak]) -> Table:
    """A path, its limit, and what sets it. Paths between nodes come first, and those without a limit last."""
    ordered = sorted(limits, key=lambda limit: (isinstance(limit, NoLimit), not is_between(limit.path)))
    left = len(ordered) - MOST_ROWS
    more = (("", "", f"and {count(left, 'more path')} below"),) if left > 0 else ()
    rows = tuple((limit.path, rate_text(limit), shorten(_set_by(limit), MOST_LETTERS)) for limit in ordered[:MOST_ROWS])
    return Table(columns=columns("path", "#limit", "~set by"), rows=rows + more)


def rate_text(limit: Limit | NoLimit | ComputePeak) -> str:
    """117.7 MB/s; marked where the limit is only nominal."""
    match limit:
        case NoLimit():
            return "not known"
        case ComputePeak():
            rate, nominal = units.flops(limit.flops_per_s), limit.nominal
        case Limit():
            rate, nominal = units.bandwidth(limit.limit_bytes_per_s), limit.nominal
    return f"{rate} (nominal)" if nominal else rate


def is_between(path: str) -> bool:
    """`n1>n2` is between nodes; `n1 package 0 > memory` is inside n1."""
    return ">" in path.partition(" ")[0]


def _set_by(limit: Limit | NoLimit | ComputePeak) -> str:
    """The term that binds, without the path's name, which is in another column."""
    match limit:
        case NoLimit():
            return limit.reason
        case ComputePeak():
            return f"{count(limit.cores, 'core')} at {limit.hz / 1e9:.2f} GHz"
        case Limit():
            node = limit.path.partition(" ")[0]
            return limit.binding.removeprefix(node).strip()
