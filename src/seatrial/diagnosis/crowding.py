"""Slow pairs that may only have been in each other's way, since many were measured at the same time."""

from collections.abc import Mapping

from seatrial.diagnosis.evidence import Evidence, Pair
from seatrial.diagnosis.suspicion import Suspicion, is_part
from seatrial.diagnosis.thresholds import RETEST_PAIRS
from seatrial.model.measurement import Phase
from seatrial.model.verdict import Verdict


def crowded(evidence: Mapping[Pair, Evidence], suspicion: Suspicion) -> list[Pair]:
    """Pairs to measure again with fewer at once: of a suspected part a few, since one good one acquits it.

    A pair that no part explains stands for itself. Empty where nothing is slow, or was measured beside nothing.
    """
    found: dict[Pair, None] = {}
    for suspect in suspicion.slow:
        pairs = suspect.pairs[:RETEST_PAIRS] if is_part(suspect) else suspect.pairs
        found.update(dict.fromkeys(pair for pair in pairs if evidence[pair].pairs_at_once > 1))
    return list(found)


def contended(evidence: Mapping[Pair, Evidence], suspicion: Suspicion, floor_bytes_per_s: float) -> list[Pair]:
    """Pairs that were below the floor among many, and good when measured once more among fewer."""
    return [
        pair
        for pair, known in evidence.items()
        if Phase.NEXT in known.bandwidth
        and Phase.RETEST not in known.bandwidth
        and known.pairs_at_once > 1
        and suspicion.bandwidth[pair].verdict is Verdict.PASS
        and max(known.bandwidth[Phase.SURVEY].runs if Phase.SURVEY in known.bandwidth else (0.0,)) < floor_bytes_per_s
    ]
