"""Whether the nodes that have a fact are the slow ones: exact tests, their adjustment, and the fact that leads a group.

Both kinds of suspects use it: facts that changed between two sets of runs, and facts in which peers differ.
"""

from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np

from seatrial.drift.severity import REST, known_cost
from seatrial.statistics.rank_sum import adjusted, count_tail, rank_sum_tail

NO_CAUSE = ("node", "boot_id", "complete")
"""Facts that say that something may have changed, and not what."""


def heaviest_first(weights: Mapping[str, int]) -> list[str]:
    """Facts of one group by their weights, in the order in which they are named: the greatest known cost first."""
    return sorted(weights, key=lambda fact: (fact in NO_CAUSE, -weights[fact], fact))


def cost_of(fact: str) -> tuple[int, str]:
    """The weight of a fact, and how it can change performance; `REST` and nothing if it cannot be a cause itself."""
    return (REST, "") if fact in NO_CAUSE else known_cost(fact)


def by_rank(nodes: Iterable[str], losses: Mapping[str, float]) -> float | None:
    """Probability that nodes drawn at random lost as much: the exact permutation test on ranks (`rank_sum`).

    Nodes of equal loss get their mean rank. None where the losses of all nodes, or of none of them, are known.
    """
    names = sorted(losses)
    touched = np.isin(names, list(nodes))
    if not touched.any() or touched.all():
        return None
    lost = np.array([losses[name] for name in names])
    _, place, count = np.unique(-lost, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    return rank_sum_tail(float(ranks[touched].sum()), int(touched.sum()), len(names))


def by_count(nodes: Set[str], slow: Set[str], everyone: Set[str]) -> float:
    """Probability that as many of the slow nodes are among as many nodes drawn at random: Fisher's exact test."""
    having = nodes & everyone
    return count_tail(len(having & slow), len(slow), len(having), len(everyone))


def least_by_count(nodes: Set[str], slow: Set[str], everyone: Set[str]) -> float:
    """The least probability that `by_count` can have for these numbers of nodes, wherever the slow ones are."""
    having = len(nodes & everyone)
    return count_tail(min(having, len(slow)), len(slow), having, len(everyone))


def adjusted_known(p_values: Sequence[float | None]) -> list[float | None]:
    """The known ones, adjusted for their number (`rank_sum.adjusted`); the others stay unknown."""
    shares = adjusted(np.array([np.nan if each is None else each for each in p_values]))
    return [None if each is None else float(share) for each, share in zip(p_values, shares, strict=True)]
