"""What processors are known to have, from a table that ships with the program: `processors.toml`, with its sources.

Nominal, all of it: no software reads it from the machine. The table is data, and is validated when it is first read.
"""

import re
from functools import cache, lru_cache
from importlib import resources
from typing import Annotated

import msgspec

from seatrial.model.facts import NodeFacts

Positive = Annotated[int, msgspec.Meta(gt=0)]
Rate = Annotated[float, msgspec.Meta(gt=0)]
Text = Annotated[str, msgspec.Meta(min_length=1)]

FILE = "processors.toml"
CHANNEL_BYTES = 8
"""A channel of DDR to DDR5 moves 64 bits of data a transfer (JESD79; in DDR5 as two subchannels of 32)."""


class SocketLink(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A link between sockets: its kind, how fast it can be, what a transfer carries, and how many there can be."""

    kind: Text
    transfers_per_s: Rate
    bytes_per_transfer: Positive = 2
    links: Positive


class Memory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of memory of a package."""

    kind: Text
    channels: Positive
    """Channels of modules, stacks of HBM, or links to memory buffers."""
    transfers_per_s: Rate
    bytes_per_transfer: Positive = CHANNEL_BYTES
    on_package: bool = False
    """Not among the modules that the firmware lists."""

    @property
    def bytes_per_s(self) -> float:
        """All channels, reads and writes together."""
        return self.channels * self.transfers_per_s * self.bytes_per_transfer


class Microarchitecture(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of processors. The head of the data file describes each field."""

    name: Text
    vendor: str = ""
    family: int = 0
    models: tuple[int, ...] = ()
    steppings: tuple[int, ...] = ()
    called: str = ""
    named: Text
    flops_per_cycle: Positive
    """Double precision, per core."""
    memory: Annotated[tuple[Memory, ...], msgspec.Meta(min_length=1)]
    socket_link: SocketLink | None = None
    hz: dict[str, Annotated[tuple[Rate, ...], msgspec.Meta(min_length=1, max_length=2)]] = {}
    note: str = ""
    flops_note: str = ""
    sources: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]

    def __post_init__(self) -> None:
        """Raises ValueError for a pattern that is not valid, and for numbers without their vendor."""
        for pattern in (self.called, self.named):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{self.name}: {pattern!r} is not a valid pattern: {error}") from error
        if bool(self.vendor) != bool(self.family and self.models):
            raise ValueError(f"{self.name}: vendor, family and models are given together or not at all")

    @property
    def memory_bytes_per_s(self) -> float:
        """All kinds of memory of a package together."""
        return sum(memory.bytes_per_s for memory in self.memory)

    @property
    def has_memory_on_package(self) -> bool:
        """Whether the modules are not all of its memory."""
        return any(memory.on_package for memory in self.memory)


class _MicroarchitectureTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    processor: tuple[Microarchitecture, ...]


def parse_table(text: bytes) -> tuple[Microarchitecture, ...]:
    """The lines of a table. Raises msgspec.ValidationError where a value is missing, unknown or out of range."""
    return msgspec.toml.decode(text, type=_MicroarchitectureTable).processor


@cache
def table() -> tuple[Microarchitecture, ...]:
    """The table that ships with the program."""
    return parse_table((resources.files(__package__) / FILE).read_bytes())


def recognise(facts: NodeFacts) -> Microarchitecture | None:
    """The line that a node's processors belong to; None where no line of the table matches.

    By their numbers and name, where the numbers are known; else by the name alone.
    """
    seen = facts.processor
    return _recognised(seen.vendor, seen.family, seen.model_number, seen.stepping, facts.cpu_model)


@lru_cache(maxsize=256)
def _recognised(
    vendor: str, family: int | None, model: int | None, stepping: int | None, name: str
) -> Microarchitecture | None:
    if None in (family, model):
        return next((line for line in table() if re.search(line.named, name, re.IGNORECASE)), None)
    numbered = (line for line in table() if (line.vendor, line.family) == (vendor, family) and model in line.models)
    fitting = (line for line in numbered if _has_stepping(line, stepping, name))
    by_numbers = next((line for line in fitting if re.search(line.called, name, re.IGNORECASE)), None)
    unnumbered = (line for line in table() if not line.vendor)
    return by_numbers or next((line for line in unnumbered if re.search(line.named, name, re.IGNORECASE)), None)


def _has_stepping(line: Microarchitecture, stepping: int | None, name: str) -> bool:
    """Whether the line covers the stepping; if that is not known, the name decides."""
    if not line.steppings or stepping in line.steppings:
        return True
    return stepping is None and re.search(line.named, name, re.IGNORECASE) is not None


def nominal_hz(line: Microarchitecture, name: str) -> tuple[float | None, float | None]:
    """The base frequency, and the highest of any core, of a processor of that name; None where it is not listed."""
    for part, frequencies in line.hz.items():
        if not part or re.search(rf"(?<!\w){re.escape(part)}", name, re.IGNORECASE):
            return (frequencies[0] if len(frequencies) == 2 else None), frequencies[-1]
    return None, None
