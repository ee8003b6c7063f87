"""Whether the memory of a node is why more of its cores do not pay, by what a run has measured there."""

import math
from collections.abc import Sequence
from pathlib import Path

import msgspec

from seatrial.archive.reader import find_run, read_run
from seatrial.commands.scale.judge import JudgedCurve
from seatrial.judgement.nodes.trials import judge_trials
from seatrial.model.errors import UsageError
from seatrial.model.node_trials import Measure
from seatrial.model.words import count
from seatrial.statistics.estimates import median

WITHIN_A_NODE = ("cores", "ranks", "processes", "procs", "tasks", "threads")


class MeasuredMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Bandwidth of a node's memory: `whole` by all cores, `single` by one of them."""

    cores: int
    whole: float
    single: float

    @property
    def filling_cores(self) -> int:
        """Cores that together take all that the memory delivers; more than the node has: they cannot fill it."""
        return math.ceil(self.whole / self.single)


def measured_memory(archive: Path, name: str) -> MeasuredMemory:
    """The median node of a run. Raises UsageError where it did not measure memory by one core and by all."""
    recorded = read_run(find_run(archive, name))
    trials = judge_trials(recorded.group_measurements, recorded.facts)
    both = [
        (limits.cores, each.values[Measure.TRIAD].value, each.values[Measure.CORE_TRIAD].value)
        for each in trials.figures
        if {Measure.TRIAD, Measure.CORE_TRIAD} <= each.values.keys() and (limits := trials.limits[each.node]).cores
    ]
    if not both:
        raise UsageError(
            f"The run {name} did not measure memory by one core and by all.", "Name a run of `seatrial nodes`."
        )
    cores, whole, single = zip(*both, strict=True)
    return MeasuredMemory(cores=max(cores), whole=median(whole), single=median(single))


def with_memory(judged: Sequence[JudgedCurve], memory: MeasuredMemory) -> list[JudgedCurve]:
    """The curves, each with what memory has to do with its end. Raises UsageError for one over nodes."""
    for item in judged:
        if item.curve.over not in WITHIN_A_NODE or any(point.size > memory.cores for point in item.points):
            raise UsageError(
                f"--memory explains curves over the cores of one node, and {item.curve.name} is over "
                f"{item.curve.over}, up to {item.points[-1].size if item.points else 0:g}.",
                f"The run is of nodes of {count(memory.cores, 'core')}.",
            )
    return [msgspec.structs.replace(item, memory=_words(item, memory)) for item in judged]


def _words(item: JudgedCurve, memory: MeasuredMemory) -> str:
    """Memory explains it where the cores that fill it are fewer than the first size that does not pay."""
    if item.pays_up_to is None:
        return ""
    full = f"{memory.filling_cores} of {count(memory.cores, 'core')}"
    beyond = min(point.size for point in item.points if point.size > item.pays_up_to)
    if memory.filling_cores < beyond:
        return f"memory is full with {full}"
    if memory.filling_cores < memory.cores:
        return f"not for memory, which takes {full} to fill"
    return f"not for memory, which {count(memory.cores, 'core')} hardly fill"
