"""What was measured over one rail, or over several at once, and how two of these compare."""

import math
from collections.abc import Sequence

import msgspec

from seatrial.commands.link.curve.judge import Plateau, plateau_of, plateau_runs
from seatrial.commands.link.curve.points import CurvePoint, points_of, runs_by_size
from seatrial.experiment.controls import RETEST_RUNS, median_ratio, too_few
from seatrial.judgement.pair_limit import against_limit, limit_between
from seatrial.locate.evidence import Pair
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.measurement import Estimate, Kernel, Phase
from seatrial.model.run import RecordedRun
from seatrial.model.verdict import Verdict
from seatrial.pairs.rails import rails_of_variant
from seatrial.statistics.estimates import median_estimate


class RailCurve(msgspec.Struct, frozen=True, kw_only=True):
    """The samples of one variant: launches of the probe that were restricted to these rails."""

    variant: str
    rails: tuple[str, ...]
    points: tuple[CurvePoint, ...]
    plateau: Plateau | None
    latency_s: Estimate | None
    """Latency of the smallest message."""
    limit: Limit | NoLimit
    verdict: Verdict
    """MEASURED where there is no limit to compare the plateau with."""
    reason: str
    bandwidth_runs: tuple[float, ...] = ()
    """The plateau of each repetition, bytes per second; NaN where it has none."""
    latency_runs: tuple[float, ...] = ()

    @property
    def bandwidth(self) -> Estimate | None:
        """The plateau's."""
        return self.plateau.bandwidth_bytes_per_s if self.plateau else None

    @property
    def strength(self) -> float:
        """Bytes per second of the plateau; 0 where there is none."""
        return self.bandwidth.value if self.bandwidth else 0.0

    @property
    def of_limit(self) -> float | None:
        """Share of the limit that the plateau reaches; None where either is unknown."""
        if self.bandwidth is None or not isinstance(self.limit, Limit):
            return None
        return self.strength / self.limit.limit_bytes_per_s

    @property
    def name(self) -> str:
        """`eth1 alone`, `eth0 and eth1 together`."""
        return f"{self.variant} alone" if len(self.rails) == 1 else f"{' and '.join(self.rails)} together"


class RailRatio(msgspec.Struct, frozen=True, kw_only=True):
    """One variant's plateau over another's, repetition by repetition, so that what slowed both cancels."""

    variant: str
    beside: str
    ratio: Estimate
    permitted: float | None
    """The ratio of the variants' limits; None if one of them is unknown."""


def rail_curve(recorded: RecordedRun, pair: Pair, variant: str) -> RailCurve:
    """One variant's samples and their verdict; without samples its verdict is NOT_RUN."""
    rails = rails_of_variant(variant)
    latency, stream = (
        runs_by_size(recorded.measurements, pair, kernel, Phase.VARIANT, variant)
        for kernel in (Kernel.PINGPONG, Kernel.ONEWAY)
    )
    plateau = plateau_of(latency, stream)
    smallest = latency[min(latency)] if latency else ()
    known = [value for value in smallest if not math.isnan(value)]
    limit = limit_between(recorded.facts, pair, rails)
    verdict, reason = _verdict(plateau, limit, rails)
    return RailCurve(
        variant=variant,
        rails=rails,
        points=points_of(recorded.measurements, pair, Phase.VARIANT, variant),
        plateau=plateau,
        latency_s=median_estimate(known) if known else None,
        limit=limit,
        verdict=verdict,
        reason=reason,
        bandwidth_runs=plateau_runs(stream) if stream else (),
        latency_runs=smallest,
    )


def _verdict(plateau: Plateau | None, limit: Limit | NoLimit, rails: Sequence[str]) -> tuple[Verdict, str]:
    """The verdict of a curve's plateau; too few runs decide nothing, and a rate above the limit used other rails."""
    measured = plateau.bandwidth_bytes_per_s if plateau else None
    verdict, reason = against_limit(measured, limit)
    if verdict is Verdict.INVALID:
        return verdict, f"{reason}: the setting did not hold the MPI to {' and '.join(rails)}"
    if isinstance(limit, Limit) and measured and too_few(measured):
        return Verdict.INCONCLUSIVE, f"{reason}; {measured.runs} runs, and {RETEST_RUNS} are needed"
    return verdict, reason


def ratio_of(one: RailCurve, beside: RailCurve) -> RailRatio | None:
    """The ratio of the plateaus; None if no repetition has both."""
    found = median_ratio(zip(one.bandwidth_runs, beside.bandwidth_runs, strict=False))
    limits = [each.limit.limit_bytes_per_s for each in (one, beside) if isinstance(each.limit, Limit)]
    if found is None:
        return None
    permitted = limits[0] / limits[1] if len(limits) == 2 else None
    return RailRatio(variant=one.variant, beside=beside.variant, ratio=found, permitted=permitted)
