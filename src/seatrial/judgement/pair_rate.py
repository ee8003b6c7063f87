"""The judgement that every run of one pair shares: its rate, corrupted data, deaths of ranks, and how the run ended."""

import msgspec

from seatrial.judgement.corrupt_data import after_corruption, corrupted_pair, sound
from seatrial.judgement.outcome import failure_of
from seatrial.judgement.pair_limit import against_limit, limit_findings
from seatrial.judgement.rank_deaths import after_deaths, judge_deaths
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.measurement import Estimate
from seatrial.model.run import RecordedRun
from seatrial.model.verdict import Finding, Verdict

Pair = tuple[str, str]


class PairRate(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a pair; MEASURED: not judged, for the reason given."""

    verdict: Verdict
    reason: str
    findings: tuple[Finding, ...]


def judge_rate(delivered: RecordedRun, pair: Pair, measured: Estimate | None, limit: Limit | NoLimit) -> PairRate:
    """Compare the pair's bandwidth in B/s with its limit.

    `delivered`: the run with all that arrived, also what arrived wrong and `measured` therefore leaves out.
    """
    against = against_limit(measured, limit)
    verdict, reason = after_run(delivered, *against)
    findings = (
        *corrupted_pair(pair, delivered),
        *judge_deaths(sound(delivered)).findings,
        *limit_findings(pair, *against, measured, limit),
    )
    return PairRate(verdict=verdict, reason=reason, findings=findings)


def after_run(delivered: RecordedRun, verdict: Verdict, reason: str) -> tuple[Verdict, str]:
    """The verdict and its reason, unless corrupted data, deaths of ranks or the end of the run decide."""
    verdict, reason = after_corruption(delivered, *after_deaths(sound(delivered), verdict, reason))
    return verdict, failure_of(delivered) or reason
