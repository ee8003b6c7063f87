"""What the judgement of every record of one pair ends in, and what the ending of a run itself says."""

from seatrial.locate.evidence import Pair
from seatrial.model.measurement import Phase
from seatrial.model.run import Ending, RecordedRun
from seatrial.model.verdict import RunVerdict


class RecordOutcome(RunVerdict, frozen=True, kw_only=True):
    """The outcome of measuring one pair."""

    pair: Pair
    """The sending and the receiving node."""
    reason: str

    @property
    def source(self) -> str:
        """The rank or node that sends."""
        return self.pair[0]

    @property
    def target(self) -> str:
        """The rank or node that receives."""
        return self.pair[1]


_ENDED = {
    Ending.FAILED: "failed before it measured anything",
    Ending.INTERRUPTED: "was interrupted before it measured anything",
    Ending.RECOVERED: "was killed before it measured anything",
    Ending.RUNNING: "has not measured anything: it is still running, or was killed",
}


def pair_of(recorded: RecordedRun) -> Pair:
    """The ordered pair that a run is about; of a run that ended before it planned one, the nodes that it was given."""
    if recorded.planned:
        return recorded.planned[0]
    nodes = recorded.info.nodes
    if len(nodes) == 1:
        return f"{nodes[0]}:0", f"{nodes[0]}:1"
    first, second, *_ = (*nodes, "?", "?")
    return first, second


def failure_of(recorded: RecordedRun) -> str:
    """Which command ended before it measured anything, and why; empty for a run that measured something or is whole."""
    info = recorded.info
    measured = any(one.times_s and one.phase is not Phase.PILOT for one in recorded.measurements)
    measured = measured or any(one.times_s for one in recorded.group_measurements)
    if measured or info.ending is Ending.COMPLETE:
        return ""
    said = f"{info.kind.command} {_ENDED[info.ending]}"
    return f"{said}: {info.reason}" if info.reason and info.ending is not Ending.INTERRUPTED else said
