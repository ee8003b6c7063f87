"""The quick trials of nodes at the end of a check: the node whose link is good and whose memory is not."""

from seatrial.archive.reader import read_info
from seatrial.driver.clock import monotonic_s
from seatrial.driver.node_trials import NodeTrialRounds
from seatrial.driver.run import Run
from seatrial.model.errors import LaunchError
from seatrial.model.measurement import node_of
from seatrial.model.settings import CheckSettings
from seatrial.model.words import count
from seatrial.pairs.node_rounds import QUICK, QUICK_TRIALS, SHORT
from seatrial.statistics.estimates import FEWEST_ALIKE

REPETITIONS, REPETITIONS_OF_SHARED = 3, 2
AT_ONCE_S = 15.0
"""Longest time for the trials of all nodes at once."""
ONE_NODE_S, LEAST_S = 2.5, 10.0
"""Time for each node if nodes share cores and are measured one after the other, and the least time for all."""


def try_nodes(frame: Run, settings: CheckSettings, deadline: float) -> None:
    """Quick trials of all nodes that still answer, until `deadline` (monotonic_s) at most.

    What could not be tried is a remark and makes the check neither incomplete nor wrong.
    """
    nodes = frame.measurer.nodes
    if not settings.node_trials or settings.answer_s is not None or _left_out(settings):
        return
    if len({node_of(name) for name in nodes}) < FEWEST_ALIKE:
        return  # none could be compared
    remarks = frame.measurer.remarks
    if monotonic_s() > deadline:
        remarks.append("The nodes themselves were not tried: the budget was spent.")
        return
    trials = NodeTrialRounds(frame, QUICK_TRIALS, QUICK, SHORT, settings.storage)
    try:
        trials.start(nodes)
    except LaunchError as error:
        remarks.append(f"The nodes themselves were not tried: {error.what}")
        return
    frame.progress.stage(
        f"Trying memory, arithmetic, noise, scheduler and storage of {count(len(trials.places), 'node')}"
    )
    repetitions = REPETITIONS_OF_SHARED if trials.shared else REPETITIONS
    rounds = trials.rounds(range(repetitions))
    longest_s = max(ONE_NODE_S * len(trials.places), LEAST_S) if trials.shared else AT_ONCE_S
    done = trials.carry_out(rounds, min(monotonic_s() + longest_s, deadline))
    if done < len(rounds):
        remarks.append(
            f"The trials of the nodes themselves were cut off after {done} of {count(len(rounds), 'round')}, to save "
            "time: `seatrial nodes` does all of them."
        )
    if not trials.retest(repetitions, deadline):  # a suspicion withholds PASS: what is left of the budget decides it
        remarks.append("Not all nodes out of line could be tried again: `seatrial nodes` has more time.")


def _left_out(settings: CheckSettings) -> bool:
    """Whether the recording that is replayed has no trials."""
    if settings.replay is None:
        return False
    recorded = read_info(settings.replay).settings
    return not (isinstance(recorded, CheckSettings) and recorded.node_trials)
