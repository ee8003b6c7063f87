"""Files of one node each in a folder: hwloc's XML, texts of lscpu, dmidecode and lstopo, and streams of any name."""

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from seatrial.files.inputs import ALL_FACTS_BYTES, Allowance, TooMuch, as_text, entries_in
from seatrial.model.errors import SeatrialError
from seatrial.model.facts import NodeFacts
from seatrial.model.words import natural_sorted
from seatrial.node.frame import OPENING
from seatrial.node.gpus import facts_from_smi, is_smi
from seatrial.node.hwloc_machine import facts_from_xml
from seatrial.node.node import parse_facts
from seatrial.recordings.command_text import commands_in, facts_from_text, is_translated
from seatrial.recordings.tarballs import beginning, whole

MOST_FILES = 100_000
COMMANDS = "lscpu|dmidecode|nvidia-smi|smi|lstopo|hwloc|topology|topo|facts"
ENDINGS = re.compile(rf"(?:[-_.](?:{COMMANDS})|\.(?:xml|txt|out|log|gz|bz2|xz)){{1,9}}$", re.IGNORECASE)
BEGINNINGS = re.compile(rf"^(?:{COMMANDS})(?:[-_.]|$)", re.IGNORECASE)
XML_OPENINGS = ("<?xml", "<!DOCTYPE topology", "<topology", "<nvidia_smi_log")
NAMELESS = re.compile(r"(?:localhost|unknown|\(none\)|)(?:\.|$)")


class Fleet(NamedTuple):
    """Node -> its facts, and why the files of others could not be read."""

    facts: dict[str, NodeFacts]
    silent: dict[str, str]


def machine_files(folder: Path, top: Path) -> dict[str, tuple[Path, ...]]:
    """Node -> its files, of those in the folder that describe a machine; others are left out.

    The name of a file is the node's, without the commands and suffixes in it (n1.lscpu.txt, lstopo-n1.xml). Where
    nothing is left (n1/lscpu.txt), the folder's name is. Two files with the same content, such as two exports, are of
    two nodes, and have their whole names. `top`: the folder of the whole recording, which no link may lead out of.
    """
    of_node: dict[str, list[tuple[Path, frozenset[str]]]] = {}
    for path in (each for each in entries(folder) if each.is_file()):
        if contents := _described(path, top):
            of_node.setdefault(node_of(path) or folder.resolve().name, []).append((path, contents))
    files: dict[str, tuple[Path, ...]] = {}
    for name, members in of_node.items():
        kinds = [kind for _, contents in members for kind in contents]
        if len(kinds) == len(set(kinds)):
            files[name] = tuple(path for path, _ in members)
        else:
            files |= {path.name: (path,) for path, _ in members}
    return files


def entries(folder: Path) -> list[Path]:
    """What is in it; nothing where it cannot be read. Raises BadInput for too many."""
    return entries_in(folder, MOST_FILES) if folder.is_dir() and os.access(folder, os.R_OK | os.X_OK) else []


def node_of(path: Path) -> str:
    """n1.lscpu.txt, lstopo-n1.xml, n1.xml.gz -> n1; "" for lscpu.txt."""
    without_endings = ENDINGS.sub("", f".{path.name}").lstrip(".")
    return BEGINNINGS.sub("", without_endings)


def _described(path: Path, top: Path) -> frozenset[str]:
    """What a file is, by its beginning: "XML", "stream", or the commands that printed it. Empty: something else."""
    try:
        first = beginning(path, top).decode("utf-8", errors="replace").lstrip("\ufeff \t\r\n")
    except SeatrialError:
        return frozenset()
    if first.startswith(XML_OPENINGS):
        return frozenset({"GPUs"} if is_smi(first) else {"XML"} if "<topology" in first else ())
    if first.startswith(OPENING):
        return frozenset({"stream"})
    return commands_in(first) or frozenset({"lscpu"} if is_translated(first) else ())


def read_fleet(files: Mapping[str, tuple[Path, ...]], top: Path) -> Fleet:
    """The machines of these files, by the names that they report; by those of the files where two report one name.

    Raises TooMuch.
    """
    read: dict[str, NodeFacts] = {}
    silent: dict[str, str] = {}
    together = Allowance(ALL_FACTS_BYTES, top)
    for name, paths in files.items():
        try:
            texts = [as_text(whole(path, top, together), path).lstrip("\ufeff") for path in paths]
            read[name] = facts_of_texts(name, texts)
        except TooMuch:
            raise
        except SeatrialError as error:
            silent[name] = str(error)
    hostnames = Counter(facts.hostname for facts in read.values())
    named: dict[str, NodeFacts] = {}
    for name, facts in read.items():
        own = hostnames[facts.hostname] == 1 and not NAMELESS.match(facts.hostname) and facts.hostname not in read
        node = facts.hostname if own else name
        named[node] = msgspec.structs.replace(facts, hostname=node)
    return Fleet({node: named[node] for node in natural_sorted(named)}, silent)


def facts_of_texts(name: str, texts: Sequence[str]) -> NodeFacts:
    """One node. A stream counts alone; XML counts before texts, which add the memory modules that it lacks.

    Raises SeatrialError for texts that cannot be read.
    """
    stream = next((text for text in texts if text.lstrip().startswith(OPENING)), None)
    if stream is not None:
        return parse_facts(stream.lstrip())
    of_gpus = [text for text in texts if is_smi(text)]
    if of_gpus and len(of_gpus) < len(texts):
        facts = facts_of_texts(name, [text for text in texts if text not in of_gpus])
        of_smi = facts_from_smi(of_gpus[0], name)
        return msgspec.structs.replace(facts, gpus=of_smi.gpus, attached_gpus=of_smi.attached_gpus)
    exports = [text for text in texts if text.lstrip().startswith(XML_OPENINGS)]
    printed = [text for text in texts if text not in exports]
    if not exports:
        return facts_from_text("\n".join(printed), name)
    of_export = facts_from_xml(exports[0], name)
    of_commands = facts_from_text("\n".join(printed), name) if printed else None
    if of_commands is None or not of_commands.memory.dimms:
        return of_export
    absent = {field: why for field, why in of_export.absent.items() if not field.startswith("memory.dimms")}
    return msgspec.structs.replace(of_export, memory=of_commands.memory, absent=absent)
