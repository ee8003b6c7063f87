"""What may carry messages, the settings under which the probe is started to find out, and what each start left."""

import enum

import msgspec

from seatrial.model.measurement import Kernel


class Carrier(enum.StrEnum):
    """What an MPI can hand its messages to."""

    OFI = "OFI"
    UCX = "UCX"
    TCP = "TCP"
    SHARED_MEMORY = "shared memory"
    VERBS = "InfiniBand verbs"
    PSM2 = "PSM2"
    PSM = "PSM"


class Role(enum.StrEnum):
    """The purpose of a variant."""

    DEFAULT = "default"
    REFERENCE = "reference"
    """The default once more, measured in short rounds as the hobbled variants are, which are compared with it."""
    CONTROL = "control"
    """Removes what cannot matter: where this changes the timing, the measurement was disturbed."""
    WITHOUT = "without"
    """Removes one carrier."""
    HOBBLED = "hobbled"
    """Slows one carrier and leaves the choice to the MPI: only what it chose can become slower."""
    FORCED = "forced"
    """Leaves the MPI one carrier."""


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """One setting of the MPI's environment. `carrier`: what it is about; None for default, reference and control."""

    name: str
    role: Role
    carrier: Carrier | None = None
    environment: dict[str, str] = {}
    slows: Kernel = Kernel.ONEWAY
    """The kernel in which hobbling shows: bandwidth, or latency (PINGPONG)."""
    rail: str = ""
    """The one rail that it is measured over; empty: as the MPI chooses."""
    held: dict[str, str] = {}
    """Settings that keep the MPI on that rail, in addition to `environment`."""


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """What the MPI reports as its choice in its verbose output."""

    carriers: tuple[Carrier, ...] = ()
    """How it reports sending to the other rank; empty: its output has no known words."""
    words: tuple[str, ...] = ()
    """The MPI's own words for it: pml cm, mtl ofi, btl tcp, tag(tcp/eth0)."""
    compiled: dict[str, tuple[str, ...]] = {}
    """Framework -> components that it found, whether they can be used here or not."""


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that a device of a node counted around one start; the greater of both directions."""

    node: str
    device: str
    """An interface or a port of an HCA: eth0, lo, mlx5_0/1."""
    counted_bytes: int


class VariantNote(msgspec.Struct, frozen=True, kw_only=True):
    """What one start of a variant produced besides its samples."""

    variant: Variant
    block: int
    failure: str = ""
    """Why it did not start, or what became of it; empty: it was measured."""
    sent_bytes: int = 0
    """Bytes that the probe sent, warm-up included, in the direction that was sent most in."""
    counted: tuple[Counted, ...] = ()
    """Empty where counters were not read."""
    declared: Declared | None = None
