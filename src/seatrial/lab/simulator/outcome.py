"""What one trial on a simulated fabric came to."""

from collections.abc import Sequence

import msgspec

from seatrial.lab.simulator.faults import Planted
from seatrial.lab.simulator.proving import Proof
from seatrial.lab.simulator.score import Score


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """`pairs`: measurements of one ordered pair each, repetitions and controls with them; `adaptive_pairs` of these
    were measured after the rounds; `pieces`: times that pairs ran at once. Seconds of the processor by phase; the
    simulated measuring is apart, for a real fabric measures by itself. `peak_bytes` of the whole process until now.
    """

    rounds: int
    pairs: int
    adaptive_pairs: int
    pieces: int
    turns: int
    plan_s: float
    locate_s: float
    simulate_s: float
    report_s: float = 0.0
    peak_bytes: int = 0


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Truth, names and figures of one trial. `contended`: pairs that were slow only beside others."""

    seed: int
    adapters: int
    planted: tuple[Planted, ...]
    proof: Proof
    contended: int
    statement: str
    score: Score
    cost: Cost


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Several trials together; `mean_set` over all claims, `pairs` and `adaptive_pairs` a trial."""

    trials: int
    right: int
    planted: int
    found: int
    unseen: int
    claims: int
    false_claims: int
    recall: float
    precision: float
    mean_set: float
    pairs: float
    adaptive_pairs: float
    pieces: float


def totals(outcomes: Sequence[Outcome]) -> Totals:
    """Sums and means. Recall and precision are those of all elements together; 1 where there are none."""
    scores = [one.score for one in outcomes]
    sizes = [size for one in scores for size in one.set_sizes]
    planted, found = sum(one.planted for one in scores), sum(one.found for one in scores)
    claims, false_claims = sum(one.claims for one in scores), sum(one.false_claims for one in scores)
    count = max(len(outcomes), 1)
    return Totals(
        trials=len(outcomes),
        right=sum(one.right for one in scores),
        planted=planted,
        found=found,
        unseen=sum(one.unseen for one in scores),
        claims=claims,
        false_claims=false_claims,
        recall=found / planted if planted else 1.0,
        precision=1 - false_claims / claims if claims else 1.0,
        mean_set=sum(sizes) / len(sizes) if sizes else 1.0,
        pairs=sum(one.cost.pairs for one in outcomes) / count,
        adaptive_pairs=sum(one.cost.adaptive_pairs for one in outcomes) / count,
        pieces=sum(one.cost.pieces for one in outcomes) / count,
    )
