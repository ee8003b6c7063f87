"""Slurm's topology.yaml (25.05 and newer): one or several topologies of one cluster, each a tree, blocks, or flat.

The text is read as lists, mappings and words only: `0001` stays a word, no type of YAML is constructed, and anchors are
refused, since a few lines of them can stand for more than all memory.
"""

from collections.abc import Iterator, Mapping, Sequence

import yaml

from seatrial.model.words import count

MOST_CHARACTERS = 1 << 20
"""Of a file; the largest clusters have a tenth of it."""
TRUE = ("true", "yes", "on")
LEAVES = (("tree", "switches", "switch"), ("block", "blocks", "block"))
"""The key of a topology, that of its list, and that of the name of an entry."""


class _WordsOnly(yaml.BaseLoader):  # type: ignore[misc]
    """Without aliases."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """A node of the document. Raises ComposerError for an alias."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "it refers to an anchor", self.peek_event().start_mark)
        return super().compose_node(parent, index)


def is_topology_document(text: str) -> bool:
    """Whether the text is a topology.yaml: its first line is a list entry that names a topology, or says `---`."""
    lines = (line.partition("#")[0].strip() for line in text.split("\n"))
    first = next((line for line in lines if line not in ("", "---") and not line.startswith("%")), "")
    return first.startswith(("- topology:", "- cluster_default:", "- tree:", "- block:", "- flat:"))


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
                    yield entry[name], _words(entry.get("nodes", "")), bool(entry.get("children"))


def _topologies(text: str) -> list[Mapping[str, object]]:
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"this topology.yaml has {count(len(text), 'character')}; at most {MOST_CHARACTERS} are read")
    try:
        document = _WordsOnly(text).get_single_data()
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ValueError(f"this topology.yaml is not valid YAML: {' '.join(str(error).split())[:200]}") from error
    entries = document if isinstance(document, list) else [document]
    return [entry for entry in entries if isinstance(entry, Mapping)]


def _words(nodes: object) -> str:
    """A host list, which may be written as a list of host lists."""
    return ",".join(str(each) for each in nodes) if isinstance(nodes, list) else str(nodes)
