"""Which facts differ, as JSON for machines; docs/drift.md describes every field."""

from collections.abc import Sequence

from seatrial.drift.changes import Change
from seatrial.drift.comparison import Difference
from seatrial.drift.expected_differences import EVERYONE
from seatrial.drift.peer_groups import Group
from seatrial.model.verdict import Finding
from seatrial.model.words import natural_sorted
from seatrial.render.finding_json import finding_as_json
from seatrial.render.json_text import Json, finite, json_text

FORMAT = 1
"""History: 1, the first."""


def drift_as_json(
    differences: Sequence[Difference],
    changes: Sequence[Change],
    against: Sequence[Difference],
    findings: Sequence[Finding],
    exit_code: int,
    *,
    groups: Sequence[Group] = (),
) -> str:
    """Groups, differences, changes, the login node's differences, findings, exit code; in ASCII, ends in a newline.

    `groups`: those of the facts; without them, what the differences tell of them. Values are in base units; no
    infinity and no NaN: they become null.
    """
    value = {
        "format": FORMAT,
        "exit_code": int(exit_code),
        "groups": [{"name": each.name, "nodes": natural_sorted(each.nodes)} for each in groups or _groups(differences)],
        "differences": [_difference(each) for each in differences],
        "changes": [_change(each) for each in changes],
        "against": [_difference(each) for each in against],
        "findings": [finding_as_json(each) for each in findings],
    }
    return json_text(finite(value))


def _groups(differences: Sequence[Difference]) -> list[Group]:
    nodes_of = {each.group: tuple(node for _, nodes in each.values for node in nodes) for each in differences}
    return [Group(name=name, nodes=nodes) for name, nodes in nodes_of.items() if name != EVERYONE]


def _difference(difference: Difference) -> Json:
    return {
        "fact": difference.fact,
        "group": difference.group,
        "usual": difference.usual,
        "values": [{"value": value, "nodes": natural_sorted(nodes)} for value, nodes in difference.values],
        "odd": natural_sorted(difference.odd),
        "weight": difference.weight,
        "along_with": list(difference.along_with),
    }


def _change(change: Change) -> Json:
    return {
        "fact": change.fact,
        "before": change.before,
        "after": change.after,
        "nodes": natural_sorted(change.nodes),
        "of": change.of,
        "weight": change.weight,
        "along_with": list(change.along_with),
    }
