"""Devices of /sys/class/infiniband and their ports, each called by its right name."""

import enum

import msgspec

from seatrial.model.unknown import Unknown


class PortFamily(enum.StrEnum):
    """What is spoken on a port. The rate's text does not tell: Omni-Path and RoCE print InfiniBand speeds."""

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
    """In the kernel's word: LinkUp, Polling, Disabled, Sleep, LinkErrorRecovery, ..."""
    link_layer: str = ""
    rate_text: str = ""
    """As sysfs has it: "100 Gb/sec (4X EDR)"."""
    speed_name: str = ""
    """SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR, OPA100, or "" where the text names none, or none of its own: on
    Ethernet and EFA the words are InfiniBand's, chosen by the driver to come near the rate."""
    width: int | None = None
    """Lanes; None on Ethernet and EFA."""
    data_bits_per_s: float | None = None
    """After line encoding, all lanes, one direction: 32e9 for 4X QDR, 54.545e9 for 4X FDR."""
    mtu_bytes: int | None = None
    """The InfiniBand MTU in use, where a command or the driver tells it."""
    lid: int | None = None
    subnet_manager_lid: int | None = None
    """0: no subnet manager has been here."""
    subnet_prefix: str = ""
    """The first 64 bits of GID 0, "fe80:0000:0000:0000"; equal on ports of one subnet (or left at the default)."""
    interfaces: tuple[str, ...] = ()
    """Network interfaces on this port (IPoIB, or the Ethernet side of RoCE)."""
    counters: dict[str, int] = {}
    """By the kernel's names; totals since some time unknown, saturating: only differences mean anything."""

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
