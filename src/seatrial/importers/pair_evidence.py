"""Whether lines of names and numbers are a table of pairs of nodes: most lines fit, ends are alike, partners plausible.

Tables of message sizes and repetitions, of processes and cores, or of times and values have the same form. Read as
pairs, each size would be a node whose pairs all look healthy.
"""

import enum
import re
from collections.abc import Collection, Sequence

import msgspec
import numpy as np

from seatrial.importers.node_names import is_summary
from seatrial.importers.pair_columns import PairColumns
from seatrial.model.errors import UsageError
from seatrial.model.pair_table import DEAD_BANDWIDTH, DEAD_LATENCY_S, PairTable, Places, Reals
from seatrial.model.unit_text import is_number
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.model.words import name_form

FEW_OTHERS = 2
"""Lines that need not fit in a table of any size: a heading, a line of dashes."""
MOST_OTHERS = 0.2
"""Share of lines that may be something else, such as messages of MPI among the results."""
OF_ONE_KIND = 0.9
LEAST_SHARED = 0.5
"""Share of the nodes that occur at both ends. In half a matrix all but two do."""
WIDEST_RANKS = 32
"""Ranks lie in a range of at most this many times their number. Message sizes double, and soon exceed it."""
SQUARE = 0.5
"""Share of the pairs that a complete table without names must have, in one direction or both."""
FEWEST_SAME = 12
"""Pairs with one and the same number, which is a condition or a setting. Few may be rounded to it."""
LONGEST_SHOWN = 60
REMEDY = "Give lines such as source,target,latency_us,bandwidth_mb_s with decimal points, and no others."
SENDER_WORDS = frozenset({"source", "src", "from", "sender", "send", "sending", "origin"})
RECEIVER_WORDS = frozenset({"target", "tgt", "dst", "dest", "destination", "to", "receiver", "recv", "receiving"})
END_WORDS = SENDER_WORDS | RECEIVER_WORDS | {
    "node", "nodes", "nodename", "host", "hosts", "hostname", "rank", "ranks", "nic", "hca", "machine", "server",
    "client", "peer", "partner", "local", "remote", "endpoint", "end", "first", "second", "left", "right", "a", "b",
    "i", "j", "p", "q",
}  # fmt: skip
"""Words of the names of the first two columns."""
RANK = re.compile(r"[0-9]{1,9}")
ADDRESS = re.compile(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}")
WORD = re.compile(r"(?=[\W\d_]*+[^\W\d_])[\w][\w.:/@\[\]-]*+")


class NotPairs(UsageError):
    """The text is not a table of pairs. If the tool that printed it is known, that is a better reason to report."""


class UnclearPairs(NotPairs):
    """The text is a table of pairs, and something that only its author knows is missing."""


class EndKind(enum.Enum):
    """What an end of a pair is called by."""

    RANK = "a number"
    ADDRESS = "an address"
    NAME = "a name"
    NONE = "neither a node nor a rank"


class LineCount(msgspec.Struct):
    """Lines of a text with characters other than spaces. Comments, and pairs without any number, are left out."""

    fitting: int = 0
    others: int = 0
    first_other: str = ""

    def refuse_few(self) -> None:
        """Raises NotPairs where too many lines do not describe a pair."""
        allowed = max(FEW_OTHERS, MOST_OTHERS * (self.fitting + self.others))
        shown = f", such as {self.first_other[:LONGEST_SHOWN]!r}" if self.first_other else ""
        if not self.fitting:
            raise NotPairs(f"No line of this file describes a pair{shown}.", REMEDY)
        if self.others > allowed:
            raise NotPairs(
                f"Only {self.fitting} of {self.fitting + self.others} lines describe a pair of nodes; "
                f"{self.others} do not{shown}.",
                REMEDY,
            )


def names_an_end(column: str) -> bool:
    """Whether the name of a column is that of an end of a pair: source, from, node1, dst_host, Rank A."""
    words = re.findall(r"[a-z]+", column.lower())
    return any(word in END_WORDS for word in words)


def receivers_first(name: str) -> bool:
    """Whether the first cell of a square names the end that receives before the one that sends: rows are receivers."""
    words = [word for word in re.findall(r"[a-z]+", name.lower()) if word in SENDER_WORDS | RECEIVER_WORDS]
    return len(words) > 1 and words[0] in RECEIVER_WORDS and words[1] in SENDER_WORDS


def refuse_other_ends(table: PairTable, *, complete: bool = False) -> None:
    """Raises NotPairs where the two ends of the rows are not both nodes, or both ranks.

    `complete`: the format has all pairs of its ranks, so a table with far fewer is something else.
    """
    sources, targets = np.unique(table.source), np.unique(table.target)
    kind = _kind(table, sources)
    other = _kind(table, targets)
    if EndKind.NONE in (kind, other) or kind is not other:
        raise _unlike(table, f"the first end is {kind.value}, the second {other.value}")
    nodes = len(np.union1d(sources, targets))
    shared = len(np.intersect1d(sources, targets))
    if (
        nodes > 2
        and shared < LEAST_SHARED * nodes
        and not (kind is EndKind.NAME and _same_form(table, sources, targets))
    ):
        raise _unlike(table, f"only {shared} of {nodes} names occur at both ends")
    if kind is EndKind.RANK and nodes > 2 and _range(table) > WIDEST_RANKS * nodes:
        raise _unlike(table, f"{nodes} numbers of nodes are spread over a range of {_range(table)}")
    least = SQUARE * nodes * (nodes - 1)
    if complete and nodes > 2 and table.pairs < least and 2 * _unordered_pairs(table) < least:
        raise _unlike(table, f"{nodes} nodes have {table.pairs} of {nodes * (nodes - 1)} ordered pairs")
    same = [_same_values(table.metric(name)) for name in (BANDWIDTH, LATENCY) if not np.isnan(table.metric(name)).all()]
    if same and min(same) >= FEWEST_SAME and kind is not EndKind.RANK:
        raise UnclearPairs(
            f"All {max(same)} values are the same, as those of a setting are, or rates that were rounded.",
            "Give the numbers with more digits: as they are, no node could be seen to be slow.",
        )
    if same and min(same) >= FEWEST_SAME:
        raise _unlike(table, f"all {max(same)} values are the same, as no measurement gives them")


def meet_partners(rows: PairColumns, names: Sequence[str], unmeasured: Collection[tuple[int, int, bool]]) -> None:
    """Adds to a table the ends of lines without a number that are nodes: a partner has numbers, both names are of one
    kind, and where only blanks divide the line, as they do a sentence, they differ from known names in digits alone.

    `unmeasured`: the numbers of both ends of each such line, and whether a delimiter is between them.
    """
    met = rows.met
    forms = {name_form(names[number]) for number in met}
    partners = {
        end
        for source, target, divided in unmeasured
        for end, partner in ((source, target), (target, source))
        if partner in met
        and end not in met
        and _kind_of(names[end]) is _kind_of(names[partner])
        and not is_summary(names[end])
        and (divided or name_form(names[end]) in forms)
    }
    rows.meet(np.array(sorted(partners, key=names.__getitem__), dtype=np.int32))


def with_absent_ranks(table: PairTable) -> PairTable:
    """The table with the ranks that no line of it has, up to the highest: where most numbers are there, all ran."""
    highest = max((int(name) for name in table.nodes if RANK.fullmatch(name)), default=0)
    if highest >= 2 * len(table.nodes):
        return table
    absent = {str(number) for number in range(highest)}.difference(table.nodes)
    return msgspec.structs.replace(table, nodes=(*table.nodes, *sorted(absent, key=int)))


def _same_values(column: Reals) -> int:
    """How many pairs have that number, where all that were measured have the same; else 0."""
    values = column[~np.isnan(column)]
    same = len(values) and values[0] not in (DEAD_BANDWIDTH, DEAD_LATENCY_S) and (values == values[0]).all()
    return len(values) if same else 0


def _unordered_pairs(table: PairTable) -> int:
    """Pairs of nodes that have a row, in one direction or both."""
    lesser, greater = np.minimum(table.source, table.target), np.maximum(table.source, table.target)
    return len(np.unique(lesser.astype(np.int64) * len(table.nodes) + greater))


def _unlike(table: PairTable, why: str) -> NotPairs:
    first = f"{table.nodes[table.source[0]]},{table.nodes[table.target[0]]}"[:LONGEST_SHOWN]
    return NotPairs(
        f"These lines are not pairs of nodes, the first {first!r}: {why}.",
        "Give a table whose first two columns both name nodes or ranks.",
    )


def _kind(table: PairTable, ends: Places) -> EndKind:
    """What nearly all of the ends are called by."""
    kinds = [_kind_of(table.nodes[number]) for number in ends.tolist()]
    return next((kind for kind in EndKind if kinds.count(kind) >= OF_ONE_KIND * len(kinds)), EndKind.NONE)


def _kind_of(name: str) -> EndKind:
    if RANK.fullmatch(name):
        return EndKind.RANK
    if ADDRESS.fullmatch(name):
        return EndKind.ADDRESS
    return EndKind.NAME if WORD.fullmatch(name) and not is_number(name) else EndKind.NONE


def _same_form(table: PairTable, sources: Places, targets: Places) -> bool:
    """Whether the names of both ends differ in their digits only: clients that send to servers, one node to all."""
    forms = [{name_form(table.nodes[number]) for number in ends.tolist()} for ends in (sources, targets)]
    return forms[0] == forms[1]


def is_name(text: str) -> bool:
    """Whether a text can be the name of a node, and is neither a number nor an address."""
    return _kind_of(text) is EndKind.NAME


def _range(table: PairTable) -> int:
    numbers = [int(name) for name in table.nodes if RANK.fullmatch(name)]
    return max(numbers) - min(numbers) + 1
