"""What each node can do by itself: memory, arithmetic, noise and the scheduler, on all nodes at the same time."""

from collections.abc import Callable, Sequence
from functools import partial

from seatrial.archive.run_sets import StoredSet
from seatrial.archive.writer import RunWriter
from seatrial.commands.nodes.judge import NodesResult, judge_nodes
from seatrial.driver.clock import monotonic_s
from seatrial.driver.node_selection import allocation_s
from seatrial.driver.node_trials import NodeTrialRounds
from seatrial.driver.opening import all_nodes, find_hosts, open_run
from seatrial.driver.past import find_past, with_past
from seatrial.driver.progress import SILENT, Progress
from seatrial.driver.run import MeasuredRun, Run, describe
from seatrial.experiment.controls import RETEST_RUNS
from seatrial.model.run import Design
from seatrial.model.settings import NodesSettings
from seatrial.model.words import count
from seatrial.pairs.node_rounds import FULL, FULL_OF_SHARED


def run_nodes(settings: NodesSettings, progress: Progress = SILENT) -> MeasuredRun[NodesResult]:
    """Carry out `seatrial nodes`. Whatever ends it, the run is closed and keeps what was delivered.

    Raises UsageError, LaunchError, ArchiveError and other SeatrialErrors; KeyboardInterrupt only before the first
    measurement.
    """
    launcher, hosts = find_hosts(settings.site, progress)
    asked = describe(settings, launcher, hosts, all_nodes(hosts))
    past = find_past(settings, asked)
    opening = open_run(settings, settings.site, launcher, hosts, all_nodes(hosts), fewest=1)
    frame = opening.frame(progress, fewest=1)
    work = NodesRun(settings, frame, partial(_keep_past, opening.writer, past) if past else None)
    folder = frame.carry_out(lambda: work.measure(opening.nodes, opening.hosts.asleep))
    recorded = frame.recorded()
    return MeasuredRun(folder=folder, recorded=recorded, result=judge_nodes(recorded))


def _keep_past(writer: RunWriter, past: StoredSet, frame: Run) -> None:
    """Keep in the run what it is compared with."""
    measurer = frame.measurer
    writer.describe(with_past(writer.info, past, measurer.nodes, frame.facts, measurer.remarks.append))


class NodesRun:
    """The work inside a run."""

    def __init__(self, settings: NodesSettings, frame: Run, keep_past: Callable[[Run], None] | None = None) -> None:
        """`keep_past`: called with the frame as soon as it has its nodes and their facts."""
        self._keep_past = keep_past
        self._frame = frame
        self._settings = settings
        self._rounds = NodeTrialRounds(frame, settings.trials, FULL, FULL_OF_SHARED, storage=settings.storage)

    def measure(self, nodes: Sequence[str], asleep: Sequence[str]) -> str:
        """Get the nodes, start the probe on all cores, carry out the trials; a remark for the report, or nothing."""
        frame, budget_s, repetitions = self._frame, self._frame.settings.budget_s, self._settings.repetitions
        measured = frame.get_nodes(nodes, allocation_s(budget_s), asleep)
        if self._keep_past is not None:
            self._keep_past(frame)
        self._rounds.start(measured)
        rounds = self._rounds.rounds(range(repetitions))
        number = len(self._rounds.places)
        frame.designed(self._design(len(rounds)))
        frame.progress.stage(f"Measuring {', '.join(self._settings.trials)} of {count(number, 'node')}")
        deadline = monotonic_s() + budget_s
        done = self._rounds.carry_out(rounds, deadline)
        if done < len(rounds):
            return f"The budget of {budget_s:.0f} s was spent after {done} of {count(len(rounds), 'round')}."
        if repetitions > 1 and not self._rounds.retest(repetitions, deadline):
            return f"The budget of {budget_s:.0f} s was spent before nodes out of line were measured again."
        return ""

    def _design(self, rounds: int) -> Design:
        repetitions = self._settings.repetitions
        return self._rounds.design(
            "nodes",
            f"each by itself, {repetitions} times; nodes that were out of line {RETEST_RUNS} times more, beside "
            f"others. Links between nodes are not measured. {self._rounds.storage_said}".rstrip(),
            repetitions=repetitions,
            rounds=rounds,
        )
