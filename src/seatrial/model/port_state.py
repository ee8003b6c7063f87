"""What the two states of a port mean: the logical one is set by a subnet manager, the physical one by the cable."""

import enum
from collections.abc import Mapping

import msgspec

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
