"""What nodes printed below headings with their names, or sets of them: clush -b, dshbak and ansible."""

import json
import re

from seatrial.model.errors import UsageError
from seatrial.model.node_list import expand
from seatrial.model.words import count

HEADED = re.compile(
    r"^(?:-{8,80}\n(?P<nodes>[\w.-][\w.,@\[\]-]{0,3999})(?: \((?P<number>\d{1,9})\))?\n-{8,80}"
    r"|(?P<node>[A-Za-z][\w.-]{0,99}) \| (?P<word>[A-Z]{4,20}!?) "
    r"(?:\| rc=(?P<rc>-?\d{1,9}) >>|=> (?P<object>\{)))\r?\n",
    re.MULTILINE,
)
"""The heading of the lines of a node, or of all nodes that printed the same."""
RELAYED = re.compile(
    r"^(?:pdsh@[\w.-]{1,100}|clush): "
    r"(?P<nodes>[A-Za-z][\w.,\[\]-]{0,3999})(?: \((?P<number>\d{1,9})\))?: (?P<said>.*)(?:\n|\Z)",
    re.MULTILINE,
)
"""The word of pdsh and clush about nodes: pdsh@admin: n7: ssh exited with exit code 127."""
LOST = frozenset({"FAILED", "FAILED!", "UNREACHABLE", "UNREACHABLE!"})
"""What ansible writes behind the name of a node whose program failed."""
MOST_CHARACTERS = 64 << 20
"""Characters that are repeated for the nodes of sets, as large as the outputs of thousands of nodes."""


def with_prefixes(text: str) -> str:
    """The text with the name of a node before each of its lines, in place of a heading of its lines.

    Lines below a set of nodes are repeated for each of them, and a program that failed has a line about that alone.
    Raises UsageError for a heading that is not a set of nodes, or of too many.
    """
    headings = [*HEADED.finditer(text)]
    written = _Prefixes()
    if not headings or not all(map(_is_set, headings)):
        return RELAYED.sub(written.relayed, text)
    relayed = [written.relayed(match) for match in RELAYED.finditer(text)]
    text = RELAYED.sub("", text)
    headings = [*HEADED.finditer(text)]
    ends = [*(match.start() for match in headings[1:]), len(text)]
    blocks = [written.block(match, text[match.end() : end]) for match, end in zip(headings, ends, strict=True)]
    return text[: headings[0].start()] + "".join((*blocks, *relayed))


class _Prefixes:
    """Writes lines behind the names of nodes, and repeats up to `MOST_CHARACTERS` of them for further nodes."""

    def __init__(self) -> None:
        self.written = 0

    def block(self, heading: "re.Match[str]", block: str) -> str:
        """The lines below a heading."""
        if (heading["nodes"] or "").startswith("pdsh@"):  # dshbak takes what pdsh says about nodes for one more node
            return block.strip("\n") + "\n"
        printed, code = block, heading["rc"]
        if heading["object"]:
            printed, code = _members("{" + block)
        if heading["word"] in LOST or (code or "0") != "0":
            printed = f"{heading['word']}, exit code {code or 'unknown'}"
        return self.lines(_nodes(heading), printed)

    def relayed(self, match: "re.Match[str]") -> str:
        """What a launcher says about nodes."""
        return self.lines(_nodes(match), match["said"]) if _is_set(match) else match[0]

    def lines(self, nodes: tuple[str, ...], printed: str) -> str:
        """Raises UsageError where it becomes too much."""
        lines = printed.strip("\n").split("\n")
        self.written += (len(nodes) - 1) * (len(printed) + len(lines))
        if self.written > MOST_CHARACTERS:
            raise UsageError(
                f"The lines of sets of nodes, repeated for each node, have more than {MOST_CHARACTERS >> 20} MiB.",
                "Give fewer nodes at a time, or the values of each node alone.",
            )
        return "".join(f"{node}: {line}\n" for node in nodes for line in lines)


def _members(text: str) -> tuple[str, str]:
    """What a program printed, and its exit code, of the JSON object that ansible writes; the text if it has neither."""
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return text.removeprefix("{"), ""
    stdout, code = value.get("stdout"), value.get("rc")
    printed = "\n".join((stdout, text[end:].strip("\n"))) if isinstance(stdout, str) else text.removeprefix("{")
    return printed, str(code) if isinstance(code, int) else ""


def _is_set(match: "re.Match[str]") -> bool:
    """Whether it has the name of a node, or a set; `[options]` and `Results (3)` are titles."""
    text = match["nodes"] or ""
    if "[" not in text and "," not in text:
        return match["number"] in (None, "1")
    if match["number"]:
        return True
    try:
        return bool(expand(text))
    except ValueError:
        return False


def _nodes(match: "re.Match[str]") -> tuple[str, ...]:
    """The nodes of a heading. Raises UsageError for a text that is not a set, or of another number of nodes."""
    text = match["nodes"] or match["node"]
    try:
        nodes = expand(text) if "[" in text or "," in text else (text,)
    except ValueError as error:
        raise UsageError(
            f"The heading {text[:60]!r} is not a valid list of nodes: {error}.", "Write the lines of each node alone."
        ) from error
    if match["number"] and int(match["number"]) != len(nodes):
        raise UsageError(
            f"The heading {text[:60]!r} has {count(len(nodes), 'node')}, and the number behind it is "
            f"{match['number']}.",
            "Write the lines of each node alone.",
        )
    return nodes
