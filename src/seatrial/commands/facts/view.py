"""What each node is: the report of `seatrial facts`. What could not be read comes last, with the reason."""

from collections.abc import Iterator, Mapping

import msgspec

from seatrial.commands.facts import node_devices, node_hardware, node_settings
from seatrial.model.errors import ExitCode
from seatrial.model.facts import NodeFacts
from seatrial.model.words import natural_sorted
from seatrial.render.json import Json
from seatrial.render.report import Block, Lines, Paragraph, Report

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
"""In their order."""


def facts_report(facts: Mapping[str, NodeFacts], *, exit_code: ExitCode = ExitCode.PASS) -> Report:
    """Every node's facts."""
    return Report(exit_code=exit_code, payload=lambda: facts_fields(facts), terminal=lambda _: _terminal(facts))


def facts_fields(facts: Mapping[str, NodeFacts]) -> Json:
    """docs/facts.md describes each field. A word that is unknown is {"word": ...}."""
    return {"nodes": {node: msgspec.to_builtins(facts[node]) for node in natural_sorted(facts)}}


def _terminal(facts: Mapping[str, NodeFacts]) -> Iterator[Block]:
    for node in natural_sorted(facts):
        known = facts[node]
        title = node if known.complete else f"{node}: its facts broke off before their end"
        yield Lines(title=title, rows=tuple(row for section in SECTIONS for row in section(known)), indent=2)
    if not facts:
        yield Paragraph(text="No node's facts were read.")
