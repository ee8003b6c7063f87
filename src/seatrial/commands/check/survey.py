"""The state of a growing run's pairs: new measurements renew only what they change."""

from collections.abc import Collection, Iterable, Mapping

from seatrial.commands.check.pair_verdicts import JudgedPair, MetricVerdicts, judge_bandwidth, judge_latency
from seatrial.commands.check.survey_suspects import SurveyRuns, locate_survey
from seatrial.locate.evidence import AVERAGED, SHORTEST_S, Fresh, MeasuredPair, Pair
from seatrial.locate.explanation import Crossings
from seatrial.locate.references import References
from seatrial.model.fabric import Component, Wiring
from seatrial.model.measurement import Kernel, Phase
from seatrial.model.pair_faults import Located
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.statistics.estimates import median

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
        self.later = 1.0
        """How many times as long as before round trips take everywhere in the last look."""
        self._turned: dict[str, set[Component]] = {BANDWIDTH: set(), LATENCY: set()}
        """Parts on the way of pairs that turned out bad in the last look, by metric."""
        self._stale: dict[str, frozenset[Pair]] = {BANDWIDTH: frozenset(), LATENCY: frozenset()}
        self._averaged = 0
        """Pairs with a number when `located` was made."""
        self._asked = asked or {}
        self._verdicts = {BANDWIDTH: MetricVerdicts(), LATENCY: MetricVerdicts()}
        self._good = {BANDWIDTH: Crossings(fabric), LATENCY: Crossings(fabric)}
        self._without_stalls = Crossings(fabric)
        self._survey_runs = SurveyRuns({}, {})
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
            self._rewire(references.fabric, recount=rewired)
        if fresh.has_new_pairs:
            self.nodes.update(name for pair in fresh.pairs for name in pair)
        rescaled = references.scales != self._scales
        self._scales = references.scales
        for pair in fresh.pairs:
            self._note(pair, evidence[pair])
        changed: Collection[Pair] = evidence if rescaled else fresh.pairs
        if (Kernel.PINGPONG, Phase.LAST) in fresh.sources:
            self.later = later_everywhere(evidence[pair] for pair in self._latest[LATENCY])
            changed = {*changed, *self._latest[LATENCY]}
        self._judge(changed, references)
        self.retested = {metric: set(pairs) for metric, pairs in self._again.items()}
        if self._latest[BANDWIDTH] or self._latest[LATENCY]:
            self._find_stale()
            self._forget_old_retests(fresh, references)
        if rescaled or (Kernel.ONEWAY, Phase.SURVEY) in fresh.sources:
            self._survey_runs = SurveyRuns(evidence, references.scales)

    @property
    def survey_runs(self) -> SurveyRuns:
        """All repetitions of the survey."""
        return self._survey_runs

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
        stale = self._stale[LATENCY]
        return self._without_stalls.changed((), stale) if stale else self._without_stalls

    def _find_stale(self) -> None:
        lossy = {pair for pair in self._latest[LATENCY] & self.stalled if self.evidence[pair].lost_at_last}
        for metric, bad, good in (
            (BANDWIDTH, self._verdicts[BANDWIDTH].slow, self._good[BANDWIDTH].pairs),
            (LATENCY, self._verdicts[LATENCY].slow | lossy, self._good[LATENCY].pairs | self._without_stalls.pairs),
        ):
            latest = self._latest[metric]
            self._turned[metric] = {part for pair in latest & bad for part in self._fabric.path(*pair)}
            before = good - latest if self._turned[metric] else ()
            self._stale[metric] = frozenset(pair for pair in before if self._crosses_turned(metric, pair))

    def _crosses_turned(self, metric: str, pair: Pair) -> bool:
        return not self._turned[metric].isdisjoint(self._fabric.path(*pair))

    def _forget_old_retests(self, fresh: Fresh, references: References) -> None:
        """A retest that cleared a pair says nothing once a part on its way has turned bad at the end of the run."""
        after = fresh.first_after_last_look
        for metric in (BANDWIDTH, LATENCY):
            bad = self._verdicts[metric].slow | (self.stalled if metric == LATENCY else set())
            for pair in sorted(self._again[metric] & bad) if self._turned[metric] else ():
                known = self.evidence[pair]
                again = known.of(metric)[Phase.RETEST]
                old = [run for run, number in zip(again.runs, again.numbers, strict=True) if number < after]
                if old and self._crosses_turned(metric, pair) and _cleared(pair, metric, median(old), references):
                    self.evidence[pair] = known.retested_since(metric, after)
                    if again.numbers[-1] < after:
                        self.retested[metric].discard(pair)

    def _rewire(self, fabric: Wiring, *, recount: bool) -> None:
        """Take another view of the fabric; `recount`: its paths differ from those that were counted."""
        self._fabric = fabric
        every = (*self._good.values(), self._without_stalls)
        for crossings in every:
            crossings.rewire(fabric, recount=recount)

    def _note(self, pair: Pair, known: MeasuredPair) -> None:
        for metric, by_phase in ((BANDWIDTH, known.bandwidth), (LATENCY, known.latency)):
            if Phase.RETEST in by_phase:
                self._again[metric].add(pair)
            if Phase.LAST in by_phase:
                self._latest[metric].add(pair)
        if known.stalls:
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
            quick = evidence[pair].first_speed
            if quick is not None and pair in self._latest[LATENCY]:
                quick *= self.later
            speeds[pair] = quick, references.crosses(pair)

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


def later_everywhere(looked_at: Iterable[MeasuredPair]) -> float:
    """How many times as long as before a round trip takes in the last look on all pairs but a few; at least 1.

    A node that other programs use, or a clock that went down, delays all pairs of a small machine alike, and no part is
    at fault. A part that is at fault has some of the pairs, seldom three quarters of them.
    """
    ratios = sorted(
        median(known.latency[Phase.LAST].runs) / max(median(before), SHORTEST_S)
        for known in looked_at
        if (before := next((known.latency[phase].runs for phase in AVERAGED if phase in known.latency), ()))
    )
    return max(ratios[(len(ratios) - 1) // 4], 1.0) if ratios else 1.0
