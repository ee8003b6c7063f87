"""What each node can do by itself: memory, arithmetic, noise and the scheduler, on all nodes at the same time."""

from seatrial.archive.run_sets import StoredSet
from seatrial.commands.nodes.judge import NodesResult, judge_nodes
from seatrial.driver.clock import monotonic_s
from seatrial.driver.node_selection import allocation_s
from seatrial.driver.node_trials import NodeTrialRounds
from seatrial.driver.past import find_past, with_past
from seatrial.driver.progress import SILENT, Progress
from seatrial.driver.run import MeasuredRun, Opening, Run, all_nodes, describe, find_hosts, open_run
from seatrial.experiment.controls import RETEST_RUNS
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
    folder = frame.carry_out(lambda: _measure(settings, frame, opening, past))
    recorded = frame.recorded()
    return MeasuredRun(folder=folder, recorded=recorded, result=judge_nodes(recorded))


def _measure(settings: NodesSettings, frame: Run, opening: Opening, past: StoredSet | None) -> str:
    """Get the nodes, start the probe on all cores, carry out the trials; a remark for the report, or nothing.

    `past`: what the run is compared with, which it keeps as soon as it has its nodes and their facts.
    """
    budget_s, repetitions = frame.settings.budget_s, settings.repetitions
    writer, measurer = opening.writer, frame.measurer
    trials = NodeTrialRounds(frame, settings.trials, FULL, FULL_OF_SHARED, storage=settings.storage)
    measured = frame.get_nodes(opening.nodes, allocation_s(budget_s), opening.hosts.asleep)
    if past is not None:
        writer.describe(with_past(writer.info, past, measurer.nodes, frame.facts, measurer.remarks.append))
    trials.start(measured)
    rounds = trials.rounds(range(repetitions))
    frame.designed(
        trials.design(
            "nodes",
            f"each by itself, {repetitions} times; nodes that were out of line {RETEST_RUNS} times more, beside "
            f"others. Links between nodes are not measured. {trials.storage_said}".rstrip(),
            repetitions=repetitions,
            rounds=len(rounds),
        )
    )
    frame.progress.stage(f"Measuring {', '.join(settings.trials)} of {count(len(trials.places), 'node')}")
    deadline = monotonic_s() + budget_s
    done = trials.carry_out(rounds, deadline)
    if done < len(rounds):
        return frame.spent(f"after {done} of {count(len(rounds), 'round')}")
    if repetitions > 1 and not trials.retest(repetitions, deadline):
        return frame.spent("before nodes out of line were measured again")
    return ""
