"""What a comparison with its proof must say about a planted change; pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tests.proofs.kinds import Kind

WITNESS_ERROR = 0.01
"""Of a ratio that was measured by other means."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One kind, and what is wrong with its result."""

    kind: str
    planted: float
    witnessed: float | None
    value: float | None
    low: float | None
    high: float | None
    """Of the ratio of the comparison."""
    proof: str
    proof_ratio: Mapping[str, Any] | None
    seconds: float
    complaints: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Nothing is."""
        return not self.complaints

    @property
    def text(self) -> str:
        """One line."""
        ratio = "not compared" if self.value is None else f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}]"
        wrong = f"; WRONG: {'; '.join(self.complaints)}" if self.complaints else ""
        return f"{self.kind}: planted {self.planted:.4f}, found {ratio}, {self.proof}, {self.seconds:.0f} s{wrong}"

    def as_row(self) -> dict[str, Any]:
        """For JSON."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


def judge(kind: Kind, witnessed: float | None, found: Mapping[str, Any], seconds: float, *, restored: bool) -> Verdict:
    """`witnessed`: the ratio by other means; `found`: what `compare --prove --json` printed.

    `restored`: the setting is afterwards as it was planted.
    """
    complaints = []
    planted = witnessed if kind.planted is None else kind.planted
    assert planted is not None, f"{kind.name} has neither a ratio nor a witness"
    if witnessed is not None and abs(witnessed - planted) > WITNESS_ERROR * planted:
        complaints.append(f"a witness says {witnessed:.4f}")
    error = WITNESS_ERROR if kind.planted is None else 0.0
    row = row_of(kind, found)
    ratio = row["ratio"] if row else None
    if found.get("outcome") != "slower":
        complaints.append(f"the outcome is {found.get('outcome')}")
    if row is None or ratio is None:
        complaints.append(f"{kind.subject} has no row in {kind.metric}")
    if ratio and not ratio["low"] * (1 - error) <= planted <= ratio["high"] * (1 + error):
        complaints.append("the interval does not contain the planted ratio")
    first = [fact["fact"] for fact in found["suspects"][0]["facts"]] if found.get("suspects") else []
    if kind.fact not in first:
        complaints.append(f"the first suspect is {first}")
    proofs = found.get("proofs", [])
    outcome = proofs[0]["outcome"] if proofs else "no proof"
    if outcome != "confirmed" or kind.fact not in [fact["fact"] for fact in proofs[0]["facts"]]:
        complaints.append(f"the proof: {outcome}, {proofs[0]['statement'] if proofs else ''}")
    if not restored:
        complaints.append("the setting was not restored")
    return Verdict(
        kind=kind.name, planted=planted, witnessed=witnessed, value=ratio["value"] if ratio else None,
        low=ratio["low"] if ratio else None,
        high=ratio["high"] if ratio else None, proof=outcome, proof_ratio=proofs[0].get("ratio") if proofs else None,
        seconds=seconds, complaints=tuple(complaints),
    )  # fmt: skip


def row_of(kind: Kind, found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Of the subject in the metric, the one that lost most."""
    rows = [
        row
        for metric in found.get("metrics", [])
        if metric["metric"].startswith(kind.metric)
        for row in (metric["together"], *metric["changed"], *filter(None, [metric.get("undecided")]))
        if row["subject"] == kind.subject
    ]
    return min(rows, key=lambda row: row["ratio"]["value"], default=None)
