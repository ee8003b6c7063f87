"""Network interfaces, from a frame."""

import msgspec

from seatrial.model.facts import NetworkInterface
from seatrial.node.frame import Frame
from seatrial.node.pci import pci_address

NET = "/sys/class/net/"
SOCKETS = "/proc/net/dev"
TOTALS = ("rx_errors", "tx_errors", "rx_dropped", "tx_dropped")


class Interfaces(msgspec.Struct, frozen=True, kw_only=True):
    """All interfaces of the node, sorted by name, and why some of what they are is not known."""

    interfaces: tuple[NetworkInterface, ...]
    absent: dict[str, str]


def read_interfaces(frame: Frame) -> Interfaces:
    """Every folder of /sys/class/net that /proc/net/dev lists too.

    /proc/net/dev is this process's own network namespace, /sys that of whoever mounted it: an interface that only
    /sys shows belongs to another namespace, and no process of the job can send through it.
    """
    listed = frame.lists.get(NET + "*")
    if listed is None:
        return Interfaces(interfaces=(), absent={"interfaces": frame.reason(NET + "*")})
    absent: dict[str, str] = {}
    rows = frame.files.get(SOCKETS)
    ours = set(listed) if rows is None else {row.partition(":")[0].strip() for row in rows if ":" in row}
    foreign = sorted(set(listed) - ours)
    missing = sorted(ours - set(listed))
    if foreign:
        absent["interfaces"] = f"{', '.join(foreign)}: in /sys/class/net, but not in this namespace's {SOCKETS}"
    elif missing:
        absent["interfaces"] = f"{', '.join(missing)}: in {SOCKETS}, but not in /sys/class/net"
    interfaces = []
    for name in sorted(set(listed) & ours):
        interface = _interface(frame, name)
        interfaces.append(interface)
        for field, file in (("link_type", "type"), ("speed_bits_per_s", "speed"), ("mtu_bytes", "mtu")):
            if getattr(interface, field) is None:
                absent[f"interfaces.{name}.{field}"] = frame.reason(f"{NET}{name}/{file}")
    return Interfaces(interfaces=tuple(interfaces), absent=absent)


def ethernet_speed(frame: Frame, name: str) -> float | None:
    """Bits per second. The kernel gives Mb/s, and -1 (older ones 65535 or 4294967295) where it is not known."""
    megabits = frame.integer(f"{NET}{name}/speed")
    return megabits * 1e6 if megabits is not None and 0 < megabits not in (0xFFFF, 0xFFFFFFFF) else None


def _interface(frame: Frame, name: str) -> NetworkInterface:
    folder = f"{NET}{name}"
    mtu = frame.integer(f"{folder}/mtu")
    carrier = frame.integer(f"{folder}/carrier")
    totals = {total: frame.integer(f"{folder}/statistics/{total}") for total in TOTALS}
    return NetworkInterface(
        name=name,
        link_type=frame.integer(f"{folder}/type"),
        state=frame.values.get(f"{folder}/operstate", "unknown").strip() or "unknown",
        carrier=None if carrier is None else carrier == 1,
        speed_bits_per_s=ethernet_speed(frame, name),
        mtu_bytes=mtu if mtu is not None and mtu > 0 else None,
        driver=frame.values.get(f"{folder}/device/driver", ""),
        enslaved=f"{folder}/master" in frame.values,
        bridge=name in frame.lists.get(f"{NET}*/bridge", ()),
        lower=frame.lists.get(f"{folder}/lower_*", ()),
        duplex=frame.values.get(f"{folder}/duplex", "").strip(),
        mode=frame.values.get(f"{folder}/mode", "").strip(),
        pci_address=pci_address(frame.real.get(f"{folder}/device", "")),
        errors={total: count for total, count in totals.items() if count is not None and count >= 0},
    )
