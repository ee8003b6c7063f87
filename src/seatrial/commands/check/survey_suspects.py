"""Suspects that the median of no single pair shows.

A node may be slow on the average over all its pairs (`locate_survey`, `averaged`; of few nodes `set_apart`), and a part
may be bad in one repetition of the survey only (`once_bad`), which a median over three repetitions does not show.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from seatrial.locate.evidence import AVERAGED, SHORTEST_S, MeasuredPair, Pair
from seatrial.locate.explanation import Blamed, Crossings, blame, with_parts
from seatrial.locate.references import References
from seatrial.locate.slow_parts import FEW_NODES
from seatrial.locate.table import DENSE_SHARE, locate_in_table, with_switch_names
from seatrial.locate.thresholds import GROSS_LOSS, MOST_LACK, SCATTERS, SUSPICION, to_log
from seatrial.model.fabric import Component, Fabric, Wiring
from seatrial.model.measurement import Phase
from seatrial.model.pair_faults import Located, LocatedFault
from seatrial.model.pair_table import Reals, repeated_pair_table
from seatrial.model.subject import Direction, SubjectKind
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.statistics.estimates import FEWEST_ALIKE, median, robust_scale

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
    if not references.alike or len(nodes) <= FEW_NODES or len(evidence) < enough:
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
    known: Sequence[Blamed],
    evidence: Mapping[Pair, MeasuredPair],
    fabric: Wiring,
    excused: Collection[Pair],
) -> list[Blamed]:
    """`known`, and the nodes and uplinks that `located` names beside them; pairs that these explain are no longer on
    their own.

    `excused`: pairs that are slow for another reason, which is known.
    """
    faults = [fault for fault in (located.faults if located else ()) if fault.metric == BANDWIDTH and not fault.dead]
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
    """`known`, and parts of which `FEWEST_ALIKE` or more pairs had a run that noise does not explain, to be measured
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
    return [*known, *(group for group in groups if group.components and len(group.pairs) >= FEWEST_ALIKE)]


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
    if line is None or not references.alike or len(survey.pairs) > FEW_NODES * (FEW_NODES - 1):
        return list(groups)
    nodes = sorted({name for pair in survey.pairs for name in pair})
    if not FEWEST_NODES <= len(nodes) <= FEW_NODES:
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
