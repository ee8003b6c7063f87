"""Suspects that were never measured again stay suspects: every finding needs an experiment."""

from collections.abc import Mapping, Sequence

import msgspec

from seatrial.commands.check.pair_verdicts import Judged
from seatrial.commands.check.suspects import Suspicion
from seatrial.judgement.wording import who
from seatrial.locate.evidence import Evidence, Pair, Series
from seatrial.locate.explanation import Suspect
from seatrial.model.measurement import Phase
from seatrial.model.subject import SubjectKind
from seatrial.model.verdict import Verdict
from seatrial.model.words import some

MOST_NAMED = 4
OPEN = "suspected by the survey alone, not measured again"


def only_proved(suspicion: Suspicion, evidence: Mapping[Pair, Evidence]) -> tuple[Suspicion, list[str]]:
    """The suspicion without suspects that were not measured again, and a sentence for each kind of those.

    Such suspects are left where a run was cut off or its budget spent; their pairs become INCONCLUSIVE.
    """
    bandwidths = {pair: known.bandwidth for pair, known in evidence.items()}
    latencies = {pair: known.latency for pair, known in evidence.items()}
    slow, open_slow = _split(suspicion.slow, bandwidths)
    late, open_late = _split(suspicion.late, latencies)
    lossy, open_lossy = _split(suspicion.lossy, latencies)
    wrongs = (("slow", open_slow), ("late", open_late), ("losing packets", open_lossy))
    kept = msgspec.structs.replace(
        suspicion,
        slow=slow,
        late=late,
        lossy=lossy,
        bandwidth=_opened(suspicion.bandwidth, (*open_slow, *open_lossy)),
        latency=_opened(suspicion.latency, (*open_late, *open_lossy)),
    )
    return kept, [_left(wrong, suspects) for wrong, suspects in wrongs if suspects]


def _left(wrong: str, suspects: Sequence[Suspect]) -> str:
    """Parts before single pairs."""
    names = [who(one) for one in sorted(suspects, key=lambda one: one.subject.kind is SubjectKind.PAIR)]
    return (
        f"Suspected of being {wrong}, and not measured again: {some(names, MOST_NAMED)}. Let the check run to its end, "
        f"or give it more time with --budget."
    )


def _split(
    suspects: Sequence[Suspect], by_pair: Mapping[Pair, Mapping[Phase, Series]]
) -> tuple[tuple[Suspect, ...], tuple[Suspect, ...]]:
    seen = [any(Phase.RETEST in by_pair[pair] for pair in suspect.pairs) for suspect in suspects]
    return (
        tuple(suspect for suspect, again in zip(suspects, seen, strict=True) if again),
        tuple(suspect for suspect, again in zip(suspects, seen, strict=True) if not again),
    )


def _opened(judged: Mapping[Pair, Judged], suspects: Sequence[Suspect]) -> dict[Pair, Judged]:
    pairs = {pair for suspect in suspects for pair in suspect.pairs}
    return {
        pair: one.opened(OPEN, unproved=True)
        if pair in pairs and one.verdict in (Verdict.SLOW, Verdict.UNSTABLE)
        else one
        for pair, one in judged.items()
    }
