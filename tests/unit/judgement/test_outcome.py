"""One rule for the exit code of all records that measure one pair."""

import pytest

from seatrial.commands.link.curve.rails.judge import RailComparison
from seatrial.commands.link.saturate.judge import Saturation
from seatrial.judgement.outcome import RecordOutcome
from seatrial.model.errors import ExitCode
from seatrial.model.limit import NoLimit
from seatrial.model.subject import pair
from seatrial.model.verdict import Finding, FindingKind, Verdict

NO_LIMIT = NoLimit(path="a>b", reason="")
FOUND = Finding(
    kind=FindingKind.SLOW_RAIL, subject=pair("a", "b"), verdict=Verdict.SLOW, statement="slow", remedy="look"
)
CODES = {
    Verdict.PASS: ExitCode.PASS,
    Verdict.NOT_RUN: ExitCode.INCOMPLETE,
    Verdict.INCONCLUSIVE: ExitCode.INCOMPLETE,
    Verdict.UNSTABLE: ExitCode.FINDINGS,
    Verdict.SLOW: ExitCode.FINDINGS,
    Verdict.MISCONFIGURED: ExitCode.FINDINGS,
    Verdict.INVALID: ExitCode.FINDINGS,
    Verdict.DOWN: ExitCode.FINDINGS,
    Verdict.BLOCKED: ExitCode.FINDINGS,
    Verdict.MEASURED: ExitCode.PASS,
    Verdict.NOTE: ExitCode.PASS,
}


def rails(verdict: Verdict, findings: tuple[Finding, ...] = (), *, complete: bool = True) -> RailComparison:
    return RailComparison(
        pair=("a", "b"), curves=(), ratios=(), gain=None, findings=findings,
        verdict=verdict, reason="", notes=(), complete=complete,
    )  # fmt: skip


def saturation(verdict: Verdict, findings: tuple[Finding, ...] = (), *, complete: bool = True) -> Saturation:
    return Saturation(
        pair=("a", "b"), message_bytes=1, by_ranks=(), model=None, ranks_needed=None, one_rank_share=None,
        findings=findings, limit=NO_LIMIT, verdict=verdict, reason="", notes=(), complete=complete,
    )  # fmt: skip


@pytest.mark.parametrize("verdict", [*Verdict])
def test_the_verdict_decides_for_all_of_them_alike(verdict: Verdict) -> None:
    plain = RecordOutcome(pair=("a", "b"), verdict=verdict, reason="", notes=(), complete=True)
    assert {plain.exit_code, rails(verdict).exit_code, saturation(verdict).exit_code} == {CODES[verdict]}


def test_what_is_named_counts_more_than_what_is_missing() -> None:
    assert rails(Verdict.INCONCLUSIVE, (FOUND,), complete=False).exit_code is ExitCode.FINDINGS
    assert saturation(Verdict.MEASURED, (FOUND,), complete=False).exit_code is ExitCode.FINDINGS
    assert (
        RecordOutcome(pair=("a", "b"), verdict=Verdict.SLOW, reason="", notes=(), complete=False).exit_code
        is ExitCode.FINDINGS
    )


def test_nothing_wrong_is_no_pass_while_something_is_missing() -> None:
    for verdict in (Verdict.PASS, Verdict.MEASURED):
        assert rails(verdict, complete=False).exit_code is ExitCode.INCOMPLETE


def test_a_measuring_without_a_verdict_says_that_it_measured() -> None:
    assert (rails(Verdict.MEASURED).word, rails(Verdict.SLOW).word) == ("MEASURED", "SLOW")
