"""Fabrics from one line of text, as ibnetdiscover, iblinkinfo and the tools that print forwarding tables show them.

`4 leaves x 8 hosts, 2 spines, 2 cables, 4xHDR, engines`: nodes n1, n2, ... on leaf1, leaf2, ..., two cables from each
leaf to each spine, and in every switch an engine that reduces (SHARP), which is an adapter of its own.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from seatrial.fabric.ibnetdiscover import parse_fabric
from seatrial.fabric.routes import Routes
from seatrial.model.fabric import DeviceKind, End, FabricMap

FAT_TREE = re.compile(r"(\d+) leaves x (\d+) hosts, (\d+) spines(?:, (\d+) cables)?(?:, (\d+x[A-Z]+))?(, engines)?")


class _Device(msgspec.Struct, frozen=True, kw_only=True):
    """What ibnetdiscover prints of one end of a cable."""

    key: str
    guid: str
    name: str
    lid: int


def fabric_text(text: str) -> str:
    """What ibnetdiscover prints of a fat tree. Raises ValueError for another description."""
    match = FAT_TREE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} does not describe a fat tree")
    leaves, hosts, spines, cables, rate, engines = match.groups()
    return fat_tree(
        int(leaves), int(hosts), int(spines), cables=int(cables or 1), rate=rate or "4xNDR", engines=bool(engines)
    )


def fat_tree(
    leaves: int,
    per_leaf: int,
    spines: int,
    *,
    cables: int = 1,
    rails: Sequence[str] = ("mlx5_0",),
    rate: str = "4xNDR",
    engines: bool = False,
) -> str:
    """Nodes n1, n2, ... on leaf1, leaf2, ...; a leaf's node ports come first, then `cables` to each spine in turn.

    Of the node ports the first rails of all nodes come first, then the second ones.
    """
    ports: dict[str, list[str]] = {}
    adapters: list[str] = []
    switches = [_switch(place, f"leaf{place + 1}", 1) for place in range(leaves)]
    tops = [_switch(place, f"spine{place + 1}", 0x100) for place in range(spines)]

    def connect(one: _Device, other: _Device) -> None:
        numbers = {}
        for switch in (one, other):
            if switch.key.startswith("S"):
                numbers[switch.key] = len(ports.setdefault(switch.key, [])) + 1
        for here, there in ((one, other), (other, one)):
            number = numbers.get(there.key, 1)
            if here.key.startswith("S"):
                inside = "" if there.key.startswith("S") else f"({there.guid})"
                line = f'"{there.key}"[{number}]{inside} # "{there.name}" lid {there.lid} {rate}'
                ports[here.key].append(f"[{numbers[here.key]}] {line}")
            else:
                up = f'# lid {here.lid} lmc 0 "{there.name}" lid {there.lid} {rate}'
                adapters.extend(
                    ["", f'Ca 1 "{here.key}" # "{here.name}"', f'[1]({here.guid}) "{there.key}"[{number}] {up}']
                )

    for leaf, switch in enumerate(switches):
        for rail, name in enumerate(rails):
            for node in range(leaf * per_leaf, (leaf + 1) * per_leaf):
                connect(switch, _adapter(0x1000 + 16 * node + rail, f"n{node + 1} {name}", 1000 + 10 * node + rail))
        for top in tops:
            for _ in range(cables):
                connect(switch, top)
    for place, switch in enumerate([*switches, *tops] if engines else []):
        connect(switch, _adapter(0xE000000 + 16 * place, "Mellanox Technologies Aggregation Node", 30000 + place))
    lines = ["# Topology file: generated"]
    for switch in (*switches, *tops):
        head = f'Switch 64 "{switch.key}" # "{switch.name}" enhanced port 0 lid {switch.lid} lmc 0'
        lines += ["", head, *ports[switch.key]]
    return "\n".join([*lines, *adapters]) + "\n"


def _switch(place: int, name: str, first: int) -> _Device:
    guid = f"{first + place:016x}"
    return _Device(key=f"S-{guid}", guid=guid, name=name, lid=place + 1 if first == 1 else 100 + place)


def _adapter(guid: int, name: str, lid: int) -> _Device:
    return _Device(key=f"H-{guid:016x}", guid=f"{guid + 8:x}", name=name, lid=lid)


def without_cable(text: str, one: str, other: str, number: int = 0) -> str:
    """The text without one of the cables between two switches, at both of its ends."""
    fabric = parse_fabric(text)
    names = {device.key: device.name for device in fabric.devices}
    between = [link for link in fabric.links if {names[link.one.device], names[link.other.device]} == {one, other}]
    lines, switch = [], ""
    gone = {(end.device, end.port) for end in (between[number].one, between[number].other)}
    for line in text.splitlines():
        if match := re.match(r'Switch \d+ "([^"]+)"', line):
            switch = match[1]
        port = re.match(r"\[(\d+)\]", line)
        if port is None or (switch, int(port[1])) not in gone:
            lines.append(line)
    return "\n".join(lines) + "\n"


def with_rate(text: str, chosen: Callable[[str, str], bool], rate: str) -> str:
    """The text with another rate, at both ends, of the cables whose two devices are chosen by their names."""
    fabric = parse_fabric(text)
    names = {device.key: device.name for device in fabric.devices}
    lines, here = [], ""
    for line in text.splitlines():
        if match := re.match(r'\w+ \d+ "([^"]+)"', line):
            here = match[1]
        cable = re.match(r'\[\d+\]\S* "([^"]+)"', line)
        changed = cable is not None and chosen(names[here], names[cable[1]])
        lines.append(re.sub(r"\d+x\S+$", rate, line) if changed else line)
    return "\n".join(lines) + "\n"


def port_list(text: str, *, down: Sequence[End] = ()) -> str:
    """The same fabric as `ibnetdiscover -p` lists it: a line for each port; those of `down` have no cable."""
    fabric = parse_fabric(text)
    lines = []
    for link in fabric.links:
        ends = [(link.one, link.width, link.speed), (link.other, link.other_width, link.other_speed)]
        if {link.one, link.other} & set(down):
            lines += [f"{_port(fabric, end)} 4x ???  '{_name(fabric, end)}'" for end, _, _ in ends if end in down]
            continue
        for (here, width, speed), (there, _, _) in (ends, ends[::-1]):
            names = f"( '{_name(fabric, here)}' - '{_name(fabric, there)}' )"
            lines.append(f"{_port(fabric, here)} {width}x {speed} - {_port(fabric, there)} {names}")
    return "\n".join(sorted(lines)) + "\n"


def _port(fabric: FabricMap, end: End) -> str:
    device = fabric.by_key[end.device]
    kind = "SW" if device.kind is DeviceKind.SWITCH else "CA"
    lids = {one.end.device: one.lid for one in fabric.addresses}
    lid = device.lid or lids.get(end.device) or 0
    return f"{kind} {lid:5d} {end.port:2d} 0x{end.device[2:]}"


def _name(fabric: FabricMap, end: End) -> str:
    return fabric.by_key[end.device].name


def counters(values: dict[tuple[int, int], dict[str, int]]) -> str:
    """What perfquery prints: (LID, port) -> counter -> value."""
    lines = []
    for (lid, port), named in values.items():
        lines += [f"# Port extended counters: Lid {lid} port {port} (CapMask: 0x5300)", f"PortSelect:{'.' * 22}{port}"]
        lines += [f"{name}:{'.' * (32 - len(name))}{value}" for name, value in named.items()]
    return "\n".join(lines) + "\n"


def tables_of(text: str, *, shift: int = 0) -> str:
    """Forwarding tables of that fabric as ibroute prints them: D-mod-K's, destinations counted from `shift` on."""
    fabric = parse_fabric(text)
    routes = Routes(fabric)
    lid_of = {one.end.device: one for one in fabric.addresses}
    lines = []
    for switch in routes.graph.names:
        device = fabric.by_key[switch]
        lines.append(f"Unicast lids [0x0-0xfff] of switch Lid {device.lid} guid 0x{switch[2:]} ({device.name}):")
        lines += ["  Lid  Out   Destination", "       Port     Info"]
        up = [port for port, there in routes.neighbours(switch).items() if there in routes.graph.place]
        for number, adapter in enumerate(routes.adapters):
            near = [port for port, there in routes.neighbours(switch).items() if there == adapter]
            down = [port for port, there in routes.neighbours(switch).items() if there == routes.leaf_of[adapter]]
            ports = near or down or up
            port, address = ports[(number + shift) % len(ports)], lid_of[adapter]
            lines.append(
                f"0x{address.lid:04x} {port:03d} : (Channel Adapter portguid 0x{address.guid}: "
                f"'{fabric.by_key[adapter].name}')"
            )
    return "\n".join(lines) + "\n"


def simulated_fabric(net: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator["subprocess.Popen[str]"]:
    """ibsim of this fabric, as a fixture; its console is the process's standard input."""
    monkeypatch.setenv("IBSIM_SOCKNAME", f"sim{os.getpid()}")  # tests that run beside this one have one, too
    (folder / "net").write_text(net)
    argv = ["sh", "-c", "exec ibsim -s net >/dev/null 2>&1"]
    process = subprocess.Popen(argv, cwd=folder, stdin=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.wait(10)
