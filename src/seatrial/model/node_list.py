"""Node lists as Slurm writes them, expanded and folded by ClusterShell with limits on their size; pure."""

import math
import re
from collections.abc import Sequence

from seatrial.model.errors import UsageError

MOST_NODES = 65_536
"""Slurm reads no longer range of nodes (MAX_RANGE in its hostlist.c)."""


LONGEST = 16 * MOST_NODES


RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")


BRACKET = re.compile(r"\[([^\[\]]*)\]")


RANGES = re.compile(r"(?: *[0-9]{1,18}(?:-[0-9]{1,18}(?:/[0-9]{1,9})?)? *(?:,(?!$)|$))++")
"""What brackets hold. ClusterShell would also take 0-9999_99 for a number, as Python does: a million nodes."""


LONG_NUMBER = re.compile(r"[0-9]{19}")


SHOWN = 40


ONE_RANGE = re.compile(r"((?:[\w.-]*[A-Za-z_.-])?)\[(0|[1-9]\d{0,8})-([1-9]\d{0,8})\]", re.ASCII)
"""n[1-64]: one name and one range of numbers without leading zeros."""


MID_NUMBER = re.compile(r"\d\[[^\[\]]*\]")
"""n1[8-12]: ClusterShell reads it as n[18-112]."""


UNKNOWN = re.compile(r"[^ -~]|[@*?%]")
"""Characters that no node name has: anything but ASCII, and ClusterShell's groups and patterns."""


LONGEST_NODE = 253
"""Characters of a name in the domain name system (RFC 1035), without the last dot."""


def node_list(nodes: Sequence[str]) -> str:
    """n1,n2,n3 -> n[1-3], as Slurm writes it.

    Slurm does not read n[1-3].site or n[1-3]-ib: names that go on behind their last number are written out.
    """
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException
    from ClusterShell.RangeSet import RangeSetException

    if any("[" in node for node in nodes):  # names from outside, as in a recording
        return ",".join(nodes)
    try:
        parts = _parts(str(NodeSet.fromlist(list(nodes), resolver=RESOLVER_NOGROUP)))
    except (NodeSetException, RangeSetException, ValueError):
        return ",".join(nodes)
    return ",".join(
        part if part.endswith("]") or "[" not in part else ",".join(NodeSet(part, resolver=RESOLVER_NOGROUP))
        for part in parts
    )


def _parts(text: str) -> list[str]:
    """n[1,3],m -> n[1,3] and m: split at the commas between names, not at those between a name's numbers."""
    parts: list[list[str]] = []
    depth = 0
    for piece in text.split(","):
        if depth > 0:
            parts[-1].append(piece)
        else:
            parts.append([piece])
        depth += piece.count("[") - piece.count("]")
    return [",".join(pieces) for pieces in parts]


def _how_many(text: str) -> int:
    """The number of names in a list, or slightly more; the list is not expanded."""
    return sum(
        math.prod(
            sum(int(last) - int(first) + 1 if last else 1 for first, last in RANGE.findall(ranges))
            for ranges in BRACKET.findall(part)
        )
        for part in _parts(text)
    )


def refuse_numbers(text: str) -> None:
    """Raise ValueError for a node set with more than 18 digits in a row, or brackets that hold more than ranges."""
    if number := LONG_NUMBER.search(text):
        raise ValueError(f"a number has more than 18 digits: {number[0]}...")
    for ranges in BRACKET.findall(text):
        if not RANGES.fullmatch(ranges):
            raise ValueError(f"[{ranges[:SHOWN]}] is not a list of numbers and ranges such as [1-64,70]")


def expand(text: str) -> tuple[str, ...]:
    """n[1-3] -> n1, n2, n3. Raises ValueError for a text that is not a node set, or has more than `MOST_NODES`.

    Groups are not resolved: ClusterShell would run the commands that its configuration files name for them.
    """
    if odd := UNKNOWN.search(text):
        raise ValueError(f"{odd[0]!r} is not allowed in it")
    if len(text) > LONGEST or _how_many(text) > MOST_NODES:
        raise ValueError(f"it has more than {MOST_NODES:,} nodes, the longest range that Slurm accepts")
    refuse_numbers(text)
    for ranges in MID_NUMBER.findall(text):
        if len({len(number) for number in re.findall(r"[0-9]{1,18}", ranges[1:])}) > 1:
            raise ValueError("numbers of different lengths follow a digit; write n[18-19,110] instead of n1[8-10]")
    bracket = ONE_RANGE.fullmatch(text)
    if bracket and int(bracket[2]) <= int(bracket[3]):  # ClusterShell takes ten times as long for a large range
        nodes = tuple(f"{bracket[1]}{number}" for number in range(int(bracket[2]), int(bracket[3]) + 1))
    else:
        nodes = _expanded(text)
    if longest := max((node for node in nodes if len(node) > LONGEST_NODE), key=len, default=""):
        raise ValueError(f"a node name has {len(longest)} characters; at most {LONGEST_NODE} are allowed")
    return nodes


def _expanded(text: str) -> tuple[str, ...]:
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException
    from ClusterShell.RangeSet import RangeSetException

    try:
        return tuple(NodeSet(text, resolver=RESOLVER_NOGROUP))
    except (NodeSetException, RangeSetException, ArithmeticError, LookupError, ValueError) as error:
        raise ValueError(str(error)) from error


def parse_nodes(text: str, what: str = "--nodes") -> tuple[str, ...]:
    """n[1-3],n7 -> its nodes; none for an empty text. `what`: the option that gave them.

    Raises UsageError that shows the text.
    """
    if not text:
        return ()
    try:
        nodes = expand(text)
    except ValueError as error:
        raise UsageError(f"{what} {text!r} is not a valid list of nodes: {error}.", "Write n[1-4] or n1,n3.") from error
    if not nodes:
        raise UsageError(f"{what} {text!r} names no node.", "Write n[1-4] or n1,n3.")
    return nodes
