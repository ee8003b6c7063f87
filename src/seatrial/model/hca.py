"""Devices of /sys/class/infiniband and their ports, what the two states of a port mean, and the speeds of lanes.

Speeds: InfiniBand Architecture Specification, volume 2, release 1.7, chapters 5 and 6: 8b/10b up to QDR, 64b/66b from
FDR10 on; HDR, NDR and XDR transcode 256 bits to 257 and add Reed-Solomon (544,514), so that a lane of HDR has exactly
50 Gb/s.
"""

import enum
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import msgspec

from seatrial.model.words import Unknown

ACTIVE, DOWN, LINK_UP = "Active", "Down", "LinkUp"
LOGICAL = ("NoChange", DOWN, "Initialize", "Armed", ACTIVE, "ActDefer")
"""Values of PortState from 0 on, by the names that iblinkinfo prints (InfiniBand specification 14.2.5.6, PortInfo)."""


class PortUse(enum.StrEnum):
    """GOOD: sends data. WAITS: has a link that no subnet manager activated. FREE: nothing answers at the other end.
    OFF: somebody switched the port off or tests it. FAILS: its link was good and trains again."""

    GOOD = "good"
    WAITS = "waits"
    FREE = "free"
    OFF = "off"
    FAILS = "fails"


PHYSICAL: Mapping[str, PortUse] = {
    "": PortUse.GOOD,
    "Sleep": PortUse.FREE,
    "Polling": PortUse.FREE,
    "Disabled": PortUse.OFF,
    "PortConfigurationTraining": PortUse.FREE,
    LINK_UP: PortUse.GOOD,
    "LinkErrorRecovery": PortUse.FAILS,
    "PhyTest": PortUse.OFF,
}
"""Values of PortPhysicalState from 0 on, the first for outputs without it. An XDR port without a cable is in
PortConfigurationTraining, others in Polling."""


class PortStates(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """Both states of a port as iblinkinfo prints them."""

    logical: str
    physical: str = ""

    @property
    def use(self) -> PortUse:
        """An Active port whose link is not up has lost it."""
        by_cable = PHYSICAL[self.physical]
        if self.logical == ACTIVE:
            return by_cable if by_cable is PortUse.GOOD else PortUse.FAILS
        if by_cable in (PortUse.FAILS, PortUse.OFF):
            return by_cable
        return PortUse.FREE if self.logical == DOWN else PortUse.WAITS

    @property
    def text(self) -> str:
        """Initialize; Active/LinkErrorRecovery."""
        return "/".join(filter(None, (self.logical, "" if self.physical == LINK_UP else self.physical)))


BLOCK_8_10, BLOCK_64_66 = Fraction(8, 10), Fraction(64, 66)
WITH_CORRECTION = Fraction(514, 544) * Fraction(256, 257)
GIGA = 10**9


class Lane(NamedTuple):
    """One lane, exact: bits per second on the wire, and the part of them that is data."""

    signalled_bits_per_s: Fraction
    encoding: Fraction


LANES = {
    "SDR": Lane(Fraction("2.5") * GIGA, BLOCK_8_10),
    "DDR": Lane(Fraction(5) * GIGA, BLOCK_8_10),
    "QDR": Lane(Fraction(10) * GIGA, BLOCK_8_10),
    "FDR10": Lane(Fraction("10.3125") * GIGA, BLOCK_64_66),
    "FDR": Lane(Fraction("14.0625") * GIGA, BLOCK_64_66),
    "EDR": Lane(Fraction("25.78125") * GIGA, BLOCK_64_66),
    "HDR": Lane(Fraction("53.125") * GIGA, WITH_CORRECTION),
    "NDR": Lane(Fraction("106.25") * GIGA, WITH_CORRECTION),
    "XDR": Lane(Fraction("212.5") * GIGA, WITH_CORRECTION),
}


OPA100 = "OPA100"
OPA_LANE = Lane(Fraction("25.78125") * GIGA, BLOCK_64_66)
"""A lane of Omni-Path 100, of which a link has up to four."""


@lru_cache(maxsize=256)
def data_bits_per_s(width: int | None, speed_name: str) -> float | None:
    """Data rate of that many lanes, one direction; None for a speed or a width that is not known."""
    lane = OPA_LANE if speed_name == OPA100 else LANES.get(speed_name)
    return float(width * lane.signalled_bits_per_s * lane.encoding) if lane and width else None


class PortFamily(enum.StrEnum):
    """The protocol of a port. The text of the rate does not show it: Omni-Path and RoCE print InfiniBand speeds."""

    INFINIBAND = "InfiniBand"
    OMNI_PATH = "Omni-Path"
    TRUE_SCALE = "True Scale"
    ROCE = "RoCE"
    IWARP = "iWARP"
    EFA = "EFA"


class PortState(enum.StrEnum):
    """Logical state, InfiniBand specification 14.2.5.6."""

    DOWN = "DOWN"
    INIT = "INIT"
    ARMED = "ARMED"
    ACTIVE = "ACTIVE"
    ACTIVE_DEFER = "ACTIVE_DEFER"


class Port(msgspec.Struct, frozen=True, kw_only=True):
    """One port as the kernel describes it."""

    number: int
    family: PortFamily | Unknown
    state: PortState | Unknown | None = None
    physical_state: str = ""
    """The state in the kernel's word: LinkUp, Polling, Disabled, Sleep, LinkErrorRecovery, ..."""
    link_layer: str = ""
    rate_text: str = ""
    """The rate in the words of sysfs: "100 Gb/sec (4X EDR)"."""
    speed_name: str = ""
    """SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR, OPA100, or "" where the text names none, or none of its own: on
    Ethernet and EFA the words are InfiniBand's, chosen by the driver to come near the rate."""
    width: int | None = None
    """Lanes; None on Ethernet and EFA."""
    data_bits_per_s: float | None = None
    """After line encoding, all lanes, one direction: 32e9 for 4X QDR, 54.545e9 for 4X FDR."""
    mtu_bytes: int | None = None
    """The InfiniBand MTU in use, where a command or the driver reports it."""
    lid: int | None = None
    subnet_manager_lid: int | None = None
    """0: no subnet manager has been here."""
    subnet_prefix: str = ""
    """The first 64 bits of GID 0, "fe80:0000:0000:0000"; equal on ports of one subnet (or left at the default)."""
    interfaces: tuple[str, ...] = ()
    """Network interfaces on this port (IPoIB, or the Ethernet side of RoCE)."""
    counters: dict[str, int] = {}
    """Kernel's name -> total since an unknown time, saturating: only differences mean anything."""

    @property
    def active(self) -> bool:
        """Whether it can carry traffic; a state that could not be read counts as able to."""
        return self.state is None or self.state is PortState.ACTIVE


class Hca(msgspec.Struct, frozen=True, kw_only=True):
    """One device."""

    name: str
    driver: str = ""
    firmware: str = ""
    board_id: str = ""
    hca_type: str = ""
    node_type: str = ""
    pci_address: str = ""
    numa_node: int | None = None
    ports: tuple[Port, ...] = ()

    @property
    def active(self) -> bool:
        """Whether a port is, or none could be read."""
        return not self.ports or any(port.active for port in self.ports)
