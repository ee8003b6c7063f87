"""JSON fields that several reports share. Base units; null for what is unknown."""

from seatrial.model.measurement import Estimate
from seatrial.model.run import RunInfo, run_kind
from seatrial.model.verdict import Finding
from seatrial.render import finding_text
from seatrial.render.json import FORMAT, Json, number


def run_fields(run: RunInfo) -> Json:
    """The first fields of every report of a run."""
    return {"format": FORMAT, "run": run.run, "kind": run_kind(run).value}


def finding_fields(finding: Finding) -> Json:
    """One finding, with the fields that docs/report.md describes."""
    return {
        "kind": str(finding.kind),
        "subject": finding.subject.text,
        "ambiguous_with": [subject.text for subject in finding.ambiguous_with],
        "direction": finding.direction.value,
        "verdict": finding.verdict.value,
        "statement": finding.statement,
        "brief": finding_text.brief(finding),
        "step": finding.step,
        "printed": finding.printed,
        "remedy": finding.remedy,
        "metric": finding.metric,
        "measured": estimate_fields(finding.measured),
        "limit": number(finding.limit),
        "limit_name": finding.limit_name,
        "peers": number(finding.peers),
        "peers_name": finding.peers_name,
        "of_peers": estimate_fields(finding.of_peers),
        "pairs": list(finding.pairs),
        "experiments": [
            {"description": each.description, "outcome": each.outcome, "confirmed": each.confirmed}
            for each in finding.experiments
        ],
    }


def estimate_fields(estimate: Estimate | None) -> Json | None:
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
