"""The next experiment while suspects are not told apart: pairs whose outcome separates them."""

from collections.abc import Collection, Mapping, Sequence

from seatrial.commands.check.suspects import Suspicion, is_part
from seatrial.locate.evidence import Evidence, Pair
from seatrial.locate.explanation import Crossings, blamed_parts
from seatrial.model.fabric import Wiring
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.pairs.next_pairs import Known, next_pairs


def next_bandwidth(
    evidence: Mapping[Pair, Evidence],
    fabric: Wiring,
    suspicion: Suspicion,
    nodes: Sequence[str],
    *,
    asked: Collection[Pair] = (),
    seed: int,
) -> list[Pair]:
    """Ordered pairs whose bandwidth tells slow parts apart; none that was measured or `asked` before.

    Empty where nothing is suspected or no pair could tell more.
    """
    bad = [pair for suspect in suspicion.slow if is_part(suspect) for pair in suspect.pairs]
    had = {pair for pair, known in evidence.items() if known.bandwidth} | set(asked)
    return next_pairs(nodes, _known(bad, suspicion.acquitted[BANDWIDTH]), fabric, asked=had, seed=seed)


def next_latency(
    evidence: Mapping[Pair, Evidence],
    fabric: Wiring,
    suspicion: Suspicion,
    nodes: Sequence[str],
    *,
    asked: Collection[Pair] = (),
    seed: int,
) -> list[Pair]:
    """Pairs whose latency tells late parts and lossy ones apart; either way of a pair tells of both."""
    late = [pair for suspect in suspicion.late for pair in suspect.pairs]
    lossy = [pair for suspect in suspicion.lossy if is_part(suspect) for pair in suspect.pairs]
    had = {pair for pair, known in evidence.items() if known.latency}
    had |= {both for source, target in asked for both in ((source, target), (target, source))}
    wanted: list[Pair] = []
    for bad, good in ((late, suspicion.acquitted[LATENCY]), (lossy, suspicion.without_stalls)):
        for source, target in next_pairs(nodes, _known(bad, good), fabric, asked=had, seed=seed):
            if (source, target) not in had:
                had |= {(source, target), (target, source)}
                wanted.append((source, target))
    return wanted


def _known(bad: Collection[Pair], good: Crossings) -> Known:
    if not bad:
        return Known(bad=frozenset(), acquitted=frozenset(), blamed=())
    return Known(bad=frozenset(bad), acquitted=good.parts, blamed=tuple(blamed_parts(dict.fromkeys(bad, 1.0), good)))
