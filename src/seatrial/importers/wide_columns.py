"""Tables with a column for each run, day, part of a node or metric, rewritten with one column of values."""

import itertools
import math
import re
import statistics
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import msgspec

from seatrial.importers.column_roles import MEASURED, role_beside
from seatrial.importers.columns import TableColumn
from seatrial.importers.node_names import SUMMARIES
from seatrial.importers.row_outcomes import status_of
from seatrial.importers.series_times import MOMENT
from seatrial.model.column_words import (
    CONDITION_WORDS,
    NODE_NAMES,
    PART_WORDS,
    RUN_WORDS,
    SENSOR_WORDS,
    last_word,
    words_of,
)
from seatrial.model.errors import UsageError
from seatrial.model.imported import Sense, names_capacity, sense_of
from seatrial.model.words import name_form, natural_sorted, some

BEST = frozenset({"best", "worst", "peak", "fastest", "slowest"})
"""Words of columns that summarise runs or parts, beside those of rows that summarise nodes."""
MEANS = frozenset({"average", "avg", "mean", "median"})
KERNELS = frozenset({"stream", "copy", "scale", "mul", "add", "triad", "dot", "nstream"})
ROUNDED = 1e-3
MOST_NAMED = 4
DIVIDES = " _.:#-"
NUMBERED = re.compile(r"(?P<stem>.{0,200}?)(?P<mark>[ _.:#-]{0,9})(?P<number>[0-9]{1,18})(?P<rest>)")
NUMBERED_INSIDE = re.compile(
    r"(?P<stem>.{0,99}?[a-zA-Z])(?P<mark>[ _.:#-]{0,9})(?P<number>[0-9]{1,4})(?P<rest>[^a-zA-Z0-9].{0,99})"
)

NODE_NAME = re.compile(r"(?=[^\d]*\d)[A-Za-z][\w.-]{0,99}")
FEWEST_NODES, MOST_OTHERS = 3, 2
OTHER_WORDS = frozenset({"column", "series", "sensor", "value"})
DEVICE = re.compile(
    r"(?P<stem>(?:.{0,99}[^a-zA-Z0-9])?)(?P<mark>)(?P<number>(?:mlx[45]_|hfi1_|bnxt_re|irdma|rdmap[0-9]{1,4}s|efa_|qib|"
    r"cxi|hsn|ib|nvme[0-9]{1,3}n)[0-9]{1,3})(?P<rest>(?:[^a-zA-Z0-9].{0,99})?)"
)
"""Names that drivers of adapters and disks give, with the words before and behind them: mlx5_0, bw_hfi1_1_GBps."""


def _numbered_name(name: str) -> "re.Match[str] | None":
    """A name with the number of a run or part at its end, or behind the word for it: run1, gpu0_h2d_GBps, mlx5_0."""
    if device := DEVICE.fullmatch(name):
        return device
    at_end = NUMBERED.fullmatch(name)
    if at_end and words_of(at_end["stem"]) and words_of(at_end["stem"])[-1] in RUN_WORDS | PART_WORDS:
        return at_end
    inside = NUMBERED_INSIDE.fullmatch(name)
    if inside and words_of(inside["stem"])[-1] in RUN_WORDS | PART_WORDS:
        return inside
    return at_end if at_end and words_of(at_end["stem"]) else None


def transposed(columns: Sequence[TableColumn]) -> tuple[TableColumn, ...]:
    """The long form of a table with a column for each node: n01, n02, n03; none of another table.

    Their names differ in digits only, and neither name what is measured nor a run, part or condition.
    """
    members = [one for one in columns if one.numeric and _may_be_node(one.name)]
    aside, own = {*map(id, members)}, {status_of(one.name) for one in members}
    others = [one for one in columns if id(one) not in aside and one.name not in own]
    forms = {name_form(one.name) for one in members}
    named = any(one.name.strip().lower() in NODE_NAMES for one in others)
    if len(members) < FEWEST_NODES or len(forms) > 1 or len(others) > MOST_OTHERS or named:
        return ()
    return _one_below_another(columns, others, members, {"node": [one.name for one in members]})


def _one_below_another(
    columns: Sequence[TableColumn],
    others: Sequence[TableColumn],
    members: Sequence[TableColumn],
    labels: Mapping[str, Sequence[str]],
    value: str = "value",
) -> tuple[TableColumn, ...]:
    """The members as one column `value`, beside the others, repeated, and the label of each member.

    `labels`: name of a new column -> its cell for each member. The words in place of numbers are joined, too, if any
    member had such words.
    """
    rows = len(members[0].cells)
    long = {one.name: msgspec.structs.replace(one, cells=one.cells * len(members)) for one in others}
    words, blank = {one.name: one.cells for one in columns}, ("",) * rows
    joined = {name: tuple(cell for cell in cells for _ in range(rows)) for name, cells in labels.items()}
    joined[value] = tuple(itertools.chain.from_iterable(one.cells for one in members))
    statuses = tuple(itertools.chain.from_iterable(words.get(status_of(one.name), blank) for one in members))
    joined |= {status_of(value): statuses} if any(statuses) else {}
    return tuple((long | {name: TableColumn(name=name, cells=cells) for name, cells in joined.items()}).values())


def _may_be_node(name: str) -> bool:
    words = words_of(name)
    return (
        NODE_NAME.fullmatch(name) is not None
        and DEVICE.fullmatch(name) is None
        and sense_of(name) is None
        and not (RUN_WORDS | PART_WORDS | CONDITION_WORDS | OTHER_WORDS).difference("np").intersection(words)
    )


def melted(columns: Sequence[TableColumn], node: TableColumn) -> tuple[tuple[TableColumn, ...], TableColumn] | None:
    """The long form of a table with a column for each run or part: run1, run2, or gpu0, gpu1; None for other tables.

    `h2d:0`, `h2d:1` are parts, too, as SuperBench writes them; with `d2h:0` beside them the names before the colon are
    a condition. Columns that summarise runs or parts, such as their best, are left out. Raises UsageError for other
    numbers beside runs.
    """
    stems: defaultdict[tuple[str, str], dict[str, TableColumn]] = defaultdict(dict)
    keys: dict[tuple[str, str], str] = {}
    for column in columns:
        match = None if column is node or not column.numeric else _numbered_name(column.name)
        if match is not None:
            stem = (match["stem"] + ":" * (":" in match["mark"]), match["rest"])
            stems[stem][match["number"]] = column
            kind = "part" if stem[0].endswith(":") else ""
            keys[stem] = "device" if match.re is DEVICE else kind or words_of(stem[0])[-1]
    moments = {one.name: one for one in columns if one is not node and one.numeric and MOMENT.fullmatch(one.name)}
    if not stems and len(moments) > 1:  # a column for each day
        stems["date", ""], keys = moments, {("date", ""): "date"}
    members = {column.name for group in stems.values() for column in group.values()}
    aside = members | {*map(status_of, members)}
    others = [column for column in columns if column.name not in aside]
    several = len(stems) > 1
    fit = len({*keys.values()}) == 1 and {*keys.values()} <= RUN_WORDS | PART_WORDS
    if not fit or min(map(len, stems.values())) < 2:
        return None
    others = [one for one in others if one is node or not any(_summarises(one, group) for group in stems.values())]
    if measured := [one.name for one in others if one is not node and role_beside(one, node) in MEASURED]:
        if {*keys.values()} <= RUN_WORDS:
            raise _beside_runs(members, measured)
        return None
    groups = [(stem, number, column) for stem, group in stems.items() for number, column in group.items()]
    labels = {next(iter(keys.values())): [number for _, number, _ in groups]}
    if several:
        labels["metric"] = [
            " ".join((stem.rstrip(DIVIDES), *rest.strip(DIVIDES).split())).strip() for (stem, rest), *_ in groups
        ]
    words = next(iter(stems))[0 if "device" in keys.values() else 1 :]
    value = "" if several else " ".join(word.strip(DIVIDES) for word in words if word)
    made = _one_below_another(columns, others, [column for *_, column in groups], labels, value or "value")
    return made, next(column for column in made if column.name == node.name)


def metrics_melted(
    columns: Sequence[TableColumn], node: TableColumn, given: Collection[str]
) -> tuple[tuple[TableColumn, ...], TableColumn] | None:
    """The long form of a table with a column for each metric: copy, scale, add, triad; None for other tables.

    All names say which values are good, or all are kernels of STREAM. Of mean, best and worst of a metric the mean
    counts, and of capacities, such as memory, nothing is compared. `given`: columns that have another role.
    """
    others = [one for one in columns if one is not node and one.name not in given]
    measured = [one for one in others if role_beside(one, node) == "numbers"]
    named = {one.name.strip().lower() for one in columns}
    alike: defaultdict[tuple[str, ...], list[TableColumn]] = defaultdict(list)
    for column in measured:
        words = re.findall(r"[a-zµ]+|[0-9]+", column.name.lower())
        alike[tuple(word for word in words if word not in SUMMARIES | BEST)].append(column)
    members = [one for group in alike.values() for one in _means(group) or group]
    if len(members) == 1 < len(measured) and not names_capacity(members[0].name):
        left_out = {*map(id, measured)} - {*map(id, members)}
        return tuple(one for one in columns if id(one) not in left_out), node
    names = [one.name for one in members]
    kernels = all(words_of(name) and KERNELS.issuperset(words_of(name)) for name in names)
    comparable = kernels or all(map(_comparable, members))
    taken = named & {"metric", "unit", "value"} or len(named) < len(columns) or any(map(names_capacity, names))
    if taken or len(measured) < 2 or not members or not comparable:
        return None
    left = {*names, *map(status_of, names)}
    others = [one for one in columns if one.name not in left]
    units = {"unit": [one.unit for one in members]} if any(one.unit for one in members) else {}
    long = _one_below_another(columns, others, members, {"metric": names, **units})
    return long, next(column for column in long if column.name == node.name)


def _means(columns: Sequence[TableColumn]) -> list[TableColumn]:
    """The first mean of a metric; none where no column is one."""
    return [one for one in columns if MEANS.intersection(words_of(one.name))][:1]


def _comparable(column: TableColumn) -> bool:
    """Whether name or unit says which values are good, no sensor reads them, and no time or loss is 0."""
    sense = None if last_word(column.name) in SENSOR_WORDS else sense_of(column.name, column.unit)
    return sense is Sense.HIGHER or (sense is Sense.LOWER and min(column.numbers()) > 0)


def _summarises(column: TableColumn, members: Mapping[str, TableColumn]) -> bool:
    """Whether a column is called `best`, `mean_GBps` or the like, or is in all rows their best, worst, mean or sum."""
    if SUMMARIES.union(BEST).intersection(words_of(column.name)):
        return True
    if not column.numeric:
        return False
    rows = [
        [value for value in row if not math.isnan(value)]
        for row in zip(*(one.numbers() for one in members.values()), strict=True)
    ]
    pairs = [(row, cell) for row, cell in zip(rows, column.numbers(), strict=True) if row and not math.isnan(cell)]
    means = (max, min, statistics.fmean, statistics.median, sum)
    return any(all(math.isclose(of(row), cell, rel_tol=ROUNDED) for row, cell in pairs) for of in means)


def _beside_runs(runs: Collection[str], others: Sequence[str]) -> UsageError:
    return UsageError(
        f"Columns {some(natural_sorted(runs), MOST_NAMED)} are runs, and {some(others, MOST_NAMED)} has numbers, too.",
        "Leave out what is not a run of the same measurement, or choose one column: --column COLUMN.",
    )
