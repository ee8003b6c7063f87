"""All facts of a node under their dotted names, as comparisons see them piece by piece."""

from seatrial.drift.flat_facts import Flat, parts
from seatrial.model.facts import NodeFacts


def flatten(facts: NodeFacts) -> Flat:
    """Dotted name -> value, in the base unit that the name's last word bears; unsteady facts included."""
    return {name: value for part in parts(facts) for name, value in part.flat().items()}
