"""Suspects that were never measured again stay suspects: every finding needs an experiment."""

from collections.abc import Mapping, Sequence

import msgspec

from seatrial.commands.check.pair_verdicts import JudgedPair
from seatrial.commands.check.suspects import Suspicion, is_part
from seatrial.judgement.wording import who
from seatrial.locate.evidence import MeasuredPair, Pair
from seatrial.locate.explanation import PartSuspect
from seatrial.model.measurement import Phase
from seatrial.model.subject import SubjectKind
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.model.verdict import Verdict
from seatrial.model.words import some

MOST_NAMED = 4
OPEN = "suspected by the survey alone, not measured again"


def only_proved(suspicion: Suspicion, evidence: Mapping[Pair, MeasuredPair]) -> tuple[Suspicion, list[str]]:
    """The suspicion without suspects that were not measured again, and a sentence for each kind of those.

    Such suspects are left where a run was cut off or its budget spent; their pairs become INCONCLUSIVE.
    """
    slow, open_slow = _split(suspicion.slow, evidence, BANDWIDTH)
    late, open_late = _split(suspicion.late, evidence, LATENCY)
    lossy, open_lossy = _split(suspicion.lossy, evidence, LATENCY)
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


def _left(wrong: str, suspects: Sequence[PartSuspect]) -> str:
    """Parts before single pairs."""
    names = [who(one) for one in sorted(suspects, key=lambda one: one.subject.kind is SubjectKind.PAIR)]
    return (
        f"Suspected of being {wrong}, and not measured again: {some(names, MOST_NAMED)}. Let the check run to its end, "
        f"or give it more time with --budget."
    )


def retests(suspect: PartSuspect, evidence: Mapping[Pair, MeasuredPair], metric: str) -> int:
    """How often the suspect was measured again: the most runs that any of its pairs has in the retest."""
    return max((evidence[pair].retests(metric) for pair in suspect.pairs), default=0)


def due(evidence: Mapping[Pair, MeasuredPair], suspicion: Suspicion) -> list[PartSuspect]:
    """Suspects of which nothing was measured again, and those with pairs that turned out bad in the last look."""
    late = {*suspicion.lossy, *suspicion.late}

    def is_due(suspect: PartSuspect) -> bool:
        metric = LATENCY if suspect in late else BANDWIDTH
        at_last = any(Phase.LAST in evidence[pair].of(metric) for pair in suspect.pairs)
        return at_last or not retests(suspect, evidence, metric)

    return [suspect for suspect in suspicion.suspects if is_due(suspect)]


def not_seen(evidence: Mapping[Pair, MeasuredPair], suspicion: Suspicion) -> list[PartSuspect]:
    """Slow parts for which the retests until now had no room."""
    return [one for one in _split(suspicion.slow, evidence, BANDWIDTH)[1] if is_part(one)]


def _split(
    suspects: Sequence[PartSuspect], evidence: Mapping[Pair, MeasuredPair], metric: str
) -> tuple[tuple[PartSuspect, ...], tuple[PartSuspect, ...]]:
    """Suspects that were measured again, and those that were not."""
    again = [retests(suspect, evidence, metric) > 0 for suspect in suspects]
    return (
        tuple(suspect for suspect, seen in zip(suspects, again, strict=True) if seen),
        tuple(suspect for suspect, seen in zip(suspects, again, strict=True) if not seen),
    )


def _opened(judged: Mapping[Pair, JudgedPair], suspects: Sequence[PartSuspect]) -> dict[Pair, JudgedPair]:
    pairs = {pair for suspect in suspects for pair in suspect.pairs}
    return {
        pair: one.opened(OPEN, unproved=True)
        if pair in pairs and one.verdict in (Verdict.SLOW, Verdict.UNSTABLE)
        else one
        for pair, one in judged.items()
    }
