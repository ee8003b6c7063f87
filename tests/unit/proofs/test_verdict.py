"""What counts as right of a planted change: each condition alone makes it wrong."""

from typing import Any

import msgspec
import pytest

from tests.proofs.kinds import KINDS
from tests.proofs.verdict import Verdict, judge

SHARE = 0.5
"""What the witness measured."""
KIND = next(kind for kind in KINDS if kind.name == "cpu-quota")


def row(low: float, high: float, subject: str = "node:n2") -> dict[str, Any]:
    return {"subject": subject, "outcome": "slower", "ratio": {"value": (low + high) / 2, "low": low, "high": high}}


def compared(**changes: Any) -> dict[str, Any]:
    metric = {
        "metric": KIND.metric, "together": row(0.7, 0.8, "fabric:all"), "changed": [row(0.45, 0.55)]
    }  # fmt: skip
    facts = [{"fact": KIND.fact, "before": -1.0, "after": 1.0}]
    proof = {"outcome": "confirmed", "facts": facts, "statement": "", "ratio": None}
    good = {"outcome": "slower", "metrics": [metric], "suspects": [{"facts": facts}], "proofs": [proof]}
    return {**good, **changes}


def judged(found: dict[str, Any], *, restored: bool = True) -> Verdict:
    return judge(KIND, SHARE, found, 60.0, restored=restored)


def test_all_that_must_be_said_is_said() -> None:
    verdict = judged(compared())
    assert verdict.good
    assert "planted 0.5000, found 0.5000 [0.4500, 0.5500], confirmed" in verdict.text


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"outcome": "inconclusive"}, "the outcome is inconclusive"),
        ({"metrics": []}, "no row"),
        ({"metrics": [{"metric": KIND.metric, "together": row(0.1, 0.2), "changed": []}]}, "does not contain"),
        ({"suspects": [{"facts": [{"fact": "kernel"}]}]}, "the first suspect is"),
        ({"proofs": []}, "no proof"),
        ({"proofs": [{"outcome": "refuted", "facts": [], "statement": "x"}]}, "refuted, x"),
    ],
)
def test_each_condition_alone_makes_it_wrong(changes: dict[str, Any], complaint: str) -> None:
    (said,) = judged(compared(**changes)).complaints
    assert complaint in said


def test_a_setting_that_stays_changed_is_wrong() -> None:
    assert judged(compared(), restored=False).complaints == ("the setting was not restored",)


def test_a_witness_that_contradicts_the_formula_is_said() -> None:
    known = msgspec.structs.replace(KIND, planted=SHARE)
    assert judge(known, 0.496, compared(), 60.0, restored=True).good
    assert judge(known, 0.475, compared(), 60.0, restored=True).complaints == ("a witness says 0.4750",)


def test_a_witness_that_measured_nothing_is_wrong() -> None:
    assert judge(KIND, 0.0, compared(), 60.0, restored=True).complaints == (
        "the interval does not contain the planted ratio",
    )
