"""The word of a report and the exit code say the same."""

from itertools import product

import pytest

from seatrial.model.errors import ExitCode
from seatrial.model.subject import node
from seatrial.model.verdict import AT_FAULT, GOOD, UNDECIDED, Finding, FindingKind, RunVerdict, Verdict


def finding(verdict: Verdict) -> Finding:
    return Finding(kind=FindingKind.RANKS_UNBOUND, subject=node("n1"), verdict=verdict, statement="", remedy="")


@pytest.mark.parametrize("complete", [True, False])
def test_the_exit_code_follows_from_the_word(complete: bool) -> None:
    for verdict, found in product(Verdict, (None, *Verdict)):
        findings = (finding(found),) if found else ()
        run = RunVerdict(verdict=verdict, complete=complete, findings=findings, notes=())
        codes = {
            ExitCode.FINDINGS: run.word in AT_FAULT,
            ExitCode.PASS: run.word in (*GOOD, Verdict.MEASURED),
            ExitCode.INCOMPLETE: run.word in (*UNDECIDED, "INCOMPLETE"),
        }
        assert [code for code, its in codes.items() if its] == [run.exit_code], (verdict, found)
        assert (run.exit_code is ExitCode.FINDINGS) == bool({verdict, found} & AT_FAULT)


def test_a_finding_comes_before_what_is_not_decided_and_that_before_what_is_missing() -> None:
    run = RunVerdict(verdict=Verdict.INCONCLUSIVE, complete=False, findings=(finding(Verdict.DOWN),), notes=())
    assert (run.word, run.exit_code) == ("DOWN", 1)
    run = RunVerdict(verdict=Verdict.PASS, complete=False, findings=(finding(Verdict.INCONCLUSIVE),), notes=())
    assert (run.word, run.exit_code) == ("INCOMPLETE", 2)
    assert not finding(Verdict.INCONCLUSIVE).names_fault
