"""Figures of trials as values of a run: one for each node and metric, to be compared with those of other runs."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from seatrial.judgement.nodes.figures import sustained
from seatrial.judgement.nodes.limits import limits_of
from seatrial.judgement.nodes.storage import impossible, without
from seatrial.model.measurement import GroupMeasurement, Kernel, Phase, node_of
from seatrial.model.node_trials import Measure, NodeFigures
from seatrial.model.run_values import RunMetric
from seatrial.model.settings import CheckSettings, NodesSettings, Settings, SoakSettings, Trial
from seatrial.model.units import SHARE
from seatrial.pairs.node_rounds import CORE, NODE
from seatrial.statistics.estimates import median

IN_ARCHIVE = "in the archive"
"""The name of the storage, unless `--storage` names a folder."""
LEFT_OUT = frozenset({Measure.OTHERS})
"""What other processes used says nothing of what the node can do."""
ARRAYS = {
    Measure.TRIAD: (Kernel.MEMORY_TRIAD, NODE),
    Measure.COPY: (Kernel.MEMORY_COPY, NODE),
    Measure.READ: (Kernel.MEMORY_READ, NODE),
    Measure.CORE_TRIAD: (Kernel.MEMORY_TRIAD, CORE),
    Measure.CHASE: (Kernel.CHASE, CORE),
}
"""Figures that depend on the size of arrays, and the kernel and variant that have it."""


class NodeValue(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of one node in one run."""

    metric: RunMetric
    node: str
    value: float
    """The value; for a share of the work, the slowdown by it: 1.01 for 1 %."""
    spread: float | None
    """Standard deviation of the logarithm over repetitions; None: too few."""


def node_values(measurements: Sequence[GroupMeasurement], settings: Settings | None) -> Iterator[NodeValue]:
    """All figures of the trials of a run that can be compared with other runs. `settings`: of the run.

    Rates are those of the whole time of a repetition, and not of its middle iteration as in reports: a quota stops few
    iterations, for long. Figures of storage beyond what the node's memory does are left out, as in reports.
    """
    storage = settings.storage if isinstance(settings, CheckSettings | NodesSettings) else None
    folder = f"in {storage}" if storage else IN_ARCHIVE
    sizes = _array_bytes(measurements)
    if isinstance(settings, SoakSettings):
        yield from _hottest(measurements)
    for figures in sustained(measurements):
        for measure, values in _comparable_runs(figures).items():
            metric = RunMetric(
                phase=Phase.NODES,
                variant=folder if measure.trial is Trial.STORAGE else "",
                kernel=measure,
                message_bytes=sizes.get(measure, 0),
                window_messages=0,
            )
            logs = [math.log(value) for value in values]
            spread = statistics.stdev(logs) if len(logs) > 1 else None
            yield NodeValue(metric=metric, node=figures.node, value=median(values), spread=spread)


def _hottest(measurements: Sequence[GroupMeasurement]) -> Iterator[NodeValue]:
    """The hottest reading of each node, of those that have sensors."""
    hottest: dict[str, int] = {}
    for group in measurements:
        if group.conditions is not None and group.conditions.millicelsius:
            name = node_of(group.nodes[0])
            hottest[name] = max(hottest.get(name, 0), group.conditions.millicelsius)
    heat = RunMetric(phase=Phase.NODES, variant="", kernel=Measure.HEAT, message_bytes=0, window_messages=0)
    for name, millicelsius in hottest.items():
        yield NodeValue(metric=heat, node=name, value=millicelsius / 1e3, spread=None)


def _comparable_runs(figures: NodeFigures) -> Mapping[Measure, list[float]]:
    """Figure -> a positive number for each repetition, so that ratios of them mean something."""
    kept = without(figures, impossible(figures, limits_of(figures, None, 0)))
    runs = {
        measure: [1 + value if measure.metric == SHARE else value for value in values.values()]
        for measure, values in kept.runs.items()
        if measure not in LEFT_OUT
    }
    return {measure: values for measure, values in runs.items() if min(values) > 0}


def _array_bytes(measurements: Sequence[GroupMeasurement]) -> dict[Measure, int]:
    """The power of two nearest to the size of the arrays: nodes of a model differ by a little memory."""
    sizes = {(one.shape.kernel, one.variant): one.shape.message_bytes for one in measurements}
    return {
        measure: 1 << round(math.log2(sizes[which]))
        for measure, which in ARRAYS.items()
        if sizes.get(which)
    }  # fmt: skip
