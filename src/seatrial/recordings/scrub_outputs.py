"""Takes the names out of what a site's commands print: sinfo's lines and ibnetdiscover's map."""

import re

from seatrial.recordings.scrub import StandIns

GUID = re.compile(r"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])")
QUOTED = re.compile(r'"([^"\n]*)"')
IDENTIFIER = re.compile(r"[SHR]-[0-9a-f]{16}")
MANAGED = re.compile(r"(MF0;)([^:]*)(:.*)")
"""How managed switches call themselves: MF0;NAME:MODEL/U1."""
MAKERS = re.compile(r"Mellanox|NVIDIA|Intel|Cornelis|QLogic|Voltaire|Technologies|Aggregation")
"""What unnamed devices call themselves holds no name of the site's."""


def scrub_sinfo(text: str, known: StandIns) -> str:
    """Lines node|state|partition|reason: states stay, partitions are p1, p2, ..., and a reason is HIDDEN or none."""
    partitions: dict[str, str] = {}
    lines = []
    for line in text.splitlines():
        fields = line.split("|", 3)
        if len(fields) != 4:
            continue
        node, state, partition, reason = fields
        name = partition.rstrip("*")
        stand_in = partitions.setdefault(name, f"p{len(partitions) + 1}") + partition[len(name) :]
        said = reason if reason.strip().lower() in ("none", "") else "HIDDEN"
        lines.append(f"{known.of(node.strip())}|{state}|{stand_in}|{said}\n")
    return "".join(lines)


def scrub_features(text: str, known: StandIns) -> str:
    """Lines node|feature,feature: rules read features, so they stay but for the names in them."""
    lines = (line.partition("|") for line in text.splitlines() if "|" in line)
    return "".join(f"{known.of(node.strip())}|{known.everywhere(words)}\n" for node, _, words in lines)


def scrub_fabric(text: str, known: StandIns) -> str:
    """ibnetdiscover's map: GUIDs are numbered, hosts have their stand-ins, switches are switch1, ..."""
    guids: dict[str, str] = {}
    devices: dict[str, str] = {}

    def guid(found: re.Match[str]) -> str:
        return guids.setdefault(found[0], f"{len(guids) + 1:016x}")

    def description(found: re.Match[str]) -> str:
        words = found[1]
        managed = MANAGED.fullmatch(words)
        host, blank, rest = words.partition(" ")
        if managed:
            words = f"{managed[1]}{_stand_in(devices, managed[2], 'switch')}{managed[3]}"
        elif host in known.names:
            words = f"{known.of(host)}{blank}{rest}"
        elif words and not IDENTIFIER.fullmatch(words) and not MAKERS.search(words):
            words = f"{_stand_in(devices, host, 'device')}{blank}{known.with_care(rest)}"
        return f'"{words}"'

    return GUID.sub(guid, QUOTED.sub(description, text))


def _stand_in(devices: dict[str, str], name: str, kind: str) -> str:
    return devices.setdefault(name, f"{kind}{len(devices) + 1}")
