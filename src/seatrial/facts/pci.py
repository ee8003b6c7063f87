"""PCIe devices and their way up to the root port, from a frame."""

from seatrial.facts.frame import Frame
from seatrial.model.pci import PciDevice


def read_pci(frame: Frame) -> tuple[tuple[PciDevice, ...], dict[str, str]]:
    """Network, GPU and NVMe devices, sorted by address. Second: name of a fact, with the group in front of it -> why it is not known."""
    return (), {}
