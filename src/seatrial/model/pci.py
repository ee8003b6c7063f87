"""PCIe devices and every hop between them and the processor."""

import enum

import msgspec


class PciKind(enum.StrEnum):
    """What a device is for, from its class code."""

    NETWORK = "network"
    GPU = "gpu"
    NVME = "nvme"
    BRIDGE = "bridge"
    OTHER = "other"


class PciHop(msgspec.Struct, frozen=True, kw_only=True):
    """One PCI function and the link between it and what is above it.

    Speeds are raw transfer rates per lane: 8e9 for "8.0 GT/s". A device and a switch's upstream port tell of the link
    above them; a root port and a switch's downstream port of the link below.
    """

    address: str
    """domain:bus:device.function, 0000:01:00.0."""
    current_transfers_per_s: float | None = None
    max_transfers_per_s: float | None = None
    current_width: int | None = None
    """Lanes; None where unknown or 0."""
    max_width: int | None = None
    max_payload_bytes: int | None = None
    """MaxPayload that is set (DevCtl)."""
    max_payload_supported_bytes: int | None = None
    max_read_request_bytes: int | None = None


class PciDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A network, GPU or NVMe device and its way up to the root port."""

    address: str
    kind: PciKind
    class_code: int | None = None
    """24 bits: class, subclass, programming interface."""
    vendor: int | None = None
    device: int | None = None
    driver: str = ""
    names: tuple[str, ...] = ()
    """What the kernel calls it: mlx5_0, ib0, eth0, nvme0, sorted."""
    numa_node: int | None = None
    """None: the firmware tells none (the kernel's -1)."""
    path: tuple[PciHop, ...] = ()
    """From the root port down to the device itself, which is the last."""
    virtual_function: bool = False
