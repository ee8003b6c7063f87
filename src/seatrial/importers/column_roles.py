"""What each column of a table of measurements is: nodes, values, runs, conditions, parts of a node, units, others.

Contents decide, and names are hints. A column whose cells return on other nodes, equally often within a node, is part
of the plan of the measurements: a condition, a run or a part of a node. Cells that a node never shares are
identifiers, cells that a node never changes are properties of it. What neither contents nor names show is asked.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from seatrial.importers.columns import UNIT_NAMES, TableColumn, refuse_almost_numbers
from seatrial.importers.printed_text import is_rate
from seatrial.importers.row_outcomes import is_numbered, is_outcome, is_remark
from seatrial.importers.series_times import are_moments
from seatrial.importers.written_numbers import is_missing
from seatrial.model.column_words import (
    CONDITION_WORDS,
    COUNT_WORDS,
    COUNTED_WORDS,
    DEVIATIONS,
    INDEX_WORDS,
    MODEL_WORDS,
    PART_NUMBERS,
    PART_WORDS,
    PROPERTY_WORDS,
    RUN_NAMES,
    RUN_WORDS,
    SENSOR_WORDS,
    last_word,
    names_result,
    words_of,
)
from seatrial.model.errors import UsageError
from seatrial.model.imported import RATES, Sense, names_capacity, sense_of
from seatrial.model.unit_text import Unit, unit_of
from seatrial.model.words import some

PLANNED = 0.8
"""Share of rows, or of cells of a node, that must fit for a column to be part of the plan."""
ASK = "Say what it is with --by COLUMN (a condition) or --part COLUMN (a part of a node), or call it run."
MOST_NAMES = 12
LONGEST_COUNT = 8
"""Digits from which on a number is an identifier."""
FEWEST_COUNTED = 8
"""Rows whose numbers 1, 2, 3, ... are not values by chance."""


class ColumnRoles(msgspec.Struct, frozen=True, kw_only=True):
    """The role of each column, by name. `node` and `value` are columns; empty names where there is none."""

    node: str
    value: str
    runs: tuple[str, ...] = ()
    """Together they say which run a row is of."""
    conditions: tuple[str, ...] = ()
    """Each combination of their cells is judged of its own."""
    parts: tuple[str, ...] = ()
    """They say which part of a node a row is of."""
    units: str = ""
    properties: tuple[str, ...] = ()
    """Columns with one value for each node, which differs between nodes: rack, model."""
    constants: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    """Other numbers, identifiers and remarks."""

    @property
    def text(self) -> str:
        """All roles in sentences; empty for a form without columns."""
        if not self.node:
            return ""
        runs = f", runs from {_quoted(self.runs)}" if self.runs else ""
        others = {
            "Conditions": self.conditions, "Parts of a node": self.parts, "Units": (self.units,) if self.units else (),
            "Properties of nodes": self.properties, "Constant": self.constants, "Not used": self.unused,
        }  # fmt: skip
        first = f"nodes from column {self.node!r}, values from {self.value!r}{runs}."
        return " ".join((first, *(f"{role}: {_quoted(names)}." for role, names in others.items() if names)))


def unit_in(cell: str) -> Unit | None:
    """The unit that a cell of a column of units names; None for an empty cell and for any other word."""
    return unit_of(cell) if cell.strip() else None


def _quoted(names: Sequence[str]) -> str:
    return some([repr(name) for name in names], MOST_NAMES)


class _CellKinds:
    """How the cells of one column lie over the nodes."""

    def __init__(self, column: TableColumn, nodes: Sequence[str]) -> None:
        self.column = column
        self.words = frozenset(words_of(column.name))
        self.of_node: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.nodes_of: defaultdict[str, set[str]] = defaultdict(set)
        for node, cell in zip(nodes, column.cells, strict=True):
            self.of_node[node][cell] += 1
            self.nodes_of[cell].add(node)

    @property
    def constant(self) -> bool:
        """Whether all rows have the same cell."""
        return len(self.nodes_of) <= 1

    @property
    def of_the_node(self) -> bool:
        """Whether no node has two different cells."""
        return all(len(cells) == 1 for cells in self.of_node.values())

    @property
    def nested(self) -> bool:
        """Whether no two nodes share a cell."""
        return all(len(nodes) == 1 for nodes in self.nodes_of.values())

    @property
    def shared(self) -> set[str]:
        """Cells that half of the nodes have, or more."""
        least = max(len(self.of_node) / 2, min(len(self.of_node), 2))
        return {cell for cell, nodes in self.nodes_of.items() if len(nodes) >= least}

    @property
    def planned(self) -> bool:
        """Whether most cells are on half of the nodes or more, and each node has them equally often."""
        shared = self.shared
        rows = sum(sum(cells.values()) for cells in self.of_node.values())
        within = sum(number for cells in self.of_node.values() for cell, number in cells.items() if cell in shared)
        if not rows or within < PLANNED * rows:
            return False
        places = even = 0
        for cells in self.of_node.values():
            usual = Counter(cells.values()).most_common(1)[0][0]
            places += len(shared)
            even += sum(cells[cell] == usual for cell in shared)
        return even >= PLANNED * places

    @property
    def numbered(self) -> bool:
        """Whether its cells are the whole numbers from 0 or 1 on."""
        cells = {cell.strip() for cell in self.nodes_of}
        if not all(cell.isdecimal() and len(cell) < LONGEST_COUNT for cell in cells):
            return False
        numbers = sorted(map(int, cells))
        return numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))

    @property
    def labels(self) -> bool:
        """Whether its cells can be names or numbers of things: words or whole numbers."""
        return not self.column.numeric or all(cell.strip().isdecimal() for cell in self.nodes_of)

    @property
    def condition_name(self) -> bool:
        """Whether it has the name of a condition, such as the size of a run."""
        counts = self.words & COUNT_WORDS and self.words <= COUNT_WORDS | COUNTED_WORDS
        return bool(self.words & (CONDITION_WORDS - COUNT_WORDS) or counts)

    @property
    def size(self) -> bool:
        """Whether it is the size of a run, such as its ranks, and most rows have the same: others are of other work."""
        named = self.condition_name and self.words.isdisjoint(RATES)
        return self.column.numeric and self.labels and named and self.mostly_same

    @property
    def model(self) -> bool:
        """Whether its name ends with a kind of nodes: `cpu_model`, `Model name`; no `cpu_governor`."""
        return last_word(self.column.name) in MODEL_WORDS

    @property
    def moments(self) -> bool:
        """Whether its cells are dates or times."""
        return are_moments(self.column)

    @property
    def mostly_same(self) -> bool:
        """Whether one cell, or none, fills most rows: a remark on single rows."""
        numbers = Counter(self.column.cells)
        written = sum(number for cell, number in numbers.items() if not is_missing(cell))
        return max(numbers.values()) >= PLANNED * numbers.total() or written < numbers.total() / 2

    @property
    def mostly_zero(self) -> bool:
        """Whether most of its cells are the number 0."""
        zeros = sum(number == 0 for number in self.column.numbers()) if self.column.numeric else 0
        return zeros >= PLANNED * len(self.column.cells)

    @property
    def run(self) -> bool:
        """Whether it has the name of a run, or dates."""
        named = self.column.name.strip().lower() in RUN_NAMES and not self.duration
        return named or self.moments or (bool(self.words & RUN_WORDS) and self._label_name)

    @property
    def duration(self) -> bool:
        """Whether it is a time that was measured: a number that does not return."""
        return self.column.numeric and sense_of(self.column.name) is Sense.LOWER and not self.planned

    @property
    def index(self) -> bool:
        """Whether it counts the rows."""
        cells = self.column.cells
        enough = len(cells) >= FEWEST_COUNTED or bool(self.words & INDEX_WORDS)
        return enough and self.numbered and list(map(int, cells)) == sorted({*map(int, cells)})

    @property
    def part(self) -> bool:
        """Whether it has the name of a part of a node, and labels in its cells; `gpu_temp` has numbers of something."""
        named = self.words & PART_WORDS and not measures_part(self.column)
        return bool(named) and self.labels and self._label_name

    @property
    def beside_results(self) -> bool:
        """Whether a sensor read it, or it is a whole number that each several nodes have, and no measure names it."""
        returns = self.labels and all(len(nodes) > 1 for nodes in self.nodes_of.values())
        sensor = last_word(self.column.name) in SENSOR_WORDS
        return sensor or (returns and sense_of(self.column.name, self.column.unit) is None)

    @property
    def _label_name(self) -> bool:
        return sense_of(self.column.name) is None or (self.labels and self.planned)


def measures_part(column: TableColumn) -> bool:
    """Whether it has numbers of something that a part of a node has, if its name has that of a part."""
    words = words_of(column.name)
    return column.numeric and (PART_NUMBERS.isdisjoint(words[-1:]) or not SENSOR_WORDS.isdisjoint(words))


def roles_of(
    columns: Sequence[TableColumn],
    node: TableColumn,
    *,
    value: str = "",
    by: Sequence[str] = (),
    part: Sequence[str] = (),
) -> ColumnRoles:
    """The roles of all columns. `value`, `by`, `part`: columns that the user names.

    Raises UsageError for names that the table lacks, for several columns of values, and for columns whose role neither
    contents nor names show.
    """
    refuse_same_names(columns)
    names = [column.name for column in columns]
    named_by_user = {"of values": (value,) if value else (), "of a condition": by, "of a part": part}
    for what, wanted in named_by_user.items():
        if missing := next((name for name in wanted if name not in names), ""):
            raise UsageError(f"The file has no column {what} {missing!r}.", f"It has {some(names, MOST_NAMES)}.")
    contents = {
        column.name: _CellKinds(column, node.cells) for column in columns if column is not node and column.name != value
    }
    chosen = {**dict.fromkeys(by, "conditions"), **dict.fromkeys(part, "parts")}
    single = all(number == 1 for number in Counter(node.cells).values())
    roles = {name: chosen.get(name) or _role(column, single=single) for name, column in contents.items()}
    if value:
        _refuse_plan(
            _CellKinds(next(column for column in columns if column.name == value), node.cells), roles, single=single
        )
    else:
        value = _value(columns, roles, contents)
        del roles[value]
    asked = [name for name, role in roles.items() if role == "asked"]
    if asked:
        raise UsageError(
            f"Column {asked[0]!r} counts from {min(contents[asked[0]].nodes_of, key=int)}, and nothing shows whether "
            "it counts runs, conditions or parts of a node.", ASK,
        )  # fmt: skip
    named = defaultdict(list)
    for name, role in roles.items():
        named["unused" if role == "numbers" else role].append(name)
    tuples = {role: tuple(named[role]) for role in ("runs", "conditions", "parts", "properties", "constants", "unused")}
    behind = next((after.name for one, after in pairwise(columns) if one.name == value), "")
    units = behind if behind in named["units"] else next(iter(named["units"]), "")
    return ColumnRoles(node=node.name, value=value, units=units, **tuples)


def refuse_same_names(columns: Sequence[TableColumn]) -> None:
    """Raise UsageError where two columns have one name, so that no role can be given to one of them."""
    if twice := next((name for name, number in Counter(one.name for one in columns).items() if number > 1), ""):
        raise UsageError(f"Two columns are called {twice!r}.", "Give each column a name of its own.")


def planned_columns(columns: Sequence[TableColumn], times: TableColumn) -> tuple[TableColumn, ...]:
    """Columns that distinguish several rows of one time: nodes, tests, sizes, parts."""
    if any(len(column.cells) != len(times.cells) for column in columns):
        return ()
    others = [column for column in columns if column is not times]
    contents = [_CellKinds(column, times.cells) for column in others]
    roles = ("conditions", "parts", "asked")
    return tuple(
        column for column, of in zip(others, contents, strict=True) if _role(of, single=False) in roles and of.planned
    )


def _role(contents: _CellKinds, *, single: bool) -> str:
    """The role of one column by itself. `single`: each node has one row."""
    numeric, words = contents.column.numeric, contents.words
    units = not numeric and all(unit_in(cell) for cell in contents.nodes_of)
    named = words & (PROPERTY_WORDS | MODEL_WORDS) and sense_of(contents.column.name) is None
    result = names_result(contents.column.name)
    measured = numeric and single and result and not named and not contents.run
    remark = contents.mostly_same or is_remark(contents.column.name) or is_outcome(contents.column)
    tests = (
        (units or (contents.column.name.strip().lower() in UNIT_NAMES and not numeric), "units"),
        (contents.constant, "constants"),
        (numeric and (is_numbered(contents.column.name) or bool(words & DEVIATIONS)), "unused"),
        (contents.index, "unused"),
        (contents.of_the_node and contents.size, "conditions"),
        (contents.of_the_node and measured, "numbers"),
        (contents.of_the_node and not (contents.nested or numeric) and contents.model, "conditions"),
        (contents.of_the_node, "unused" if contents.nested else "properties"),
        (not numeric and is_outcome(contents.column), "unused"),
        (contents.run, "runs"),
        (contents.part, "parts"),
        (numeric and not result, "unused"),
        (contents.nested, "numbers" if numeric else "unused"),
        (not numeric, "unused" if remark else "conditions"),
    )
    return next((role for holds, role in tests if holds), "") or _role_of_numbers(contents)


def _role_of_numbers(contents: _CellKinds) -> str:
    """Role of a column of numbers that change within nodes and return on others."""
    if not contents.planned:
        return "conditions" if contents.condition_name and contents.labels else "numbers"
    if contents.condition_name:
        return "conditions"
    if sense_of(contents.column.name) is not None:
        return "numbers"
    if len(contents.shared) == 1:  # what few rows have by themselves, such as a link that lost lanes, was not planned
        return "unused"
    return "asked" if contents.numbered else "conditions"


def _refuse_plan(value: _CellKinds, roles: Mapping[str, str], *, single: bool) -> None:
    """Raise UsageError where the chosen column is part of the plan, or constant, and others have the measurements."""
    role = _role(value, single=single)
    what = {"constants": "the same in every row", "conditions": "a condition", "parts": "the part of a node"}.get(role)
    numbers = [name for name, role in roles.items() if role == "numbers"]
    if what and numbers and sense_of(value.column.name) is None:
        raise UsageError(
            f"Column {value.column.name!r} is {what}, not a measurement.",
            f"Columns of numbers: {some(numbers, MOST_NAMES)}. Choose one: --column COLUMN.",
        )


def _value(columns: Sequence[TableColumn], roles: Mapping[str, str], contents: Mapping[str, _CellKinds]) -> str:
    """The only column of numbers that has no other role, or the one called `value`. Raises UsageError."""
    numbers = [name for name, role in roles.items() if role == "numbers"]
    called = [name for name in roles if name.strip().lower() == "value" and contents[name].column.numeric]
    candidates = called or numbers
    if not candidates:  # the same number in all rows of each node, or a time
        keys = RUN_WORDS | CONDITION_WORDS | PROPERTY_WORDS | MODEL_WORDS
        named = [name for name in contents if names_result(name) and not is_numbered(name)]
        kinds = [contents[name] for name in named]
        free = [one.column.name for one in kinds if not (one.words & keys or one.part or one.index)]
        numeric = [name for name in free if contents[name].column.numeric]
        candidates = [name for name in numeric if roles[name] != "runs" or sense_of(name) is not None]
    if not candidates:
        refuse_almost_numbers(columns)
        names = some([column.name for column in columns], MOST_NAMES)
        raise UsageError(
            f"The file has no column of values: {names}.",
            "Give columns `node` and `value`, and `run` if you like; or name the column of the values with --column.",
        )
    varying = [name for name in candidates if not contents[name].mostly_zero]
    if len(varying) == 1 and sense_of(varying[0]) is not None:
        candidates = varying  # what is nearly always 0 beside a rate counts lost packets, or the like
    if len(candidates) > 1:  # dd and hdparm print a unit behind each number
        behind = {one.name: {*map(unit_of, beside.cells)} for one, beside in pairwise(columns)}
        rates = [name for name in candidates if len(behind.get(name, ())) == 1 and is_rate(*behind[name])]
        candidates = rates if len(rates) == 1 else candidates
    if len(candidates) > 1:  # readings of sensors, and numbers of places such as units of a rack, are not results
        results = [name for name in candidates if not contents[name].beside_results]
        candidates = results if len(results) == 1 else candidates
    if len(candidates) > 1:
        raise UsageError(
            f"Several columns have numbers: {some(candidates, MOST_NAMES)}.", "Choose one: --column COLUMN."
        )
    (chosen,) = candidates
    of = contents[chosen]
    if of.mostly_same and len(of.of_node) > 1 and names_capacity(of.column.name):
        raise UsageError(
            f"{'All' if of.constant else 'Most'} rows have the same {chosen}: this looks like a list of what the nodes "
            "have, not of measurements.",
            "Name the column of the values with --column if it is one.",
        )
    return chosen


MEASURED = ("numbers", "asked")
"""Roles of columns that can hold results, by their contents and names."""


def role_beside(column: TableColumn, nodes: TableColumn) -> str:
    """The role of a column by itself: `numbers` where neither contents nor name show another one than values."""
    single = len(nodes.cells) == len({*nodes.cells})
    return _role(_CellKinds(column, nodes.cells), single=single)
