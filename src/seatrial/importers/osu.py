"""What the OSU micro-benchmarks print for two nodes: tables of message size and latency or bandwidth, many together."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from seatrial.importers.pair_evidence import NotPairs
from seatrial.importers.pair_lines import MEGABYTE, MICROSECOND, Pair, given
from seatrial.importers.pair_names import pair_above, pairs_of_names
from seatrial.model.errors import UsageError
from seatrial.model.pair_table import DEAD_BANDWIDTH, DEAD_LATENCY_S, PairTable, repeated_pair_table
from seatrial.model.words import count, verb

TITLE = re.compile(r"#\s{0,9}OSU\s{1,9}\S{1,40}\s{1,9}(?P<what>.{1,120}?)\s{1,9}Test\b")
COLUMN = re.compile(r"[A-Za-z0-9][^()]{0,60}?\([^)]{0,60}\)|\S+")
RANK = re.compile(r"^(?:\[\d{1,18},\d{1,18}\]<std\w+>:|\d{1,18}:)\s?")
"""What mpirun --tag-output and srun --label put before each line."""
LATENCIES = ("latency", "multi latency", "multi-threaded latency", "multi-process latency")
BANDWIDTHS = ("bandwidth", "multiple bandwidth / message rate", "bi-directional bandwidth")
"""Tests between two nodes; where several were run, the first of these counts."""
BOTH_WAYS = (*LATENCIES, "bi-directional bandwidth")
"""Their one number is of both directions: half a round trip, or the sum of what flows either way."""
LATENCY_BYTES = 8
"""Message size of latency if all tables have it; else their smallest from one byte on."""
TOLD = 3
READ_TESTS = "osu_latency, osu_bw, osu_bibw or osu_mbw_mr are read."


class SizeTable(msgspec.Struct, frozen=True, kw_only=True):
    """One table: message bytes -> µs or 10⁶ bytes/s."""

    where: str
    test: str
    pair: Pair | None
    values: dict[int, float]


def parse_osu(text: str) -> PairTable:
    """One file of several tables, each under a line that names two nodes. Raises UsageError where one has none."""
    tables = size_tables(text, "the file")
    other = (
        "" if tables else next((title["what"].strip() for title in map(TITLE.match, text.splitlines()) if title), "")
    )
    if other:
        raise UsageError(
            f"This looks like the output of OSU's {other} test, which does not measure a pair of nodes.",
            "osu_latency, osu_bw, osu_bibw or osu_mbw_mr are read, each run between two nodes.",
        )
    if any(table.pair is None for table in tables):
        raise UsageError(
            f"An OSU table ({tables[0].test}) in this file has no line above it that names the two nodes.",
            "Write '# NODE NODE' above each table, or give the folder of files named NODE--NODE.out.",
        )
    return _judged(tables)


def parse_osu_files(texts: Mapping[str, str]) -> PairTable:
    """A folder: file name -> text. Files without a table of OSU are passed over.

    A line that names two nodes above a table counts more than the file's name. Raises UsageError where no file has a
    table, or the names do not show the two nodes.
    """
    tables = {name: found for name, text in texts.items() if (found := size_tables(text, name))}
    if not tables:
        raise NotPairs(f"{count(len(texts), 'file')} read, and none has an OSU table between two nodes.", READ_TESTS)
    unnamed = [name for name, found in tables.items() if any(table.pair is None for table in found)]
    pairs = pairs_of_names(unnamed) if unnamed else {}
    return _judged(
        [
            table if table.pair is not None else msgspec.structs.replace(table, pair=pairs[name])
            for name, found in tables.items()
            for table in found
        ]
    )


def size_tables(text: str, where: str) -> list[SizeTable]:
    """All tables of tests between two nodes. Raises UsageError where OSU's own check of the data failed."""
    tables: list[SizeTable] = []
    above: list[str] = []
    column, inside = 1, False
    for raw in text.splitlines():
        line = RANK.sub("", raw).strip()
        title = TITLE.match(line)
        if title:
            test = title["what"].lower()
            inside = test in (*LATENCIES, *BANDWIDTHS)
            if inside:
                tables.append(SizeTable(where=where, test=test, pair=pair_above(above), values={}))
            above, column = [], 1
        elif inside and re.match(r"#\s*Size\b", line):
            column = _column(line)
        elif inside and (row := _row(line, column)):
            if re.search(r"\bfail", line, re.IGNORECASE):
                raise UsageError(
                    f"OSU's own check of the data failed in {where}: {line!r}.", "The fault is corrupted data."
                )
            tables[-1].values[row[0]] = row[1]
            above = []
        else:
            above.append(line)
    return tables


def _column(heading: str) -> int:
    """The place of the average, or of the first number after the size."""
    names = COLUMN.findall(heading.partition("Size")[2])
    return next((place for place, name in enumerate(names, 1) if "avg" in name.lower()), 1)


def _row(line: str, column: int) -> tuple[int, float] | None:
    fields = line.split()
    if len(fields) <= column or not re.fullmatch(r"[0-9]{1,15}", fields[0]):
        return None
    number = given(fields[column], 0.0)
    return None if number is None else (int(fields[0]), number)


def _judged(tables: Sequence[SizeTable]) -> PairTable:
    latency = _of_kind(tables, LATENCIES, _latency_bytes, MICROSECOND)
    bandwidth = _of_kind(tables, BANDWIDTHS, max, MEGABYTE)
    nodes = dict.fromkeys(name for pair in (*latency, *bandwidth) for name in pair)
    if not nodes:
        raise UsageError("This text has no OSU table between two nodes.", READ_TESTS)
    return repeated_pair_table(tuple(nodes), bandwidth, latency)


def _latency_bytes(sizes: Iterable[int]) -> int:
    least = [size for size in sizes if size >= 1]
    return LATENCY_BYTES if LATENCY_BYTES in least else min(least, default=0)


def _of_kind(
    tables: Sequence[SizeTable], tests: Sequence[str], choose: Callable[[set[int]], int], unit: float
) -> dict[Pair, list[float]]:
    """The numbers of the first of `tests` that was run, at the size that `choose` takes of those common to all."""
    test = next((test for test in tests if any(table.test == test for table in tables)), "")
    chosen = [table for table in tables if table.test == test]
    if not chosen:
        return {}
    _refuse_cut_off(chosen)
    common = set.intersection(*(set(table.values) for table in chosen))
    if not common:
        raise UsageError(
            f"The tables of OSU's {test} test have no message size in common.", "Run all with the same -m."
        )
    size = choose(common)
    if test == "bi-directional bandwidth":
        unit /= 2
    dead = DEAD_LATENCY_S if tests is LATENCIES else DEAD_BANDWIDTH
    values: defaultdict[Pair, list[float]] = defaultdict(list)
    for table in chosen:
        if table.pair is not None:
            values[table.pair].append(table.values[size] * unit or dead)
    if test in BOTH_WAYS:
        for a, b in [pair for pair in values if pair[::-1] not in values]:
            values[b, a] = values[a, b]
    return dict(values)


def _refuse_cut_off(tables: Sequence[SizeTable]) -> None:
    """A table that ends before the size where most end was cut off; the smaller of two sizes would hide that."""
    ends = sorted(max(table.values, default=0) for table in tables)
    usual = ends[len(ends) // 2]
    short = [table for table in tables if max(table.values, default=0) < usual]
    if short or not usual:
        named = ", ".join(f"{table.where} ({' '.join(table.pair or ())})" for table in short[:TOLD])
        raise UsageError(
            f"{len(short) or len(tables)} of {count(len(tables), 'table')} "
            f"{verb(len(short or tables), 'ends', 'end')} before {count(usual or 1, 'byte')}: {named or 'all'}.",
            "Run these pairs again, or remove them: a test that was cut off shows nothing about its pair.",
        )
