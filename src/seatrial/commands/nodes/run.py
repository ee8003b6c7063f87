"""What each node can do by itself: memory, arithmetic, noise and the scheduler, on all nodes at the same time."""

from pathlib import Path

import msgspec

from seatrial.archive.writer import RunWriter
from seatrial.commands.nodes.judge import NodesResult, judge_nodes
from seatrial.commands.nodes.places import NodePlaces, places_of, ranks_needed
from seatrial.commands.nodes.rounds import rounds_of
from seatrial.drift.peer_groups import one_kernel
from seatrial.driver.clock import monotonic_s
from seatrial.driver.group_rounds import measure_groups, node_of
from seatrial.driver.node_selection import allocation_s, within_node_hours
from seatrial.driver.progress import Progress, Silent
from seatrial.driver.run import Run, describe
from seatrial.driver.site import choose_launcher
from seatrial.launch.contract import Hosts, Manner
from seatrial.model.errors import SeatrialError
from seatrial.model.run import Design, RecordedRun
from seatrial.model.settings import NodesSettings
from seatrial.model.words import count

SHARED = "These nodes share one kernel and its cores, so they were measured one after the other."


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

    def measure(self, hosts: Hosts, nodes: tuple[str, ...]) -> str:
        """Get the nodes, start the probe on all cores, carry out the trials; a remark for the report, or nothing."""
        frame, budget_s = self.frame, self.frame.settings.budget_s
        waking = f"; Slurm wakes {', '.join(hosts.asleep)}" if hosts.asleep else ""
        frame.progress.stage(f"Waiting for {count(len(nodes), 'node')}{waking}")
        granted = frame.allocate(nodes, allocation_s(budget_s))
        frame.progress.stage(f"Reading the facts of {count(len(granted), 'node')}")
        frame.inspect(granted)
        places = self._start(granted)
        shared = one_kernel({node_of(name): facts for name, facts in frame.facts.items()}.values())
        if shared and len(places) > 1:
            frame.measurer.remarks.append(SHARED)
        rounds = rounds_of(
            self._settings.trials, places, self._settings.repetitions, at_once=not shared or len(places) == 1
        )
        frame.designed(self._design(len(places), len(rounds), shared))
        frame.progress.stage(f"Measuring {', '.join(self._settings.trials)} of {count(len(places), 'node')}")
        frame.progress.rounds(len(rounds))
        deadline = monotonic_s() + budget_s
        for done, wanted in enumerate(rounds):
            if monotonic_s() > deadline:
                frame.progress.advance(len(rounds) - done)
                return f"The budget of {budget_s:.0f} s was spent after {done} of {len(rounds)} rounds."
            measure_groups(frame.measurer, wanted)
            frame.progress.advance()
        return ""

    def _start(self, granted: tuple[str, ...]) -> tuple[NodePlaces, ...]:
        """Start the probe with one rank for each core; where nodes are places of this machine, these are the ranks."""
        frame = self.frame
        by_places = all(node_of(name) != name for name in granted)
        ranks_per_node = 1 if by_places else ranks_needed(frame.facts)
        frame.progress.stage(
            f"Starting the probe, {count(len(granted) if by_places else ranks_per_node, 'rank')} on each node"
        )
        session = frame.measurer.begin(Manner(ranks_per_node=ranks_per_node))
        return places_of(session.nodes, session.ranks, frame.facts)

    def _design(self, nodes: int, rounds: int, shared: bool) -> Design:
        how = "one node after the other" if shared and nodes > 1 else "all nodes at the same time"
        return Design(
            name="nodes",
            pairs_at_once=0,
            repetitions=self._settings.repetitions,
            rounds=rounds,
            ordered_pairs=0,
            planned_pairs=0,
            statement=(
                f"{', '.join(self._settings.trials)} of {count(nodes, 'node')}, {how}, each by itself, "
                f"{self._settings.repetitions} times. Links between nodes are not measured."
            ),
        )
