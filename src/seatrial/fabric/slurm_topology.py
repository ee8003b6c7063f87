"""The leaf switch of each node, from `scontrol show topology`, from topology.conf, topology.yaml, or a list of our own.

Of a block topology (Slurm 24.05 and newer) a base block counts as a leaf: its nodes are close to each other.
topology.yaml (25.05 and newer) has one or several topologies of one cluster, each a tree, blocks, or flat. It is read
as lists, mappings and words only: `0001` stays a word, no type of YAML is constructed, and anchors are refused, since a
few lines of them can stand for more than all memory.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import yaml

from seatrial.model.fabric import Fabric
from seatrial.model.node_list import refuse_numbers
from seatrial.model.words import count

PRINTER = "scontrol show topology"
MOST_NODES = 100_000
"""Nodes in one line. No cluster has more today, and expanding them could take all memory."""

NAMES = re.compile(r"[A-Za-z0-9_.,\-\[\]]+")
INSIDE = re.compile(r"\[([^\]]*)")
OF_LIST = re.compile(r"(?:[^,\[]++|\[[^\]]*+\]?)++")
"""The parts of a list between commas outside of brackets."""
RANGE = re.compile(r"(?<![0-9])([0-9]{1,30})-([0-9]{1,30})")
MOST_CHARACTERS = 1 << 20
"""Characters of a file; the largest clusters have a tenth of it."""
TRUE = ("true", "yes", "on")
LEAVES = (("tree", "switches", "switch"), ("block", "blocks", "block"))
"""The key of a topology, that of its list, and that of the name of an entry."""


class Switch(msgspec.Struct, frozen=True, kw_only=True):
    """One SwitchName line."""

    name: str
    level: int
    nodes: tuple[str, ...]


def parse_topology(text: str) -> Fabric:
    """The leaf of every node: the switch of the lowest level that lists it, the first one printed among equals.

    Text without such lines gives the blocks of a block topology; without these (no topology, an error) a fabric without
    leaves whose `source` says so. Lines that cannot be read are left out and counted in `source`.
    """
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    switches, blocks = ([line for line in lines if line.startswith(word)] for word in ("SwitchName=", "BlockName="))
    if switches:
        leaves = _leaves(list(map(_switch, switches)), "leaf switch", "leaf switches")
    else:
        leaves = _leaves(list(map(_block, blocks)), "block", "blocks")
    return leaves or Fabric(leaf_of={}, source=f"{PRINTER}: {_why_none(lines)}")


def _leaves(listed: Sequence[Switch | None], called: str, several: str) -> Fabric | None:
    """The lines that could be read, as leaves; None where no node has one."""
    leaf_of: dict[str, str] = {}
    for switch in sorted(filter(None, listed), key=lambda each: each.level):
        for node in switch.nodes:
            leaf_of.setdefault(node, switch.name)
    if not leaf_of:
        return None
    unread = listed.count(None)
    note = f", {count(unread, 'line')} not understood" if unread else ""
    return Fabric(leaf_of=leaf_of, source=f"{PRINTER}: {count(len(set(leaf_of.values())), called, several)}{note}")


def _block(line: str) -> Switch | None:
    """A base block, of the lowest level: `BlockName=b1 BlockIndex=0 Nodes=n[1-4] BlockSize=4`.

    None for a line without a name or a list of nodes, as of an aggregated block: it holds base blocks.
    """
    fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
    nodes = _expand(fields["Nodes"]) if "Nodes" in fields else None
    return None if nodes is None or not fields["BlockName"] else Switch(name=fields["BlockName"], level=0, nodes=nodes)


NODE_AND_SWITCH = re.compile(r"(\S+)\s+(\S+)")
PARAMETERS = re.compile(r"(?i)^(?=[ \t]*+(?:SwitchName|BlockName)=)", re.MULTILINE)
KEYWORD = re.compile(r"(?i)\b(SwitchName|BlockName|Switches|Nodes|Level)(?==)")
SPELLED = {word.lower(): word for word in ("SwitchName", "BlockName", "Switches", "Nodes", "Level")}
"""Slurm reads the parameters of topology.conf in any case."""
CONTINUED = re.compile(r"\\[ \t]*\r?\n")
SPACED = re.compile(r"(?<=\w)[ \t]*=[ \t]*(?=\S)")
"""Slurm joins a line that ends in a backslash with the next one, and allows blanks around the equals sign."""


def _plain(text: str) -> str:
    """The text without a byte order mark, with joined lines and without blanks around equals signs."""
    return SPACED.sub("=", CONTINUED.sub("", text.removeprefix("\ufeff")))


def is_leaf_file(text: str) -> bool:
    """Whether `parse_leaf_file` is the reader for this text; a map of cables is none."""
    text = _plain(text)
    if PARAMETERS.search(text) or is_topology_document(text):
        return True
    lines = [line for one in text.splitlines() if (line := one.partition("#")[0].strip())]
    return bool(lines) and all(NODE_AND_SWITCH.fullmatch(line) and "=" not in line for line in lines)


def parse_leaf_file(text: str) -> dict[str, str]:
    """Node -> leaf switch or base block: topology.conf, topology.yaml or the output of `scontrol show topology`, or
    `n[1-4] leaf1` on each line.

    Comments begin with #. Raises ValueError that shows a line that is none of these, and a node with two switches.
    """
    text = _plain(text)
    if is_topology_document(text):
        return _leaves_of_document(text)
    lines = {number: line.partition("#")[0].strip() for number, line in enumerate(text.splitlines(), start=1)}
    if PARAMETERS.search("\n".join(lines.values())):
        spelled = {
            number: KEYWORD.sub(lambda keyword: SPELLED[keyword[1].lower()], line) for number, line in lines.items()
        }
        for number, line in spelled.items():
            leaf = line.startswith("SwitchName=") and "Switches=" not in line
            if (leaf and _switch(line) is None) or (line.startswith("BlockName=") and _block(line) is None):
                what = "switch" if leaf else "block"
                raise ValueError(f"line {number} ({line[:80]!r}) is not a {what} with a list of its nodes")
        fabric = parse_topology("\n".join(spelled.values()))
        if not fabric.leaf_of:
            raise ValueError(fabric.source.removeprefix(f"{PRINTER}: "))
        return dict(fabric.leaf_of)
    leaf_of: dict[str, str] = {}
    for number, line in lines.items():
        if not line:
            continue
        pair = NODE_AND_SWITCH.fullmatch(line)
        nodes = _expand(pair[1]) if pair else None
        if not pair or not nodes:
            raise ValueError(f"line {number} ({line[:80]!r}) is not of the form NODES SWITCH")
        for node in nodes:
            if leaf_of.setdefault(node, pair[2]) != pair[2]:
                raise ValueError(f"line {number}: node {node} is on {leaf_of[node]} and on {pair[2]}")
    if not leaf_of:
        raise ValueError("it names no node")
    return leaf_of


def _leaves_of_document(text: str) -> dict[str, str]:
    """The leaves of the cluster's default topology; a node that it lacks has that of another one."""
    leaf_of: dict[str, str] = {}
    above: dict[str, str] = {}
    for name, listed, has_children in leaf_lists(text):
        nodes = _expand(listed)
        if nodes is None:
            raise ValueError(f"the nodes of {name} ({listed[:80]!r}) are not a host list")
        for node in nodes:
            (above if has_children else leaf_of).setdefault(node, name)
    if not (leaf_of or above):
        raise ValueError("this topology.yaml has no tree and no blocks that name nodes")
    return above | leaf_of


def _switch(line: str) -> Switch | None:
    """None: the line lacks a name or a level, or its nodes cannot be expanded, as when it was cut short."""
    fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
    level = fields.get("Level", "0" if "Nodes" in fields else "")
    nodes = _expand(fields.get("Nodes", ""))
    if not fields.get("SwitchName") or not re.fullmatch(r"[0-9]{1,4}", level) or nodes is None:
        return None
    return Switch(name=fields["SwitchName"], level=int(level), nodes=nodes)


def _expand(names: str) -> tuple[str, ...] | None:
    """The nodes of a Slurm host list, in its order; None for text that is not such a list, or too long."""
    if names in ("", "(null)"):
        return ()
    # Slow to load, and needed here only.
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException
    from ClusterShell.RangeSet import RangeSetException

    if not NAMES.fullmatch(names) or _size(names) > MOST_NODES:
        return None
    try:
        refuse_numbers(names)
        return tuple(NodeSet(names, resolver=RESOLVER_NOGROUP))
    except (NodeSetException, RangeSetException, ValueError):
        return None


def _size(names: str) -> int:
    """How many nodes the list expands to: commas outside brackets add, brackets of one name multiply."""
    return sum(math.prod(map(_choices, INSIDE.findall(word))) for word in OF_LIST.findall(names))


def _choices(inside: str) -> int:
    """How many a bracket's content stands for; MOST_NODES + 1 where its numbers are too long to be meant."""
    ranges = RANGE.findall(inside)
    if any(len(bound) > 9 for pair in ranges for bound in pair):
        return MOST_NODES + 1
    return inside.count(",") + 1 + sum(max(int(high) - int(low), 0) for low, high in ranges)


def _why_none(lines: list[str]) -> str:
    if not lines:
        return "printed nothing"
    if any(line.startswith(("BlockName=", "AggregatedBlock=")) for line in lines):
        return "a block topology whose blocks name no nodes"
    return f"names no leaf switch; it begins with {lines[0][:120]!r}"


class _WordsOnly(yaml.BaseLoader):  # type: ignore[misc]
    """A loader of words alone, which refuses aliases."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """A node of the document. Raises ComposerError for an alias."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "it refers to an anchor", self.peek_event().start_mark)
        return super().compose_node(parent, index)


def is_topology_document(text: str) -> bool:
    """Whether the text is a topology.yaml: its first entry is a key of a topology."""
    lines = (line.partition("#")[0].strip() for line in text.split("\n"))
    first = next((line for line in lines if line not in ("", "---", "-") and not line.startswith("%")), "")
    return first.removeprefix("- ").startswith(("topology:", "cluster_default:", "tree:", "block:", "flat:"))


def leaf_lists(text: str) -> Iterator[tuple[str, str, bool]]:
    """Leaf switch or base block, its host list, and whether it has children; the cluster's default topology first.

    Raises ValueError that says what is wrong with the document.
    """
    for topology in sorted(
        _topologies(text), key=lambda each: str(each.get("cluster_default", "")).lower() not in TRUE
    ):
        for kind, entries, name in LEAVES:
            content = topology.get(kind)
            listed = content.get(entries) if isinstance(content, Mapping) else None
            for entry in listed if isinstance(listed, Sequence) and not isinstance(listed, str) else ():
                if isinstance(entry, Mapping) and isinstance(entry.get(name), str):
                    nodes = entry.get("nodes", "")
                    names = ",".join(map(str, nodes)) if isinstance(nodes, list) else str(nodes)
                    yield entry[name], names, bool(entry.get("children"))


def _topologies(text: str) -> list[Mapping[str, object]]:
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"this topology.yaml has {count(len(text), 'character')}; at most {MOST_CHARACTERS} are read")
    try:
        document = _WordsOnly(text).get_single_data()
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ValueError(f"this topology.yaml is not valid YAML: {' '.join(str(error).split())[:200]}") from error
    entries = document if isinstance(document, list) else [document]
    return [entry for entry in entries if isinstance(entry, Mapping)]
