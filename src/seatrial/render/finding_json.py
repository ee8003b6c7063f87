"""A finding as JSON, the same in every report."""

from seatrial.model.measurement import Estimate
from seatrial.model.verdict import Finding
from seatrial.render.json_text import Json, number


def finding_as_json(finding: Finding) -> Json:
    """One finding, with the fields that docs/report.md describes."""
    return {
        "kind": str(finding.kind),
        "subject": finding.subject.text,
        "ambiguous_with": [subject.text for subject in finding.ambiguous_with],
        "direction": finding.direction.value,
        "verdict": finding.verdict.value,
        "statement": finding.statement,
        "remedy": finding.remedy,
        "metric": finding.metric,
        "measured": estimate_as_json(finding.measured),
        "limit": number(finding.limit),
        "limit_name": finding.limit_name,
        "peers": number(finding.peers),
        "peers_name": finding.peers_name,
        "of_peers": estimate_as_json(finding.of_peers),
        "pairs": list(finding.pairs),
        "experiments": [
            {"description": each.description, "outcome": each.outcome, "confirmed": each.confirmed}
            for each in finding.experiments
        ],
    }


def estimate_as_json(estimate: Estimate | None) -> Json | None:
    """A number with its interval, in base units; None stays None."""
    if estimate is None:
        return None
    return {
        "value": number(estimate.value),
        "low": number(estimate.low),
        "high": number(estimate.high),
        "confidence": number(estimate.confidence),
        "runs": estimate.runs,
        "method": estimate.method,
    }
