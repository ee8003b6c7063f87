"""JSON fields that several reports share. Base units; null for what is unknown."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from seatrial.model.measurement import Estimate
from seatrial.model.past import FactChange, Past, PastRatio
from seatrial.model.run import RunInfo
from seatrial.model.subject import Direction
from seatrial.model.verdict import Experiment, Finding, Verdict
from seatrial.render import finding_text
from seatrial.render.json import SubjectText, filled
from seatrial.render.out_of_service import drain_of


def _described(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


class FindingFields(msgspec.Struct, frozen=True, kw_only=True):
    """One finding; docs/report.md describes each field."""

    kind: Annotated[str, _described("One of the kinds in docs/findings.md.")]
    subject: Annotated[SubjectText, _described("What is at fault: node:n3, uplink:leaf1, pair:n1>n2.")]
    ambiguous_with: Annotated[tuple[SubjectText, ...], _described("Subjects that cannot be distinguished from it.")]
    direction: Direction
    verdict: Verdict
    statement: Annotated[str, _described("What is wrong.")]
    brief: Annotated[str, _described("What is wrong in a few words, as in headlines.")]
    step: Annotated[str, _described("The step of the doctor that showed it, or empty.")]
    printed: Annotated[str, _described("What programs printed, or empty.")]
    remedy: Annotated[str, _described("What to do.")]
    drain: Annotated[str, _described("The line that takes its node out of Slurm's service, or empty.")]
    metric: Annotated[str, _described("What the numbers are: bandwidth_bytes_per_s, latency_s or empty.")]
    measured: Estimate | None
    limit: float | None
    limit_name: str
    peers: float | None
    peers_name: str
    of_peers: Estimate | None
    pairs: Annotated[tuple[str, ...], _described("The pairs or cables that show it.")]
    experiments: tuple[Experiment, ...]


def finding_fields(finding: Finding, run: RunInfo | None = None) -> FindingFields:
    """One finding, with the fields that docs/report.md describes. `run`: the one that it is of."""
    return filled(FindingFields, finding, brief=finding_text.brief(finding), drain=drain_of(finding, run))


class PastNode(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one node compared with the past: `ratio` is now over then."""

    node: str
    metric: str
    ratio: Estimate
    slower: bool


class PastFields(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of the past that the nodes of a run were compared with, and what changed since; docs/report.md."""

    name: str
    runs: tuple[str, ...]
    facts_run: str
    changed: tuple[FactChange, ...]
    nodes: tuple[PastNode, ...]


def past_fields(past: Past | None, ratios: Sequence[PastRatio]) -> PastFields | None:
    """What the nodes of a run were compared with from the past; None without a baseline."""
    if past is None:
        return None
    return filled(PastFields, past, runs=[earlier.run for earlier in past.runs], nodes=ratios)
