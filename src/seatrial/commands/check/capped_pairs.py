"""Pairs that a survey left out since they cross a part that is known to be faulty: why, and whether that is enough."""

from collections.abc import Mapping, Sequence

import msgspec

from seatrial.locate.evidence import Pair
from seatrial.model.judgement import PairVerdict
from seatrial.model.loss import CapCause, CappedPair
from seatrial.model.subject import Subject, SubjectKind
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.model.words import count

_WRONG = {
    CapCause.LOSS: "loses packets",
    CapCause.HANG: "does not answer",
    CapCause.SLOW: "takes several times as long as others",
}


def explained(capped: Sequence[CappedPair], findings: Sequence[Finding]) -> set[Pair]:
    """Those of the pairs whose part a finding names, as the culprit or as one of several that may be.

    Hangs are reported pair by pair, so that any of them explains pairs that were left out for hangs.
    """
    named = {subject.text for finding in findings for subject in (finding.subject, *finding.ambiguous_with)}
    hangs = any(finding.kind is FindingKind.PAIR_HANGS for finding in findings)
    return {one.pair for one in capped if one.part in named or (hangs and one.cause is CapCause.HANG)}


def with_reasons(pairs: Sequence[PairVerdict], capped: Sequence[CappedPair]) -> tuple[PairVerdict, ...]:
    """The same verdicts; pairs that were left out say why."""
    by_pair: Mapping[Pair, CappedPair] = {one.pair: one for one in capped}
    if not by_pair:
        return tuple(pairs)
    return tuple(
        msgspec.structs.replace(pair, reason=f"not measured: it crosses {_who(cap)}, which {_WRONG[cap.cause]}")
        if pair.verdict is Verdict.NOT_RUN and (cap := by_pair.get((pair.source, pair.target)))
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
