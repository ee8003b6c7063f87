"""Values of one benchmark from many nodes: CSV and JSON."""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence

import msgspec
import numpy as np

from seatrial.importers.column_roles import ColumnRoles, roles_of, unit_in
from seatrial.importers.columns import (
    TableColumn,
    checked,
    json_object,
    read_columns,
    with_durations,
)
from seatrial.importers.error_counts import ALL_COUNTS, counted, counting_columns, counts_apart, joined, label_of
from seatrial.importers.headed_text import prefixed
from seatrial.importers.labelled_columns import with_labels
from seatrial.importers.listings import refuse_listing
from seatrial.importers.lone_cells import LoneCell, MeasuredRow, lone_cells, lone_lines
from seatrial.importers.node_names import are_numbered, refuse_phrases, refuse_sets, short_names
from seatrial.importers.printed_text import labels_of_lines, no_line
from seatrial.importers.row_keys import (
    names_of_runs,
    naming_parts,
    refuse_copies,
    refuse_repeated,
    refuse_unlike_rows,
    row_keys,
    without_summaries,
)
from seatrial.importers.row_outcomes import failed_rows, is_outcome, split_outcomes
from seatrial.importers.series import TIME_NAMES
from seatrial.importers.series_times import are_moments
from seatrial.importers.wide_columns import MOST_NAMED, melted, metrics_melted, transposed
from seatrial.model.column_words import NODE_NAMES, PART_WORDS, RUN_NAMES, words_of
from seatrial.model.errors import UsageError
from seatrial.model.imported import Sense, sense_of
from seatrial.model.words import some
from seatrial.statistics.estimates import FEWEST_ALIKE

NUMBERS = RUN_NAMES - {"time", "date", "timestamp"}
"""Columns that number the measurements of a node."""
NO_NODES = RUN_NAMES | TIME_NAMES
"""Columns that never hold the names of nodes."""
ROWS_DIFFER = 0.1
FEWEST_EXPLAINED = 12
EXPLAINED = 0.5
"""Share of the variance within nodes that a measured number rarely has in common with few of its levels."""
REMEDY = "Give columns `node` and `value`, and `run` if you like; or JSON that maps each node to its values."

Fleet = dict[str, list[float]]
Keys = tuple[tuple[str, ...], ...]
"""A row's node, and its cells in the columns of conditions, of parts and of runs."""
Labels = tuple[tuple[str, str], ...]
"""Names of columns, each with a cell."""


class Stratum(msgspec.Struct, frozen=True, kw_only=True):
    """The values that were measured under the same conditions, by node or by part of a node."""

    conditions: Labels = ()
    unit: str = ""
    """Unit of the values, as far as a column says; empty: unknown."""
    sense: Sense | None = None
    """Which values are good, as far as the file says, or names and units show."""
    with_gaps: Fleet = {}
    """Subject -> its runs in their order, NaN where it has no value in a run, or lacks one that others have."""

    @property
    def values(self) -> Fleet:
        """Subject -> runs without missing values; subjects that have none left keep an empty list."""
        return without_gaps(self.with_gaps)

    @property
    def text(self) -> str:
        """`test all_reduce_perf, G 4`; empty without conditions."""
        return ", ".join(f"{name} {cell}" for name, cell in self.conditions)


class FleetTable(msgspec.Struct, frozen=True, kw_only=True):
    """The values of each node under each condition, and the columns from which they are."""

    strata: tuple[Stratum, ...]
    roles: ColumnRoles = ColumnRoles(node="", value="")
    """The roles of the columns; without names if the form has no columns."""
    parts: dict[str, tuple[str, str]] = {}
    """Subject that is a part of a node -> the node, and the part."""
    without_value: tuple[str, ...] = ()
    """The node of each row that has no value."""
    failed: tuple[str, ...] = ()
    """The node of each run that failed: its row says so, or its output is cut off or does not pass its gates."""
    not_begun: frozenset[str] = frozenset()
    """Nodes of failed runs whose program did not begin, or printed nothing: without a value they were not measured."""
    lone: tuple[LoneCell, ...] = ()
    """Numbers that were not judged and that few nodes have alone."""
    constants: dict[str, str] = {}
    """Columns that have one cell in all rows, with this cell."""
    runs: tuple[str, ...] = ()
    """Names of the runs in their order; empty where they have none, or some nodes have them in another order."""
    left_out: tuple[str, ...] = ()
    """Files whose output has no value, each with the reason; rows that summarise others."""

    @property
    def values(self) -> Fleet:
        """Subject -> values of all strata."""
        values: defaultdict[str, list[float]] = defaultdict(list)
        for stratum in self.strata:
            for name, runs in stratum.values.items():
                values[name] += runs
        return dict(values)


def read_fleet_table(text: str, column: str = "", by: Sequence[str] = (), part: Sequence[str] = ()) -> FleetTable:
    """The values of each node in the order of its runs, for each condition, and the roles of the columns.

    `column`: which column of numbers is read; needed only where there are several. `by`, `part`: columns that say
    which condition, and which part of its node a row is of; else contents and names decide. Raises UsageError.
    """
    value = json_object(text)
    if isinstance(value, dict) and value and all(isinstance(runs, list) for runs in value.values()):
        names = {_plain(str(name)) for name in value}
        if not names & set(NODE_NAMES):
            return one_stratum({name: [_json_number(run, str(name)) for run in runs] for name, runs in value.items()})
    refuse_listing(text, column=column)
    columns = with_labels(split_outcomes(read_columns(text, line := column)), {column, *by, *part})
    if column and all(one.name != column for one in columns) and (labels := labels_of_lines(prefixed(text))):
        if column.lower() not in map(str.lower, labels):
            raise no_line(column, labels)
        column = ""  # the name of the line that was read
    columns = tuple(with_durations(one, chosen=True) if one.name == column else one for one in columns)
    columns = transposed(columns) or columns
    named = _node_column(columns, {column, *by, *part})
    nodes = _with_one_name(named)
    columns = tuple(nodes if one is named else one for one in columns)
    if any(len(one.cells) != len(nodes.cells) for one in columns):
        raise UsageError("The columns of nodes and of values differ in length.", REMEDY)
    columns, nodes, summaries = without_summaries(columns, nodes)
    refuse_sets(nodes.cells)
    if nodes.name.startswith("column "):
        refuse_phrases(nodes.cells)
    if blank := next((row for row, cell in enumerate(nodes.cells, 1) if not cell.strip()), 0):
        raise UsageError(f"Row {blank} has no name in column {nodes.name!r}.", "Write the node's name in each row.")
    columns, nodes = (columns, nodes) if column else counts_apart(columns, nodes)
    counting = () if column else counting_columns(columns, nodes)
    if counting:
        columns, column = (*(one for one in columns if one not in counting), joined(counting)), ALL_COUNTS
    elif not column and (long := melted(columns, nodes) or metrics_melted(columns, nodes, {*by, *part})):
        columns, nodes = long
    roles = roles_of(columns, nodes, value=column, by=by, part=part)
    roles = msgspec.structs.replace(roles, parts=part or naming_parts(columns, roles))
    table = _by_roles(columns, roles, failed_rows(columns, {*by, *part, roles.value, roles.node}), counting)
    lone = (*table.lone, *lone_lines(text, {*nodes.cells}.difference(table.failed), line))
    constants = {one.name: one.cells[0] for one in columns if one.name in roles.constants}
    runs = names_of_runs(columns, roles, _order(columns, roles))
    return msgspec.structs.replace(table, left_out=summaries, lone=lone, constants=constants, runs=runs)


def _by_roles(
    columns: Sequence[TableColumn], roles: ColumnRoles, failed: Collection[int], counting: Sequence[TableColumn]
) -> FleetTable:
    """The strata of a table. `failed`: places of the rows whose run failed. `counting`: see `counting_columns`."""
    of_name = {column.name: column for column in columns}
    numbers = [math.nan if row in failed else value for row, value in enumerate(of_name[roles.value].numbers())]
    order = _order(columns, roles)
    written = of_name[roles.units].cells if roles.units else (of_name[roles.value].unit,) * len(numbers)
    scales = [unit_in(cell) for cell in written]
    kinds = [scale[0] if scale else word for scale, word in zip(scales, written, strict=True)]
    keys = list(
        zip(row_keys(columns, (roles.node,)), row_keys(columns, roles.conditions), row_keys(columns, roles.parts),
            row_keys(columns, roles.runs), strict=True)
    )  # fmt: skip
    refuse_repeated(roles, [(*key[:1], (*key[1], kind), *key[2:]) for key, kind in zip(keys, kinds, strict=True)]
                    if len(set(kinds)) > 1 else keys, columns)  # fmt: skip
    usual = {kind: Counter(word for word, of in zip(written, kinds, strict=True) if of == kind).most_common(1)[0][0]
             for kind in set(kinds)}  # fmt: skip
    strata: dict[tuple[tuple[str, ...], str], dict[str, list[tuple[Hashable, float]]]] = {}
    parts: dict[str, tuple[str, str]] = {}
    subjects: dict[tuple[str, tuple[str, ...]], str] = {}
    without = []
    for row, ((node,), condition, part, _) in enumerate(keys):
        subject = subjects.setdefault((node, part), _subject(node, roles.parts, part) if part else node)
        if part:
            parts[subject] = node, subject.removeprefix(node).strip()
        strata.setdefault((condition, kinds[row]), {}).setdefault(subject, [])
        if math.isnan(numbers[row]):
            without.append(node)
    for row in order:
        (node,), condition, part, run = keys[row]
        main, scale = unit_in(usual[kinds[row]]), scales[row]
        factor = scale[1] / main[1] if scale and main else 1.0
        strata[condition, kinds[row]][subjects[node, part]].append((run, numbers[row] * factor))
    several = len(set(kinds)) > 1
    measured = []
    for (condition, kind), cells in strata.items():
        alone = sum(key[0] == condition for key in strata) == 1
        named = ((roles.units, usual[kind]),) if several and not alone else ()
        labels = (*zip(roles.conditions, condition, strict=True), *named)
        measured.append(_stratum(aligned(cells), labels, usual[kind], label_of(roles, of_name)))
    identified = bool(roles.runs) and len({key[3] for key in keys}) == len(keys)
    fleets = [stratum.values for stratum in measured]
    if identified or NUMBERS.isdisjoint(map(_plain, roles.runs)):
        refuse_copies(fleets)
    if identified or not roles.runs:
        refuse_unlike_rows([*fleet.values()] for fleet in fleets)
    _refuse_explained(columns, roles, keys, numbers)
    rows = [MeasuredRow(node=node, subject=subjects[node, part], condition=condition, part=part)
            for (node,), condition, part, _ in keys]  # fmt: skip
    lone = (*counted(counting, [row.subject for row in rows]), *lone_cells(columns, roles, rows))
    return FleetTable(strata=tuple(measured), roles=roles, parts=parts, without_value=tuple(without), lone=lone,
                      failed=tuple(keys[row][0][0] for row in sorted(failed)))  # fmt: skip


def without_gaps(fleet: Mapping[str, Sequence[float]]) -> Fleet:
    """The fleet without missing values; subjects that have none left keep an empty list."""
    return {name: [run for run in runs if not math.isnan(run)] for name, runs in fleet.items()}


def aligned(runs: Mapping[str, Sequence[tuple[Hashable, float]]]) -> Fleet:
    """The values of each subject in the order of their runs, NaN for each run that it lacks.

    `runs`: for each subject the name and value of each run. If half of the subjects share one name, runs are common to
    all, and one that half of them or FEWEST_ALIKE have is expected of every subject; else the names are those of jobs.
    """
    shared = Counter(run for subject in runs.values() for run, _ in subject)
    half = max((len(runs) + 1) // 2, 2)
    common = max(shared.values(), default=0) >= half
    expected = {run for run, number in shared.items() if common and number >= min(half, FEWEST_ALIKE)}
    fullest = sorted(runs.values(), key=len, reverse=True)
    order = {run: place for place, run in enumerate(dict.fromkeys(run for subject in fullest for run, _ in subject))}
    fleet = {}
    for name, subject in runs.items():
        lacking = [(run, math.nan) for run in expected.difference(run for run, _ in subject)]
        rows = sorted((*subject, *lacking), key=lambda row: order[row[0]]) if lacking else subject
        fleet[name] = [value for _, value in rows]
    return fleet


def _refuse_explained(
    columns: Sequence[TableColumn], roles: ColumnRoles, keys: Sequence[Keys], numbers: Sequence[float]
) -> None:
    """Raise UsageError where a column that is not used has most of what distinguishes the runs of a node.

    Such a column of a few whole numbers, with an unlike plan for each node, is a condition and not a measurement.
    """
    groups: defaultdict[Keys, list[int]] = defaultdict(list)
    for row, key in enumerate(keys):
        if numbers[row] > 0:
            groups[(*key[:3], ())].append(row)
    several = [rows for rows in groups.values() if len(rows) > 1]
    rows = [row for group in several for row in group]
    if len(rows) < FEWEST_EXPLAINED:
        return
    logs = np.log(np.asarray(numbers, dtype=np.float64)[rows])
    places = np.cumsum([0, *map(len, several)])
    for first, end in itertools.pairwise(places):
        logs[first:end] -= np.median(logs[first:end])
    if float(logs.std()) < ROWS_DIFFER:
        return
    for column in columns:
        cells = [column.cells[row] for row in rows]
        levels = set(cells)
        measured = sense_of(column.name) is not None or not all(cell.strip().isdecimal() for cell in levels)
        if column.name not in roles.unused or measured or not 1 < len(levels) <= len(rows) / 4:
            continue
        _, level = np.unique(np.asarray(cells), return_inverse=True)
        left = logs - (np.bincount(level, logs) / np.bincount(level))[level]
        if float(left.var()) < (1 - EXPLAINED) * float(logs.var()):
            raise UsageError(
                f"The values of a node follow column {column.name!r}, which is not used.",
                "Say what it is with --by COLUMN (a condition) or --part COLUMN (a part of a node).",
            )


def _order(columns: Sequence[TableColumn], roles: ColumnRoles) -> list[int]:
    """Places of the rows in the order of their runs, as far as columns of numbers say it."""
    clocks = [column.numbers() for column in columns if column.name in roles.runs and column.numeric]
    rows = range(len(columns[0].cells))
    return sorted(rows, key=lambda row: [(math.isnan(clock[row]), clock[row]) for clock in clocks])


def _subject(node: str, names: Sequence[str], cells: Sequence[str]) -> str:
    """`n04 gpu 3`; a part that has a name of its own, mlx5_0, needs no other."""
    words = []
    for name, cell in zip(names, cells, strict=True):
        kind = next((word for word in words_of(name) if word not in ("id", "index", "idx", "local", "number")), name)
        words.append(f"{kind} {cell}" if cell.isdecimal() or kind in ("uuid", "serial") else cell)
    return " ".join((node, *words))


def _stratum(fleet: Fleet, conditions: Labels, unit: str, column: str) -> Stratum:
    """Raises UsageError for impossible values."""
    for node, values in fleet.items():
        wrong = next((value for value in values if value < 0 or math.isinf(value)), None)
        if wrong is not None:
            raise UsageError(
                f"Node {node!r} has the value {wrong:g}; values must be finite and not negative.",
                "Leave the value of a run that failed empty.",
            )
    sense = sense_of(column) or (sense_of("", unit) if unit else None)
    sense = sense or next(filter(None, (sense_of(cell) for _, cell in conditions if not cell.isdecimal())), None)
    return Stratum(conditions=conditions, unit=unit, sense=sense, with_gaps=fleet)


def one_stratum(
    fleet: Fleet, *, sense: Sense | None = None, unit: str = "", left_out: tuple[str, ...] = ()
) -> FleetTable:
    """Values of a form without columns; `left_out`: outputs of failed runs. Raises UsageError for impossible values."""
    stratum = msgspec.structs.replace(_stratum(fleet, (), unit, ""), sense=sense)
    without = tuple(node for node, values in fleet.items() for value in values if math.isnan(value))
    return FleetTable(strata=(stratum,), without_value=without, left_out=left_out, failed=without if left_out else ())


def _plain(name: str) -> str:
    return name.strip().lower()


def _node_column(columns: Sequence[TableColumn], wanted: set[str]) -> TableColumn:
    """The column with such a name, else the only one that can hold names. Raises UsageError where that is not clear.

    `wanted`: columns that have another role.
    """
    free = [column for column in columns if column.name not in wanted]
    named = {_plain(column.name): column for column in reversed(free) if _plain(column.name) in NODE_NAMES}
    if "nodes" in named and named["nodes"].numeric:  # how many they are
        del named["nodes"]
    ranked = sorted(named, key=lambda name: (named[name].numeric, NODE_NAMES.index(name)))
    if ranked:
        return named[ranked[0]]
    named_else = (one for one in free if _plain(one.name) not in NO_NODES and not is_outcome(one))
    possible = [one for one in named_else if not are_moments(one)]
    words = [one for one in possible if not one.numeric]
    if len(words) > 1:  # without units, and columns of a single word
        words = [one for one in words if len(set(one.cells)) > 1 and not all(map(unit_in, one.cells))] or words
    if len(words) > 1:
        others = [one for one in words if not {"column", *PART_WORDS}.intersection(words_of(one.name))]
        words = [one for one in others if are_numbered(one.cells)] or words
    if len(words) == 1:
        return words[0]
    if not words and possible and possible[0] is columns[0]:
        return possible[0]
    names = some([one.name for one in columns], MOST_NAMED)
    which = "Several columns can hold" if words else "No column can hold"
    raise UsageError(f"{which} the names of the nodes: {names}.", "Call the column of their names `node`.")


def _with_one_name(nodes: TableColumn) -> TableColumn:
    """The names of nodes, without the colon of pdsh, and the domain of one that other rows name without it."""
    if all(cell.endswith(":") for cell in nodes.cells):
        nodes = msgspec.structs.replace(nodes, cells=tuple(cell[:-1] for cell in nodes.cells))
    short = short_names(set(nodes.cells))
    return msgspec.structs.replace(nodes, cells=tuple(short.get(cell, cell) for cell in nodes.cells))


def _json_number(value: object, name: str) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"Node {name!r} has {str(value)[:40]!r}, which is not a number.", REMEDY)
    try:
        return checked(float(value), f"Node {name!r} has {value:g}")
    except OverflowError:  # a whole number of hundreds of digits
        return math.inf
