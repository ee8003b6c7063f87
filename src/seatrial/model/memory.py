"""What memory a node has, where that can be read."""

import msgspec


class Dimm(msgspec.Struct, frozen=True, kw_only=True):
    """One slot for memory. `size_bytes` 0: empty."""

    locator: str
    channel: str = ""
    """What identifies its channel: "P0 A", "mc0 csrow0 channel1"; empty where the firmware's words do not tell."""
    size_bytes: int | None = None
    kind: str = ""
    """DDR4, DDR5, HBM2, ..."""
    rated_transfers_per_s: float | None = None
    """What the module can: 3200e6 for 3200 MT/s."""
    configured_transfers_per_s: float | None = None
    package: int | None = None


class MemoryFacts(msgspec.Struct, frozen=True, kw_only=True):
    """`source`: "dmidecode" (needs root), "EDAC", or "" with the reason in the node's `absent`."""

    dimms: tuple[Dimm, ...] = ()
    source: str = ""
    corrected_errors: int | None = None
    """EDAC's ce_count over all controllers, since boot."""
    uncorrected_errors: int | None = None
