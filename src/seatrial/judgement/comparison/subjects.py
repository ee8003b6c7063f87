"""The subjects of one metric: pairs that both sets of runs measured, and nodes."""

import warnings
from collections.abc import Mapping

import msgspec
import numpy as np

from seatrial.model.run_values import MetricTable, Reals
from seatrial.model.subject import SubjectKind
from seatrial.model.units import LATENCY
from seatrial.statistics.change_errors import Jumps
from seatrial.statistics.estimates import FEWEST_ALIKE
from seatrial.statistics.run_comparison import RunComparison, compare_runs

FEWEST_RUNS = 2
"""Runs of each set before a subject is called slower or faster. A node that is seen over several pairs needs one."""
FEWEST_PARTNERS = 2
"""A node with fewer is its pair."""
COMMON_SHARE = 0.5
"""If a smaller share of the pairs is common to both sets, nodes are compared over all of their pairs."""


class Columns(msgspec.Struct, frozen=True, kw_only=True):
    """Values of both sets, runs down and subjects across, positive; NaN where missing."""

    names: tuple[str, ...]
    """`n1>n2` or `n1`."""
    first: Reals
    second: Reals
    fewest_runs: int = FEWEST_RUNS
    """Runs of each set before a subject is called slower or faster."""


class ComparedSubjects(msgspec.Struct, frozen=True, kw_only=True):
    """The subjects of one kind in one metric, and how they changed."""

    kind: SubjectKind
    columns: Columns
    comparison: RunComparison


def compare_subjects(
    table: MetricTable, first: int, leaf_of: Mapping[str, str]
) -> tuple[ComparedSubjects | None, ComparedSubjects | None]:
    """Pairs and nodes, None where the table has none of them. Jumps of pairs limit how sure their nodes are."""
    pairs, nodes = pair_columns(table, first), node_columns(table, first, leaf_of)
    of_pairs = _compared(SubjectKind.PAIR, pairs, None) if pairs.names else None
    jumps = of_pairs.comparison.jumps if of_pairs else None
    return of_pairs, _compared(SubjectKind.NODE, nodes, jumps) if nodes else None


def _compared(kind: SubjectKind, columns: Columns, pairs: Jumps | None) -> ComparedSubjects:
    comparison = compare_runs(columns.first, columns.second, pairs=pairs)
    return ComparedSubjects(kind=kind, columns=columns, comparison=comparison)


def pair_columns(table: MetricTable, first: int) -> Columns:
    """Pairs with a value in both sets. The first `first` rows of the table are the first set."""
    if table.metric.of_nodes:
        return Columns(names=(), first=np.empty((0, 0)), second=np.empty((0, 0)))
    return _common_columns(table, first)


def _common_columns(table: MetricTable, first: int) -> Columns:
    has = ~np.isnan(table.values)
    common = np.flatnonzero(has[:first].any(axis=0) & has[first:].any(axis=0))
    rows = np.any(has[:, common], axis=1)
    names = tuple(">".join(table.pairs[column]) for column in common)
    values = table.values[:, common]
    return Columns(names=names, first=values[:first][rows[:first]], second=values[first:][rows[first:]])


def pairs_of_one(table: MetricTable, first: int) -> tuple[int, int]:
    """Pairs that only the first, and only the second set has."""
    has = ~np.isnan(table.values)
    before, after = has[:first].any(axis=0), has[first:].any(axis=0)
    return int((before & ~after).sum()), int((after & ~before).sum())


def node_columns(table: MetricTable, first: int, leaf_of: Mapping[str, str]) -> Columns | None:
    """What each node's pairs do in each run, in the middle; None where pairs say all there is to say.

    Each pair counts by its ratio to its own usual value, so that distance does not matter: its median over the runs of
    both sets, since of two runs a single wild value moves any mean. Where most pairs are not common to both sets (a
    sparse design draws others each time), it counts by its ratio to the usual value of pairs below one leaf switch, or
    of pairs below two. Latency depends on distance: without known leaves its nodes are not compared then.
    """
    if table.metric.of_nodes:
        own = _common_columns(table, first)
        names = tuple(name.partition(">")[0] for name in own.names)
        return Columns(names=names, first=own.first, second=own.second) if names else None
    nodes = sorted({node for pair in table.pairs for node in pair})
    if len(nodes) < FEWEST_ALIKE:
        return None
    place = {node: number for number, node in enumerate(nodes)}
    ends = np.array([[place[source], place[target]] for source, target in table.pairs])
    logs = np.log(table.values)
    has = ~np.isnan(logs)
    before, after = has[:first].any(axis=0), has[first:].any(axis=0)
    common = before & after
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        level = float(np.nanmedian(logs[:first]))
        by_pair = common.sum() >= COMMON_SHARE * max(before.sum(), after.sum())
        if by_pair:
            logs = np.where(common, logs - np.nanmedian(logs, axis=0), np.nan)
        elif all(node in leaf_of for node in nodes):
            near = np.array([leaf_of[source] == leaf_of[target] for source, target in table.pairs])
            usual = [float(np.nanmedian(logs[:first, part])) if part.any() else level for part in (near, ~near)]
            logs = logs - np.where(near, *usual) + level
        elif table.metric.unit == LATENCY:
            return None
        columns = np.array([_medians(row, ends, len(nodes)) for row in logs])
        if by_pair:  # one number for each node, which changes no ratio: values look as those of the first set did
            columns += level - np.nanmean(columns[:first], axis=0)
    measured = ~np.isnan(columns)
    chosen = np.flatnonzero(measured[:first].any(axis=0) & measured[first:].any(axis=0))
    rows = measured[:, chosen].any(axis=1)
    if len(chosen) < FEWEST_ALIKE:
        return None
    values = np.exp(columns[:, chosen])
    names = tuple(nodes[number] for number in chosen)
    first_values, second_values = values[:first][rows[:first]], values[first:][rows[first:]]
    return Columns(names=names, first=first_values, second=second_values, fewest_runs=1)


def _medians(row: Reals, ends: "np.ndarray", count: int) -> Reals:
    """The median over each node's pairs; NaN for a node with too few of them."""
    measured = np.flatnonzero(~np.isnan(row))
    nodes = np.concatenate([ends[measured, 0], ends[measured, 1]])
    values = np.concatenate([row[measured], row[measured]])
    order = np.lexsort((values, nodes))
    nodes, values = nodes[order], values[order]
    numbers = np.bincount(nodes, minlength=count)
    starts = np.concatenate([[0], np.cumsum(numbers)[:-1]])
    enough = numbers >= FEWEST_PARTNERS
    low = (starts + (numbers - 1) // 2)[enough]
    high = (starts + numbers // 2)[enough]
    medians = np.full(count, np.nan)
    medians[enough] = (values[low] + values[high]) / 2
    return medians
