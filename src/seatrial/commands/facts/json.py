"""Nodes' facts as JSON, for machines: the records as docs/facts.md describes them, in base units."""

from collections.abc import Mapping

import msgspec

from seatrial.model.facts import NodeFacts
from seatrial.model.words import natural_sorted
from seatrial.render.json_text import Json, finite, json_text

FORMAT = 1
"""History: 1, the first."""


def nodes_as_json(facts: Mapping[str, NodeFacts]) -> str:
    """{"format", "nodes": {name: facts}}, in ASCII, so that it can do no harm to a terminal; ends in a newline.

    No infinity and no NaN: they become null. A word that is unknown is {"word": ...}.
    """
    value = {"format": FORMAT, "nodes": {node: node_as_json(facts[node]) for node in natural_sorted(facts)}}
    return json_text(value)


def node_as_json(facts: NodeFacts) -> Json:
    """One node's facts as a value of dicts, lists, strings, numbers and None."""
    built: Json = msgspec.to_builtins(facts)
    return {name: finite(value) for name, value in built.items()}
