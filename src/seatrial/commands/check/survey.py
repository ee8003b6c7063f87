"""The state of a growing run's pairs: new measurements renew only what they change."""

from collections.abc import Collection, Mapping

from seatrial.commands.check.pair_verdicts import Judged, MetricVerdicts, judge_bandwidth, judge_latency
from seatrial.commands.check.survey_suspects import SurveyRuns, locate_survey
from seatrial.locate.evidence import AVERAGED, Fresh, MeasuredPair, Pair
from seatrial.locate.explanation import Crossings
from seatrial.locate.references import References
from seatrial.model.fabric import Wiring
from seatrial.model.measurement import Kernel, Phase
from seatrial.model.pair_faults import Located
from seatrial.model.units import BANDWIDTH, LATENCY

SOURCES = {(kernel, phase) for kernel in Kernel for phase in AVERAGED}


class Survey:
    """Verdicts on all pairs before any retest, which parts good pairs clear, and which pairs were measured again."""

    def __init__(self, fabric: Wiring, asked: Mapping[str, float | None] | None = None) -> None:
        """`asked`: practical effect by metric, as a share; None: the default."""
        self.evidence: Mapping[Pair, MeasuredPair] = {}
        self.nodes: set[str] = set()
        self.retested: dict[str, set[Pair]] = {BANDWIDTH: set(), LATENCY: set()}
        self.stalled: set[Pair] = set()
        """Pairs of which a round trip waited for a retransmission."""
        self.located: Located | None = None
        """What averages over all pairs of each node show; None where too few pairs were measured."""
        self._timed: set[Pair] = set()
        """Pairs with a bandwidth."""
        self._latest: set[Pair] = set()
        """Pairs whose bandwidth was measured after all else."""
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

    def update(self, evidence: Mapping[Pair, MeasuredPair], fresh: Fresh, references: References) -> None:
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
        self._judge(evidence if rescaled else fresh.pairs, references)
        if rescaled or (Kernel.ONEWAY, Phase.SURVEY) in fresh.sources:
            self._survey_runs = SurveyRuns(evidence, references.scales)

    @property
    def survey_runs(self) -> SurveyRuns:
        """All repetitions of the survey."""
        return self._survey_runs

    def verdicts(self, metric: str) -> MetricVerdicts:
        """By the survey alone."""
        return self._verdicts[metric]

    def good(self, metric: str) -> Crossings:
        """Pairs that are clearly good by the survey, with the parts that they cross."""
        stale = self.stale if metric == BANDWIDTH else frozenset()
        return self._good[metric].changed((), stale) if stale else self._good[metric]

    @property
    def stale(self) -> frozenset[Pair]:
        """Pairs whose good bandwidth clears no part any more: it was measured before a part on their way turned out
        slow at the end of the run."""
        slow = self._latest & self._verdicts[BANDWIDTH].slow
        parts = {part for pair in slow for part in self._fabric.path(*pair)}
        before = self._good[BANDWIDTH].pairs - self._latest if parts else ()
        return frozenset(pair for pair in before if not parts.isdisjoint(self._fabric.path(*pair)))

    @property
    def without_stalls(self) -> Crossings:
        """Pairs whose latency was measured and of which no round trip waited for a retransmission."""
        return self._without_stalls

    def _rewire(self, fabric: Wiring, *, recount: bool) -> None:
        """Take another view of the fabric; `recount`: its paths differ from those that were counted."""
        self._fabric = fabric
        every = (*self._good.values(), self._without_stalls)
        for crossings in every:
            crossings.rewire(fabric, recount=recount)

    def _note(self, pair: Pair, known: MeasuredPair) -> None:
        for metric, by_phase in ((BANDWIDTH, known.bandwidth), (LATENCY, known.latency)):
            if Phase.RETEST in by_phase:
                self.retested[metric].add(pair)
        if known.is_latest:
            self._latest.add(pair)
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
            speeds[pair] = evidence[pair].first_speed, references.crosses(pair)

        def rate(pair: Pair, below: bool, clear: bool) -> Judged:
            return judge_bandwidth(pair, evidence[pair], references, below, clear)

        def speed(pair: Pair, below: bool, clear: bool) -> Judged:
            return judge_latency(evidence[pair], below, clear)

        alike = references.alike
        rate_lines = {False: references.bandwidth if alike else None}
        speed_lines = {far: references.speed.get(far) if alike else None for far in (False, True)}
        moved = self._verdicts[BANDWIDTH].update(rates, rate_lines, rate)
        self._good[BANDWIDTH].change(*moved)
        moved = self._verdicts[LATENCY].update(speeds, speed_lines, speed)
        self._good[LATENCY].change(*moved)
