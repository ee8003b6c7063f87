"""What monitors get: how nodes are after the runs of an archive, whether Slurm is asked, and where the numbers go."""

import contextlib
import enum
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from seatrial.model.errors import UsageError
from seatrial.model.node_trials import Measure
from seatrial.model.verdict import Verdict

PORT = re.compile(r"[1-9][0-9]{0,4}")
GRAPHITE_PORT = 2003
"""The port of carbon's plaintext protocol."""


class Ask(enum.StrEnum):
    """Whether Slurm is asked. AUTO: unless slurmctld exports its metrics itself."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The place of the numbers: a file for node_exporter, Graphite, or standard output where both are empty."""

    textfile: Path | None = None
    graphite: tuple[str, int] | None = None


def parse_target(text: str, what: str) -> Target:
    """`-`, `textfile:FILE`, `graphite:HOST` or `graphite:HOST:PORT`. Raises UsageError."""
    kind, _, place = text.partition(":")
    if text == "-":
        return Target()
    if kind == "textfile" and place:
        return Target(textfile=Path(place))
    host, _, port = place.rpartition(":") if ":" in place else (place, "", str(GRAPHITE_PORT))
    with contextlib.suppress(UnicodeError):  # no name that can be looked up
        name = host.strip("[]")
        if kind == "graphite" and name.encode("idna") and PORT.fullmatch(port) and int(port) < 65536:
            return Target(graphite=(name, int(port)))
    raise UsageError(f"{what} {text!r} is not a place for metrics.", "Write textfile:FILE, graphite:HOST:PORT or -.")


class Fault(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finding on a node, in short. `kind`: of the finding; `text`: what is wrong, to follow the node's name."""

    kind: str
    verdict: Verdict
    text: str
    shared: bool = False
    """Whether another part may be at fault in its place."""


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """Clocks and heat of a node, as its facts had them before a run. None: the node does not report it."""

    read: str
    """When: UTC, ISO 8601."""
    clocks_hz: tuple[float, float, float] | None = None
    """The lowest, the median and the highest of its processors."""
    hottest_celsius: float | None = None
    power_w: float | None = None
    """The highest reading of all power sensors, which usually is the whole node's."""
    throttle_events: int | None = None
    """Since boot."""


class Standing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One node in one report, or another part with a finding: `uplink:leaf1`, `pair:n1>n2`.

    `of_limit`: the share of the limit that the best pairs of a node reach, out and in, the lesser.
    """

    node: str
    verdict: Verdict
    of_limit: float | None = None
    condition: Condition | None = None
    faults: tuple[Fault, ...] = ()
    """The gravest first."""
    figures: Mapping[Measure, float] = {}
    """The main figures of its trials, in base units, as far as measured."""


class OpenFault(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that no later run which looks at as much has cleared."""

    fault: Fault
    run: str
    """The last run that found it."""
    since: str
    """When the first of the runs ended that found it: UTC, ISO 8601."""


class NodeStanding(msgspec.Struct, frozen=True, kw_only=True):
    """How a node, or another part with a finding, is after all runs of an archive."""

    node: str
    """The name of the node; of another part its kind and name, `uplink:leaf1`."""
    verdict: Verdict
    """The gravest of its open faults; without one what the last run says."""
    run: str
    judged: str
    """When the last run on it ended: UTC, ISO 8601."""
    of_limit: float | None = None
    """The value in the last run that measured a share of a limit."""
    condition: Condition | None = None
    """The condition in the last run that read its facts."""
    faults: tuple[OpenFault, ...] = ()
    """The gravest first."""

    @property
    def is_node(self) -> bool:
        """Whether it is a node; no node's name has a colon."""
        return ":" not in self.node
