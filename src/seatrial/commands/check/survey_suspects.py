"""Suspects that the median of no single pair shows.

A node may be slow on the average over all its pairs (`locate_survey`, `averaged`; of few nodes `set_apart`), and a part
may be bad in one repetition of the survey only (`once_bad`), which a median over three repetitions does not show.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from seatrial.commands.check.pair_verdicts import JudgedPair, MetricVerdicts, judge_bandwidth, judge_latency
from seatrial.locate.evidence import AVERAGED, SHORTEST_S, Fresh, MeasuredPair, Pair
from seatrial.locate.explanation import Blamed, Crossings, blame, with_parts
from seatrial.locate.references import References
from seatrial.locate.table import DENSE_SHARE, FEWEST_DENSE_NODES, locate_in_table, with_switch_names
from seatrial.locate.thresholds import GROSS_LOSS, MOST_LACK, SCATTERS, SUSPICION, to_log
from seatrial.model.fabric import Component, Fabric, Wiring
from seatrial.model.measurement import Kernel, Phase
from seatrial.model.pair_faults import Located, LocatedFault
from seatrial.model.pair_table import Reals, repeated_pair_table
from seatrial.model.subject import Direction, SubjectKind
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.statistics.estimates import median, robust_scale

AVERAGED_KINDS = (SubjectKind.NODE, SubjectKind.UPLINK)
"""What averages name that no single pair may show; cables are left to the pairs that cross them."""
WAYS = {
    Direction.OUT: (Direction.OUT,),
    Direction.IN: (Direction.IN,),
    Direction.BOTH: (Direction.OUT, Direction.IN),
}


def locate_survey(
    evidence: Mapping[Pair, MeasuredPair], references: References, asked: Mapping[str, float | None]
) -> Located | None:
    """What `seatrial judge` says of the survey's table; None where too few pairs were measured for averages."""
    nodes = tuple(sorted({name for pair in evidence for name in pair}))
    enough = DENSE_SHARE * len(nodes) * (len(nodes) - 1)
    if not references.alike or len(nodes) < FEWEST_DENSE_NODES or len(evidence) < enough:
        return None
    if sum(known.first_bandwidth is not None for known in evidence.values()) < enough:
        return None
    table = repeated_pair_table(
        nodes,
        {pair: [run / references.scale(pair) for run in _runs(known, BANDWIDTH)] for pair, known in evidence.items()},
        {pair: _runs(known, LATENCY) for pair, known in evidence.items()},
    )
    wiring = None if isinstance(references.fabric, Fabric) else references.fabric
    groups = _groups(nodes, references)
    located = locate_in_table(table, groups, wiring, asked={metric: one for metric, one in asked.items() if one})
    return with_switch_names(located, groups, references.fabric.leaf_of)


def _runs(known: MeasuredPair, metric: str) -> Sequence[float]:
    by_phase = known.bandwidth if metric == BANDWIDTH else known.latency
    return next((by_phase[phase].runs for phase in AVERAGED if phase in by_phase), ())


def _groups(nodes: Sequence[str], references: References) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for name in nodes:
        groups.setdefault(references.fabric.leaf_of.get(name, ""), []).append(name)
    return list(groups.values()) if len(groups) > 1 and "" not in groups else []


def averaged(
    located: Located | None,
    metric: str,
    known: Sequence[Blamed],
    evidence: Mapping[Pair, MeasuredPair],
    fabric: Wiring,
    excused: Collection[Pair],
) -> list[Blamed]:
    """`known`, and the nodes and uplinks that `located` names beside them; pairs that these explain are no longer on
    their own.

    `excused`: pairs that are slow for another reason, which is known.
    """
    faults = [fault for fault in (located.faults if located else ()) if fault.metric == metric and not fault.dead]
    blamed = {part for group in known for part in group.components}
    added = [
        Blamed(frozenset([part]), pairs)
        for fault in faults
        if fault.subject.kind in AVERAGED_KINDS
        for part in _components(fault)
        if part not in blamed and (pairs := _pairs_of(part, evidence, fabric).difference(excused))
    ]
    return with_parts(known, added)


def _components(fault: LocatedFault) -> list[Component]:
    return [Component(kind=fault.subject.kind, name=fault.subject.name, direction=way) for way in WAYS[fault.direction]]


def _pairs_of(part: Component, pairs: Iterable[Pair], fabric: Wiring) -> frozenset[Pair]:
    if part.kind == SubjectKind.NODE:
        end = 0 if part.direction is Direction.OUT else 1
        return frozenset(pair for pair in pairs if pair[end] == part.name)
    return frozenset(pair for pair in pairs if part in fabric.path(*pair))


def behind_slow_uplinks(
    located: Located | None, evidence: Mapping[Pair, MeasuredPair], fabric: Wiring
) -> frozenset[Pair]:
    """Pairs that are slower than others because they cross an uplink that averages name."""
    faults = [
        fault
        for fault in (located.faults if located else ())
        if fault.metric == BANDWIDTH and fault.subject.kind is SubjectKind.UPLINK and not fault.dead
    ]
    return frozenset().union(*(_pairs_of(part, evidence, fabric) for fault in faults for part in _components(fault)))


# Parts that were bad in one repetition of the survey only.

FEWEST_PAIRS = 3
"""Ordered pairs in one direction of a part that were bad once; fewer may be a passing disturbance each."""


class SurveyRuns:
    """The repetitions of the survey, as logarithms. They do not change once the survey is over."""

    def __init__(self, evidence: Mapping[Pair, MeasuredPair], scales: Mapping[Pair, float]) -> None:
        """`scales`: as in `References`."""
        runs = {
            pair: [run / scales.get(pair, 1.0) for run in known.bandwidth[Phase.SURVEY].runs]
            for pair, known in evidence.items()
            if Phase.SURVEY in known.bandwidth
        }
        self.pairs = list(runs)
        self.middle = _logs([median(own) for own in runs.values()])
        """The median run of each pair."""
        self.worst = _logs([min(own) for own in runs.values()])
        """The least run of each pair."""
        self.repeated = np.array([len(own) > 1 for own in runs.values()], dtype=np.bool_)
        several = [(own, median(own)) for own in runs.values() if len(own) > 1]
        self._run = _logs([run for own, _ in several for run in own])
        self._middle = _logs([middle for own, middle in several for _ in own])

    def noise(self, usual: float) -> float:
        """Scatter of the repetitions of a pair about their median; `usual`: logarithm of what peers give."""
        return robust_scale((self._run - usual) - (self._middle - usual), 0.0)


def once_bad(
    known: Sequence[Blamed], survey: SurveyRuns, references: References, excused: Collection[Pair]
) -> list[Blamed]:
    """`known`, and parts of which FEWEST_PAIRS or more pairs had a run that noise does not explain, to be measured
    again.

    `excused`: pairs that are slow for another reason, which is known.
    """
    line = references.bandwidth
    if line is None or not references.alike or not survey.repeated.any():
        return list(known)
    lack = min(
        max(to_log(GROSS_LOSS, BANDWIDTH), SCATTERS * max(survey.noise(line.usual), line.scatter)),
        MOST_LACK,
    )
    over = survey.worst - line.usual
    low = np.flatnonzero(survey.repeated & (over < -lack)).tolist()
    explained = {pair for group in known for pair in group.pairs} | set(excused)
    bad = {pair: 1.0 for row in low if (pair := survey.pairs[row]) not in explained}
    if not bad:
        return list(known)
    fair = [survey.pairs[row] for row in np.flatnonzero(over > -lack / 2).tolist()]
    groups = blame(bad, Crossings(references.fabric, [pair for pair in fair if pair not in bad]))
    return [*known, *(group for group in groups if group.components and len(group.pairs) >= FEWEST_PAIRS)]


# Nodes of clusters too small for averages with an error rate.

FEWEST_NODES = 4
"""Three nodes leave only two pairs that do not touch the node in question."""


def set_apart(
    groups: Sequence[Blamed], survey: SurveyRuns, references: References, excused: Collection[Pair]
) -> list[Blamed]:
    """`groups`, and nodes of a small cluster all of whose pairs are slower than the others', to be measured again.

    Where every second pair touches the slow node, its pairs widen the scatter by which single pairs are judged. Both
    directions together must be below the median of the pairs that do not touch the node; one direction must be below
    all of them. `excused` pairs are slow for a reason that is known and are not compared. This alone names nothing: of
    healthy pairs some lie like this by chance, and the retest decides.
    """
    line = references.bandwidth
    if line is None or not references.alike or len(survey.pairs) >= FEWEST_DENSE_NODES * (FEWEST_DENSE_NODES - 1):
        return list(groups)
    nodes = sorted({name for pair in survey.pairs for name in pair})
    if not FEWEST_NODES <= len(nodes) < FEWEST_DENSE_NODES:
        return list(groups)
    if len(survey.pairs) < DENSE_SHARE * len(nodes) * (len(nodes) - 1):
        return list(groups)
    blamed = {part for group in groups for part in group.components}
    lack = SUSPICION * line.effect
    added = []
    for name in nodes:
        for way in _ways_apart(name, survey, lack, excused):
            part = Component(kind=SubjectKind.NODE, name=name, direction=way)
            if part not in blamed and (pairs := _pairs_of(part, survey.pairs, references.fabric).difference(excused)):
                added.append(Blamed(frozenset([part]), pairs))
    return with_parts(groups, added)


def _ways_apart(name: str, survey: SurveyRuns, lack: float, excused: Collection[Pair]) -> tuple[Direction, ...]:
    """Directions in which the node's pairs are `lack` (log) slower, in the median, than those that do not touch it."""
    counts = np.array([pair not in excused for pair in survey.pairs])
    leaves = counts & np.array([pair[0] == name for pair in survey.pairs])
    enters = counts & np.array([pair[1] == name for pair in survey.pairs])
    rest, own = survey.middle[counts & ~(leaves | enters)], survey.middle[leaves | enters]
    if not rest.size or not leaves.any() or not enters.any():
        return ()
    usual = float(np.median(rest))
    if usual - float(np.median(own)) >= lack and own.max() < usual:
        return (Direction.OUT, Direction.IN)
    return tuple(
        way
        for way, values in ((Direction.OUT, survey.middle[leaves]), (Direction.IN, survey.middle[enters]))
        if usual - float(np.median(values)) >= lack and values.max() < rest.min()
    )


def _logs(values: Sequence[float]) -> Reals:
    return np.log(np.maximum(np.array(values, dtype=np.float64), SHORTEST_S))


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
