"""The upper gate: faster than physics only where the interval over runs supports it."""

import msgspec
import pytest

from seatrial.commands.check.judge import judge
from seatrial.judgement.pair_limit import against_limit
from seatrial.locate.references import against_gate
from seatrial.model.errors import ExitCode
from seatrial.model.limit import Limit, LimitTerm
from seatrial.model.measurement import Kernel, Measurement, Phase
from seatrial.model.run import Ending, RecordedRun
from seatrial.model.subject import pair
from seatrial.model.verdict import FindingKind, Verdict
from seatrial.statistics.estimates import median_estimate
from tests.support.builders import HEALTHY, Cluster, names, sail

FAST = ("n1", "n2")
GATE = 117.67e6
ABOVE = 1.05 * GATE / HEALTHY
"""Five percent above what the link can carry."""
TERM = LimitTerm(name="wire", bytes_per_s=GATE, inputs={}, source="test", formula="")
LIMIT = Limit(path="n1>n2", limit_bytes_per_s=GATE, binding="wire", terms=(TERM,), gate_bytes_per_s=GATE)


def interrupted(recorded: RecordedRun, windows: int = 3) -> RecordedRun:
    """The same run stopped after the first repetition of the survey, of which each round has few windows."""
    kept = [one for one in recorded.measurements if one.phase is Phase.SURVEY and one.repetition == 0]
    short = [msgspec.structs.replace(one, times_s=one.times_s[:windows]) for one in kept]
    info = msgspec.structs.replace(recorded.info, ending=Ending.INTERRUPTED, reason="Interrupted by a signal.")
    return msgspec.structs.replace(recorded, info=info, measurements=tuple(short))


def test_one_repetition_of_three_windows_is_not_faster_than_physics() -> None:
    recorded = interrupted(sail(Cluster(nodes=names(4), pairs={FAST: ABOVE})))
    judgement = judge(recorded)
    found = next(one for one in judgement.pairs if (one.source, one.target) == FAST)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "1 run of at least 6" in found.reason
    assert judgement.findings == ()
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert judgement.exit_code is ExitCode.INCOMPLETE
    assert any("n1 to n2 is not decided" in note for note in judgement.notes)


def test_a_check_measures_the_pair_again_and_six_runs_above_are_invalid() -> None:
    recorded = sail(Cluster(nodes=names(4), pairs={FAST: ABOVE}))
    again = {one.pair for one in recorded.measurements if one.phase is Phase.RETEST}
    assert FAST in again
    assert len(again) > 1, "controls are measured beside it"
    findings = judge(recorded).findings
    assert [(one.kind, one.subject) for one in findings] == [(FindingKind.FASTER_THAN_PHYSICS, pair(*FAST))]
    assert findings[0].measured is not None
    assert findings[0].measured.runs == 6
    assert findings[0].measured.low > GATE


def test_a_survey_above_the_gate_that_the_retest_does_not_confirm_is_no_finding() -> None:
    def mood(phase: Phase, repetition: int, of: tuple[str, str]) -> float:
        return ABOVE if of == FAST and phase is Phase.SURVEY else 1.0

    judgement = judge(sail(Cluster(nodes=names(4), mood=mood)))
    assert judgement.findings == ()
    assert judgement.verdict is Verdict.PASS


def test_one_spurious_window_among_many_is_nothing() -> None:
    recorded = sail(Cluster(nodes=names(4)))

    def spoiled(one: Measurement) -> Measurement:
        if one.phase is not Phase.SURVEY or one.pair != FAST or one.shape.kernel is not Kernel.ONEWAY:
            return one
        return msgspec.structs.replace(one, times_s=(one.times_s[0] / 4, *one.times_s[1:]))

    measurements = tuple(spoiled(one) for one in recorded.measurements)
    judgement = judge(msgspec.structs.replace(recorded, measurements=measurements))
    assert (judgement.findings, judgement.verdict) == ((), Verdict.PASS)


@pytest.mark.parametrize(("windows", "verdict"), [(1, Verdict.INCONCLUSIVE), (0, Verdict.INVALID)])
def test_grossly_above_in_every_window_is_invalid_at_once(windows: int, verdict: Verdict) -> None:
    """`windows`: how many of the three are within physics."""
    recorded = interrupted(sail(Cluster(nodes=names(4), pairs={FAST: 2.0})))

    def spoiled(one: Measurement) -> Measurement:
        if one.pair != FAST or one.shape.kernel is not Kernel.ONEWAY:
            return one
        times = (*(2 * time for time in one.times_s[:windows]), *one.times_s[windows:])
        return msgspec.structs.replace(one, times_s=times)

    measurements = tuple(spoiled(one) for one in recorded.measurements)
    judgement = judge(msgspec.structs.replace(recorded, measurements=measurements))
    assert judgement.verdict is verdict
    assert bool(judgement.findings) is (verdict is Verdict.INVALID)


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ((1.05,), Verdict.INCONCLUSIVE),
        ((1.05, 1.06, 1.05), Verdict.INCONCLUSIVE),
        ((1.05,) * 5, Verdict.INCONCLUSIVE),
        ((1.05,) * 6, Verdict.INVALID),
        ((1.05,) * 5 + (0.99,), Verdict.INCONCLUSIVE),
        ((1.05,) * 8 + (0.99,), Verdict.INVALID),
        ((1.6,) * 3, Verdict.INVALID),
        ((1.6, 1.6, 1.2), Verdict.INCONCLUSIVE),
        ((1.005,) * 6, None),
        ((0.99,) * 5 + (1.6,), None),
    ],
)
def test_the_interval_over_runs_decides(runs: tuple[float, ...], expected: Verdict | None) -> None:
    measured = median_estimate([run * GATE for run in runs])
    assert against_gate(measured, LIMIT) is expected
    assert against_gate(measured, None) is None


def test_a_curve_of_one_repetition_above_the_gate_is_not_decided() -> None:
    verdict, reason = against_limit(median_estimate([1.05 * GATE]), LIMIT)
    assert verdict is Verdict.INCONCLUSIVE
    assert "more than physics permits" in reason
    assert against_limit(median_estimate([1.05 * GATE] * 6), LIMIT)[0] is Verdict.INVALID
