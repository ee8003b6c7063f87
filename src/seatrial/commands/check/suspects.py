"""What the numbers cast suspicion on: loss, then bandwidth, then latency."""

from collections.abc import Mapping, Sequence

import msgspec

from seatrial.commands.check.averaged_suspects import averaged, locate_survey
from seatrial.commands.check.pair_verdicts import Judged, judge_bandwidth, judge_latency
from seatrial.commands.check.part_changes import with_changes
from seatrial.commands.check.proofs import prove_bandwidth, prove_latency
from seatrial.commands.check.retest_verdicts import SecondLook
from seatrial.commands.check.transient_suspects import once_bad
from seatrial.locate.evidence import SHORTEST_S, Evidence, Pair
from seatrial.locate.explanation import Blamed, Suspect, blame, locate, nodes_of, pair_suspects, suspects_of
from seatrial.locate.references import References
from seatrial.locate.thresholds import UNIFORM_SHARE, WAVERING_SHARE
from seatrial.model.measurement import Phase
from seatrial.model.pair_faults import Change, Located
from seatrial.model.subject import SubjectKind
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.model.verdict import Verdict


class Suspicion(msgspec.Struct, frozen=True, kw_only=True):
    """Suspects by what is wrong with them, and the verdicts on every pair they come from."""

    bandwidth: Mapping[Pair, Judged]
    latency: Mapping[Pair, Judged]
    lossy: tuple[Suspect, ...]
    slow: tuple[Suspect, ...]
    unstable: tuple[Suspect, ...]
    late: tuple[Suspect, ...]
    open: tuple[Suspect, ...]
    """Measured again, and its runs lie on both sides of the line."""
    too_fast: tuple[Suspect, ...]
    """Pairs above the gate of their limit, each alone: for certain or not yet."""
    distant: tuple[Pair, ...]
    """Pairs that are late though both their ends are in time with others: that is how distance looks, and no fault."""
    uniformly_slow: tuple[Pair, ...]
    """All pairs, where the whole fabric is below its limit."""
    second_look: SecondLook
    """At bandwidth."""
    located: Located | None = None
    """What averages over all pairs of each node show; None where too few pairs were measured."""
    changes: tuple[Change, ...] = ()
    """Parts whose bandwidth changed while they were measured."""
    excused: frozenset[Pair] = frozenset()
    """Pairs that are slow because packets are lost on their way."""
    restless: bool = False
    """So much was unstable that nobody can be named: the measuring itself was disturbed."""
    late_everywhere: bool = False
    """Pairs beside the late ones were late too when both were measured again: nobody can be named for latency."""

    @property
    def suspects(self) -> tuple[Suspect, ...]:
        """All that deserve a second look."""
        return (*self.lossy, *self.slow, *self.unstable, *self.late, *self.too_fast, *self.open)

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
            if judged.clear and late is Verdict.PASS and not suspected & set(pair):
                found.append(pair)
        return found


class LatencyMemory:
    """Verdicts on latency, kept while neither a pair's numbers nor what they are compared with change."""

    def __init__(self) -> None:
        self._against: tuple[object, ...] = ()
        self._known: dict[Pair, tuple[object, Judged]] = {}

    def judged(self, evidence: Mapping[Pair, Evidence], references: References) -> dict[Pair, Judged]:
        """`judge_latency` of every pair."""
        against = dict(references.speed), references.alike, references.fabric
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
    evidence: Mapping[Pair, Evidence],
    references: References,
    memory: LatencyMemory | None = None,
    asked: Mapping[str, float | None] | None = None,
    changes: Sequence[Change] = (),
) -> Suspicion:
    """Judge every pair, locate what the bad ones have in common, and let the retest decide.

    Pairs across a lossy part are slow and late for that reason and are blamed on nothing else. `memory` of the same
    run, where it is judged again and again. `asked`: practical effect by metric; None: the default.
    `changes`: parts that changed while they were measured.
    """
    bandwidth = {pair: judge_bandwidth(pair, known, references) for pair, known in evidence.items()}
    latency = (memory or LatencyMemory()).judged(evidence, references)
    located = locate_survey(evidence, references, asked or {})
    lossy = _lossy(evidence, references)
    excused = {pair for pair in evidence if any(_crosses(suspect, pair, references) for suspect in lossy)}
    uniform = _uniformly_slow(bandwidth)
    rates = [] if uniform else _blamed(bandwidth, excused, references)
    rates = averaged(located, BANDWIDTH, rates, evidence, excused)
    rates = with_changes(once_bad(rates, evidence, references, excused), changes, evidence.keys(), excused)
    proved = prove_bandwidth(rates, bandwidth, evidence, references)
    late_groups = averaged(located, LATENCY, _blamed(latency, excused, references), evidence, excused)
    late_proofs = prove_latency([one for one in late_groups if one.components], latency, evidence, references)
    unstable = suspects_of(proved.unstable)
    restless = _most_nodes(unstable, evidence)
    late = suspects_of(late_proofs.slow)
    latency = dict(late_proofs.judged)
    wavering = suspects_of((*late_proofs.slow, *late_proofs.unstable))
    late_everywhere = _wavering(evidence, wavering, references)
    if late_everywhere:
        latency, late = _left_open(latency, wavering), []
    distant = () if late_everywhere else _distant(latency, late, excused)
    return Suspicion(
        bandwidth=proved.judged,
        latency={pair: one.decided(Verdict.PASS) if pair in distant else one for pair, one in latency.items()},
        lossy=tuple(lossy),
        slow=tuple(suspects_of(proved.slow)),
        unstable=() if restless else tuple(unstable),
        late=tuple(late),
        open=tuple(suspects_of(proved.open)),
        too_fast=tuple(pair_suspects([pair for pair, one in bandwidth.items() if one.above_gate])),
        distant=distant,
        uniformly_slow=uniform,
        second_look=proved.look,
        located=located,
        changes=tuple(changes),
        excused=frozenset(excused),
        restless=restless,
        late_everywhere=late_everywhere,
    )


def _blamed(judged: Mapping[Pair, Judged], excused: set[Pair], references: References) -> list[Blamed]:
    bad = {pair: 1.0 for pair, one in judged.items() if one.verdict is Verdict.SLOW and pair not in excused}
    good = [pair for pair, one in judged.items() if one.clear]
    return blame(bad, good, references.fabric) if bad else []


def is_part(suspect: Suspect) -> bool:
    """Whether it is a part of the cluster, and not a mere pair."""
    return suspect.subject.kind is not SubjectKind.PAIR


def _distant(judged: Mapping[Pair, Judged], late: Sequence[Suspect], excused: set[Pair]) -> tuple[Pair, ...]:
    blamed = {pair for suspect in late for pair in suspect.pairs} | excused
    return tuple(pair for pair, one in judged.items() if one.verdict is Verdict.SLOW and pair not in blamed)


def _wavering(evidence: Mapping[Pair, Evidence], late: Sequence[Suspect], references: References) -> bool:
    """Whether, in the retest of late parts, pairs that do not cross them were late too in many of their runs."""
    if not late:
        return False
    runs: list[bool] = []
    for pair, known in evidence.items():
        again, line = known.latency.get(Phase.RETEST), references.speed.get(references.crosses(pair))
        if again and line is not None and not any(_crosses(suspect, pair, references) for suspect in late):
            runs += [line.over_peers(1 / max(run, SHORTEST_S)) < -line.effect for run in again.runs]
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
