"""Suspected pairs that were not measured again themselves, though others of the same part were."""

from collections.abc import Callable, Mapping

import msgspec

from seatrial.diagnosis.evidence import Evidence, Pair, Series
from seatrial.diagnosis.locate import explained_together
from seatrial.diagnosis.pairs import Judged
from seatrial.diagnosis.references import References, make_references
from seatrial.model.measurement import Phase
from seatrial.model.verdict import Verdict, worst

Judge = Callable[[Pair, Evidence, References], Judged]


def survey_only(evidence: Mapping[Pair, Evidence]) -> dict[Pair, Evidence]:
    """The same evidence as it was before anything was measured again."""

    def without(series: Mapping[Phase, Series]) -> dict[Phase, Series]:
        return {phase: one for phase, one in series.items() if phase is not Phase.RETEST}

    return {
        pair: msgspec.structs.replace(known, bandwidth=without(known.bandwidth), latency=without(known.latency))
        if known.retested
        else known
        for pair, known in evidence.items()
    }


def leave_open(
    judged: Mapping[Pair, Judged],
    again: set[Pair],
    evidence: Mapping[Pair, Evidence],
    references: References,
    by: Judge,
) -> dict[Pair, Judged]:
    """Verdicts in which the survey alone convicts nobody whose part did not stand the retest.

    A suspect is measured again by a few of its pairs (`again`). Where one of them is good now, or none is plainly slow,
    the part is not what is wrong, and the survey's verdict on its other pairs is INCONCLUSIVE: not proved, not refuted.
    """
    result = dict(judged)
    if not again:
        return result
    before = survey_only(evidence)
    at_first = make_references(before, references.limits, references.fabric, alike=references.alike)
    first = {pair: by(pair, known, at_first).verdict for pair, known in before.items()}
    bad = {pair: 1.0 for pair, verdict in first.items() if verdict is Verdict.SLOW}
    good = [pair for pair, verdict in first.items() if verdict is Verdict.PASS]
    for group in explained_together(bad, good, references.fabric):
        outcomes = {judged[pair].verdict for pair in group & again}
        outcome = Verdict.PASS if Verdict.PASS in outcomes else worst(list(outcomes))
        if not outcomes or outcome is Verdict.SLOW:
            continue
        for pair in group - again:
            if judged[pair].verdict is Verdict.SLOW:
                why = f"not measured again, and others of the same part were {outcome} alone"
                result[pair] = judged[pair].opened(why, refuted=outcome is Verdict.PASS)
    return result
