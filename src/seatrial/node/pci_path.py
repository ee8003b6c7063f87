"""Where a device lies on PCI, from the real place of its folder in sysfs."""

import re
from functools import lru_cache

ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
HOST_BRIDGE = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")


@lru_cache(maxsize=4096)
def pci_chain(place: str) -> tuple[str, ...]:
    """Addresses from below the host bridge (pciDDDD:BB) down to the last PCI function of `place`.

    Of several host bridges the last counts: a volume management device has a PCI domain of its own below it. Empty
    where there is none, as for virtual devices.
    """
    chain: list[str] = []
    for step in place.split("/"):
        if HOST_BRIDGE.fullmatch(step):
            chain = []
        elif ADDRESS.fullmatch(step):
            chain.append(step)
    return tuple(chain)


@lru_cache(maxsize=4096)
def pci_address(place: str) -> str:
    """The PCI function that a device is, or is the virtio face of; "" where it is none.

    Whatever hangs on USB lies below a PCI function too, that of the USB controller, which is not its own.
    """
    chain = pci_chain(place)
    if not chain or "/usb" in place.partition(chain[-1])[2]:
        return ""
    return chain[-1]
