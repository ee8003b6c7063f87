"""Tables of pairs in a form that people and spreadsheets write: decimal commas, units in cells, JSON, a named square.

They are small, and are rewritten as lines of pairs: `pair_lines` alone says what the numbers mean.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from seatrial.importers.column_roles import planned_columns
from seatrial.importers.columns import (
    SEPARATOR,
    UNIT_NAMES,
    TableColumn,
    json_object,
    read_columns,
)
from seatrial.importers.pair_evidence import (
    LineCount,
    NotPairs,
    UnclearPairs,
    is_name,
    names_an_end,
)
from seatrial.importers.pair_lines import ENDS, column_names, has_units, names_columns, parse_csv
from seatrial.importers.pair_squares import (
    FEWEST_NAMES,
    SAME,
    bare,
    begins_square,
    lines_of_square,
    plain_table,
    without_titles,
)
from seatrial.model.errors import UsageError
from seatrial.model.pair_table import PairTable
from seatrial.model.unit_text import NUMBER, Unit, is_number, unit_of
from seatrial.model.words import name_form, some

SAMPLE = 8
"""Lines at the beginning of a text among which one is of a pair if most are."""
BASES = {"B/s": "bandwidth (B/s)", "s": "latency (s)"}
"""Base unit of a number of a pair -> the name of its column."""
PAIR_WORDS = frozenset({"pair", "pairs", "link", "path", "route", "connection", "edge", "endpoints", "between"})
MARKS = ":/|,-_ "
"""What divides the two names of a pair in a cell, if no arrow does."""
MOST_MARKS, LONGEST_PAIR = 16, 600
"""Marks and characters of a cell with two names: one of a host has 253 (RFC 1123), and each division takes as many."""
ARROW = r"(?:<?[-=]{1,3}>|<[-=]{1,3}|→|↔|⇄|⟷)"
BETWEEN = re.compile(rf"[ \t]{{0,3}}(?:{ARROW}|[ \t](?:to|and|vs\.?|[-–/|:]{{1,3}})[ \t])[ \t]{{0,3}}")
SENTENCE = re.compile(
    r"^[ \t]*(?:[\[(]?\d{1,9}[\]).:]{1,2}[ \t]+)?(?P<source>[\w.-]{1,100}?)"
    rf"[ \t]*(?:{ARROW}|[ \t]to[ \t])[ \t]*"
    r"(?P<target>[\w.-]{1,100}?)(?:[ \t]*[:=|][ \t]*|[ \t]+)(?P<rest>\S.{0,200})$"
)
QUANTITY = re.compile(rf"(?P<number>{NUMBER})[ \t]?(?P<unit>[A-Za-zµμ][A-Za-zµμ/]{{0,15}})")


def parse_pair_table(text: str) -> PairTable:
    """The pairs of a table. Raises UsageError for one whose columns do not name two ends and a measurement."""
    text = plain_table(text)
    columns = _sentences(text) or _nested(text)
    if not columns:
        columns = read_columns(text)
        _refuse_nameless(columns)
        columns = lines_of_square(columns) if begins_square(text) else _with_ends_first(columns)
    columns = _with_units(columns)
    if share := next((one.name for one in columns if one.unit == "%" and names_columns(f"i,j,{one.name}")), ""):
        raise UnclearPairs(f"Column {share!r} has shares.", "Give the rates or times themselves.")
    heading = ",".join(bare(f"{one.name} ({one.unit})" if one.unit else one.name) for one in columns)
    if not names_columns(heading):
        raise NotPairs(
            f"The columns do not name two ends of pairs and a measurement: {heading[:80]!r}.",
            "Call them source, target, and latency_us or bandwidth_mb_s.",
        )
    rows = (",".join(map(bare, row)) for row in zip(*(one.cells for one in columns), strict=True))
    try:
        return parse_csv(iter(["\n".join([heading, *rows, ""]).encode()]))
    except NotPairs:
        raise
    except UsageError as error:  # a word that says how a measurement ended, and is in no list
        raise UnclearPairs(error.what, error.remedy) from error


def is_pair_table(text: str) -> bool:
    """Whether a text is a square of names, or pairs in lines of prose, in JSON, in bars, or with ends elsewhere."""
    bare = plain_table(text)
    if begins_square(bare):
        return True
    try:
        return _is_rows(bare, titled=bare != text) and parse_pair_table(text).pairs > 0
    except UsageError as error:
        return isinstance(error, UnclearPairs)


def refuse_conditions(text: str) -> None:
    """Raise UsageError where a column says under which condition, or on which rail, each row of a pair was measured."""
    columns = _with_ends_first(read_columns(without_titles(text)))
    names = tuple(one.name for one in columns)
    if has_units(names) or not names_columns(",".join(map(bare, names))):
        return
    ends = zip(columns[0].cells, columns[1].cells, strict=True)
    pairs = TableColumn(name="pair", cells=tuple(">".join(pair) for pair in ends))
    others = [one for one in columns[2:] if not names_columns(f"i,j,{bare(one.name)}")]
    if planned := planned_columns([pairs, *others], pairs):
        cells = some(list(dict.fromkeys(planned[0].cells)), FEWEST_NAMES)
        raise UsageError(
            f"Column {planned[0].name!r} has several conditions for each pair: {cells}.",
            "Give a file for each of them: what was measured unlike is not compared.",
        )


def _is_rows(text: str, *, titled: bool) -> bool:
    """Whether it begins as JSON, as a table drawn with bars or a line of prose, or names ends and units in columns."""
    bare = SEPARATOR.sub("", text.lstrip("\ufeff \n\r\t["))
    heading = bare.partition("\n")[0]
    names = column_names(heading)
    ends = [name for name in names if names_an_end(name.lower())]
    shown = titled or SEPARATOR.match(text) is not None or not names_columns(heading) or has_units(names)
    written = (
        bare[:1] in ("{", "|", "+")
        or _begins_with_ends(names)
        or any(map(SENTENCE.match, bare.split("\n", SAMPLE)[:SAMPLE]))
    )
    return written or (len(ends) == 2 and shown) or any(map(_names_pair, names))


def _begins_with_ends(cells: Sequence[str]) -> bool:
    """Whether the first line has two names and then a number: no line names its columns."""
    return len(cells) > ENDS and all(map(is_name, cells[:ENDS])) and all(map(is_number, cells[ENDS:]))


def _refuse_nameless(columns: Sequence[TableColumn]) -> None:
    """Raise UnclearPairs for a table without a line of names whose rows begin with two nodes."""
    if len(columns) <= ENDS or any(not one.name.startswith("column ") for one in columns):
        return
    sources, targets = columns[0].cells, columns[1].cells
    nodes = {*sources, *targets}
    shared = {*sources} & {*targets}
    alike = len({*map(name_form, nodes)}) == 1 or 2 * len(shared) >= len(nodes)
    if len(nodes) >= FEWEST_NAMES and alike and all(map(is_name, nodes)) and all(one.numeric for one in columns[ENDS:]):
        row = " ".join(one.cells[0] for one in columns)
        raise UnclearPairs(
            f"Lines such as {row[:60]!r} are of two nodes each, and nothing says what the numbers are.",
            "Write a first line that names the columns: source,target,bandwidth_GB/s or source,target,latency_us.",
        )


def _sentences(text: str) -> tuple[TableColumn, ...]:
    """Columns of lines such as `n1 -> n2: 11.9 GB/s, 1.2 us`; none of another text.

    Raises NotPairs where too few lines fit, and UnclearPairs for numbers without a unit.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    matches = [match for line in lines if (match := SENTENCE.match(line))]
    if 2 * len(matches) < len(lines):  # a first line `from to rate` reads like a sentence
        return ()
    LineCount(fitting=len(matches), others=len(lines) - len(matches)).refuse_few()
    rows = []
    for match in matches:
        rates = {unit.base: float(number) * unit.factor for number, unit in _numbers_of(match["rest"])}
        if not rates and re.fullmatch(NUMBER, match["rest"].strip()):
            raise UnclearPairs(f"{match[0].strip()[:60]!r} has a number without a unit.", "Write 11.9 GB/s or 1.2 us.")
        outcome = "" if rates else match["rest"].strip()
        cells = (repr(rates[base]) if base in rates else "" for base in BASES)
        rows.append((match["source"], match["target"], *cells, outcome))
    names = ("source", "target", *BASES.values(), "status")
    columns = [TableColumn(name=name, cells=cells) for name, cells in zip(names, zip(*rows, strict=True), strict=True)]
    return tuple(one for one in columns if any(one.cells))


def _numbers_of(text: str) -> Iterator[tuple[str, Unit]]:
    """The rates and times in a text, each with its unit."""
    for match in QUANTITY.finditer(text):
        unit = unit_of(match["unit"])
        if unit is not None and unit.base in ("B", *BASES):
            yield match["number"], Unit("B/s", unit.factor) if unit.base == "B" else unit


def _nested(text: str) -> tuple[TableColumn, ...]:
    """Columns of JSON that maps nodes to nodes to numbers, below the names of metrics or with them inside.

    Raises UnclearPairs where no name says what the numbers are; none of another text.
    """
    value = json_object(text)
    if not isinstance(value, dict):
        return ()
    words = [value[name] for name in ("metric", "unit", "units") if isinstance(value.get(name), str)]
    squares = {" ".join(words): value} if _is_mapping_of_pairs(value) else {}
    inside = {str(name): one for name, one in value.items() if _is_mapping_of_pairs(one)}
    if len(inside) == 1 and words:
        inside = {f"{words[0]} ({words[-1]})" if len(words) > 1 else words[0]: next(iter(inside.values()))}
    cells: dict[tuple[str, str], dict[str, object]] = {}
    for name, square in (inside or squares).items():
        for source, row in square.items():
            for target, cell in row.items():
                numbers = cell if isinstance(cell, dict) else {name: cell}
                cells.setdefault((str(source), str(target)), {}).update(numbers)
    if not cells:
        return ()
    metrics = list(dict.fromkeys(str(name) for row in cells.values() for name in row))
    sources, targets = zip(*cells, strict=True)
    columns = [("source", sources), ("target", targets)]
    columns += [
        (one, tuple("" if row.get(one) is None else str(row[one]) for row in cells.values())) for one in metrics
    ]
    if not names_columns(",".join(bare(name) for name, _ in columns)):
        raise UnclearPairs(
            "The JSON has a number for each pair of nodes, and nothing says what the numbers are.",
            'Say it around them: {"bandwidth_GB/s": {"n1": {"n2": 11.9}}}.',
        )
    return tuple(TableColumn(name=name, cells=cells) for name, cells in columns)


def _is_mapping_of_pairs(value: object) -> bool:
    """Whether all members of an object are objects, and most names inside are names of members as well."""
    if not isinstance(value, dict) or len(value) < 2:
        return False
    rows = [one for one in value.values() if isinstance(one, dict)]
    inside = {name for row in rows for name in row}
    return len(rows) >= len(value) - 2 and bool(inside) and len(inside & {*value}) >= SAME * len(inside)


def _with_units(columns: Sequence[TableColumn]) -> tuple[TableColumn, ...]:
    """The columns without one of units: the numbers before it become rates in B/s and times in seconds.

    Raises UnclearPairs for a unit of neither.
    """
    units = next((one for one in columns if one.name.lower() in UNIT_NAMES and not one.numeric), None)
    values = [one for one in columns[2:] if one.numeric]
    if units is None or not values:
        return tuple(columns)
    number = values[-1] if len(values) == 1 else columns[columns.index(units) - 1]
    read = [unit_of(cell) for cell in units.cells]
    if wrong := next(
        (cell for cell, unit in zip(units.cells, read, strict=True) if not unit or unit.base not in ("B", *BASES)), ""
    ):
        raise UnclearPairs(f"{wrong[:40]!r} is the unit of no rate or time.", "Write MB/s, GB/s, Gbit/s, us or ms.")
    made = []
    for base, name in BASES.items():
        rows = zip(number.numbers(), read, strict=True)
        cells = tuple(
            repr(value * unit.factor) if unit and (unit.base == "s") == (base == "s") and value == value else ""  # noqa: PLR0124 - NaN
            for value, unit in rows
        )
        made += [TableColumn(name=name, cells=cells)] if any(cells) else []
    return (*columns[:2], *made, *(one for one in columns[2:] if one not in (units, number)))


def _names_pair(name: str) -> bool:
    """Whether a column of that name has both ends of a pair in each cell."""
    return not PAIR_WORDS.isdisjoint(re.findall(r"[a-z]+", name.lower()))


def _split_pairs(columns: Sequence[TableColumn]) -> Sequence[TableColumn]:
    """The columns with one for each end in place of one that has both: `n1-n2`, `n1 -> n2`, `n1:n2`, `n1,n2`.

    Names may contain the mark between them: each cell is divided where both names occur in the most other cells.
    Raises UnclearPairs where several places are as good.
    """
    for column in columns:
        if not _names_pair(column.name) or column.numeric:
            continue
        pairs = [tuple(map(str.strip, BETWEEN.split(cell))) for cell in column.cells]
        if not all(len(pair) == 2 and all(pair) for pair in pairs):
            mark = next((mark for mark in MARKS if all(mark in cell.strip(mark) for cell in column.cells)), "")
            if not mark or any(len(one) > LONGEST_PAIR or one.count(mark) > MOST_MARKS for one in column.cells):
                continue
            places = [_places(cell.strip(), mark) for cell in column.cells]
            often = Counter(name for place in places for name in {*itertools.chain.from_iterable(place)})
            pairs = [_likeliest(place, often, column.name) for place in places]
        ends = zip(("source", "target"), zip(*pairs, strict=True), strict=True)
        return (
            *(TableColumn(name=name, cells=cells) for name, cells in ends),
            *(one for one in columns if one is not column),
        )
    return columns


def _places(cell: str, mark: str) -> list[tuple[str, str]]:
    """The cell divided at each of its marks."""
    words = cell.split(mark)
    return [(mark.join(words[:place]), mark.join(words[place:])) for place in range(1, len(words))]


def _likeliest(places: Sequence[tuple[str, str]], often: Mapping[str, int], column: str) -> tuple[str, str]:
    """The division into two names of which both occur most often. Raises UnclearPairs where several do."""
    best = max(min(often[first], often[second]) for first, second in places)
    fitting = [pair for pair in places if min(often[pair[0]], often[pair[1]]) == best]
    if len(fitting) > 1:
        ways = " or ".join(f"{first} and {second}" for first, second in fitting[:2])
        raise UnclearPairs(f"A cell of {column!r} can be the pair {ways}.", "Write -> between the two names.")
    return fitting[0]


def _with_ends_first(columns: Sequence[TableColumn]) -> tuple[TableColumn, ...]:
    """The columns in their order, the two of words that name ends before all others."""
    columns = _split_pairs(columns)
    ends = [one for one in columns if names_an_end(one.name.lower()) and not one.numeric]
    return tuple(columns) if len(ends) != 2 else (*ends, *(one for one in columns if one not in ends))
