"""Rails compared with each other, and all together with one: which is slow, and what a second one gains."""

import math
from collections.abc import Sequence

import msgspec

from seatrial.commands.link.curve.judge import CurvePoint, Plateau, plateau_of, plateau_runs, points_of, runs_by_size
from seatrial.experiment.controls import RETEST_RUNS, above, below, median_ratio, too_few
from seatrial.judgement.corrupt_data import corrupted_pair, sound
from seatrial.judgement.outcome import RecordOutcome, pair_of
from seatrial.judgement.pair_limit import after_run, against_limit, limit_between
from seatrial.judgement.rank_deaths import judge_deaths, run_notes
from seatrial.locate.evidence import Pair
from seatrial.locate.thresholds import LATENCY_FLOOR_S, LATENCY_RATIO, LIMIT_FLOOR, PEERS_FLOOR
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.measurement import Estimate, Kernel, Phase
from seatrial.model.run import RecordedRun
from seatrial.model.subject import Direction
from seatrial.model.subject import pair as pair_subject
from seatrial.model.units import BANDWIDTH, LATENCY, bandwidth, duration, share
from seatrial.model.verdict import Finding, FindingKind, Verdict, worst
from seatrial.model.words import count
from seatrial.pairs.rank_pairs import rails_of_variant
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
        return Verdict.INCONCLUSIVE, f"{reason}; {count(measured.runs, 'run')}, and {RETEST_RUNS} are needed"
    return verdict, reason


def ratio_of(one: RailCurve, beside: RailCurve) -> RailRatio | None:
    """The ratio of the plateaus; None if no repetition has both."""
    found = median_ratio(zip(one.bandwidth_runs, beside.bandwidth_runs, strict=False))
    limits = [each.limit.limit_bytes_per_s for each in (one, beside) if isinstance(each.limit, Limit)]
    if found is None:
        return None
    permitted = limits[0] / limits[1] if len(limits) == 2 else None
    return RailRatio(variant=one.variant, beside=beside.variant, ratio=found, permitted=permitted)


MORE_THAN_EVEN = 0.1
"""Rails that carry more together than the slowest's rate on each, and by this share at least, are not held by it."""
NO_GAIN = 1.1
"""Times what the best rail does alone: less is no more than one rail."""
SLOW_REMEDY = (
    "Measure both nodes with a third over this rail to see which is slow, then look at port, cable and switch port; "
    "until then leave the rail out."
)


def slow_rail(pair: Pair, rail: RailCurve, best: RailCurve | None, ratio: RailRatio | None) -> Finding | None:
    """A rail below 90 % of the best one, physics allowed for, or below 75 % of its limit; of six runs or more."""
    measured = rail.bandwidth
    if measured is None or too_few(measured):
        return None
    below_best = ratio is not None and below(ratio.ratio, floor_of(ratio))
    if not below_best and rail.verdict is not Verdict.SLOW:
        return None
    said = f"{rail.name} carries {bandwidth(measured.value)}"
    if below_best and ratio and best and best.bandwidth:
        said += f", {_times(ratio.ratio)} of what {best.variant} does ({bandwidth(best.bandwidth.value)})"
    limit = rail.limit.limit_bytes_per_s if isinstance(rail.limit, Limit) else None
    part = "" if rail.of_limit is None else f", {share(rail.of_limit)} of its limit"
    said += part
    return Finding(
        kind=FindingKind.SLOW_RAIL,
        subject=pair_subject(*pair),
        direction=Direction.OUT,
        verdict=Verdict.SLOW,
        statement=f"From {pair[0]} to {pair[1]} {said}.",
        brief=f"{rail.name} carries {bandwidth(measured.value)}{part}",
        remedy=SLOW_REMEDY,
        metric=BANDWIDTH,
        measured=measured,
        limit=limit,
        limit_name=rail.limit.binding if isinstance(rail.limit, Limit) else "",
        peers=best.bandwidth.value if best and best.bandwidth and best is not rail else None,
        peers_name=f"{best.variant} alone" if best else "",
        pairs=(">".join(pair),),
    )


def floor_of(ratio: RailRatio) -> float:
    """The ratio below which a rail is slow: `PEERS_FLOOR` of what physics permits."""
    return PEERS_FLOOR * (ratio.permitted or 1.0)


def late_rail(pair: Pair, rail: RailCurve, quickest: RailCurve) -> Finding | None:
    """A rail whose latency is more than `LATENCY_RATIO` times the quickest one's in its whole interval."""
    ratio = median_ratio(zip(rail.latency_runs, quickest.latency_runs, strict=False))
    if ratio is None or rail.latency_s is None or quickest.latency_s is None:
        return None
    if not above(ratio, LATENCY_RATIO) or rail.latency_s.value - quickest.latency_s.value < LATENCY_FLOOR_S:
        return None
    return Finding(
        kind=FindingKind.SLOW_RAIL,
        subject=pair_subject(*pair),
        verdict=Verdict.SLOW,
        brief=f"latency over {rail.name} {ratio.value:.1f} times that over {quickest.variant}",
        statement=(
            f"Between {pair[0]} and {pair[1]} a small message takes {duration(rail.latency_s.value)} over {rail.name}, "
            f"{ratio.value:.1f} times [{ratio.low:.1f}-{ratio.high:.1f}] what it takes over {quickest.variant}."
        ),
        remedy=SLOW_REMEDY,
        metric=LATENCY,
        measured=rail.latency_s,
        peers=quickest.latency_s.value,
        peers_name=f"{quickest.variant} alone",
        pairs=(">".join(pair),),
    )


def held_back(pair: Pair, together: RailCurve, gain: RailRatio, singles: Sequence[RailCurve]) -> Finding | None:
    """All rails at once below 75 % of what physics permits them together; with a cause to look for."""
    measured, limit = together.bandwidth, together.limit
    if together.verdict is not Verdict.SLOW or measured is None or not isinstance(limit, Limit):
        return None
    permitted = f", where physics permits {gain.permitted:.2f} times" if gain.permitted else ""
    statement = (
        f"From {pair[0]} to {pair[1]} {together.name} carry {bandwidth(measured.value)}, {gain.ratio.value:.2f} times "
        f"[{gain.ratio.low:.2f}-{gain.ratio.high:.2f}] what {gain.beside} does alone{permitted}"
    )
    cause, remedy = _cause(measured.value, gain, singles)
    return Finding(
        kind=FindingKind.RAILS_HELD_BACK,
        subject=pair_subject(*pair),
        direction=Direction.OUT,
        verdict=Verdict.SLOW,
        statement=f"{statement}: {cause}.",
        remedy=remedy,
        metric=BANDWIDTH,
        measured=measured,
        limit=limit.limit_bytes_per_s,
        limit_name=limit.binding,
        peers=next((each.bandwidth.value for each in singles if each.variant == gain.beside and each.bandwidth), None),
        peers_name=f"{gain.beside} alone",
        pairs=(">".join(pair),),
    )


def _cause(carried: float, gain: RailRatio, singles: Sequence[RailCurve]) -> tuple[str, str]:
    """What the numbers look like, and what to look at."""
    slowest = min(singles, key=lambda each: each.strength)
    best = max(each.strength for each in singles)
    even = len(singles) * slowest.strength
    if slowest.strength < PEERS_FLOOR * best and carried <= (1 + MORE_THAN_EVEN) * even:
        return (
            f"no more than the rate of {slowest.variant} on each of {count(len(singles), 'rail')} ({bandwidth(even)}), "
            "as where messages are split into equal parts and the slowest rail sets the pace",
            f"Repair {slowest.variant}; until then leave it out, or give the MPI the rails' true rates.",
        )
    if below(gain.ratio, NO_GAIN):
        return (
            "no more than one rail",
            "Check whether the MPI spreads the messages of one pair over rails at all (Open MPI over TCP: "
            "btl_tcp_if_include; UCX: UCX_MAX_RNDV_RAILS; Intel MPI gives each rank one NIC), and with "
            "seatrial link --ranks-per-node auto whether one core can drive them.",
        )
    return (
        "less than they could",
        f"Check with seatrial link --ranks-per-node auto whether one core can drive them, where the rails' cards sit, "
        f"and whether the rails share a switch ({share(LIMIT_FLOOR)} of the limit is the threshold).",
    )


def _times(ratio: Estimate) -> str:
    return f"{share(ratio.value)} [{share(ratio.low)}-{share(ratio.high)}]"


class RailComparison(RecordOutcome, frozen=True, kw_only=True):
    """All that is derived from the samples of one ordered pair over its rails."""

    curves: tuple[RailCurve, ...]
    ratios: tuple[RailRatio, ...]
    """Each other rail alone, compared with the one that comes nearest to its limit."""
    gain: RailRatio | None
    """All rails at once, compared with the one that carries most alone."""


def judge_rails(recorded: RecordedRun) -> RailComparison:
    """The judgement, computed from the samples alone; the same run gives the same result."""
    pair, delivered = pair_of(recorded), recorded
    recorded = sound(recorded)
    planned = recorded.info.design.variants if recorded.info.design else ()
    seen = (one.variant for one in recorded.measurements if one.phase is Phase.VARIANT)
    curves = tuple(rail_curve(recorded, pair, variant) for variant in dict.fromkeys((*planned, *seen)))
    # a rail that exceeds its limit was not measured alone, so others cannot be compared with it
    able = [curve for curve in curves if curve.bandwidth and curve.verdict is not Verdict.INVALID]
    singles = [curve for curve in able if len(curve.rails) == 1]
    best = max(singles, key=lambda one: one.strength if one.of_limit is None else one.of_limit, default=None)
    ratios = [ratio for one in singles if best and one is not best and (ratio := ratio_of(one, best))]
    together = next((curve for curve in able if len(curve.rails) > 1), None)
    strongest = max(singles, key=lambda one: one.strength, default=None)
    gain = ratio_of(together, strongest) if together and strongest else None
    findings = (
        *corrupted_pair(pair, delivered),
        *judge_deaths(recorded).findings,
        *_rail_findings(pair, singles, best, ratios),
        *filter(None, (held_back(pair, together, gain, singles) if together and gain else None,)),
    )
    open_ratios = [ratio for ratio in ratios if not _decided(ratio)]
    verdict, reason = after_run(delivered, *_overall(curves, findings, open_ratios, gain))
    whole = bool(curves) and all(curve.bandwidth for curve in curves)
    return RailComparison(
        pair=pair,
        curves=curves,
        ratios=tuple(ratios),
        gain=gain,
        findings=findings,
        verdict=verdict,
        reason=reason,
        notes=run_notes(recorded, reason, findings),
        complete=recorded.info.whole and whole,
    )


def _rail_findings(
    pair: Pair, singles: Sequence[RailCurve], best: RailCurve | None, ratios: Sequence[RailRatio]
) -> list[Finding]:
    beside = {ratio.variant: ratio for ratio in ratios}
    slow = [slow_rail(pair, one, best, beside.get(one.variant)) for one in singles]
    timed = [one for one in singles if one.latency_s]
    quickest = min(timed, key=lambda one: one.latency_s.value if one.latency_s else 0.0, default=None)
    late = [late_rail(pair, one, quickest) for one in timed if quickest and one is not quickest]
    return [finding for finding in (*slow, *late) if finding is not None]


def _decided(ratio: RailRatio) -> bool:
    """Whether it is known on which side of the threshold a rail lies."""
    floor = floor_of(ratio)
    return below(ratio.ratio, floor) or above(ratio.ratio, floor)


def _overall(
    curves: Sequence[RailCurve], findings: Sequence[Finding], undecided: Sequence[RailRatio], gain: RailRatio | None
) -> tuple[Verdict, str]:
    """The gravest verdict and the sentence for it."""
    verdicts = [curve.verdict for curve in curves if curve.verdict is not Verdict.MEASURED] + [
        finding.verdict for finding in findings
    ]
    verdicts += [Verdict.INCONCLUSIVE] if undecided else []
    if not curves:
        return Verdict.NOT_RUN, "nothing was measured"
    verdict = worst(verdicts) if verdicts else Verdict.MEASURED
    if findings and verdict is Verdict.SLOW:
        return verdict, findings[0].statement
    if verdict in (Verdict.PASS, Verdict.MEASURED):
        return verdict, _good(curves, gain)
    gravest = [curve for curve in curves if curve.verdict is verdict]
    if not gravest:
        return verdict, "; ".join(_open(ratio) for ratio in undecided)
    first = max(gravest, key=_prominence)
    return verdict, f"{first.name}: {first.reason}"


def _prominence(curve: RailCurve) -> tuple[bool, bool, float]:
    """The order in which curves are named: out of line with the limit, of a single rail, which slows down those that
    are used with it, and the farthest from the limit.
    """
    apart = abs(1 - (curve.of_limit or 1))
    return apart > 1 - LIMIT_FLOOR, len(curve.rails) == 1, apart


def _good(curves: Sequence[RailCurve], gain: RailRatio | None) -> str:
    rails = [curve.variant for curve in curves if len(curve.rails) == 1]
    alike = f"{' and '.join(rails)} carry the same within {share(1 - PEERS_FLOOR)}"
    if gain is None:
        return alike
    return f"{alike}; together {gain.ratio.value:.2f} times [{gain.ratio.low:.2f}-{gain.ratio.high:.2f}] as much as one"


def _open(ratio: RailRatio) -> str:
    said = f"{ratio.variant} carries {ratio.ratio.low:.2f} to {ratio.ratio.high:.2f} times what {ratio.beside} does"
    if too_few(ratio.ratio):
        return f"{said}; {count(ratio.ratio.runs, 'run')}, and {RETEST_RUNS} are needed"
    return f"{said}, on both sides of {floor_of(ratio):.2f}; more runs (--budget) may decide"
