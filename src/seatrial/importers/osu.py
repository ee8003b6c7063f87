"""What the OSU micro-benchmarks print for two nodes: tables of message size and latency or bandwidth, many together.

The two nodes come from a heading above an output, or from the names of all files together.
"""

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from seatrial.importers.node_names import one_name_each
from seatrial.importers.output_names import ENDINGS
from seatrial.importers.pair_evidence import NotPairs
from seatrial.importers.pair_lines import Pair, given
from seatrial.importers.pair_metrics import MEGABYTE, MICROSECOND
from seatrial.importers.printed_text import plain
from seatrial.model.errors import UsageError
from seatrial.model.pair_table import DEAD_BANDWIDTH, DEAD_LATENCY_S, PairTable, repeated_pair_table
from seatrial.model.words import count, name_form, verb

TITLE = re.compile(
    r"#\s{0,9}(?:OSU|OMB-Py)\s{1,9}(?P<api>\S{1,40})\s{1,9}(?P<what>.{1,120}?)\s{1,9}Test\b"
    r"(?:.{0,80}?\bv|\s{0,9}\(Version\s{0,9})?(?P<version>\d[\w.]*)?",
    re.ASCII,
)
SIZE = re.compile(r"(?i)size\b(?:\s{0,9}\(B\))?")
"""The name of the first column, with the unit in OMB-Py."""
COLUMN = re.compile(r"Iterations|[A-Za-z0-9][^()]{0,60}?\([^)]{0,60}\)|\S+")
"""The number of iterations is the only column of words without a unit before others that have one."""
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
MOST_ABOVE = 100
"""Lines of a file without a table that may name its pair."""
READ_TESTS = "osu_latency, osu_bw, osu_bibw or osu_mbw_mr are read."
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]*")
BETWEEN = re.compile(r"\s*(?:<?->|<?=>|→|↔|,|\s)\s*")
COUNT_OR_CLOCK = re.compile(r"(?<!\S)(?:[\[(]?\d{1,9}/\d{1,9}[\])]?|\d{1,2}(?::\d\d){1,2})(?!\S)")
"""What a loop writes beside the two names: `run 1/3`, `17:17:30`."""
ORNAMENT = "#=*-+<>|~:[](){} \t"
BETWEEN_WORDS = ("from", "to", "between", "and", "vs", "versus", "on", "with")
FILLERS = frozenset({*BETWEEN_WORDS, "pair", "node", "nodes", "host", "hosts", "running", "run", "testing", "test"})


class SizeTable(msgspec.Struct, frozen=True, kw_only=True):
    """One table: message bytes -> µs or 10⁶ bytes/s."""

    where: str
    test: str
    pair: Pair | None
    values: dict[int, float]
    lost: tuple[Pair, ...] = ()
    """Pairs that headings name without a table below them."""


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
    named = {
        name: [table if table.pair else msgspec.structs.replace(table, pair=pairs[name]) for table in found]
        for name, found in tables.items()
    }
    unread = {name: text for name, text in texts.items() if name not in tables}
    lost = lost_pairs({name: [table.pair for table in found if table.pair] for name, found in named.items()}, unread)
    return _judged([*itertools.chain.from_iterable(named.values())], lost)


def size_tables(text: str, where: str) -> list[SizeTable]:
    """All tables of tests between two nodes. Raises UsageError where OSU's own check of the data failed."""
    tables: list[SizeTable] = []
    above: list[str] = []
    below: dict[str, Pair | None] = {}
    column, inside = 1, False
    for raw in plain(text).splitlines():
        line = RANK.sub("", raw).strip()
        title = TITLE.match(line)
        if title:
            test = title["what"].lower()
            inside = test in (*LATENCIES, *BANDWIDTHS)
            if inside:
                pair = pair_above(above)
                if pair is None and test not in below and not any(above):  # another test below the same heading
                    pair = next(iter(below.values()), None)
                below = {test: pair} if pair_above(above) else below | {test: pair}
                tables.append(SizeTable(where=where, test=test, pair=pair, values={}, lost=_headings(above, pair)))
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
    if tables:
        tables[-1] = msgspec.structs.replace(tables[-1], lost=(*tables[-1].lost, *_headings(above, None)))
    return tables


def _headings(lines: Sequence[str], pair: Pair | None) -> tuple[Pair, ...]:
    """The pairs that headings name, but the one whose table is below them."""
    named = [found for found, marked in map(named_pair, lines) if found and marked]
    return tuple(found for found in named if found != pair)


def _column(heading: str) -> int:
    """The place of the average, or of the first number after the size."""
    names = COLUMN.findall(SIZE.split(heading, maxsplit=1)[-1])
    return next((place for place, name in enumerate(names, 1) if "avg" in name.lower()), 1)


def _row(line: str, column: int) -> tuple[int, float] | None:
    fields = line.split()
    if len(fields) <= column or not re.fullmatch(r"[0-9]{1,15}", fields[0]):
        return None
    number = given(fields[column], 0.0)
    return None if number is None else (int(fields[0]), number)


def _judged(tables: Sequence[SizeTable], lost: Sequence[Pair] = ()) -> PairTable:
    latency = _of_kind(tables, LATENCIES, _latency_bytes, MICROSECOND)
    bandwidth = _of_kind(tables, BANDWIDTHS, max, MEGABYTE)
    nodes = dict.fromkeys(name for pair in (*latency, *bandwidth) for name in pair)
    if not nodes:
        raise UsageError("This text has no OSU table between two nodes.", READ_TESTS)
    lost = [*lost, *partners_of(nodes, [pair for table in tables for pair in table.lost])]
    nodes |= dict.fromkeys(name for pair in lost for name in pair)
    return one_name_each(repeated_pair_table(tuple(nodes), bandwidth, latency))


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


def pair_above(lines: Sequence[str]) -> Pair | None:
    """The nearest line with just two names and a mark that it is a heading; else the last line, if two words.

    A mark is `#`, `===`, an arrow, or a word such as "between".
    """
    written = [line for line in lines if line.strip()]
    for line in reversed(written):
        pair, marked = named_pair(line)
        if pair is not None and (marked or line is written[-1]):
            return pair
    return None


def named_pair(line: str) -> tuple[Pair | None, bool]:
    """The two different names of a line that has no third word, and whether it is marked as a heading."""
    bare = line.strip().strip(ORNAMENT)
    words = [re.sub(r"^\w+=", "", word).strip(ORNAMENT) for word in BETWEEN.split(COUNT_OR_CLOCK.sub(" ", bare))]
    names = [word for word in words if word and word.lower() not in FILLERS]
    marked = bare != line.strip() or bare.split() != names
    if len(names) != 2 or names[0] == names[1] or not all(NAME.fullmatch(name) for name in names):
        return None, False
    return (names[0], names[1]), marked


def partners_of(nodes: Collection[str], pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs of which one end has numbers, and the other end a name of the form of such nodes."""
    forms = {name_form(name) for name in nodes}
    return [pair for pair in pairs if not {*pair}.isdisjoint(nodes) and {name_form(name) for name in pair} <= forms]


def lost_pairs(measured: Mapping[str, Sequence[Pair]], unread: Mapping[str, str]) -> list[Pair]:
    """The pairs of the files of a folder that have no numbers, by headings within or by their names.

    `measured`: each file with numbers and its pairs; `unread`: the other files, name -> text. Raises UsageError for a
    file that is called like those with numbers, and shows no pair.
    """
    hosts = {name.partition(".")[0]: name for pairs in measured.values() for pair in pairs for name in pair}
    nodes = {*hosts, *hosts.values()}
    forms = {name_form(name) for name in measured}
    alike = [name for name in unread if name_form(name) in forms]
    named = _pairs_like(measured, [*unread]) or _pairs_like(measured, alike)
    lost = []
    for name, text in unread.items():
        pairs = partners_of(nodes, _headings(text.splitlines()[:MOST_ABOVE], None))
        pairs = pairs or [pair for pair in named.get(name, ()) if not nodes.isdisjoint(pair)]
        if name in alike and not pairs:
            raise UsageError(
                f"{name} has no result, and nothing shows which two nodes it is of.",
                "Run this pair again, or remove the file.",
            )
        lost += [(hosts.get(source, source), hosts.get(target, target)) for source, target in pairs]
    return lost


def _pairs_like(measured: Mapping[str, Sequence[Pair]], added: Sequence[str]) -> dict[str, tuple[Pair]]:
    """The pairs in names of files that are read together with known ones; none where these have other pairs."""
    try:
        read = pairs_of_names([*measured, *added]) if added else {}
    except UsageError:
        return {}
    short = {name: [{end.partition(".")[0] for end in pair} for pair in pairs] for name, pairs in measured.items()}
    agree = all({end.partition(".")[0] for end in read[name]} in pairs for name, pairs in short.items() if read)
    return {name: (read[name],) for name in added} if read and agree else {}


Pieces = tuple[str, ...]
"""Words and the separators between them: word, separator, word, ... word."""

STRONG = re.compile(r"[-_. ](?:to|vs|and)[-_. ]|<?->|=>|→|--+|__+|\.\.+|[~+,@]")
"""A separator between two names, rarely part of one."""
SEPARATOR = re.compile(rf"({STRONG.pattern}|[-_. ])")
TEST_WORDS = (
    "osu", "omb", "mpi", "bw", "bibw", "bandwidth", "latency", "lat", "mbw", "mr", "multi", "imb", "iperf3", "iperf",
    "netpipe", "qperf", "ib",
)  # fmt: skip
TOOL_WORDS = ENDINGS.union(TEST_WORDS)
COUNTED = re.compile(r"(?:run|rep|iter|try|job)\d*", re.IGNORECASE)
"""The tool's name, an ending, the number of a repetition: part of no node's name."""
MOST_COMMON = 6
"""Words common to all names that may be tried as no part of a node's name, at either end."""


def pairs_of_names(files: Sequence[str]) -> dict[str, Pair]:
    """File name -> the two nodes in it, in order. Raises UsageError where the names permit two readings, or none.

    A node's name may hold separators itself (gpu-01-gpu-02.out). Of all ways to cut the names that one is taken in
    which the ends recur in most files, then the one in which the two ends of a file look alike but for their digits.
    """
    stems = {file: _pieces(file) for file in files}
    readings = [reading for common in _commons(list(stems.values())) if (reading := _reading(stems, *common))]
    best = max((score for score, _ in readings), default=None)
    best_pairs = [pairs for score, pairs in readings if score == best]
    if (
        not best_pairs
        or any(pairs != best_pairs[0] for pairs in best_pairs)
        or not _trusted(best_pairs[0], stems.values(), len(readings))
    ):
        raise UsageError(
            f"The file names ({len(stems)}) do not show which two nodes each file belongs to, such as {files[0]!r}.",
            "Name them NODE--NODE.out, or put all in one file, each table under a line '# NODE NODE'.",
        )
    return best_pairs[0]


def _pieces(file: str) -> Pieces:
    """The name's words without the tool's words and endings on either side."""
    pieces = SEPARATOR.split(file)
    first, last = 0, len(pieces)
    while first < last and _no_name(pieces[first]):
        first += 2
    while first < last and _no_name(pieces[last - 1]):
        last -= 2
    return tuple(pieces[first:last])


def _no_name(word: str) -> bool:
    return not word or word.lower() in TOOL_WORDS or COUNTED.fullmatch(word) is not None


def _commons(stems: Sequence[Pieces]) -> Iterator[tuple[int, int]]:
    """How many words at the front and at the back may not belong to a name: those that all files share."""
    if len(stems) < 2:
        yield 0, 0
        return
    yield from itertools.product(_shared(stems), _shared([stem[::-1] for stem in stems]))


def _shared(stems: Sequence[Pieces]) -> range:
    words = zip(*(stem[::2] for stem in stems), strict=False)
    same = sum(1 for _ in itertools.takewhile(lambda column: len(set(column)) == 1, words))
    return range(min(same, MOST_COMMON) + 1)


def _reading(stems: Mapping[str, Pieces], front: int, back: int) -> tuple[tuple[int, int], dict[str, Pair]] | None:
    """The best cut of each name without `front` and `back` words, and how well the cuts agree; None for no cut."""
    options = {file: _cuts(stem[2 * front : len(stem) - 2 * back]) for file, stem in stems.items()}
    support = Counter(name for cuts in options.values() for name in {name for cut in cuts for name in cut})
    total, alike, pairs = 0, 0, {}
    for file, cuts in options.items():
        ranked = sorted(((min(support[a], support[b]), _alike(a, b)), (a, b)) for a, b in cuts)
        if not ranked or (len(ranked) > 1 and ranked[-1][0] == ranked[-2][0]):
            return None
        (shared, same), pairs[file] = ranked[-1]
        total, alike = total + shared, alike + same
    return (total, alike), pairs


def _cuts(pieces: Pieces) -> list[Pair]:
    """All ways to cut one name in two different ones, at its one strong separator where there is just one."""
    places = range(1, len(pieces), 2)
    strong = [place for place in places if STRONG.fullmatch(pieces[place])]
    cuts = [
        ("".join(pieces[:place]), "".join(pieces[place + 1 :])) for place in (strong if len(strong) == 1 else places)
    ]
    return [(left, right) for left, right in cuts if left and right and left != right]


def _alike(left: str, right: str) -> bool:
    return name_form(left) == name_form(right)


def _trusted(pairs: Mapping[str, Pair], stems: Iterable[Pieces], readings: int) -> bool:
    """Similar ends, or names that occur on both sides; with no other way to read them also one node with many others.

    Two words of a file that occur on one side each, as QDR and single, name a configuration, unless a strong separator
    is between them.
    """
    left, right = ({pair[side] for pair in pairs.values()} for side in (0, 1))
    if left & right or all(_alike(*pair) for pair in pairs.values()):
        return True
    strong = all(any(STRONG.fullmatch(piece) for piece in stem[1::2]) for stem in stems)
    patterns = {name_form(name) for name in (left if len(left) > 1 else right)}
    star = len(pairs) > 1 and min(len(left), len(right)) == 1 == len(patterns)
    return readings == 1 and (strong or star)
