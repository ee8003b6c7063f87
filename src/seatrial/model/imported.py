"""Values that other programs measured, as `seatrial import` keeps them: what, on which node, when, from which file."""

import enum
import re

import msgspec

from seatrial.model.column_words import CAPACITY_WORDS, words_of
from seatrial.model.unit_text import unit_of

ALL_NODES = "all"
"""The subject of a value whose node the file does not name."""


class Sense(enum.StrEnum):
    """Which values of an imported metric are good; it is in the place of the kernel of a measured metric."""

    HIGHER = "imported_higher"
    LOWER = "imported_lower"


class SeriesSense(enum.StrEnum):
    """Which values are good: those of a bandwidth are higher, those of a time lower."""

    HIGHER = "higher"
    LOWER = "lower"
    UNKNOWN = "unknown"


SERIES_SENSES = {Sense.HIGHER: SeriesSense.HIGHER, Sense.LOWER: SeriesSense.LOWER, None: SeriesSense.UNKNOWN}
SENSES = {"higher": Sense.HIGHER, "lower": Sense.LOWER}
"""The words that --better takes."""
TIME_UNITS = frozenset(
    {"s", "ms", "us", "µs", "ns", "usec", "msec", "nsec", "sec", "secs", "seconds", "minutes", "min"}
)
TIMES = frozenset({
    "time", "times", "seconds", "sec", "secs", "latency", "lat", "elapsed", "wall", "walltime", "wallclock", "duration",
    "runtime", "delay", "jitter",
})  # fmt: skip
LOSSES = frozenset({
    "loss", "losses", "lost", "drop", "drops", "dropped", "discards", "discarded", "retransmits", "retransmitted",
    "retransmissions", "retries", "overruns", "downed", "error", "errors", "failures", "mismatches", "misses",
    "err", "errs",
})  # fmt: skip
"""What went wrong, of which less is better in whatever unit: loss %, error rate, drops/s."""
RATES = frozenset(
    {
        "rate",
        "rates",
        "bandwidth",
        "bw",
        "busbw",
        "algbw",
        "throughput",
        "speed",
        "speedup",
        "efficiency",
        "eff",
        "iops",
    }
)
HEAT = frozenset({"temp", "temps", "temperature", "temperatures", "temperatur", "température", "celsius"})
"""Words of temperatures: heat of which less is better."""
QUANTITIES = re.compile(
    r"[kmgtp]?i?(?:b|byte|bytes|bit|bits|flop|flops|op|ops|msg|messages|steps|bps|bitps)|[kmgtp]i?bs"
)
"""What is counted in a rate, as in MB_s and MBs."""
SPANS = {
    **dict.fromkeys(("ns", "nsec"), 1e-9), **dict.fromkeys(("us", "µs", "usec"), 1e-6),
    **dict.fromkeys(("ms", "msec"), 1e-3), **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "minute", "minutes"), 60.0), **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}  # fmt: skip
"""Units of time in seconds."""


BEHIND = re.compile(r"[\[(] ?(?P<unit>(?!min\b)[^\[\]()]{1,20}) ?[\])]\s*$")
"""The unit behind the name of a column: `boot [s]`; `bw (min)` is a minimum."""


def names_capacity(column: str) -> bool:
    """Whether a column of that name says what nodes have, such as memory, and no rate or time."""
    words = {*words_of(column)}
    return bool(words & CAPACITY_WORDS) and not words & (RATES | TIMES | TIME_UNITS)


def sense_of(name: str, unit: str = "") -> Sense | None:
    """The sense by the unit, or by the words of the name: `hpl_time_s` is lower, `triad_MB_s` higher; None: unknown."""
    behind = BEHIND.search(name)
    stated = unit or (behind["unit"] if behind else "")
    measure = unit_of(stated)
    is_time = unit.strip().lower() in TIME_UNITS or (measure is not None and measure.base in ("s", "°C"))
    if is_time or counts_losses(name) or counts_losses(unit):
        return Sense.LOWER
    rate = unit or (measure is not None and measure.base in ("B/s", "flop/s", "1/s"))
    return _sense_of_words(unit) or _sense_of_words(name) or (Sense.HIGHER if rate else None)


def _words(text: str) -> list[str]:
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text.replace("/", " per ")).lower()
    return re.findall(r"[a-zµ]+", text)


def counts_losses(text: str) -> bool:
    """Whether a name or unit says that what went wrong is counted, also in each second."""
    words = _words(text)
    return not LOSSES.isdisjoint(words[: words.index("per")] if "per" in words else words)


def _sense_of_words(text: str) -> Sense | None:
    """The sense of words; what is above the line of a quotient decides: `s/step` is a time, `ns/day` a rate."""
    words = _words(text)
    if "per" in words:
        place = words.index("per")
        above = SPANS.get(words[place - 1], 0.0) if place and words[max(place - 2, 0) : place] != ["h", "d"] else 0.0
        below = next((SPANS[word] for word in words[place:] if word in SPANS), 0.0)
        timed = above > below or TIMES.intersection(words[:place])  # of two times the longer one is what it takes
        return Sense.LOWER if timed and (above > below or not below) else Sense.HIGHER
    if RATES.intersection(words):
        return Sense.HIGHER
    if TIMES.intersection(words) or HEAT.intersection(words):
        return Sense.LOWER
    if any(map(QUANTITIES.fullmatch, words)):
        return Sense.HIGHER
    if words[-1:] == ["s"] and len(words) > 1:  # solve_s is a time, images_s a rate
        return None
    return Sense.LOWER if words and words[-1] in TIME_UNITS - {"min"} else None


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was read."""

    file: str
    """The file as the command line names it."""
    sha256: str
    file_bytes: int
    form: str
    """`series`, `fleet`, `reframe`, or the name of a benchmark."""
    in_folder: bool = False
    """It was found in a folder that the command line names."""
    conditions: dict[str, str] = {}
    """Conditions of the benchmark: `version`, `ranks`, `nodes`, as far as its output says."""


class ImportedValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One number, positive."""

    metric: str
    unit: str
    """The unit of the file or the command line; empty: unknown."""
    sense: Sense
    node: str
    value: float
    main: bool = False
    """The main figure of its benchmark."""

    @property
    def name(self) -> str:
        """The name of its metric in comparisons: `hpl rate_flops_per_s [flop/s]`."""
        return f"{self.metric} [{self.unit}]" if self.unit else self.metric


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """The values of one run of a benchmark, which becomes one run of the archive."""

    label: str
    """When or which run it was, as the file has it."""
    source: Source
    values: tuple[ImportedValue, ...]
    without_value: tuple[str, ...] = ()
    """Nodes that the file lists without a value in this run."""
    roles: str = ""
    """What each column of a table was taken for, in sentences; empty for other forms."""
