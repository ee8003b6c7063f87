"""What the values of nodes that ran the same benchmark under one condition show."""

import itertools
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from seatrial.importers.fleets import Labels, without_gaps
from seatrial.model.errors import UsageError
from seatrial.model.imported import Sense
from seatrial.model.pair_faults import MOST_BETTER
from seatrial.model.verdict import Verdict
from seatrial.model.words import some, verb
from seatrial.statistics.estimates import GROUP_SHARE
from seatrial.statistics.fleets import EFFECT, FleetResult, NodeRuns, judge_fleet


class FewerRuns(NamedTuple):
    """A node, or a part of one, with fewer values than runs were planned."""

    subject: str
    runs: int
    planned: int
    detectable: float
    """Loss of it that is found in 95 % of cases."""
    where: str
    """The condition; empty: the only one, or all of them."""


class UnevenParts(NamedTuple):
    """Parts that not every node has."""

    lacking: dict[str, str]
    """Parts that single nodes lack, such as `n04 gpu 3`, each with its node."""
    rare: tuple[str, ...]
    """Parts that a third of the nodes or more lack: these are nodes of another kind."""


def uneven_parts(parts: Iterable[tuple[str, str]]) -> UnevenParts:
    """Which parts are not on every node. `parts`: node and part of each subject that is a part."""
    nodes: dict[str, None] = {}
    having: defaultdict[str, set[str]] = defaultdict(set)
    for node, part in parts:
        nodes[node] = None
        having[part].add(node)
    rare = tuple(part for part, own in having.items() if len(nodes) - len(own) >= GROUP_SHARE * len(nodes))
    usual = [part for part in having if part not in rare]
    lacking = {f"{node} {part}": node for node in nodes for part in usual if node not in having[part]}
    return UnevenParts(lacking, rare)


def expected_subjects(
    conditions: Sequence[Labels],
    measured: Sequence[Mapping[str, None]],
    lacking: Mapping[str, str],
    node_of: Mapping[str, str],
) -> list[dict[str, None]]:
    """The nodes and parts that belong to the plan of each condition, in the order of the table.

    A plan is the conditions that agree in all columns with one cell for each subject, such as its rack. `measured`:
    what each condition has; `lacking`: parts that were measured nowhere, each with its node.
    """
    cells: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for labels, subjects in zip(conditions, measured, strict=True):
        for (column, cell), subject in itertools.product(labels, subjects):
            cells[column, subject].add(cell)
    varied = {column for (column, _), of_subject in cells.items() if len(of_subject) > 1}
    plans = [tuple(label for label in labels if label[0] not in varied) for labels in conditions]
    members: defaultdict[Labels, dict[str, None]] = defaultdict(dict)
    for plan, subjects in zip(plans, measured, strict=True):
        members[plan].update(subjects)
    for everyone in members.values():
        nodes = {node_of[subject] for subject in everyone if subject in node_of}
        everyone.update(dict.fromkeys(subject for subject, node in lacking.items() if node in nodes))
    return [members[plan] for plan in plans]


class JudgedStratum(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement on the values of one condition. `unmeasured`: nodes without a value."""

    conditions: Labels = ()
    unit: str = ""
    text: str = ""
    result: FleetResult | None
    higher_is_better: bool
    sense_known: bool = True
    """Whether the caller or the metric says so; else it is assumed."""
    ahead: tuple[str, ...] = ()
    """Nodes that would be slow if it were the other way round, the farthest from their peers first."""
    impossible: tuple[tuple[str, float], ...] = ()
    """Nodes with a value `MOST_BETTER` times as good as the median or better, and how many times: of another unit."""
    unmeasured: tuple[str, ...]
    planned_runs: int
    """Number of runs of each node."""
    all_zero: tuple[str, ...] = ()
    """The nodes, where every value of all of them is 0."""
    absent: tuple[str, ...] = ()
    """Nodes or parts that were measured under other conditions of the same plan, or on other nodes, and not here."""
    few_of: int = 0
    """Nodes or parts of the plan, if fewer than half of them were measured under this condition; else 0."""

    @property
    def nodes(self) -> tuple[NodeRuns, ...]:
        """Nodes and parts with values that could be compared."""
        return self.result.nodes if self.result else ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Nodes and parts without a value under this condition."""
        return (*self.unmeasured, *self.absent)

    @property
    def better(self) -> Literal["higher", "lower"]:
        """Which values are good, or are taken to be."""
        return "higher" if self.higher_is_better else "lower"

    @property
    def sense_needed(self) -> bool:
        """Whether a node is only healthy if higher values are better, which nothing says."""
        faults = any(node.slow or node.bad_runs for node in self.nodes)
        return not self.sense_known and bool(self.ahead) and not faults

    def doubtful_unit(self, names: int) -> str:
        """Whose values are too good to be true, and what to look at; empty where none is."""
        subjects, ratios = zip(*self.impossible, strict=True) if self.impossible else ((), (1.0,))
        times = f"{ratios[0]:,.0f} times" if self.higher_is_better else f"1/{ratios[0]:,.0f} of"
        has = f"{some(subjects, names)} {verb(len(subjects), 'has', 'have')} {times}"
        return f"check the unit: {has} the median" if subjects else ""

    @property
    def slow(self) -> tuple[NodeRuns, ...]:
        """Slow nodes, the slowest first."""
        return tuple(sorted((node for node in self.nodes if node.slow), key=lambda node: -node.loss))

    @property
    def suspected(self) -> tuple[NodeRuns, ...]:
        """Low nodes with too few runs."""
        return tuple(node for node in self.nodes if node.suspected)

    def fewer_runs(self) -> tuple[FewerRuns, ...]:
        """Nodes with fewer values than runs were planned, in the order of the table."""
        return tuple(
            FewerRuns(node.node, len(node.values), self.planned_runs, node.detectable, self.text)
            for node in self.nodes
            if len(node.values) < self.planned_runs
        )


def node_verdict(node: NodeRuns) -> Verdict:
    """The verdict of one node."""
    if node.slow:
        return Verdict.SLOW
    if node.bad_runs:
        return Verdict.UNSTABLE
    return Verdict.INCONCLUSIVE if node.suspected else Verdict.PASS


def judge_nodes(
    values: Mapping[str, Sequence[float]],
    *,
    higher_is_better: bool = True,
    effect: float = EFFECT,
    comparisons: int = 1,
) -> JudgedStratum:
    """Judge the values of each node; nodes without any are reported as not measured.

    `values`: NaN for a run without a value. What half of the nodes have, empty ones included, is the number of runs
    that were planned. `comparisons`: how many fleets share the error rate.
    No value is negative. 0 is the worst one where higher is better; else nothing takes no time. Raises UsageError.
    """
    without = without_gaps(values)
    measured = {node: runs for node, runs in without.items() if runs}
    unmeasured = tuple(node for node, runs in without.items() if not runs)
    zero = next((node for node, runs in measured.items() if 0 in runs), None)
    if zero is not None and not higher_is_better:
        raise UsageError(
            f"Node {zero!r} has the value 0; where lower values are better, they must be positive.",
            "Leave the value of a run that failed empty; counts that may be 0 have no ratio between nodes.",
        )
    all_zero = () if any(any(runs) for runs in measured.values()) else tuple(measured)
    result = None
    if measured and not all_zero:
        result = judge_fleet(measured, higher_is_better=higher_is_better, effect=effect, comparisons=comparisons)
    return JudgedStratum(
        result=result,
        higher_is_better=higher_is_better,
        unmeasured=unmeasured,
        planned_runs=statistics.median_high(map(len, values.values())) if values else 0,
        all_zero=all_zero,
    )


def judge_both_ways(
    values: Mapping[str, Sequence[float]], sense: Sense | None, *, effect: float = EFFECT, comparisons: int = 1
) -> JudgedStratum:
    """Judge the values, and name the nodes that would be slow if the opposite values were good.

    `sense`: None: higher values are taken to be good, and a node far better than the others withholds PASS.
    """
    higher = sense is not Sense.LOWER
    judged = judge_nodes(values, higher_is_better=higher, effect=effect, comparisons=comparisons)
    positive = {node: [value for value in runs if value] for node, runs in values.items()}
    other = judge_nodes(positive, higher_is_better=not higher, effect=effect, comparisons=comparisons)
    ahead = tuple(node.node for node in (*other.slow, *other.suspected))
    usual = judged.result.median if judged.result else 0.0
    best = {node: max((value / usual if higher else usual / value) for value in runs if value)
            for node, runs in positive.items() if usual and runs}  # fmt: skip
    counts = not higher and all(value.is_integer() for runs in positive.values() for value in runs)
    impossible = tuple((node, ratio) for node, ratio in best.items() if ratio >= MOST_BETTER and not counts)
    return msgspec.structs.replace(judged, sense_known=sense is not None, ahead=ahead, impossible=impossible)
