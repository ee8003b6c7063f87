"""JSON fields that several reports share. Base units; null for what is unknown."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from seatrial.model.measurement import Estimate
from seatrial.model.past import Past, PastRatio
from seatrial.model.subject import Direction
from seatrial.model.verdict import Finding, Verdict
from seatrial.render import finding_text
from seatrial.render.json import Json, number


def _described(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


class EstimateFields(msgspec.Struct, frozen=True, kw_only=True):
    """A number with its interval, in the base unit of its field; null for what is not finite."""

    value: float | None
    low: float | None
    high: float | None
    confidence: Annotated[float | None, _described("Probability, 0 to 1, that the interval covers the true median.")]
    runs: Annotated[int, _described("Number of runs.")]
    method: str


class ExperimentFields(msgspec.Struct, frozen=True, kw_only=True):
    """One experiment that was to confirm or refute a finding."""

    description: str
    outcome: str
    confirmed: bool


class FindingFields(msgspec.Struct, frozen=True, kw_only=True):
    """One finding; docs/report.md describes each field."""

    kind: Annotated[str, _described("One of the kinds in docs/findings.md.")]
    subject: Annotated[str, _described("What is at fault: node:n3, uplink:leaf1, pair:n1>n2.")]
    ambiguous_with: Annotated[tuple[str, ...], _described("Subjects that cannot be distinguished from it.")]
    direction: Direction
    verdict: Verdict
    statement: Annotated[str, _described("What is wrong.")]
    brief: Annotated[str, _described("What is wrong in a few words, as in headlines.")]
    step: Annotated[str, _described("The step of the doctor that showed it, or empty.")]
    printed: Annotated[str, _described("What programs printed, or empty.")]
    remedy: Annotated[str, _described("What to do.")]
    metric: Annotated[str, _described("What the numbers are: bandwidth_bytes_per_s, latency_s or empty.")]
    measured: EstimateFields | None
    limit: float | None
    limit_name: str
    peers: float | None
    peers_name: str
    of_peers: EstimateFields | None
    pairs: Annotated[tuple[str, ...], _described("The pairs or cables that show it.")]
    experiments: tuple[ExperimentFields, ...]


def finding_fields(finding: Finding) -> FindingFields:
    """One finding, with the fields that docs/report.md describes."""
    return FindingFields(
        kind=str(finding.kind),
        subject=finding.subject.text,
        ambiguous_with=tuple(subject.text for subject in finding.ambiguous_with),
        direction=finding.direction,
        verdict=finding.verdict,
        statement=finding.statement,
        brief=finding_text.brief(finding),
        step=finding.step,
        printed=finding.printed,
        remedy=finding.remedy,
        metric=finding.metric,
        measured=_estimate(finding.measured),
        limit=number(finding.limit),
        limit_name=finding.limit_name,
        peers=number(finding.peers),
        peers_name=finding.peers_name,
        of_peers=_estimate(finding.of_peers),
        pairs=finding.pairs,
        experiments=tuple(ExperimentFields(**msgspec.structs.asdict(experiment)) for experiment in finding.experiments),
    )


def estimate_fields(estimate: Estimate | None) -> Json | None:
    """A number with its interval, in base units; None stays None."""
    fields = _estimate(estimate)
    return None if fields is None else msgspec.structs.asdict(fields)


def past_fields(past: Past | None, ratios: Sequence[PastRatio]) -> Json | None:
    """What the nodes of a run were compared with from the past; None without a baseline."""
    if past is None:
        return None
    return {
        "name": past.name,
        "runs": [one.run for one in past.runs],
        "facts_run": past.facts_run,
        "changed": [msgspec.to_builtins(one) for one in past.changed],
        "nodes": [
            {"node": one.node, "metric": one.metric, "ratio": estimate_fields(one.ratio), "slower": one.slower}
            for one in ratios
        ],
    }


def _estimate(estimate: Estimate | None) -> EstimateFields | None:
    if estimate is None:
        return None
    return EstimateFields(
        value=number(estimate.value),
        low=number(estimate.low),
        high=number(estimate.high),
        confidence=number(estimate.confidence),
        runs=estimate.runs,
        method=estimate.method,
    )
