"""Lines of one pair each: source, target, and one or two numbers, with or without a line that names the columns."""

import itertools
import math
import re
from collections.abc import Iterable, Iterator

import numpy as np

from seatrial.importers.fields import Fields, Places, numbers, split_fields
from seatrial.importers.node_names import NodeNames
from seatrial.importers.pair_columns import METRICS, PairColumns
from seatrial.model.errors import UsageError
from seatrial.model.pair_table import DEAD_BANDWIDTH, DEAD_LATENCY_S, PairTable, Reals

DELIMITER = re.compile(r" *[,;\t] *| +")
"""Of the first line, which names the columns; as `split_fields` divides the others."""
MICROSECOND, MEGABYTE, MEBIBYTE, GIGABYTE = 1e-6, 1e6, float(1 << 20), 1e9
LATENCY_WORDS = ("lat", "t_us", "time")
BANDWIDTH_WORDS = ("bw", "bandwidth", "mb", "gb", "mib", "rate")
Pair = tuple[str, str]
DEAD = {"bandwidth": DEAD_BANDWIDTH, "latency": DEAD_LATENCY_S}


def parse_nxnlatbw(text: Iterator[bytes]) -> PairTable:
    """`0,1,1.05,12057.4`: ranks, latency in µs, bandwidth in 10⁶ bytes/s; a heading among the lines is passed over.

    The n×n latency and bandwidth program of the public hpc-tests collection. Raises UsageError where no line fits.
    """
    return parse_columns(text, ("source", "target", "latency_us", "bandwidth_mb_s"))


def parse_csv(text: Iterator[bytes]) -> PairTable:
    """A table whose first line names its columns: two ends, then latency (µs, s) and bandwidth (MB/s, MiB/s, GB/s).

    A unit in a column's name is used: _us, _s, _MB, _MiB, _GB; latency is in µs and bandwidth in MB/s without one.
    Raises UsageError where the first line names no such columns, or no line fits.
    """
    heading, below = _heading(text)
    columns = tuple(word.strip().lower() for word in DELIMITER.split(heading.strip()))
    if len(columns) < 3 or not any(_scale(name) for name in columns[2:]):
        raise UsageError(
            f"The first line does not name the columns of pairs: {heading[:80]!r}.",
            "It needs two ends and at least one of latency_us and bandwidth_mb_s: source,target,latency_us,...",
        )
    return parse_columns(itertools.chain([below], text), columns)


def _heading(text: Iterator[bytes]) -> tuple[str, bytes]:
    """The first line that is not blank, and what follows it in its piece."""
    for piece in text:
        rest = piece
        while rest:
            line, _, rest = rest.partition(b"\n")
            if line.strip():
                return line.decode("utf-8", errors="replace"), rest
    return "", b""


def parse_columns(text: Iterable[bytes], columns: tuple[str, ...]) -> PairTable:
    """The lines whose third and later fields are numbers, by the names of their columns.

    A pair on several lines, or in several columns of one metric, keeps all its numbers. See `alive_or_dead` for 0 and
    NaN. Raises UsageError where no line fits.
    """
    names, rows = NodeNames(), PairColumns()
    scales = [(place, scale) for place, name in enumerate(columns) if place > 1 and (scale := _scale(name))]
    of_metric = [[(place, unit) for place, (name, unit) in scales if name == metric] for metric in METRICS]
    for piece in text:
        fields = split_fields(piece)
        written = fields.end > fields.start
        long = np.flatnonzero(fields.count > 2)
        long = long[written[fields.first[long]] & written[fields.first[long] + 1]]
        first, count = fields.first[long], fields.count[long]
        source, target = names.number_all(fields, first), names.number_all(fields, first + 1)
        for chosen in itertools.zip_longest(*of_metric):
            values = [_column(fields, first, count, one, dead) for one, dead in zip(chosen, DEAD.values(), strict=True)]
            rows.add(source, target, *values)
    table = rows.table(names.names)
    if not len(table.source):
        raise UsageError("No line of this file describes a pair.", "Lines look like source,target,latency,bandwidth.")
    return table


def _column(fields: Fields, first: Places, count: Places, chosen: tuple[int, float] | None, dead: float) -> Reals:
    """By line: the number at that place, times that unit; NaN where the line has none."""
    values = np.full(len(first), np.nan)
    if chosen is not None:
        place, unit = chosen
        long = np.flatnonzero(count > place)
        with np.errstate(over="ignore"):
            values[long] = alive_or_dead(numbers(fields, first[long] + place) * unit, dead)
    return values


def alive_or_dead(values: Reals, dead: float) -> Reals:
    """The values that are finite and above zero; NaN stays, since nothing was measured.

    0, infinity and negative numbers were written by the tool for a pair that it tried: they become `dead`.
    """
    return np.where(np.isnan(values) | ((values > 0) & (values < np.inf)), values, dead)


def _scale(name: str) -> tuple[str, float] | None:
    if any(word in name for word in LATENCY_WORDS):
        return "latency", 1.0 if re.search(r"(^|_|\()s(ec)?\)?$", name) else MICROSECOND
    if any(word in name for word in BANDWIDTH_WORDS):
        unit = MEBIBYTE if "mib" in name else GIGABYTE if "gb" in name else MEGABYTE
        return "bandwidth", 1.0 if "bytes_per_s" in name else unit
    return None


def given(field: str, dead: float) -> float | None:
    """The number in a field; None if the field has no number, so that nothing was measured.

    0, NaN, infinity and negative numbers become `dead`, as in `alive_or_dead`.
    """
    try:
        number = float(field)
    except ValueError:
        return None
    return number if math.isfinite(number) and number > 0 else dead
