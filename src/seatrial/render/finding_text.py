"""What is told of a finding, line by line, the same in the terminal and on the page."""

from collections.abc import Sequence
from typing import Any

import msgspec

from seatrial.model import units
from seatrial.model.subject import Direction
from seatrial.model.verdict import Experiment, Finding
from seatrial.model.words import natural_sorted, some

MOST_PAIRS = 8


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A label of one or two words and a sentence."""

    label: str
    text: str


def title(finding: Finding) -> str:
    """node:n3, slow-link, out."""
    where = "" if finding.direction is Direction.BOTH else f", {finding.direction.value}"
    return f"{finding.subject.text}  {finding.kind}{where}"


def card(finding: Finding) -> dict[str, Any]:
    """What pages show of a finding."""
    return {
        "verdict": finding.verdict.value,
        "title": title(finding),
        "statement": finding.statement,
        "lines": lines(finding),
    }


def lines(finding: Finding) -> list[Line]:
    """Number, references, proof and remedy, in this order; what is not known has no line."""
    told = [
        *_numbers(finding),
        *(Line(label="proved by", text=experiment_text(each)) for each in finding.experiments),
    ]
    if finding.ambiguous_with:
        others = " or ".join(subject.text for subject in finding.ambiguous_with)
        told.append(
            Line(label="or else", text=f"{others}: these measurements cannot tell it from {finding.subject.text}")
        )
    if finding.pairs:
        told.append(Line(label="shown by", text=pairs_text(finding.pairs)))
    if finding.remedy:
        told.append(Line(label="to do", text=finding.remedy))
    return told


def of_limit(finding: Finding) -> float | None:
    """Measured over limit for a bandwidth; None for anything else or where either is unknown."""
    if finding.metric != units.BANDWIDTH or finding.measured is None or not finding.limit:
        return None
    return finding.measured.value / finding.limit


def experiment_text(experiment: Experiment) -> str:
    """What was done, how it ended, and what that says of the suspicion."""
    said = "confirmed" if experiment.confirmed else "not confirmed"
    return f"{experiment.description}: {experiment.outcome} ({said})"


def pairs_text(pairs: Sequence[str]) -> str:
    """The first few pairs in natural order and the number of the rest."""
    return some(natural_sorted(pairs), MOST_PAIRS)


def _numbers(finding: Finding) -> list[Line]:
    told = []
    if finding.measured is not None:
        told.append(Line(label="measured", text=units.estimate(finding.measured, finding.metric)))
    if finding.limit is not None:
        by = f"; set by: {finding.limit_name}" if finding.limit_name else ""
        told.append(Line(label="limit", text=_against(finding, finding.limit) + by))
    if finding.peers is not None:
        what = f"; {finding.peers_name}" if finding.peers_name else ""
        told.append(Line(label="peers", text=_against(finding, finding.peers) + what))
    if finding.of_peers is not None:
        told.append(Line(label="of peers", text=units.share_estimate(finding.of_peers)))
    return told


def _against(finding: Finding, reference: float) -> str:
    """The reference, and how the measured value stands to it: a share for bandwidth, a multiple for latency."""
    text = units.quantity(reference, finding.metric)
    if finding.measured is None or not reference:
        return text
    ratio = finding.measured.value / reference
    if finding.metric == units.BANDWIDTH:
        return f"{text}, of which {units.share(ratio)} was measured"
    return f"{text}, of which {ratio:.1f} times was measured" if finding.metric == units.LATENCY else text
