"""The state of a growing run's pairs, of which new measurements renew only what they change, and which parts lose
packets: what its late round trips have in common, and which parts others clear."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import fmean

from seatrial.commands.check.pair_verdicts import JudgedPair, MetricVerdicts, judge_bandwidth, judge_latency
from seatrial.commands.check.survey_suspects import SurveyRuns, locate_survey
from seatrial.judgement.processor_waits import TIMES_PEERS
from seatrial.locate.evidence import AVERAGED, SHORTEST_S, Fresh, MeasuredPair, Pair, in_one_direction
from seatrial.locate.explanation import BUNDLES, Crossings, PartSuspect, blame, both_ways, pair_suspects, suspects_of
from seatrial.locate.references import References
from seatrial.locate.references import crosses as crosses_leaves
from seatrial.model.fabric import Component, Paths, RoundTrips, Wiring
from seatrial.model.measurement import Kernel, Phase
from seatrial.model.pair_faults import Located
from seatrial.model.subject import SubjectKind
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.pairs.leaf_matchings import cables_known
from seatrial.statistics.estimates import FEWEST_ALIKE, median

SOURCES = {(kernel, phase) for kernel in Kernel for phase in AVERAGED}


class Survey:
    """Verdicts on all pairs before any retest, which parts good pairs clear, and which pairs were measured again."""

    def __init__(self, fabric: Wiring, asked: Mapping[str, float | None] | None = None) -> None:
        """`asked`: practical effect by metric, as a share; None: the default."""
        self.evidence: dict[Pair, MeasuredPair] = {}
        """All that counts: without what the last look made worthless."""
        self.nodes: set[str] = set()
        self.retested: dict[str, set[Pair]] = {BANDWIDTH: set(), LATENCY: set()}
        """The retested pairs without those whose retest the last look made worthless."""
        self._again: dict[str, set[Pair]] = {BANDWIDTH: set(), LATENCY: set()}
        """All that were measured again, by metric."""
        self.stalled: set[Pair] = set()
        """Pairs of which a round trip waited for a retransmission."""
        self.located: Located | None = None
        """What averages over all pairs of each node show; None where too few pairs were measured."""
        self._timed: set[Pair] = set()
        """Pairs with a bandwidth."""
        self._latest: dict[str, set[Pair]] = {BANDWIDTH: set(), LATENCY: set()}
        """Pairs that were measured after all else, by metric."""
        self._turned: dict[str, set[Component]] = {BANDWIDTH: set(), LATENCY: set()}
        """Parts on the way of pairs that turned out bad in the last look, by metric."""
        self._stale: dict[str, frozenset[Pair]] = {BANDWIDTH: frozenset(), LATENCY: frozenset()}
        self._trips_since: set[Pair] = set()
        """Stale pairs whose round trips were measured again after the last look."""
        self._averaged = 0
        """Pairs with a number when `located` was made."""
        self._asked = asked or {}
        self._verdicts = {BANDWIDTH: MetricVerdicts(), LATENCY: MetricVerdicts()}
        self._good = {BANDWIDTH: Crossings(fabric), LATENCY: Crossings(RoundTrips(fabric))}
        self._without_stalls = Crossings(RoundTrips(fabric))
        self.survey_runs = SurveyRuns({}, {})
        self._fabric = fabric
        self._scales: Mapping[Pair, float] = {}

    def locate(self, evidence: Mapping[Pair, MeasuredPair], fresh: Fresh, references: References) -> Located | None:
        """What averages over all pairs show; renewed where the new measurements are part of them."""
        self._timed.update(pair for pair in fresh.pairs if evidence[pair].first_bandwidth is not None)
        measured = len(self._timed)
        more = fresh.has_new_pairs or measured > self._averaged or fresh.sources & SOURCES
        if more or references.scales != self._scales or references.fabric.bundles != self._fabric.bundles:
            self.located = locate_survey(evidence, references, self._asked)
            self._averaged = measured
        return self.located

    def update(self, evidence: dict[Pair, MeasuredPair], fresh: Fresh, references: References) -> None:
        """`evidence`: of all pairs; `fresh`: what the last measurements added to it. `references`: of all of them."""
        self.evidence = evidence
        rewired = references.fabric.bundles != self._fabric.bundles
        if rewired or references.fabric is not self._fabric:
            fabric = self._fabric = references.fabric
            self._good[BANDWIDTH].rewire(fabric, recount=rewired)
            for crossings in (self._good[LATENCY], self._without_stalls):
                crossings.rewire(RoundTrips(fabric), recount=rewired)
        if fresh.has_new_pairs:
            self.nodes.update(name for pair in fresh.pairs for name in pair)
        rescaled = references.scales != self._scales
        self._scales = references.scales
        for pair in fresh.pairs:
            self._note(pair, evidence[pair])
        changed: Collection[Pair] = evidence if rescaled else fresh.pairs
        self._judge(changed, references)
        self.retested = {metric: set(pairs) for metric, pairs in self._again.items()}
        if self._latest[BANDWIDTH] or self._latest[LATENCY]:
            self._find_stale(fresh.first_after_last_look)
            self._forget_old_retests(fresh, references)
        if rescaled or (Kernel.ONEWAY, Phase.SURVEY) in fresh.sources:
            self.survey_runs = SurveyRuns(evidence, references.scales)

    def verdicts(self, metric: str) -> MetricVerdicts:
        """The verdicts by the survey alone."""
        return self._verdicts[metric]

    def good(self, metric: str) -> Crossings:
        """Pairs that are clearly good by the survey, with the parts that they cross."""
        return self._good[metric].changed((), self._stale[metric]) if self._stale[metric] else self._good[metric]

    def stale(self, metric: str) -> frozenset[Pair]:
        """Pairs whose good numbers clear no part any more: they were measured before a part on their way turned out
        slow, late or lossy at the end of the run."""
        return self._stale[metric]

    @property
    def without_stalls(self) -> Crossings:
        """Pairs whose latency was measured and of which no round trip waited for a retransmission."""
        stale = self._stale[LATENCY] - self._trips_since
        return self._without_stalls.changed((), stale) if stale else self._without_stalls

    def _find_stale(self, after: int) -> None:
        """`after`: number of the first run of a retest after the last look."""
        lossy = {pair for pair in self._latest[LATENCY] & self.stalled if self.evidence[pair].lost_at_last}
        for metric, bad, good in (
            (BANDWIDTH, self._verdicts[BANDWIDTH].slow, self._good[BANDWIDTH].pairs),
            (LATENCY, self._verdicts[LATENCY].slow | lossy, self._good[LATENCY].pairs | self._without_stalls.pairs),
        ):
            latest = self._latest[metric]
            self._turned[metric] = {part for pair in latest & bad for part in self._path(metric, pair)}
            before = good - latest if self._turned[metric] else ()
            self._stale[metric] = frozenset(pair for pair in before if self._crosses_turned(metric, pair))
        again = {pair: self.evidence[pair].latency.get(Phase.RETEST) for pair in self._stale[LATENCY]}
        self._trips_since = {pair for pair, series in again.items() if series and series.numbers[-1] >= after}

    def _crosses_turned(self, metric: str, pair: Pair) -> bool:
        return not self._turned[metric].isdisjoint(self._path(metric, pair))

    def _path(self, metric: str, pair: Pair) -> Iterable[Component]:
        """What a stream or a round trip of the pair crosses."""
        return self._good[metric].fabric.path(*pair)

    def _forget_old_retests(self, fresh: Fresh, references: References) -> None:
        """A retest that cleared a pair says nothing once a part on its way has turned bad at the end of the run."""
        after = fresh.first_after_last_look
        for metric in (BANDWIDTH, LATENCY):
            bad = self._verdicts[metric].slow | (self.stalled if metric == LATENCY else set())
            for pair in sorted(self._again[metric] & (bad | self._stale[metric])) if self._turned[metric] else ():
                known = self.evidence[pair]
                again = known.of(metric)[Phase.RETEST]
                old = [run for run, number in zip(again.runs, again.numbers, strict=True) if number < after]
                if old and self._crosses_turned(metric, pair) and _cleared(pair, metric, median(old), references):
                    self.evidence[pair] = known.retested_since(metric, after)
                    if again.numbers[-1] < after:
                        self.retested[metric].discard(pair)

    def _note(self, pair: Pair, known: MeasuredPair) -> None:
        for metric, by_phase in ((BANDWIDTH, known.bandwidth), (LATENCY, known.latency)):
            if Phase.RETEST in by_phase:
                self._again[metric].add(pair)
            if Phase.LAST in by_phase:
                self._latest[metric].add(pair)
        if known.late_trips:
            self.stalled.add(pair)
            self._without_stalls.change((), [pair])
        elif known.latency:
            self._without_stalls.change([pair], ())

    def _judge(self, changed: Collection[Pair], references: References) -> None:
        evidence = self.evidence
        rates = {}
        speeds = {}
        for pair in changed:
            first = evidence[pair].first_bandwidth
            rates[pair] = (None if first is None else first / references.scale(pair)), False
            speeds[pair] = evidence[pair].first_speed, references.crosses(pair)

        def rate(pair: Pair, below: bool, clear: bool) -> JudgedPair:
            return judge_bandwidth(pair, evidence[pair], references, below, clear)

        def speed(pair: Pair, below: bool, clear: bool) -> JudgedPair:
            return judge_latency(evidence[pair], below, clear)

        alike = references.alike
        rate_lines = {False: references.bandwidth if alike else None}
        speed_lines = {far: references.speed.get(far) if alike else None for far in (False, True)}
        moved = self._verdicts[BANDWIDTH].update(rates, rate_lines, rate)
        self._good[BANDWIDTH].change(*moved)
        moved = self._verdicts[LATENCY].update(speeds, speed_lines, speed)
        self._good[LATENCY].change(*moved)


def _cleared(pair: Pair, metric: str, run: float, references: References) -> bool:
    """Whether runs of this median are as good as those of the pair's peers."""
    if metric == BANDWIDTH:
        line, better = references.bandwidth, references.rate_over_peers(pair, run)
    else:
        line = references.speed.get(references.crosses(pair))
        better = line.over_peers(1 / max(run, SHORTEST_S)) if line else 0.0
    return line is not None and better > -line.effect


CHANCE = 0.001
"""A part is cleared of loss if its stalls fall on as few of its pairs as they did with at most this probability."""


def lossy_suspects(survey: Survey) -> list[PartSuspect]:
    """Parts whose round trips stalled; where they were measured again, only if they stalled again.

    Round trips that were late while their ranks waited for a processor count where they are far more than such waits
    delayed other pairs.
    """
    evidence = survey.evidence
    bad = {pair: float(evidence[pair].late_trips) for pair in in_one_direction(sorted(survey.stalled))}
    if not bad:
        return []
    cleared = _cleared_of_loss(bad, survey)
    suspects = suspects_of(both_ways(blame(bad, survey.without_stalls, acquit=False, cleared=cleared)))
    partly = [one for one in suspects if on_unknown_cables(one.subject.kind, one.pairs, survey.without_stalls.fabric)]
    if len(partly) > 1:  # two pairs may have a leaf in common and lose their packets behind it
        few = [one for one in partly if len(one.pairs) < 2 * FEWEST_ALIKE]
        suspects = [one for one in suspects if one not in few] + pair_suspects(sum((one.pairs for one in few), ()))
    confirmed = []
    for suspect in suspects:
        by_phase = [evidence[pair].latency for pair in suspect.pairs]
        again = [series[Phase.RETEST] for series in by_phase if Phase.RETEST in series]
        decide = again or [series for phases in by_phase for series in phases.values()]
        excused = any(series.excused_stalls for series in decide)
        if any(series.stalls for series in decide) or (excused and _beyond_waits(suspect, evidence)):
            confirmed.append(suspect)
    return confirmed


def _beyond_waits(suspect: PartSuspect, evidence: Mapping[Pair, MeasuredPair]) -> bool:
    """Whether more late round trips fell on these pairs than waits can have made late.

    Ranks that wait at most `TIMES_PEERS` times as long as others make at most as many times as many round trips late.
    That of all k at least j fall on a share of at most f has a probability of at most C(k, j) f^j.
    """
    measured, blamed = in_one_direction(evidence), {pair for both in suspect.pairs for pair in (both, both[::-1])}
    own = [evidence[pair] for pair in measured if pair in blamed]
    others = [evidence[pair] for pair in measured if pair not in blamed]
    trips, other_trips = (sum(known.trips_since(0)[1] for known in group) for group in (own, others))
    late, other_late = (sum(known.late_trips for known in group) for group in (own, others))
    waits, other_waits = ([wait for known in group for wait in known.waits] for group in (own, others))
    if not waits or not other_waits or fmean(waits) > TIMES_PEERS * fmean(other_waits):
        return False
    share = TIMES_PEERS * trips / (other_trips + TIMES_PEERS * trips)
    return math.log(math.comb(late + other_late, late)) + late * math.log(share) < math.log(CHANCE)


def _cleared_of_loss(bad: Mapping[Pair, float], survey: Survey) -> frozenset[Component]:
    """Parts that would have lost packets on more of their pairs, if it was they that lost them.

    A lossy part loses those of all its pairs alike from the first one on. That all k stalls fall on j of the m pairs
    that were measured since, which made the share f of the round trips, has a probability of at most C(m, j) f^k.
    Between leaves, cables that nobody knows may have lost them: that a node or uplink did, is not known by a single
    pair, nor by several if the pairs of the node within its leaf were measured again and lost none. An uplink may lose
    those of few pairs, which cross one of its cables.
    """
    fabric, evidence = survey.without_stalls.fabric, survey.evidence
    on: dict[Component, list[Pair]] = {part: [] for pair in bad for part in fabric.path(*pair)}
    for pair in (*bad, *in_one_direction(survey.without_stalls.pairs)):
        for part in fabric.path(*pair):
            if part in on:
                on[part].append(pair)
    cleared = set()
    for part, pairs in on.items():
        first = min(evidence[pair].first_late for pair in pairs)
        since = {pair: evidence[pair].trips_since(first) for pair in pairs}
        made = {pair: (late, trips) for pair, (late, trips) in since.items() if trips}
        hit = [pair for pair in made if pair in bad]
        share = sum(made[pair][1] for pair in hit) / max(sum(trips for _, trips in made.values()), 1)
        chance = math.comb(len(made), len(hit)) * share ** sum(late for late, _ in made.values())
        unlikely = len(hit) < len(made) and chance < CHANCE
        if (unlikely and not on_unknown_cables(part.kind, hit, fabric)) or _behind(hit, made, survey):
            cleared.add(part)
    return frozenset(cleared)


def _behind(hit: Sequence[Pair], made: Collection[Pair], survey: Survey) -> bool:
    """Whether cables that nobody knows may have lost the packets of these pairs, rather than a part that all of `made`
    cross."""
    fabric = survey.without_stalls.fabric
    if cables_known(hit, fabric) or any(not crosses_leaves(fabric, pair) for pair in hit):
        return False
    again = (pair for pair in made if survey.evidence[pair].retests(LATENCY))
    return len(hit) == 1 or any(not crosses_leaves(fabric, pair) for pair in again)


def on_unknown_cables(kind: str, pairs: Sequence[Pair], fabric: Paths) -> bool:
    """Whether a part of this kind, which all the pairs cross, is a bundle of cables that nobody knows."""
    return kind in BUNDLES and not cables_known(pairs, fabric)


def excused_pairs(lossy: Sequence[PartSuspect], survey: Survey, fabric: Paths) -> set[Pair]:
    """Pairs that are slow and late since they cross a lossy part.

    Of parts that cannot be distinguished, and of cables that nobody knows, only the pairs that lost packets: what else
    is slow on their way may be slow for another reason.
    """
    excused = {pair for suspect in lossy for pair in suspect.pairs}
    certain = [
        suspect
        for suspect in lossy
        if not (suspect.ambiguous_with or on_unknown_cables(suspect.subject.kind, suspect.pairs, fabric))
    ]
    if certain:
        excused |= {pair for pair in survey.evidence if any(crosses(suspect, pair, fabric) for suspect in certain)}
    return excused


def crosses(suspect: PartSuspect, pair: Pair, fabric: Paths) -> bool:
    """Whether the pair is, or crosses, what is suspected."""
    names = {(subject.kind, subject.name) for subject in (suspect.subject, *suspect.ambiguous_with)}
    if suspect.subject.kind is SubjectKind.PAIR:
        return pair in suspect.pairs
    return any((SubjectKind(part.kind), part.name) in names for part in fabric.path(*pair))
