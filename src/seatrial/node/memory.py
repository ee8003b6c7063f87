"""Memory modules and their errors, from dmidecode and the EDAC files of a frame."""

import functools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from seatrial.model.facts import Dimm, MemoryFacts
from seatrial.node.frame import NO_ANSWER, Frame, answer, natural_number, why_no_answer
from seatrial.node.processor_sets import number

CHANNEL = re.compile(r"(?<![A-Z])CH(?:AN(?:NEL)?)?[ _#-]*([A-Z]|[0-9]{1,2})(?![A-Z0-9])")
"""P0 CHANNEL A; NODE 0 CHANNEL 0 DIMM 0; P0_Node0_Channel0_Dimm0; Controller0-ChannelA-DIMM0; CPU0_IMC0_CH1."""
CONTROLLER = re.compile(r"(?<![A-Z])(?:I?MC|CONTROLLER)[ _#-]*([0-9]{1,2})(?![0-9])")
SOCKET = re.compile(r"(?<![A-Z0-9])(?:PROC|CPU|SOCKET|P)[ _#-]*([0-9]{1,2})(?![0-9])")
NODE = re.compile(r"(?<![A-Z])NODE[ _#-]*([0-9]{1,2})(?![0-9])")
LETTER = re.compile(r"(?:DIMM|(?<![A-Z])P[0-9]|CPU[0-9])[ _#-]*([A-Z])([0-9]{1,2})$")
"""CPU1_DIMM_A1, P1-DIMMA1, DIMM_P0_A0, DIMM_A1: channel A; or, the last one on older Dells, socket A."""
DELL = re.compile(r"([A-H])([0-9]{1,2})")
"""A1: the letter is the socket, the number runs through its slots."""
SLOTS_OF_A_CHANNEL = 3
"""Most slots of a channel: DDR3 had three, DDR4 and DDR5 have two."""


class SlotPlace(NamedTuple):
    """Socket as numbered by the firmware (None: unknown), and channel in words ("": unknown)."""

    socket: int | None = None
    channel: str = ""


def places(slots: Sequence[tuple[str, str]]) -> tuple[SlotPlace, ...]:
    """The place of each slot, from locator and bank locator; sockets from 0 on, as the kernel's packages mostly are.

    A letter after DIMM is a channel's, unless the numbers behind it go beyond the slots that a channel can have: then
    it is a socket's, and the channel is unknown. Descriptions without a known pattern give nothing.
    """
    upper = [(locator.strip().upper(), bank.strip().upper()) for locator, bank in slots]
    letters_are_sockets = any(
        int(match[2]) > SLOTS_OF_A_CHANNEL for locator, _ in upper if (match := LETTER.search(locator))
    )
    slots_found = [_place(locator, bank, letters_are_sockets) for locator, bank in upper]
    sockets = [place.socket for place in slots_found if place.socket is not None]
    first = 1 if sockets and min(sockets) == 1 else 0
    return tuple(
        _named(place._replace(socket=None if place.socket is None else place.socket - first)) for place in slots_found
    )


def _place(locator: str, bank: str, letters_are_sockets: bool) -> SlotPlace:
    if match := DELL.fullmatch(locator):
        return SlotPlace(ord(match[1]) - ord("A"))
    both = f"{locator} {bank}"
    socket = SOCKET.search(both)
    number = int(socket[1]) if socket else None
    if channel := CHANNEL.search(locator) or CHANNEL.search(bank):
        return SlotPlace(number, " ".join([*_words(both), channel[1]]))
    letter = LETTER.search(locator)
    if letter and letters_are_sockets:
        return SlotPlace(number if number is not None else ord(letter[1]) - ord("A"))
    return SlotPlace(number, letter[1] if letter else "")


def _words(both: str) -> list[str]:
    """The node and the controller of a channel, where they are known."""
    node, controller = NODE.search(both), CONTROLLER.search(both)
    return [*([f"N{node[1]}"] if node else []), *([f"MC{controller[1]}"] if controller else [])]


def _named(place: SlotPlace) -> SlotPlace:
    """The place with the socket in front of the channel: every socket has a channel A."""
    if place.channel and place.socket is not None:
        return place._replace(channel=f"P{place.socket} {place.channel}")
    return place


CONTROLLERS = "/sys/devices/system/edac/mc/mc"
UNITS = {"B": 1, "BYTES": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
"""SMBIOS specification, 7.18.4, and dmidecode: multiples of 1024, called GB or, in some versions, GiB."""
NOTHING = ("", "Unknown", "Other", "None", "Not Specified", "<OUT OF SPEC>", "NO DIMM")
TRANSFERS = re.compile(r"([0-9]{1,6}) (?:MT/s|MHz)")
"""Older dmidecodes print MHz and mean transfers: SMBIOS specification, 7.18, Speed, "in megatransfers per second"."""
EDAC_PLACE = re.compile(r"(channel|branch|slot|csrow|memory) (\d{1,18})")
EDAC_SOCKET = re.compile(r"SrcID#(\d{1,3})")
"""CPU_SrcID#0_MC#1_Chan#0_DIMM#0: drivers/edac/skx_base.c and i10nm_base.c."""

Device = dict[str, str]


@functools.lru_cache(maxsize=64)
def dmi_dimms(lines: tuple[str, ...]) -> tuple[Dimm, ...]:
    """The slots of `dmidecode -t 17`, in its order, the empty ones with a size of 0 bytes."""
    devices = list(_devices(lines))
    slots = places([(device.get("Locator", ""), device.get("Bank Locator", "")) for device in devices])
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
        for device, place in zip(devices, slots, strict=True)
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
    """ "16 GB", "16384 MB", "16 GiB" -> bytes; 0 for "No Module Installed"; None where it is unknown."""
    if text == "No Module Installed":
        return 0
    amount, _, unit = text.partition(" ")
    size, scale = natural_number(amount), UNITS.get(unit.upper().replace("IB", "B"))
    return None if size is None or scale is None else size * scale


def transfers_per_s(text: str) -> float | None:
    """ "3200 MT/s" -> 3.2e9; None for "Unknown" and for 0."""
    match = TRANSFERS.fullmatch(text)
    return int(match[1]) * 1e6 or None if match else None


def edac_dimms(frame: Frame) -> tuple[Dimm, ...]:
    """The modules that memory controllers with error correction report, by controller and number; empty slots are
    missing.
    """
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


def _edac_dimm(frame: Frame, controller: str, folder: str) -> Dimm:
    """The driver's words: "Registered-DDR4", "channel 1 slot 0 ", a size in MiB.

    A csrow is a pair of ranks and no channel; a channel's number counts within its controller (and its branch).
    """
    mebibytes = frame.integer(f"{folder}size")
    label = frame.values.get(f"{folder}dimm_label", "").strip()
    words = dict(EDAC_PLACE.findall(frame.values.get(f"{folder}dimm_location", "")))
    channel = "".join(f" {word}{words[word]}" for word in ("branch", "channel") if word in words)
    kind = frame.values.get(f"{folder}dimm_mem_type", "").strip()
    socket = EDAC_SOCKET.search(label)
    return Dimm(
        locator=label or folder.removeprefix(CONTROLLERS[:-2]).rstrip("/"),
        channel=f"mc{controller}{channel}" if "channel" in words else "",
        size_bytes=None if mebibytes is None or mebibytes < 0 else mebibytes << 20,
        kind="" if kind in NOTHING else kind.rpartition("-")[2],
        package=int(socket[1]) if socket else None,
    )


DMIDECODE = "dmidecode -t 17"


def read_memory(frame: Frame) -> tuple[MemoryFacts, dict[str, str]]:
    """The memory of a frame. Second: name of a fact, with the group in front of it -> why it is not known.

    dmidecode reports more (speeds, empty slots) but needs root; EDAC needs a driver for the controller.
    """
    absent: dict[str, str] = {}
    dimms, source = dmi_dimms(answer(frame, DMIDECODE)), "dmidecode"
    if not dimms:
        dimms, source = edac_dimms(frame), "EDAC"
    if not dimms:
        source = ""
        absent["memory.dimms"] = f"{_why_no_dmi(frame)}; EDAC: no memory controller in {CONTROLLERS}*"
    counts = {
        field: _sum(frame, file)
        for field, file in (("corrected_errors", "ce_count"), ("uncorrected_errors", "ue_count"))
    }
    absent.update(
        {
            f"memory.{field}": "EDAC: no controller reports all of them"
            for field, count in counts.items()
            if count is None
        }
    )
    return MemoryFacts(dimms=dimms, source=source, **counts), absent


def _why_no_dmi(frame: Frame) -> str:
    """dmidecode does not print the reason on its standard output; without root it cannot open the tables."""
    output = frame.commands.get(DMIDECODE)
    if output is None or output.status == NO_ANSWER:
        return why_no_answer(frame, DMIDECODE)
    return f"{DMIDECODE}: exit status {output.status} and no memory device: it needs root, and a firmware with DMI"


def _sum(frame: Frame, file: str) -> int | None:
    """Sum over all controllers; None without controllers, or where one of them does not report it."""
    counts = [frame.integer(f"{CONTROLLERS}{controller}/{file}") for controller in edac_controllers(frame)]
    reported = [count for count in counts if count is not None]
    return sum(reported) if reported and len(reported) == len(counts) else None
