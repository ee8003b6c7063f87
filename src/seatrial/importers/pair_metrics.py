"""Which columns of a table of pairs have its latencies and bandwidths, and in which unit."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from seatrial.importers.fields import numbers, split_fields
from seatrial.importers.pair_columns import METRICS
from seatrial.importers.pair_evidence import UnclearPairs
from seatrial.model.pair_table import Reals
from seatrial.model.unit_text import Unit, unit_of
from seatrial.model.words import some

MICROSECOND, MEGABYTE = 1e-6, 1e6
LATENCY_WORD = re.compile(r"(?<![a-z])(?:lat(?:ency|encies)?|rtt|time|t[_([][unm]?s(?:ec)?)(?![a-z])")
BANDWIDTH_WORD = re.compile(r"(?<![a-z])(?:bw|bandwidth|rate|throughput|[mg]i?b(?:ps)?|[mg]i?bytes|[mg]bits?)(?![a-z])")
"""Words, not parts of them: "platform" and "number" have no numbers of pairs."""
OWN_WORDS = {
    "latency": re.compile(r"(?<![a-z])(?:lat(?:ency|encies)?|rtt)(?![a-z])"),
    "bandwidth": re.compile(r"(?<![a-z])(?:bw|bandwidth|rate|throughput|[mg]i?bps)(?![a-z])"),
}
"""Words of a metric itself. The others can be those of a duration or of a size as well."""
CENTRES = frozenset({"avg", "mean", "average", "median", "med", "typical", "mittel", "mittelwert"})
STATISTICS = CENTRES | {
    "min", "max", "minimum", "maximum", "std", "stdev", "stddev", "sd", "sigma", "cv", "dev", "deviation", "var", "mad",
    "variance", "range", "iqr", "best", "worst", "peak", "p", "percentile", "jitter", "error", "err", "stdabw",
}  # fmt: skip
"""Words of columns that summarise several measurements of a pair; `p` is that of p99."""
RUN_NUMBER = re.compile(r"\d++(?! ?[kmgt]?i?b(?:ytes?|its?)?(?![a-z]))")
"""A number that is not a size."""
UNIT_BEGINS = re.compile(r"[_(\[ ]")
MOST_NAMES = 4
DATES = 1e8
"""Numbers of seconds from here on are dates after 1973, not durations."""
Scale = tuple[str, float]


def scale_of(name: str) -> Scale | None:
    """Metric and unit of a column, by its name: its words, or a unit of short times or of rates."""
    lower, units = name.lower(), [*_units_in(name)]
    time = next((unit.factor for unit in units if unit.base == "s" and unit.factor <= 1), None)
    if LATENCY_WORD.search(lower) or (time is not None and time < 1):
        return "latency", time or MICROSECOND
    rate = next((unit.factor for unit in units if unit.base in ("B/s", "B")), MEGABYTE)
    if BANDWIDTH_WORD.search(lower) or any(unit.base == "B/s" for unit in units):
        return "bandwidth", rate
    return None


def has_unit(name: str) -> bool:
    """Whether the end of a name is a unit."""
    return any(_units_in(name))


def _units_in(name: str) -> Iterator[Unit]:
    """Units that the end of a name may be: of `bw (GB/s)` GB/s, of `bandwidth_mb_s` mb_s, of `bw_GBs` GB/s."""
    return (unit for _, unit in _units_at(name))


def _units_at(name: str) -> Iterator[tuple[int, Unit]]:
    """Such units, each with the place where it begins.

    In a name without capitals b is a byte, but in bits, gbit and gbps.
    """
    text = re.sub(r"(?<=[kmgtKMGT][Bb])s$|(?<=i[Bb])s$", "/s", name.rstrip(")] "))
    text = re.sub(r"b(?=/|_|$)", "B", text) if text == text.lower() else text
    for start in (0, *(delimiter.end() for delimiter in UNIT_BEGINS.finditer(text))):
        if unit := unit_of(text[start:]):
            yield start, unit


def one_of_each(columns: Sequence[str], sample: bytes) -> tuple[str, ...]:
    """The names of the columns, empty for those whose numbers are not the metrics of the pairs: sizes, settings, dates,
    deviations. Columns whose names differ in a number alone are repetitions.

    `sample`: lines of the table. Raises UnclearPairs where several columns can be the same metric.
    """
    scaled = [(place, scale[0]) for place, name in enumerate(columns) if place > 1 and (scale := scale_of(name))]
    usual = {
        metric: [place for place, of in scaled if of == metric and not _is_size(columns[place])] for metric in METRICS
    }
    if not any(usual.values()):
        usual = {metric: [place for place, of in scaled if of == metric] for metric in METRICS}
    kept: set[int] = set()
    for metric, places in usual.items():
        values = {place: _values(sample, place) for place in places}
        timed = [place for place in places if not _is_date(columns[place], values[place])]
        kept.update(timed if _repeated(columns, timed) else _chosen(columns, timed, metric, values))
    return tuple(name if place in kept or not scale_of(name) else "" for place, name in enumerate(columns))


def _chosen(columns: Sequence[str], places: Sequence[int], metric: str, values: dict[int, Reals]) -> list[int]:
    """The columns of a metric that has several. Raises UnclearPairs where more than one kind is left."""
    left = [place for place in places if OWN_WORDS[metric].search(columns[place].lower())] or [*places]
    left = [place for place in left if not _is_constant(values[place])] or left
    words = {place: {*re.findall(r"[a-z]+", columns[place].lower())} & STATISTICS for place in left}
    left = (
        [place for place in left if words[place] and words[place] <= CENTRES]
        or [place for place in left if not words[place]]
        or left
    )
    if not _repeated(columns, left):
        names = some([repr(columns[place]) for place in left], MOST_NAMES)
        raise UnclearPairs(
            f"Several columns can be the {metric} of the pairs: {names}.",
            "Leave one of them. Repetitions have names that differ in a number alone: bw1, bw2.",
        )
    return left


def _repeated(columns: Sequence[str], places: Sequence[int]) -> bool:
    """Whether the names differ in a number alone, and in their units; bw_4KiB has the number of a size."""
    stems = (columns[place][: next((start for start, _ in _units_at(columns[place])), None)] for place in places)
    return len({RUN_NUMBER.sub("", stem.lower()).rstrip("_([ ") for stem in stems}) <= 1


def _is_size(name: str) -> bool:
    """Whether a column has bytes, and names no rate: `size_MB`; `MB` alone is short for MB/s."""
    units = [*_units_in(name)]
    rate = any(unit.base == "B/s" for unit in units) or OWN_WORDS["bandwidth"].search(name.lower()) is not None
    return not rate and any(unit.base == "B" for unit in units) and unit_of(name.strip()) is None


def _is_date(name: str, values: Reals) -> bool:
    """Whether the numbers of a column `time` are dates: seconds or milliseconds since 1970."""
    return not has_unit(name) and "time" in name.lower() and bool(len(values)) and float(values.min()) >= DATES


def _is_constant(values: Reals) -> bool:
    return len(values) > 1 and bool((values == values[0]).all())


def _values(sample: bytes, place: int) -> Reals:
    """The finite numbers of a column."""
    fields = split_fields(sample)
    long = np.flatnonzero(fields.count > place)
    values = numbers(fields, fields.first[long] + place)
    return values[np.isfinite(values)]
