"""Nodes and pairs without a usable number: lost, hanging, corrupting, faster than physics, left out by the survey."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from seatrial.commands.check.pair_verdicts import JudgedPair, bandwidth_reason
from seatrial.judgement.corrupt_data import Flow
from seatrial.judgement.pair_limit import INVALID_REMEDY
from seatrial.locate.evidence import MeasuredPair, Pair
from seatrial.locate.references import References
from seatrial.model.fabric import Wiring
from seatrial.model.judgement import PairVerdict
from seatrial.model.loss import CapCause, CappedPair
from seatrial.model.subject import FABRIC, Subject, SubjectKind, pair
from seatrial.model.units import BANDWIDTH
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.model.words import count


def hanging_findings(pairs: Iterable[Pair]) -> list[Finding]:
    """Pairs that did not answer while both ends did."""
    return [
        Finding(
            kind=FindingKind.PAIR_HANGS,
            subject=pair(source, target),
            verdict=Verdict.DOWN,
            statement=f"A message from {source} to {target} never came back, though both nodes answer.",
            remedy="Check firewall, routes and MTU between the two (ping -M do -s SIZE).",
        )
        for source, target in pairs
    ]


def invalid_findings(
    judged: Mapping[Pair, JudgedPair], evidence: Mapping[Pair, MeasuredPair], references: References
) -> list[Finding]:
    """Numbers that are faster than physics permits."""
    return [
        Finding(
            kind=FindingKind.FASTER_THAN_PHYSICS,
            subject=pair(*one),
            verdict=Verdict.INVALID,
            statement=f"From {one[0]} to {one[1]}: {bandwidth_reason(one, verdict, evidence[one], references)}.",
            remedy=INVALID_REMEDY,
            metric=BANDWIDTH,
            measured=verdict.estimate,
        )
        for one, verdict in judged.items()
        if verdict.verdict is Verdict.INVALID
    ]


# Pairs that a survey left out because they cross a part that is known to be faulty.

_WRONG = {
    CapCause.LOSS: "loses packets",
    CapCause.HANG: "does not answer",
    CapCause.SLOW: "takes several times as long as others",
}


def explained(capped: Sequence[CappedPair], findings: Sequence[Finding]) -> set[Pair]:
    """The pairs whose part a finding names, as the culprit or as one of several that may be.

    Hangs are reported pair by pair, so that any of them explains pairs that were left out for hangs.
    """
    named = {subject.text for finding in findings for subject in (finding.subject, *finding.ambiguous_with)}
    hangs = any(finding.kind is FindingKind.PAIR_HANGS for finding in findings)
    return {one.pair for one in capped if one.part in named or (hangs and one.cause is CapCause.HANG)}


def with_reasons(pairs: Sequence[PairVerdict], capped: Sequence[CappedPair]) -> tuple[PairVerdict, ...]:
    """The verdicts, with a reason for each pair that was left out."""
    by_pair: Mapping[Pair, CappedPair] = {one.pair: one for one in capped}
    if not by_pair:
        return tuple(pairs)
    return tuple(
        msgspec.structs.replace(pair, reason=f"not measured: it crosses {_who(cap)}, which {_WRONG[cap.cause]}")
        if pair.verdict is Verdict.NOT_RUN and (cap := by_pair.get((pair.source, pair.target)))
        else pair
        for pair in pairs
    )


BAD = (Verdict.SLOW, Verdict.UNSTABLE)
UNNAMED = "no finding explains it"


def without_unnamed(
    pairs: Sequence[PairVerdict], findings: Sequence[Finding], fabric: Wiring
) -> tuple[PairVerdict, ...]:
    """Verdicts on pairs; those that are bad and that no finding names, nor a part on their way, become INCONCLUSIVE.

    `findings`: of what was measured. A part that is at fault is named; where none could be, the evidence was too weak.
    """
    subjects = {subject for finding in findings for subject in (finding.subject, *finding.ambiguous_with)}
    named = {name for finding in findings for name in finding.pairs}
    parts = {(subject.kind.value, subject.name) for subject in subjects}
    if FABRIC in subjects:
        return tuple(pairs)
    return tuple(
        msgspec.structs.replace(
            pair,
            verdict=Verdict.INCONCLUSIVE,
            bandwidth_verdict=_undecided(pair.bandwidth_verdict),
            latency_verdict=_undecided(pair.latency_verdict),
            reason=f"{pair.reason}; {UNNAMED}",
        )
        if pair.verdict in BAD
        and f"{pair.source}>{pair.target}" not in named
        and parts.isdisjoint((part.kind, part.name) for part in fabric.path(pair.source, pair.target))
        else pair
        for pair in pairs
    )


def _undecided(verdict: Verdict | None) -> Verdict | None:
    return Verdict.INCONCLUSIVE if verdict in BAD else verdict


def with_corruption(pairs: Sequence[PairVerdict], corrupted: Mapping[Pair, Flow]) -> tuple[PairVerdict, ...]:
    """The verdicts, with INVALID for pairs whose data arrived wrong, however fast they were."""
    return tuple(
        msgspec.structs.replace(pair, verdict=Verdict.INVALID, reason=flow.statement)
        if (flow := corrupted.get((pair.source, pair.target)))
        else pair
        for pair in pairs
    )


def capped_notes(capped: Sequence[CappedPair]) -> list[str]:
    """A sentence for each part: how many of its pairs were left out, and why."""
    by_part: dict[str, list[CappedPair]] = {}
    for one in capped:
        by_part.setdefault(one.part, []).append(one)
    return [
        f"{count(len(pairs), 'ordered pair')} across {_who(pairs[0])} {'was' if len(pairs) == 1 else 'were'} not "
        f"measured: it {_WRONG[pairs[0].cause]}, and more of its slow pairs would show nothing new. Measure again when "
        "it is repaired."
        for pairs in by_part.values()
    ]


def _who(cap: CappedPair) -> str:
    subject = Subject.parse(cap.part)
    return f"the uplink of {subject.name}" if subject.kind is SubjectKind.UPLINK else subject.name
