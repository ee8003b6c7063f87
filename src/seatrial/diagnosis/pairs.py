"""The verdict on one pair's numbers."""

from collections.abc import Callable
from functools import partial

import msgspec

from seatrial.diagnosis.evidence import SHORTEST_S, Evidence, Pair, deciding
from seatrial.diagnosis.references import References, above_gate_text, against_gate
from seatrial.diagnosis.thresholds import (
    LATENCY_FLOOR_S,
    LATENCY_RATIO,
    LIMIT_FLOOR,
    PEERS_FLOOR,
    RETEST_RUNS,
)
from seatrial.model.estimate import Estimate
from seatrial.model.limit import Limit
from seatrial.model.measurement import Phase
from seatrial.model.units import bandwidth, duration, share
from seatrial.model.verdict import Verdict
from seatrial.statistics.median import median_estimate


class Judged(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One metric of one pair: verdict, the reason in words, the estimate.

    A check judges every pair several times and prints few of the reasons: words are made when somebody asks.
    """

    verdict: Verdict
    told: Callable[[], str]
    remark: str = ""
    """What else there is to say."""
    estimate: Estimate | None = None
    below_limit_only: bool = False
    """Slow against the limit, though its peers are no better."""
    above_gate: bool = False
    """Faster than physics permits, for certain (INVALID) or not yet (INCONCLUSIVE)."""
    unproved: bool = False
    """Bad in the survey, and nothing of its part was measured again."""
    refuted: bool = False
    """Bad in the survey and not measured again, while others of the same part were good when they were."""

    @property
    def reason(self) -> str:
        """In words."""
        return f"{self.told()}; {self.remark}" if self.remark else self.told()

    def opened(self, why: str, *, unproved: bool = False, refuted: bool = False) -> "Judged":
        """The same, not decided: INCONCLUSIVE, and why."""
        return msgspec.structs.replace(
            self,
            verdict=Verdict.INCONCLUSIVE,
            remark=f"{self.remark}; {why}" if self.remark else why,
            below_limit_only=False,
            unproved=unproved,
            refuted=refuted,
        )


def judge_bandwidth(pair: Pair, evidence: Evidence, references: References) -> Judged:
    """Held against the gate first, then the peers, then the limit."""
    estimate = evidence.bandwidth_estimate
    if estimate is None:
        return Judged(verdict=Verdict.NOT_RUN, told=lambda: "bandwidth not measured")
    runs = deciding(evidence.bandwidth)
    limit = references.limits.get(pair)
    above = against_gate(estimate, limit, evidence.slowest_window_bytes_per_s)
    if limit and above:
        return Judged(
            verdict=above,
            told=partial(above_gate_text, estimate, limit, above),
            estimate=estimate,
            above_gate=True,
        )
    peers = references.bandwidth_bytes_per_s
    by_peers = PEERS_FLOOR * peers if peers and references.alike else 0.0
    by_limit = LIMIT_FLOOR * limit.limit_bytes_per_s if limit else 0.0
    floor = max(by_peers, by_limit)
    verdict = _against(runs, estimate, floor, retested=Phase.RETEST in evidence.bandwidth)
    first_look = verdict is Verdict.UNSTABLE and _good_at_first(evidence, floor)
    verdict = Verdict.INCONCLUSIVE if first_look else verdict
    return Judged(
        verdict=verdict,
        told=partial(_how_fast, estimate, peers, limit, verdict),
        remark="good in the survey, and wavering only when measured beside suspects" if first_look else "",
        estimate=estimate,
        below_limit_only=verdict is Verdict.SLOW and estimate.value >= by_peers,
    )


def _good_at_first(evidence: Evidence, floor: float) -> bool:
    """Whether the survey had nothing against the pair: it was a control of the retest, which for it is a first look."""
    before = evidence.bandwidth.get(Phase.SURVEY)
    return before is not None and median_estimate(before.runs).value >= floor


def _how_fast(estimate: Estimate, peers: float | None, limit: Limit | None, verdict: Verdict) -> str:
    said = [f"{share(estimate.value / peers)} of its peers"] if peers else []
    said += [f"{share(estimate.value / limit.limit_bytes_per_s)} of its limit"] if limit else []
    sides = _why_open(estimate.runs) if verdict is Verdict.INCONCLUSIVE else ""
    return f"{bandwidth(estimate.value)}, {' and '.join(said)}{sides}"


def _how_late(estimate: Estimate, peers: float) -> str:
    return f"latency {duration(estimate.value)}, {estimate.value / peers:.1f} times its peers'"


def _why_open(runs: int) -> str:
    if runs < RETEST_RUNS:
        return f"; measured again {runs} times of {RETEST_RUNS}, which does not prove it: give more by --budget"
    return "; the runs lie on both sides of the line"


def judge_latency(pair: Pair, evidence: Evidence, references: References) -> Judged:
    """Held against pairs of the same distance; there is no limit for latency yet.

    Late in nearly every run, or not late: any passing load makes a microsecond waver, and that says nothing of a link.
    """
    estimate, speed = evidence.latency_estimate, evidence.speed_estimate
    peers = references.latency_s.get(references.crosses(pair))
    if estimate is None or speed is None or peers is None:
        return Judged(verdict=Verdict.NOT_RUN, told=lambda: "latency not measured")
    ceiling = late_above_s(peers)
    speeds = [1 / max(run, SHORTEST_S) for run in deciding(evidence.latency)]
    verdict = _against(speeds, speed, 1 / ceiling, retested=Phase.RETEST in evidence.latency)
    verdict = verdict if verdict is Verdict.SLOW and references.alike else Verdict.PASS
    return Judged(verdict=verdict, told=partial(_how_late, estimate, peers), estimate=estimate)


def late_above_s(peers_s: float) -> float:
    """One-way seconds above which a pair is late, beside peers that take `peers_s`."""
    return max(LATENCY_RATIO * peers_s, peers_s + LATENCY_FLOOR_S)


def _against(runs: "tuple[float, ...] | list[float]", estimate: Estimate, floor: float, *, retested: bool) -> Verdict:
    """A survey's few runs only raise a suspicion; a retest decides, by its interval or by how its runs fall apart.

    A retest that was cut short can acquit and not convict: one disturbance is most of its runs.
    """
    if not retested:
        return Verdict.SLOW if estimate.value < floor else Verdict.PASS
    below = sum(run < floor for run in runs)
    if below <= min(1, len(runs) - 1):
        return Verdict.PASS
    if len(runs) < RETEST_RUNS:
        return Verdict.INCONCLUSIVE
    if estimate.high < floor or len(runs) - below <= 1:
        return Verdict.SLOW
    return Verdict.UNSTABLE if min(runs) < floor * 0.9 else Verdict.INCONCLUSIVE
