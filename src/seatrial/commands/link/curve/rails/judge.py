"""Rails compared with each other, and all together with one: which is slow, and what a second one gains."""

from collections.abc import Sequence

from seatrial.commands.link.curve.rails.curves import RailCurve, RailRatio, rail_curve, ratio_of
from seatrial.commands.link.curve.rails.findings import floor_of, held_back, late_rail, slow_rail
from seatrial.experiment.controls import RETEST_RUNS, above, below, too_few
from seatrial.judgement.corrupt_data import corrupted_pair, sound
from seatrial.judgement.outcome import RecordOutcome, pair_of
from seatrial.judgement.pair_limit import after_run
from seatrial.judgement.rank_deaths import run_notes
from seatrial.locate.evidence import Pair
from seatrial.locate.thresholds import PEERS_FLOOR
from seatrial.model.measurement import Phase
from seatrial.model.run import RecordedRun
from seatrial.model.units import share
from seatrial.model.verdict import Finding, Verdict, worst


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
        notes=run_notes(recorded, reason),
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
    told = next((f"{curve.name}: {curve.reason}" for curve in curves if curve.verdict is verdict), "")
    return verdict, told or "; ".join(_open(ratio) for ratio in undecided)


def _good(curves: Sequence[RailCurve], gain: RailRatio | None) -> str:
    rails = [curve.variant for curve in curves if len(curve.rails) == 1]
    alike = f"{' and '.join(rails)} carry the same within {share(1 - PEERS_FLOOR)}"
    if gain is None:
        return alike
    return f"{alike}; together {gain.ratio.value:.2f} times [{gain.ratio.low:.2f}-{gain.ratio.high:.2f}] as much as one"


def _open(ratio: RailRatio) -> str:
    said = f"{ratio.variant} carries {ratio.ratio.low:.2f} to {ratio.ratio.high:.2f} times what {ratio.beside} does"
    if too_few(ratio.ratio):
        return f"{said}; {ratio.ratio.runs} runs, and {RETEST_RUNS} are needed"
    return f"{said}, on both sides of {floor_of(ratio):.2f}; more runs (--budget) may decide"
