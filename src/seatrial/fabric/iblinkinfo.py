"""Parses the output of `iblinkinfo` into a map: a block for each device, with a line for each of its ports."""

import itertools
import re

from seatrial.fabric.map_lines import MapLines, kind_of, without_last
from seatrial.model.fabric_map import DeviceKind, End, FabricDevice, FabricMap

HEAD = re.compile(r"^(?P<kind>CA|Switch|Router):\s+(?:0x(?P<guid>[0-9a-fA-F]{1,16})\s+)?(?P<name>.{0,200}):\s*$")
PORT = re.compile(
    r"^\s*(?:0x(?P<guid>[0-9a-fA-F]{1,16})\s+)?(?P<lid>\d{1,9})\s+(?P<port>\d{1,4})\[[^\]]{0,9}\]\s+==\(\s*+"
    r"(?:(?P<width>\d{1,3})X\s+(?P<lane>\d{1,4}(?:\.\d{1,9})?) Gbps)?\s*(?P<state>\w{1,20})/\s*\w{1,40}\)==>\s+"
    r'(?:(?P<far_lid>\d{1,9})\s+(?P<far_port>\d{1,4}))?\[[^\]]{0,9}\]\s+"(?P<far_name>[^"]{0,200})"'
)
SPEEDS = {
    "2.5": "SDR", "5.0": "DDR", "10.0": "QDR", "10.3125": "FDR10", "14.0625": "FDR", "25.78125": "EDR",
    "53.125": "HDR", "106.25": "NDR", "212.5": "XDR",
}  # fmt: skip
"""Gb/s of a lane as the tool prints it -> name of the speed."""
SOURCE = "iblinkinfo"


def is_iblinkinfo(lines: list[str]) -> bool:
    """Whether a head is followed by a line of a port."""
    return any(HEAD.match(head) and PORT.match(port) for head, port in itertools.pairwise(lines))


def parse_iblinkinfo(text: str) -> FabricMap:
    """Ends of cables are named by LID and port; a LID without lines of its own is an adapter or switch left out."""
    read = MapLines()
    lines, last = without_last(text)
    ports: list[tuple[End, re.Match[str]]] = []
    by_lid: dict[int, str] = {}
    head: re.Match[str] | None = None
    device = ""
    for line in lines:
        if match := HEAD.match(line):
            head, device = match, ""
        elif (port := PORT.match(line)) and head:
            if not device:
                device = _section(read, head, port)
            by_lid.setdefault(int(port["lid"]), device)
            ports.append((End(device=device, port=int(port["port"])), port))
        elif line.strip():
            read.unknown.append(line)
    for end, port in ports:
        _take(read, end, port, by_lid)
    return read.fabric(SOURCE, cut_off=bool(last))


def _section(read: MapLines, head: "re.Match[str]", port: "re.Match[str]") -> str:
    """A switch has its GUID in the head, an adapter in the lines of its ports."""
    guid = (head["guid"] or port["guid"] or "").lower().zfill(16)
    key = f"{'H' if head['kind'] == 'CA' else 'S'}-{guid}"
    name = head["name"].strip()
    lid = int(port["lid"])
    read.section(FabricDevice(key=key, kind=kind_of(key, name), name=name, lid=lid))
    return key


def _take(read: MapLines, end: End, port: "re.Match[str]", by_lid: dict[int, str]) -> None:
    if port["far_lid"] is None:
        if port["state"] == "Down":
            read.down.append(end)
        return
    if read.devices[end.device].kind is not DeviceKind.SWITCH:
        read.address(end, int(port["lid"]), (port["guid"] or "").lower().zfill(16))
    far_lid = int(port["far_lid"])
    far = by_lid.get(far_lid, f"H-lid{far_lid:013d}")
    rate = (int(port["width"]), SPEEDS.get(port["lane"], "")) if port["width"] else (None, "")
    read.cable(end, End(device=far, port=int(port["far_port"])), rate, port["far_name"])
