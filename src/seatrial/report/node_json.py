"""Nodes' facts as JSON, for machines: the records as docs/facts.md describes them, in base units."""

import json
import math
from collections.abc import Mapping
from typing import Any

import msgspec

from seatrial.model.facts import NodeFacts
from seatrial.report.order import natural_sorted

FORMAT = 1
"""History: 1, the first."""

Json = dict[str, Any]


def nodes_as_json(facts: Mapping[str, NodeFacts]) -> str:
    """{"format", "nodes": {name: facts}}, in ASCII, so that it can do no harm to a terminal; ends in a newline.

    No infinity and no NaN: they become null. A word that is unknown is {"word": ...}.
    """
    value = {"format": FORMAT, "nodes": {node: node_as_json(facts[node]) for node in natural_sorted(facts)}}
    return json.dumps(value, ensure_ascii=True, allow_nan=False, indent=1) + "\n"


def node_as_json(facts: NodeFacts) -> Json:
    """One node's facts as a value of dicts, lists, strings, numbers and None."""
    built: Json = msgspec.to_builtins(facts)
    return {name: finite(value) for name, value in built.items()}


def finite(value: Any) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """The same without infinity and NaN, which JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(content) for key, content in value.items()}
    if isinstance(value, list | tuple):
        return [finite(content) for content in value]
    return value
