"""Values that other programs measured, as `seatrial import` keeps them: what, on which node, when, from which file."""

import enum

import msgspec

ALL_NODES = "all"
"""The subject of a value whose node the file does not name."""


class Sense(enum.StrEnum):
    """Which values of an imported metric are good; it is in the place of the kernel of a measured metric."""

    HIGHER = "imported_higher"
    LOWER = "imported_lower"


SENSES = {"higher": Sense.HIGHER, "lower": Sense.LOWER}
"""By the word that --better takes."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was read."""

    file: str
    """As the command line names it."""
    sha256: str
    file_bytes: int
    form: str
    """`series`, `fleet`, `reframe`, or the name of a benchmark."""
    in_folder: bool = False
    """It was found in a folder that the command line names."""
    conditions: dict[str, str] = {}
    """Of the benchmark: `version`, `ranks`, `nodes`, as far as its output says."""


class ImportedValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One number, positive."""

    metric: str
    unit: str
    """As the file or the command line says; empty: unknown."""
    sense: Sense
    node: str
    value: float


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """The values of one run of a benchmark, which becomes one run of the archive."""

    label: str
    """When or which run it was, as the file has it."""
    source: Source
    values: tuple[ImportedValue, ...]
