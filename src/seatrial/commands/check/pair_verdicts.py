"""The survey's verdict on one pair's numbers; the retest of the parts that it suspects is judged in `retested`."""

from collections.abc import Callable
from functools import partial

import msgspec

from seatrial.locate.evidence import Evidence, Pair
from seatrial.locate.references import References, above_gate_text, against_gate
from seatrial.locate.thresholds import LIMIT_FLOOR
from seatrial.model.limit import Limit
from seatrial.model.measurement import Estimate
from seatrial.model.units import bandwidth, duration, share
from seatrial.model.verdict import Verdict

CLEAR = 0.5
"""Part of the lack that makes a pair bad; below it the pair is clearly good."""


class Judged(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One metric of one pair: verdict, the reason in words, the estimate.

    A check judges every pair several times and prints few of the reasons: words are made when somebody asks.
    """

    verdict: Verdict
    told: Callable[[], str]
    remark: str = ""
    """What else there is to say."""
    estimate: Estimate | None = None
    clear: bool = False
    """Clearly good, so that it acquits what it crosses."""
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

    def decided(self, verdict: Verdict, why: str = "", *, unproved: bool = False, refuted: bool = False) -> "Judged":
        """The same with another verdict, and why."""
        return msgspec.structs.replace(
            self,
            verdict=verdict,
            remark="; ".join(part for part in (self.remark, why) if part),
            clear=verdict is Verdict.PASS,
            below_limit_only=self.below_limit_only and verdict is Verdict.SLOW,
            unproved=unproved,
            refuted=refuted,
        )

    def opened(self, why: str, *, unproved: bool = False, refuted: bool = False) -> "Judged":
        """The same, not decided: INCONCLUSIVE, and why."""
        return self.decided(Verdict.INCONCLUSIVE, why, unproved=unproved, refuted=refuted)


def judge_bandwidth(pair: Pair, evidence: Evidence, references: References) -> Judged:
    """Compared with the gate first, then with the peers, then with the limit."""
    estimate, first = evidence.bandwidth_estimate, evidence.first_bandwidth
    if estimate is None or first is None:
        return Judged(verdict=Verdict.NOT_RUN, told=lambda: "bandwidth not measured")
    limit = references.limits.get(pair)
    above = against_gate(estimate, limit, evidence.slowest_window_bytes_per_s)
    if limit and above:
        return Judged(
            verdict=above, told=partial(above_gate_text, estimate, limit, above), estimate=estimate, above_gate=True
        )
    line = references.bandwidth if references.alike else None
    over = references.rate_over_peers(pair, first) if line else 0.0
    lack = line.lack if line else 0.0
    below_peers = line is not None and over < -lack
    below_limit = limit is not None and first < limit_floor(limit)
    return Judged(
        verdict=Verdict.SLOW if below_peers or below_limit else Verdict.PASS,
        told=partial(_how_fast, estimate, references.peers_of(pair), limit),
        estimate=estimate,
        clear=not below_limit and over >= -CLEAR * lack,
        below_limit_only=below_limit and not below_peers,
    )


def limit_floor(limit: Limit | None) -> float:
    """Bytes per second below which a pair is slow whatever its peers do; 0 where no limit is known."""
    return LIMIT_FLOOR * limit.limit_bytes_per_s if limit else 0.0


def _how_fast(estimate: Estimate, peers: float | None, limit: Limit | None) -> str:
    said = [f"{share(estimate.value / peers)} of its peers"] if peers else []
    said += [f"{share(estimate.value / limit.limit_bytes_per_s)} of its limit"] if limit else []
    return f"{bandwidth(estimate.value)}, {' and '.join(said)}"


def _how_late(estimate: Estimate, peers: float) -> str:
    return f"latency {duration(estimate.value)}, {estimate.value / peers:.1f} times its peers'"


def judge_latency(pair: Pair, evidence: Evidence, references: References) -> Judged:
    """Compared with pairs of the same distance; there is no limit for latency yet."""
    estimate, first, line = (
        evidence.latency_estimate,
        evidence.first_speed,
        references.speed.get(references.crosses(pair)),
    )
    if estimate is None or first is None or line is None:
        return Judged(verdict=Verdict.NOT_RUN, told=lambda: "latency not measured")
    over = line.over_peers(first)
    late = over < -line.lack and references.alike
    return Judged(
        verdict=Verdict.SLOW if late else Verdict.PASS,
        told=partial(_how_late, estimate, references.latency_s[references.crosses(pair)]),
        estimate=estimate,
        clear=over >= -CLEAR * line.lack or not references.alike,
    )
