"""Values of one benchmark from many nodes: CSV, JSON, and folders of outputs of STREAM."""

import math
import re
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.importers.columns import MISSING, Column, checked, json_value, read_columns
from seatrial.importers.other_outputs import refusal_of_folder
from seatrial.importers.series import TIME_NAMES
from seatrial.model.errors import UsageError
from seatrial.model.imported import Sense, sense_of

NODE_NAMES = frozenset({"node", "nodes", "host", "hostname", "nodename", "nodelist", "server", "name"})
RUN_NAMES = frozenset({"run", "iter", "iteration", "rep", "repetition", "repeat", "trial", "time", "date", "timestamp"})
NO_NODES = RUN_NAMES | TIME_NAMES
"""Columns that never hold the names of nodes."""
MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*|[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4}.*|[0-9]{1,2}:[0-9]{2}.*")
"""A cell that begins with a date or a time of the day."""
OUTPUT_NAME = re.compile(r"(?P<node>.+?)-[A-Za-z_]+-[0-9]+n-[0-9]+-iter-(?P<run>[0-9]+)\.(?:out|log|txt)")
"""`NODE-stream-1n-226-iter-1.out`, as flux and Slurm jobs of converged-computing's studies write them."""
STREAM_ROW = re.compile(r"^(Copy|Scale|Add|Triad):\s+([0-9]{1,30}(?:\.[0-9]*)?)(?=\s)", re.MULTILINE)
STREAM_DEFAULT = "Triad"
REMEDY = "Give columns `node` and `value`, and `run` if you like; or JSON that maps each node to its values."

Fleet = dict[str, list[float]]


class FleetTable(msgspec.Struct, frozen=True, kw_only=True):
    """The values of each node, and the columns from which they are; "" where the form has none."""

    values: Fleet
    with_gaps: Fleet = {}
    """Of a table: the same with NaN where a run has no value, so that the others keep their places."""
    nodes: str = ""
    column: str = ""
    runs: str = ""
    """The column of the order of the runs."""
    without_value: tuple[str, ...] = ()
    """The node of each row that has no value."""
    sense: Sense | None = None
    """Which values are good, as far as the file says or the column's name shows."""
    left_out: tuple[str, ...] = ()
    """Files whose output has no value, each with the reason."""


def read_fleet_table(text: str, column: str = "") -> FleetTable:
    """The values of each node in the order of its runs, missing ones left out, and the columns that were taken.

    Raises UsageError.

    `column`: which column of numbers is read; needed only where there are several.
    """
    value = json_value(text) if text.lstrip()[:1] == "{" else None
    if isinstance(value, dict) and value and all(isinstance(runs, list) for runs in value.values()):
        names = {_plain(str(name)) for name in value}
        if not names & NODE_NAMES:
            return _table({name: [_json_number(run, str(name)) for run in runs] for name, runs in value.items()})
    columns = read_columns(text)
    nodes = _node_column(columns, column)
    others = [one for one in columns if one is not nodes and one.name != column]
    runs = next((one for one in others if _plain(one.name) in RUN_NAMES), None)
    values = _value_column(columns, nodes, runs, column)
    numbers = values.numbers()
    if len(numbers) != len(nodes.cells):
        raise UsageError("The columns of nodes and of values differ in length.", REMEDY)
    order = list(range(len(numbers)))
    ordered = runs is not None and runs.numeric
    if runs is not None and ordered:
        places = runs.numbers()
        order.sort(key=lambda row: places[row])
    fleet: Fleet = {}
    for name in nodes.cells:
        fleet.setdefault(name, [])
    for row in order:
        fleet[nodes.cells[row]].append(numbers[row])
    return _table(fleet, nodes.name, values.name, runs.name if runs is not None and ordered else "")


def _plain(name: str) -> str:
    return name.strip().lower()


def _node_column(columns: Sequence[Column], wanted: str) -> Column:
    """The column with such a name, else the only one that can hold names. Raises UsageError where that is not clear."""
    named = next((one for one in columns if _plain(one.name) in NODE_NAMES and one.name != wanted), None)
    if named is not None:
        return named
    possible = [one for one in columns if one.name != wanted and _plain(one.name) not in NO_NODES and not _moments(one)]
    words = [one for one in possible if not one.numeric]
    if len(words) == 1:
        return words[0]
    if not words and possible and possible[0] is columns[0]:
        return possible[0]
    names = ", ".join(one.name for one in columns)
    which = "Several columns can hold" if words else "No column can hold"
    raise UsageError(f"{which} the names of the nodes: {names}.", "Call the column of their names `node`.")


def _moments(column: Column) -> bool:
    """Whether its cells are dates or times."""
    written = [cell for cell in column.cells if _plain(cell) not in MISSING]
    return bool(written) and all(MOMENT.fullmatch(cell.strip()) for cell in written)


def read_outputs(texts: Mapping[str, str], column: str = "") -> Fleet:
    """The same of the outputs of STREAM in a folder, by file name. Raises UsageError where there are none."""
    wanted = (column or STREAM_DEFAULT).capitalize()
    runs: dict[str, list[tuple[int, float]]] = {}
    for name, text in texts.items():
        rates = dict(STREAM_ROW.findall(text))
        if (match := OUTPUT_NAME.fullmatch(name)) and rates:
            if wanted not in rates:
                raise UsageError(f"{name} has no rate of {wanted!r}.", f"It has {', '.join(rates)}.")
            runs.setdefault(match["node"], []).append((int(match["run"]), float(rates[wanted])))
    if not runs:
        none = UsageError("The folder has no output of STREAM with the name NODE-stream-1n-JOB-iter-RUN.out.", REMEDY)
        raise refusal_of_folder(texts, "outputs of a benchmark that seatrial reads", none)
    return _table({node: [rate for _, rate in sorted(found)] for node, found in runs.items()}).values


def _value_column(columns: Sequence[Column], nodes: Column, runs: Column | None, wanted: str) -> Column:
    numeric = [one for one in columns if one is not nodes and one is not runs and (one.numeric or one.name == wanted)]
    if wanted:
        numeric = [one for one in numeric if one.name == wanted]
    elif len(numeric) > 1:
        numeric = [one for one in numeric if _plain(one.name) not in RUN_NAMES] or numeric
        numeric = [one for one in numeric if _plain(one.name) == "value"] or numeric
    names = ", ".join(one.name for one in columns)
    if not numeric:
        raise UsageError(f"The file has no column of values{f' {wanted!r}' if wanted else ''}: {names}.", REMEDY)
    if len(numeric) > 1:
        raise UsageError(f"Several columns have numbers: {names}.", f"Choose one: --column {numeric[0].name}.")
    return numeric[0]


def _json_number(value: object, name: str) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"Node {name!r} has {str(value)[:40]!r}, which is not a number.", REMEDY)
    try:
        return checked(float(value), f"Node {name!r} has {value:g}")
    except OverflowError:  # a whole number of hundreds of digits
        return math.inf


def _table(fleet: Mapping[str, Sequence[float]], nodes: str = "", column: str = "", runs: str = "") -> FleetTable:
    """Without missing values; nodes that have none left keep an empty list. Raises UsageError for impossible ones."""
    for node, values in fleet.items():
        wrong = next((value for value in values if value < 0 or math.isinf(value)), None)
        if wrong is not None:
            raise UsageError(
                f"Node {node!r} has the value {wrong:g}; values must be finite and not negative.",
                "Leave the value of a run that failed empty.",
            )
    return FleetTable(
        values={node: [value for value in values if not math.isnan(value)] for node, values in fleet.items()},
        with_gaps={node: list(values) for node, values in fleet.items()},
        nodes=nodes,
        column=column,
        runs=runs,
        sense=sense_of(column),
        without_value=tuple(node for node, values in fleet.items() for value in values if math.isnan(value)),
    )
