"""Memory modules, from what dmidecode prints and from the kernel's EDAC files of a frame."""

import functools
import re
from collections.abc import Iterator

from seatrial.model.memory import Dimm
from seatrial.node.frame import Frame
from seatrial.node.processor_sets import number
from seatrial.node.slots import places

CONTROLLERS = "/sys/devices/system/edac/mc/mc"
UNITS = {"B": 1, "BYTES": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
"""SMBIOS specification, 7.18.4, and dmidecode: multiples of 1024, whatever they are called."""
NOTHING = ("", "Unknown", "Other", "None", "Not Specified", "<OUT OF SPEC>", "NO DIMM")
TRANSFERS = re.compile(r"([0-9]{1,6}) (?:MT/s|MHz)")
"""Older dmidecodes say MHz and mean transfers: SMBIOS specification, 7.18, Speed, "in megatransfers per second"."""
EDAC_PLACE = re.compile(r"(channel|branch|slot|csrow|memory) (\d+)")
EDAC_SOCKET = re.compile(r"SrcID#(\d{1,3})")
"""CPU_SrcID#0_MC#1_Chan#0_DIMM#0: drivers/edac/skx_base.c and i10nm_base.c."""

Device = dict[str, str]


@functools.lru_cache(maxsize=64)
def dmi_dimms(lines: tuple[str, ...]) -> tuple[Dimm, ...]:
    """The slots of `dmidecode -t 17`, in its order, the empty ones with a size of 0 bytes."""
    devices = list(_devices(lines))
    found = places([(device.get("Locator", ""), device.get("Bank Locator", "")) for device in devices])
    return tuple(
        Dimm(
            locator=device.get("Locator", ""),
            channel=place.channel,
            size_bytes=size_bytes(device.get("Size", "")),
            kind="" if device.get("Type", "") in NOTHING else device["Type"],
            rated_transfers_per_s=transfers_per_s(device.get("Speed", "")),
            configured_transfers_per_s=transfers_per_s(
                device.get("Configured Memory Speed") or device.get("Configured Clock Speed", "")
            ),
            package=place.socket,
        )
        for device, place in zip(devices, found, strict=True)
    )


def _devices(lines: tuple[str, ...]) -> Iterator[Device]:
    device: Device | None = None
    for line in lines:
        if line.strip() == "Memory Device":
            if device:
                yield device
            device = {}
        elif device is not None:
            name, _, value = line.partition(":")
            device.setdefault(name.strip(), value.strip())
    if device:
        yield device


def size_bytes(text: str) -> int | None:
    """ "16 GB", "16384 MB" -> bytes; 0 for "No Module Installed"; None where it is unknown."""
    if text == "No Module Installed":
        return 0
    amount, _, unit = text.partition(" ")
    known = amount.isascii() and amount.isdigit() and len(amount) <= 12 and unit.upper() in UNITS
    return int(amount) * UNITS[unit.upper()] if known else None


def transfers_per_s(text: str) -> float | None:
    """ "3200 MT/s" -> 3.2e9; None for "Unknown" and for 0."""
    match = TRANSFERS.fullmatch(text)
    return int(match[1]) * 1e6 or None if match else None


def edac_dimms(frame: Frame) -> tuple[Dimm, ...]:
    """The modules that memory controllers with error correction tell of, by controller and number; none are empty."""
    return tuple(
        _edac_dimm(frame, controller, f"{CONTROLLERS}{controller}/{kind}{module}/")
        for controller in edac_controllers(frame)
        for kind in ("dimm", "rank")
        for module in sorted(
            frame.lists.get(f"{CONTROLLERS}{controller}/{kind}[0-9]*", ()), key=lambda each: (len(each), each)
        )
    )


def edac_controllers(frame: Frame) -> tuple[str, ...]:
    """Their numbers, sorted."""
    names = frame.lists.get(f"{CONTROLLERS}[0-9]*", ())
    return tuple(sorted((name for name in names if number(name) is not None), key=int))


def _edac_dimm(frame: Frame, controller: str, here: str) -> Dimm:
    """The driver's words: "Registered-DDR4", "channel 1 slot 0 ", a size in MiB.

    A csrow is a pair of ranks and no channel; a channel's number counts within its controller (and its branch).
    """
    mebibytes = frame.integer(f"{here}size")
    label = frame.values.get(f"{here}dimm_label", "").strip()
    words = dict(EDAC_PLACE.findall(frame.values.get(f"{here}dimm_location", "")))
    channel = "".join(f" {word}{words[word]}" for word in ("branch", "channel") if word in words)
    kind = frame.values.get(f"{here}dimm_mem_type", "").strip()
    socket = EDAC_SOCKET.search(label)
    return Dimm(
        locator=label or here.removeprefix(CONTROLLERS[:-2]).rstrip("/"),
        channel=f"mc{controller}{channel}" if "channel" in words else "",
        size_bytes=None if mebibytes is None or mebibytes < 0 else mebibytes << 20,
        kind="" if kind in NOTHING else kind.rpartition("-")[2],
        package=int(socket[1]) if socket else None,
    )
