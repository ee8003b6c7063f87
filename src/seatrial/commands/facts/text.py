"""What each node is, for a terminal: read, not judged. What could not be read stands last, with the reason."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from seatrial.commands.facts import node_devices, node_hardware, node_settings
from seatrial.model.facts import NodeFacts
from seatrial.model.words import natural_sorted
from seatrial.render.sheet import labelled, rendered, text

if TYPE_CHECKING:
    from rich.console import RenderableType

SECTIONS = (
    node_hardware.machine,
    node_hardware.processors,
    node_hardware.memory,
    node_hardware.numa,
    node_devices.devices,
    node_settings.kernel,
    node_settings.clock,
    node_settings.mounts,
    node_settings.sensors,
    node_settings.software,
    node_settings.not_read,
)
"""In the order in which they stand."""


def nodes_as_text(facts: Mapping[str, NodeFacts], *, width: int = 100, colour: bool = False) -> str:
    """Every node's facts, at most `width` (40 at least) columns wide, with ANSI colours or none; ends in a newline."""
    return rendered(_blocks(facts), width=width, colour=colour)


def _blocks(facts: Mapping[str, NodeFacts]) -> Iterator["RenderableType"]:
    for place, node in enumerate(natural_sorted(facts)):
        known = facts[node]
        if place:
            yield ""
        yield text(node if known.complete else f"{node}: its facts broke off before their end", "bold")
        yield labelled([row for section in SECTIONS for row in section(known)], indent=2)
    if not facts:
        yield text("No node's facts were read.")
