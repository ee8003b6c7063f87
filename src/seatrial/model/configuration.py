"""Values of configurations: measured under a label that names a setting, an adapter or a version, never a node."""

from typing import NamedTuple

import msgspec

from seatrial.model.benchmark import Better
from seatrial.model.units import BANDWIDTH, CELSIUS, FLOP_RATE, LATENCY

BYTES = "bytes"
"""What figures of messages are over."""
UNIT_OF = {BANDWIDTH: "B/s", LATENCY: "s", FLOP_RATE: "flop/s", CELSIUS: "°C"}
"""Base units by the metrics of reports."""


class RateLimit(NamedTuple):
    """What a configuration can carry, bytes per second, and what all its ports together can: more is impossible."""

    limit: float
    gate: float


class ComparedFigure(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """What is compared: values of two configurations are put side by side only where all of this is the same."""

    name: str
    unit: str
    better: Better
    over: str
    """What it depends on: bytes, nodes, ranks, a column; empty: nothing, each configuration is one number."""

    @property
    def small_first(self) -> bool:
        """Whether the smallest size shows most: of latencies of messages; of everything else the largest does."""
        return self.over == BYTES and self.better is Better.LESS

    @property
    def text(self) -> str:
        """`bandwidth over bytes`."""
        return f"{self.name} over {self.over}" if self.over else self.name


class ConfigurationValue(msgspec.Struct, frozen=True, kw_only=True):
    """One value of one configuration."""

    label: str
    figure: ComparedFigure
    size: float
    """The size, in what the figure is over; 0 if that is nothing."""
    value: float
