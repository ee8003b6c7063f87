"""Suspects that no single pair shows: slow on the average over all their pairs, by the engine of `locate`."""

from collections.abc import Collection, Mapping, Sequence

from seatrial.locate.evidence import FIRST, Evidence, Pair
from seatrial.locate.explanation import Blamed
from seatrial.locate.references import References
from seatrial.locate.table import DENSE_SHARE, FEWEST_DENSE_NODES, locate_in_table
from seatrial.model.fabric import Component, Fabric
from seatrial.model.measurement import Phase
from seatrial.model.pair_faults import Located, LocatedFault
from seatrial.model.pair_table import repeated_pair_table
from seatrial.model.subject import Direction, SubjectKind
from seatrial.model.units import BANDWIDTH, LATENCY

WAYS = {
    Direction.OUT: (Direction.OUT,),
    Direction.IN: (Direction.IN,),
    Direction.BOTH: (Direction.OUT, Direction.IN),
}


def locate_survey(
    evidence: Mapping[Pair, Evidence], references: References, asked: Mapping[str, float | None]
) -> Located | None:
    """What `locate` says of the survey's table; None where too few pairs were measured for averages."""
    nodes = tuple(sorted({name for pair in evidence for name in pair}))
    pairs = sum(1 for known in evidence.values() if known.first_bandwidth is not None)
    if not references.alike or len(nodes) < FEWEST_DENSE_NODES:
        return None
    if pairs < DENSE_SHARE * len(nodes) * (len(nodes) - 1):
        return None
    table = repeated_pair_table(
        nodes,
        {pair: [run / references.scale(pair) for run in _runs(known, BANDWIDTH)] for pair, known in evidence.items()},
        {pair: _runs(known, LATENCY) for pair, known in evidence.items()},
    )
    wiring = None if isinstance(references.fabric, Fabric) else references.fabric
    return locate_in_table(
        table, _groups(nodes, references), wiring, asked={metric: one for metric, one in asked.items() if one}
    )


def _runs(known: Evidence, metric: str) -> Sequence[float]:
    by_phase = known.bandwidth if metric == BANDWIDTH else known.latency
    return next((by_phase[phase].runs for phase in FIRST if phase in by_phase and phase is not Phase.RETEST), ())


def _groups(nodes: Sequence[str], references: References) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for name in nodes:
        groups.setdefault(references.fabric.leaf_of.get(name, ""), []).append(name)
    return list(groups.values()) if len(groups) > 1 and "" not in groups else []


def averaged(
    located: Located | None,
    metric: str,
    known: Sequence[Blamed],
    evidence: Mapping[Pair, Evidence],
    excused: Collection[Pair],
) -> list[Blamed]:
    """`known`, and the nodes that `located` names beside them; pairs that these explain are no longer on their own.

    `excused`: pairs that are slow for another reason, which is known.
    """
    faults = [fault for fault in (located.faults if located else ()) if fault.metric == metric and not fault.dead]
    nodes = [fault for fault in faults if fault.subject.kind is SubjectKind.NODE]
    blamed = {part for group in known for part in group.components}
    added = [
        Blamed(frozenset([part]), pairs)
        for fault in nodes
        for part in _components(fault)
        if part not in blamed and (pairs := _pairs_of(part, evidence).difference(excused))
    ]
    explained = {pair for group in added for pair in group.pairs}
    return [group for group in known if group.components or not group.pairs <= explained] + added


def _components(fault: LocatedFault) -> list[Component]:
    return [Component(kind="node", name=fault.subject.name, direction=way) for way in WAYS[fault.direction]]


def _pairs_of(part: Component, evidence: Mapping[Pair, Evidence]) -> frozenset[Pair]:
    end = 0 if part.direction is Direction.OUT else 1
    return frozenset(pair for pair in evidence if pair[end] == part.name)
