"""What each node can do by itself: memory, arithmetic, noise and the scheduler, on all nodes at the same time."""

from pathlib import Path

import msgspec

from seatrial.archive.writer import RunWriter
from seatrial.commands.nodes.judge import NodesResult, judge_nodes
from seatrial.driver.clock import monotonic_s
from seatrial.driver.node_selection import allocation_s, within_node_hours
from seatrial.driver.node_trials import RETESTS, NodeTrialRounds
from seatrial.driver.progress import Progress, Silent
from seatrial.driver.run import Run, describe
from seatrial.driver.site import choose_launcher
from seatrial.launch.contract import Hosts
from seatrial.model.errors import SeatrialError
from seatrial.model.run import Design, RecordedRun
from seatrial.model.settings import NodesSettings
from seatrial.model.words import count


class NodesOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The run's folder, what is in it, and the judgement."""

    folder: Path
    recorded: RecordedRun
    result: NodesResult


def run_nodes(settings: NodesSettings, progress: Progress | None = None) -> NodesOutcome:
    """Carry out `seatrial nodes`. Whatever ends it, the run is closed and keeps what was delivered.

    Raises UsageError, LaunchError, ArchiveError and other SeatrialErrors; KeyboardInterrupt only before the first
    measurement.
    """
    progress = progress or Silent()
    progress.stage("Looking for nodes, preparing the probe")
    site = settings.site
    launcher = choose_launcher(site)
    hosts = launcher.hosts()
    if not hosts.nodes:
        raise SeatrialError("No node can be measured.", "`seatrial doctor` shows what is wrong with each.")
    site, hosts, nodes, cut = within_node_hours(site, hosts, hosts.nodes, job=launcher.job, fewest=1)
    writer = RunWriter(site.archive, describe(msgspec.structs.replace(settings, site=site), launcher, hosts, nodes))
    run = NodesRun(settings, Run(site, launcher, writer, progress, nodes=nodes, left_out=hosts.left_out, fewest=1))
    run.frame.note_cut(cut)
    folder = run.frame.carry_out(lambda: run.measure(hosts, nodes))
    recorded = run.frame.recorded()
    return NodesOutcome(folder=folder, recorded=recorded, result=judge_nodes(recorded))


class NodesRun:
    """The work inside a run."""

    def __init__(self, settings: NodesSettings, frame: Run) -> None:
        self.frame = frame
        self._settings = settings
        self._rounds = NodeTrialRounds(frame, settings.trials)

    def measure(self, hosts: Hosts, nodes: tuple[str, ...]) -> str:
        """Get the nodes, start the probe on all cores, carry out the trials; a remark for the report, or nothing."""
        frame, budget_s, repetitions = self.frame, self.frame.settings.budget_s, self._settings.repetitions
        waking = f"; Slurm wakes {', '.join(hosts.asleep)}" if hosts.asleep else ""
        frame.progress.stage(f"Waiting for {count(len(nodes), 'node')}{waking}")
        granted = frame.allocate(nodes, allocation_s(budget_s))
        frame.progress.stage(f"Reading the facts of {count(len(granted), 'node')}")
        frame.inspect(granted)
        self._rounds.start(granted)
        rounds = self._rounds.rounds(range(repetitions))
        number = len(self._rounds.places)
        frame.designed(self._design(number, len(rounds)))
        frame.progress.stage(f"Measuring {', '.join(self._settings.trials)} of {count(number, 'node')}")
        deadline = monotonic_s() + budget_s
        done = self._rounds.carry_out(rounds, deadline)
        if done < len(rounds):
            return f"The budget of {budget_s:.0f} s was spent after {done} of {len(rounds)} rounds."
        if repetitions > 1 and not self._rounds.retest(repetitions, lambda _nodes: deadline):
            return f"The budget of {budget_s:.0f} s was spent before nodes out of line were measured again."
        return ""

    def _design(self, nodes: int, rounds: int) -> Design:
        how = "one node after the other" if self._rounds.shared else "all nodes at the same time"
        return Design(
            name="nodes",
            pairs_at_once=0,
            repetitions=self._settings.repetitions,
            rounds=rounds,
            ordered_pairs=0,
            planned_pairs=0,
            statement=(
                f"{', '.join(self._settings.trials)} of {count(nodes, 'node')}, {how}, each by itself, "
                f"{self._settings.repetitions} times; nodes that were out of line {RETESTS} times more, beside others. "
                "Links between nodes are not measured."
            ),
        )
