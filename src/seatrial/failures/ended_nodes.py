"""Which nodes a cause may name: those on which ranks ended by themselves, not those where the launcher ended them."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from seatrial.failures.printed_text import Origin
from seatrial.failures.rank_deaths import KILL, TERM, Ranks, TaskEnds, nodes_of, read_loss, task_ends
from seatrial.model.loss import RankDeath

MOST_LOOKED_AT = 500
"""Names of nodes and node sets, of which a sentence has a few at most; a node set may have 65,536 nodes."""


class EndedNodes(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes on which ranks ended, by their short names, and where ranks ran."""

    struck: frozenset[str] = frozenset()
    """Nodes of ranks that ended before the launcher ended all, or otherwise than by its signals."""
    ended: frozenset[str] = frozenset()
    """Nodes of which nothing is reported but ranks that the launcher ended."""
    places: Mapping[int, str] = {}
    """Rank -> node."""
    printed: Mapping[str, Origin] = {}
    """The origin of each line, by its words."""

    def likely(self, names: Sequence[str], own: Iterable[str]) -> list[str]:
        """The nodes and node sets among `names`, as they are printed, that a message without a node may be about.

        `own`: its lines. Labels name the ranks that printed them.
        """
        sets = {name: _short(name) for name in names[:MOST_LOOKED_AT]}
        spoke = self._of_lines(own)
        by_label = [name for name, nodes in sets.items() if spoke & nodes]
        struck = [name for name, nodes in sets.items() if self.struck & nodes]
        return by_label or struck or [name for name, nodes in sets.items() if not nodes <= self.ended]

    def _of_lines(self, lines: Iterable[str]) -> frozenset[str]:
        """The nodes of the ranks that printed these lines; none unless all of them are known."""
        ranks = {rank for line in lines if (origin := self.printed.get(line.strip())) for rank in origin.ranks}
        if not ranks <= self.places.keys():
            return frozenset()
        return frozenset(_base(self.places[rank]) for rank in ranks)


def ended_nodes(text: str, printed: Mapping[str, Origin]) -> EndedNodes:
    """What plain text reports of the ends of ranks. `printed`: where its lines come from."""
    deaths = [death for death in read_loss(text, Ranks()).deaths if death.node]
    ends: list[tuple[frozenset[str], TaskEnds | RankDeath]] = [
        (frozenset(map(_base, end.nodes)), end) for end in task_ends(text)
    ]
    ends = ends or [(frozenset([_base(death.node)]), death) for death in deaths]
    others = any(end.first and end.signal != TERM for _, end in ends)
    struck = frozenset[str]().union(*(nodes for nodes, end in ends if _by_itself(end)))
    ended = frozenset[str]().union(
        *(nodes for nodes, end in ends if end.signal == TERM or (others and not end.first and end.signal == KILL))
    )
    places = {death.rank: death.node for death in deaths if death.rank is not None}
    return EndedNodes(struck=struck, ended=ended - struck, places=places, printed=printed)


def _by_itself(end: TaskEnds | RankDeath) -> bool:
    return end.signal != TERM if end.first else end.signal not in (None, TERM, KILL)


def _base(node: str) -> str:
    return node.partition(".")[0]


def _short(name: str) -> frozenset[str]:
    return frozenset(map(_base, nodes_of(name)))
