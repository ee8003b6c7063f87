"""What else happened on a node while it was measured: from the conditions of its rounds, and in sentences."""

from collections.abc import Iterable, Iterator, Sequence

from seatrial.model.measurement import Conditions, GroupMeasurement
from seatrial.model.node_trials import Measure, NodeConditions, NodeFigures, NodeTrials, Runs
from seatrial.model.units import share
from seatrial.model.words import count
from seatrial.pairs.node_rounds import COLLECTIVE_KERNELS

BUSY = 0.05
"""Share of one processor: other processes that used more are worth a note, whatever the peers do."""
MOST_NOTES = 8


def conditions_of(measured: Iterable[GroupMeasurement]) -> NodeConditions | None:
    """The conditions over all rounds of one node; None if the probe said nothing of them."""
    measured = [*measured]
    rounds = [one.conditions for one in measured if one.conditions is not None]
    wall_s = sum(one.wall_s for one in rounds)
    if not wall_s > 0:
        return None
    watched = [one for one in rounds if one.interrupts is not None]
    powered = [one for one in rounds if one.microjoules is not None]
    return NodeConditions(
        switches_per_s=sum(one.switches for one in rounds) / wall_s,
        faults_per_s=sum(one.faults for one in rounds) / wall_s,
        throttles=_total([one.throttles for one in rounds]),
        least_hz=min((1e3 * one.least_khz for one in rounds if one.least_khz), default=None),
        celsius=max(temperatures_of(measured).values(), default=None),
        interrupts_per_s=_rate([one.interrupts for one in watched], watched),
        watts=_rate([one.microjoules for one in powered], powered, 1e-6),
    )


def temperatures_of(measured: Iterable[GroupMeasurement]) -> Runs:
    """Degrees Celsius of the node's hottest zone, by repetition.

    Operations of several nodes have that of the hottest of these nodes, and do not count.
    """
    hottest: Runs = {}
    for group in measured:
        conditions, alone = group.conditions, group.shape.kernel not in COLLECTIVE_KERNELS
        if alone and conditions is not None and conditions.millicelsius:
            celsius = conditions.millicelsius / 1e3
            hottest[group.repetition] = max(celsius, hottest.get(group.repetition, celsius))
    return hottest


def condition_notes(trials: NodeTrials) -> tuple[str, ...]:
    """Nodes that were throttled, or that did something else, while they were measured."""
    notes = [note for figures in trials.figures for note in _notes(figures)]
    more = len(notes) - MOST_NOTES
    return (*notes[:MOST_NOTES], *([f"The same holds for {count(more, 'more node')}: see --json."] if more > 0 else []))


def _notes(figures: NodeFigures) -> Iterator[str]:
    conditions, others = figures.conditions, figures.values.get(Measure.OTHERS)
    if conditions and conditions.throttles:
        yield (
            f"The cores of {figures.node} were throttled for heat {count(conditions.throttles, 'time')} while it "
            "was measured: its figures are those of a hot node."
        )
    if others and others.value > BUSY:
        yield (
            f"Other processes of {figures.node} used {share(others.value)} of a processor while it was measured: its "
            "figures are those of a busy node."
        )


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _rate(counts: Sequence[int | None], rounds: Sequence[Conditions], unit: float = 1.0) -> float | None:
    total, wall_s = _total(counts), sum(one.wall_s for one in rounds)
    return total * unit / wall_s if total is not None and wall_s > 0 else None
