"""What a table lacks of its own plan: runs of a node, conditions of a node, parts of a node.

A table has no plan beside itself: what most nodes have is expected of all. What only some have is not missing on the
others, and shows nothing of them.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from seatrial.importers.fleets import Labels
from seatrial.statistics.fleets import POPULATION_SHARE


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
    rare = tuple(part for part, own in having.items() if len(nodes) - len(own) >= POPULATION_SHARE * len(nodes))
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
