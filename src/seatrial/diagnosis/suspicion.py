"""What the numbers cast suspicion on: loss, then bandwidth, then latency."""

from collections.abc import Mapping, Sequence

import msgspec

from seatrial.diagnosis.evidence import Evidence, Pair
from seatrial.diagnosis.left_open import leave_open
from seatrial.diagnosis.locate import Suspect, locate, nodes_of, pair_suspects
from seatrial.diagnosis.pairs import Judged, judge_bandwidth, judge_latency, late_above_s
from seatrial.diagnosis.references import References
from seatrial.diagnosis.thresholds import UNIFORM_SHARE, WAVERING_SHARE
from seatrial.model.measurement import Phase
from seatrial.model.subject import SubjectKind
from seatrial.model.verdict import Verdict


class Suspicion(msgspec.Struct, frozen=True, kw_only=True):
    """Suspects by what is wrong with them, and the verdicts on every pair they come from."""

    bandwidth: Mapping[Pair, Judged]
    latency: Mapping[Pair, Judged]
    lossy: tuple[Suspect, ...]
    slow: tuple[Suspect, ...]
    unstable: tuple[Suspect, ...]
    late: tuple[Suspect, ...]
    too_fast: tuple[Suspect, ...]
    """Pairs above the gate of their limit, each alone: for certain or not yet."""
    distant: tuple[Pair, ...]
    """Pairs that are late though both their ends are in time with others: that is how distance looks, and no fault."""
    uniformly_slow: tuple[Pair, ...]
    """All pairs, where the whole fabric is below its limit."""
    restless: bool = False
    """So much was unstable that nobody can be named: the measuring itself was disturbed."""
    late_everywhere: bool = False
    """Pairs beside the late ones were late too when both were measured again: nobody can be named for latency."""

    @property
    def suspects(self) -> tuple[Suspect, ...]:
        """All that deserve a second look."""
        return (*self.lossy, *self.slow, *self.unstable, *self.late, *self.too_fast)

    @property
    def unproved(self) -> tuple[Suspect, ...]:
        """Pairs that were bad in the survey, of parts that turned out good: each may have a fault of its own."""
        both = (*self.bandwidth.items(), *self.latency.items())
        return tuple(pair_suspects(dict.fromkeys(pair for pair, judged in both if judged.refuted)))

    def good(self) -> list[Pair]:
        """Pairs with nothing against them, that touch no suspected node."""
        suspected = {name for suspect in self.suspects for name in nodes_of(suspect)}
        found = []
        for pair, judged in self.bandwidth.items():
            late = self.latency[pair].verdict
            if judged.verdict is Verdict.PASS and late is Verdict.PASS and not suspected & set(pair):
                found.append(pair)
        return found


class LatencyMemory:
    """Verdicts on latency, kept while neither a pair's numbers nor what they are held against change."""

    def __init__(self) -> None:
        self._against: tuple[object, ...] = ()
        self._known: dict[Pair, tuple[object, Judged]] = {}

    def judged(self, evidence: Mapping[Pair, Evidence], references: References) -> dict[Pair, Judged]:
        """`judge_latency` of every pair."""
        against = dict(references.latency_s), references.alike, references.fabric
        if against != self._against:
            self._against, self._known = against, {}
        result = {}
        for pair, known in evidence.items():
            of, before = self._known.get(pair, (None, None))
            if before is None or of is not known.latency:
                before = judge_latency(pair, known, references)
                self._known[pair] = known.latency, before
            result[pair] = before
        return result


def suspect_all(
    evidence: Mapping[Pair, Evidence], references: References, memory: LatencyMemory | None = None
) -> Suspicion:
    """Judge every pair and locate what the bad ones have in common.

    Pairs across a lossy part are slow and late for that reason and are blamed on nothing else. `memory` of the same
    run, where it is judged again and again.
    """
    bandwidth = {pair: judge_bandwidth(pair, known, references) for pair, known in evidence.items()}
    latency = (memory or LatencyMemory()).judged(evidence, references)
    again = {pair for pair, known in evidence.items() if Phase.RETEST in known.bandwidth}
    bandwidth = leave_open(bandwidth, again, evidence, references, judge_bandwidth)
    again = {pair for pair, known in evidence.items() if Phase.RETEST in known.latency}
    latency = leave_open(latency, again, evidence, references, judge_latency)
    lossy = _lossy(evidence, references)
    excused = {pair for pair in evidence if any(_crosses(suspect, pair, references) for suspect in lossy)}
    uniform = _uniformly_slow(bandwidth)
    slow = [] if uniform else _located(bandwidth, Verdict.SLOW, excused, references)
    unstable = _located(bandwidth, Verdict.UNSTABLE, excused, references)
    restless = _most_nodes(unstable, evidence)
    late = [one for one in _located(latency, Verdict.SLOW, excused, references) if is_part(one)]
    distant = _distant(latency, late, excused)
    late_everywhere = _wavering(evidence, late, references)
    if late_everywhere:
        latency = _left_open(latency, late)
        late = []
    return Suspicion(
        bandwidth=bandwidth,
        latency={pair: _acquitted(one) if pair in distant else one for pair, one in latency.items()},
        lossy=tuple(lossy),
        slow=tuple(slow),
        unstable=() if restless else tuple(unstable),
        late=tuple(late),
        too_fast=tuple(pair_suspects([pair for pair, one in bandwidth.items() if one.above_gate])),
        distant=distant,
        uniformly_slow=uniform,
        restless=restless,
        late_everywhere=late_everywhere,
    )


def is_part(suspect: Suspect) -> bool:
    """Whether it is a part of the cluster, and not a mere pair."""
    return suspect.subject.kind is not SubjectKind.PAIR


def _distant(judged: Mapping[Pair, Judged], late: Sequence[Suspect], excused: set[Pair]) -> tuple[Pair, ...]:
    blamed = {pair for suspect in late for pair in suspect.pairs} | excused
    return tuple(pair for pair, one in judged.items() if one.verdict is Verdict.SLOW and pair not in blamed)


def _acquitted(judged: Judged) -> Judged:
    return msgspec.structs.replace(judged, verdict=Verdict.PASS)


def _wavering(evidence: Mapping[Pair, Evidence], late: Sequence[Suspect], references: References) -> bool:
    """Whether, in the retest of late parts, pairs that do not cross them were late too in many of their runs."""
    if not late:
        return False
    runs: list[bool] = []
    for pair, known in evidence.items():
        again, peers = known.latency.get(Phase.RETEST), references.latency_s.get(references.crosses(pair))
        if again and peers is not None and not any(_crosses(suspect, pair, references) for suspect in late):
            runs += [run > late_above_s(peers) for run in again.runs]
    return sum(runs) > WAVERING_SHARE * len(runs)


def _left_open(judged: Mapping[Pair, Judged], late: Sequence[Suspect]) -> dict[Pair, Judged]:
    pairs = {pair for suspect in late for pair in suspect.pairs}
    return {pair: one.opened("so were others beside it") if pair in pairs else one for pair, one in judged.items()}


def _most_nodes(suspects: Sequence[Suspect], evidence: Mapping[Pair, Evidence]) -> bool:
    """Whether pairs of more than half of the nodes are among the suspects' own."""
    nodes = {name for pair in evidence for name in pair}
    blamed = {name for suspect in suspects for name in nodes_of(suspect)}
    blamed |= {
        name
        for suspect in suspects
        if suspect.subject.kind is SubjectKind.PAIR
        for pair in suspect.pairs
        for name in pair
    }
    return 2 * len(blamed) > len(nodes) > 2


def _located(
    judged: Mapping[Pair, Judged], verdict: Verdict, excused: set[Pair], references: References
) -> list[Suspect]:
    bad = {pair: 1.0 for pair, one in judged.items() if one.verdict is verdict and pair not in excused}
    good = [pair for pair, one in judged.items() if one.verdict is Verdict.PASS]
    return locate(bad, good, references.fabric) if bad else []


def _lossy(evidence: Mapping[Pair, Evidence], references: References) -> list[Suspect]:
    """Parts whose round trips stalled; where they were measured again, only if they stalled again."""
    bad = {pair: float(known.stalls) for pair, known in evidence.items() if known.stalls}
    good = [pair for pair, known in evidence.items() if known.latency and not known.stalls]
    confirmed = []
    for suspect in locate(bad, good, references.fabric, acquit=False) if bad else []:
        again = [
            evidence[pair].latency[Phase.RETEST] for pair in suspect.pairs if Phase.RETEST in evidence[pair].latency
        ]
        if not again or any(series.stalls for series in again):
            confirmed.append(suspect)
    return confirmed


def _crosses(suspect: Suspect, pair: Pair, references: References) -> bool:
    names = {(subject.kind, subject.name) for subject in (suspect.subject, *suspect.ambiguous_with)}
    if suspect.subject.kind is SubjectKind.PAIR:
        return pair in suspect.pairs
    return any((SubjectKind(part.kind), part.name) in names for part in references.fabric.path(*pair))


def _uniformly_slow(judged: Mapping[Pair, Judged]) -> tuple[Pair, ...]:
    """All measured pairs, where nearly all are below the limit's floor and none below its peers."""
    slow = [pair for pair, one in judged.items() if one.verdict is Verdict.SLOW]
    measured = [pair for pair, one in judged.items() if one.estimate is not None]
    nodes = {name for pair in measured for name in pair}
    alike = all(judged[pair].below_limit_only for pair in slow)
    if len(nodes) > 2 and slow and alike and len(slow) >= UNIFORM_SHARE * len(measured):
        return tuple(measured)
    return ()
