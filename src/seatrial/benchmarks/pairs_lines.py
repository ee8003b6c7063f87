"""Lines of one pair each: source, target, and one or two numbers, with or without a line that names the columns."""

import math
import re

from seatrial.model.errors import UsageError
from seatrial.model.pair_table import PairTable, pair_table

DELIMITER = re.compile(r"[,;\t ]+")
MICROSECOND, MEGABYTE, MEBIBYTE, GIGABYTE = 1e-6, 1e6, float(1 << 20), 1e9
LATENCY_WORDS = ("lat", "t_us", "time")
BANDWIDTH_WORDS = ("bw", "bandwidth", "mb", "gb", "mib", "rate")
Pair = tuple[str, str]


def parse_nxnlatbw(text: str) -> PairTable:
    """`0,1,1.05,12057.4`: ranks, latency in µs, bandwidth in 10⁶ bytes/s; a heading among the lines is passed over.

    The n×n latency and bandwidth program of the public hpc-tests collection. Raises UsageError where no line fits.
    """
    return parse_columns(text, ("source", "target", "latency_us", "bandwidth_mb_s"))


def parse_csv(text: str) -> PairTable:
    """A table whose first line names its columns: two ends, then latency (µs, s) and bandwidth (MB/s, MiB/s, GB/s).

    A unit in a column's name is heeded: _us, _s, _MB, _MiB, _GB; latency is in µs and bandwidth in MB/s without one.
    Raises UsageError where the first line names no such columns, or no line fits.
    """
    heading = next((line for line in text.splitlines() if line.strip()), "")
    columns = tuple(word.strip().lower() for word in DELIMITER.split(heading.strip()))
    if len(columns) < 3 or not any(_scale(name) for name in columns[2:]):
        raise UsageError(
            f"The first line names no columns of pairs: {heading[:80]!r}.",
            "It needs two ends and at least one of latency_us and bandwidth_mb_s: source,target,latency_us,...",
        )
    return parse_columns(text.partition("\n")[2], columns)


def parse_columns(text: str, columns: tuple[str, ...]) -> PairTable:
    """The lines of which the third and later fields are numbers, by the names of their columns."""
    latency: dict[Pair, float] = {}
    bandwidth: dict[Pair, float] = {}
    nodes: dict[str, None] = {}
    for line in text.splitlines():
        fields = DELIMITER.split(line.strip())
        if len(fields) < 3:
            continue
        pair = fields[0], fields[1]
        for name, field in zip(columns[2:], fields[2:], strict=False):
            scale, number = _scale(name), positive(field)
            if scale is None or number is None or pair[0] == pair[1]:
                continue
            nodes.update(dict.fromkeys(pair))
            (latency if scale[0] == "latency" else bandwidth)[pair] = number * scale[1]
    if not nodes:
        raise UsageError("There is no line of a pair in this file.", "Lines look like source,target,latency,bandwidth.")
    return pair_table(tuple(nodes), bandwidth, latency)


def _scale(name: str) -> tuple[str, float] | None:
    if any(word in name for word in LATENCY_WORDS):
        return "latency", 1.0 if re.search(r"(^|_|\()s(ec)?\)?$", name) else MICROSECOND
    if any(word in name for word in BANDWIDTH_WORDS):
        unit = MEBIBYTE if "mib" in name else GIGABYTE if "gb" in name else MEGABYTE
        return "bandwidth", 1.0 if "bytes_per_s" in name else unit
    return None


def positive(field: str) -> float | None:
    """A text that is a finite number above zero; None for any other."""
    try:
        number = float(field)
    except ValueError:
        return None
    return number if math.isfinite(number) and number > 0 else None
