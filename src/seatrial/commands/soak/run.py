"""All kernels in turn on all nodes, again and again for some minutes: what fails or fades only under load."""

from pathlib import Path

import msgspec

from seatrial.archive.writer import RunWriter
from seatrial.commands.soak.judge import SoakResult, judge_soak
from seatrial.driver.clock import monotonic_s
from seatrial.driver.node_selection import allocation_s, within_node_hours
from seatrial.driver.node_trials import NodeTrialRounds
from seatrial.driver.progress import Progress, Silent
from seatrial.driver.run import Run, describe
from seatrial.driver.site import choose_launcher
from seatrial.launch.contract import Hosts
from seatrial.model.errors import SeatrialError
from seatrial.model.measurement import Kernel, Phase, Round, Shape
from seatrial.model.run import Design, RecordedRun
from seatrial.model.settings import SoakSettings
from seatrial.model.words import count
from seatrial.pairs.node_rounds import LOAD, LOAD_OF_SHARED
from seatrial.pairs.rounds import circle_round, turns

LATENCY = Shape(kernel=Kernel.PINGPONG, message_bytes=8, window=1, warmup=10, iterations=200)
BANDWIDTH = Shape(kernel=Kernel.ONEWAY, message_bytes=1 << 20, window=4, warmup=1, iterations=6)


class SoakOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The run's folder, what is in it, and the judgement."""

    folder: Path
    recorded: RecordedRun
    result: SoakResult


def run_soak(settings: SoakSettings, progress: Progress | None = None) -> SoakOutcome:
    """Carry out `seatrial soak`. Whatever ends it, the run is closed and keeps what was delivered.

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
    settings = msgspec.structs.replace(settings, site=site)
    writer = RunWriter(site.archive, describe(settings, launcher, hosts, nodes))
    frame = Run(site, launcher, writer, progress, nodes=nodes, left_out=hosts.left_out, fewest=1)
    frame.note_cut(cut)
    soak = SoakRun(settings, frame)
    folder = frame.carry_out(lambda: soak.measure(hosts, nodes))
    recorded = frame.recorded()
    return SoakOutcome(folder=folder, recorded=recorded, result=judge_soak(recorded))


class SoakRun:
    """The work inside a run."""

    def __init__(self, settings: SoakSettings, frame: Run) -> None:
        self._frame = frame
        self._settings = settings
        self._rounds = NodeTrialRounds(frame, settings.trials, LOAD, LOAD_OF_SHARED)

    def measure(self, hosts: Hosts, nodes: tuple[str, ...]) -> str:
        """Get the nodes, start the probe on all cores, and repeat the cycle until the time is over."""
        frame, budget_s = self._frame, self._frame.settings.budget_s
        waking = f"; Slurm wakes {', '.join(hosts.asleep)}" if hosts.asleep else ""
        frame.progress.stage(f"Waiting for {count(len(nodes), 'node')}{waking}")
        granted = frame.allocate(nodes, allocation_s(budget_s))
        frame.progress.stage(f"Reading the facts of {count(len(granted), 'node')}")
        frame.inspect(granted)
        self._rounds.start(granted)
        frame.designed(self._design())
        deadline = monotonic_s() + budget_s
        cycle = 0
        while monotonic_s() < deadline:
            frame.progress.stage(f"Cycle {cycle + 1} on {count(len(self._rounds.places), 'node')}; Ctrl-C ends it")
            self._rounds.carry_out(self._rounds.rounds([cycle]), deadline)
            pairs = self._pairs(cycle)
            frame.progress.rounds(len(pairs))
            frame.measurer.run(pairs, deadline)
            cycle += 1
        return ""

    def _pairs(self, cycle: int) -> tuple[Round, ...]:
        """Latency and bandwidth of a matching of the nodes that still answer, another one in each cycle."""
        lost = self._frame.measurer.lost
        firsts = [places.cores[0] for places in self._rounds.places if places.node not in lost]
        if len(firsts) < 2:
            return ()
        pairs = circle_round(firsts, cycle % turns(len(firsts)))
        sets = [(pair,) for pair in pairs] if self._rounds.shared else [tuple(pairs)]
        return tuple(
            Round(phase=Phase.SOAK, repetition=cycle, shape=shape, pairs=together)
            for shape in (LATENCY, BANDWIDTH)
            for together in sets
        )

    def _design(self) -> Design:
        how = "one node after the other" if self._rounds.shared else "all nodes at the same time"
        return Design(
            name="soak",
            pairs_at_once=1 if self._rounds.shared else len(self._rounds.places) // 2,
            repetitions=0,
            rounds=0,
            ordered_pairs=0,
            planned_pairs=0,
            statement=(
                f"{', '.join(self._settings.trials)} of {count(len(self._rounds.places), 'node')}, {how}, and the "
                f"links between them in pairs, in cycles for {self._frame.settings.budget_s / 60:g} minutes."
            ),
        )
