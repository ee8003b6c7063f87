"""All kernels in turn on all nodes, again and again for some minutes: what fails or fades only under load."""

from collections.abc import Container

import msgspec

from seatrial.archive.journal import GROUPS, PAIRS, StoredMeasurements
from seatrial.commands.soak.judge import SoakResult, judge_soak
from seatrial.driver.clock import monotonic_s
from seatrial.driver.node_selection import allocation_s
from seatrial.driver.node_trials import NodeTrialRounds
from seatrial.driver.progress import SILENT, Progress
from seatrial.driver.run import MeasuredRun, Opening, Run, all_nodes, find_hosts, open_run
from seatrial.model.measurement import Kernel, Phase, Round, Shape
from seatrial.model.settings import SoakSettings
from seatrial.model.words import count
from seatrial.pairs.node_rounds import LOAD, LOAD_OF_SHARED
from seatrial.pairs.rounds import circle_round, turns

LATENCY = Shape(kernel=Kernel.PINGPONG, message_bytes=8, window=1, warmup=10, iterations=200)
BANDWIDTH = Shape(kernel=Kernel.ONEWAY, message_bytes=1 << 20, window=4, warmup=1, iterations=6)


def run_soak(settings: SoakSettings, progress: Progress = SILENT) -> MeasuredRun[SoakResult]:
    """Carry out `seatrial nodes --for`. Whatever ends it, the run is closed and keeps what was delivered.

    Raises UsageError, LaunchError, ArchiveError and other SeatrialErrors; KeyboardInterrupt only before the first
    measurement.
    """
    launcher, hosts = find_hosts(settings.site, progress)
    opening = open_run(settings, settings.site, launcher, hosts, all_nodes(hosts), fewest=1)
    frame = opening.frame(progress, fewest=1)
    folder = frame.carry_out(lambda: _measure(settings, frame, opening))
    recorded = msgspec.structs.replace(
        frame.recorded(),
        measurements=StoredMeasurements(folder, PAIRS),
        group_measurements=StoredMeasurements(folder, GROUPS),
    )
    return MeasuredRun(folder=folder, recorded=recorded, result=judge_soak(recorded))


def _measure(settings: SoakSettings, frame: Run, opening: Opening) -> str:
    """Get the nodes, start the probe on all cores, and repeat the cycle until the time is over."""
    budget_s = frame.settings.budget_s
    trials = NodeTrialRounds(frame, settings.trials, LOAD, LOAD_OF_SHARED)
    trials.start(frame.get_nodes(opening.nodes, allocation_s(budget_s), opening.hosts.asleep))
    frame.designed(
        trials.design(
            "soak",
            f"and the links between them in pairs, in cycles for {budget_s / 60:g} minutes.",
            pairs_at_once=1 if trials.shared else len(trials.places) // 2,
        )
    )
    deadline = monotonic_s() + budget_s
    cycle = 0
    while monotonic_s() < deadline:
        frame.progress.stage(f"Cycle {cycle + 1} on {count(len(trials.places), 'node')}; Ctrl-C ends it")
        trials.carry_out(trials.rounds([cycle]), deadline)
        pairs = _pairs(trials, frame.measurer.lost, cycle)
        frame.progress.rounds(len(pairs))
        frame.measurer.run(pairs, deadline)
        frame.measurer.forget()
        cycle += 1
    return ""


def _pairs(trials: NodeTrialRounds, lost: Container[str], cycle: int) -> tuple[Round, ...]:
    """Latency and bandwidth of a matching of the nodes that still answer, another one in each cycle."""
    firsts = [places.cores[0] for places in trials.places if places.node not in lost]
    if len(firsts) < 2:
        return ()
    pairs = circle_round(firsts, cycle % turns(len(firsts)))
    sets = [(pair,) for pair in pairs] if trials.shared else [tuple(pairs)]
    return tuple(
        Round(phase=Phase.SOAK, repetition=cycle, shape=shape, pairs=together)
        for shape in (LATENCY, BANDWIDTH)
        for together in sets
    )
