"""One trial: plant faults in a simulated fabric, let `seatrial check` run on it, and score its findings."""

import random
import resource
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from seatrial.commands.check.run import CheckOutcome, run_check
from seatrial.driver.clock import clock
from seatrial.driver.progress import Progress
from seatrial.fabric.parts import FabricParts
from seatrial.fabric.routes import Routes
from seatrial.lab.simulator.disturbances import SimulatedConditions, Stream, stream_seed
from seatrial.lab.simulator.faults import FaultSpec, SimulatedFault, draw_faults, random_faults
from seatrial.lab.simulator.launcher import SimulatedLauncher
from seatrial.lab.simulator.score import Namer, SimulatorScore, score
from seatrial.model.errors import ExitCode, UsageError
from seatrial.model.fabric import FabricMap
from seatrial.model.settings import CHECK_BUDGET_S, CheckSettings
from seatrial.model.verdict import Verdict


class TrialSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What all trials of a series have in common."""

    specs: tuple[FaultSpec, ...] = ()
    random_faults: int = 0
    """Faults of random kinds and losses besides (`faults.random_faults`)."""
    routed: bool = False
    """Whether the check knows the fabric's cables and routes."""
    design: str = "sparse"
    budget_s: float = CHECK_BUDGET_S
    ranks_per_node: tuple[int, ...] | None = None
    """Numbers of ranks per node, as in check --ranks-per-node."""
    conditions: SimulatedConditions = SimulatedConditions()
    command: tuple[str, ...] = ()


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What a trial took.

    `measurements`: one pair in one round each. `elapsed_s`: simulated seconds of all rounds; `node_s`: that times the
    nodes. `wall_s`: real seconds. `cpu_s`: processor seconds; of these, `simulated_s` only made up the measurements.
    `peak_bytes`: memory of this process until now.
    """

    measurements: int
    elapsed_s: float
    node_s: float
    wall_s: float
    cpu_s: float
    simulated_s: float
    peak_bytes: int


class FabricTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One trial: the verdict of the check, its score and its cost."""

    seed: int
    nodes: int
    verdict: Verdict
    exit_code: ExitCode
    score: SimulatorScore
    cost: Cost


class SimulatedFabric:
    """A map that is ready for trials: its routes and parts, made once."""

    def __init__(self, fabric: FabricMap) -> None:
        """Raises UsageError where the map has no two adapters on switches."""
        self.routes = Routes(fabric)
        self.parts = FabricParts(self.routes)
        if len(self.routes.adapters) < 2:
            raise UsageError("The fabric has fewer than two adapters on switches.", "Give a larger one by --topology.")

    def plant(self, settings: TrialSettings, seed: int) -> list[SimulatedFault]:
        """The faults of the trial `seed`: from a random stream that nothing else draws from."""
        draw = random.Random(stream_seed(seed, Stream.FAULTS))
        more = random_faults(self.parts, settings.random_faults, draw, routed=settings.routed)
        return draw_faults(self.parts, [*settings.specs, *more], draw)


def run_trial(
    fabric: SimulatedFabric,
    settings: TrialSettings,
    planted: Iterable[SimulatedFault],
    *,
    seed: int,
    archive: Path,
    run: str = "",
    progress: Progress | None = None,
) -> tuple[FabricTrial, CheckOutcome]:
    """Check the fabric with these faults; the run goes into `archive`.

    The budget counts simulated time: how fast this machine is changes no answer.
    """
    began, began_cpu = time.perf_counter(), time.process_time()
    faults = list(planted)
    launcher = SimulatedLauncher(fabric.routes, faults, seed, settings.conditions)
    wiring = launcher.wiring()
    check = CheckSettings(
        archive=archive,
        budget_s=settings.budget_s,
        design=settings.design,
        ranks_per_node=settings.ranks_per_node,
        run=run,
        seed=stream_seed(seed, Stream.DESIGN),
        command=settings.command,
    )
    real = clock.set(lambda: launcher.surroundings.elapsed_s)
    try:
        outcome = run_check(check, progress, launcher, wiring if settings.routed else None)
    finally:
        clock.reset(real)
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
    judgement = outcome.judgement
    nodes = len(outcome.recorded.info.nodes)
    elapsed_s = launcher.surroundings.elapsed_s
    measured = {one.pair for one in outcome.recorded.measurements}
    trial = FabricTrial(
        seed=seed,
        nodes=nodes,
        verdict=judgement.verdict,
        exit_code=judgement.exit_code,
        score=score(
            faults,
            judgement.findings,
            measured,
            Namer(launcher, fabric.parts, wiring, routed=settings.routed),
            ended_s=elapsed_s,
        ),
        cost=Cost(
            measurements=len(outcome.recorded.measurements),
            elapsed_s=elapsed_s,
            node_s=elapsed_s * nodes,
            wall_s=wall_s,
            cpu_s=cpu_s,
            simulated_s=launcher.spent_s,
            peak_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        ),
    )
    return trial, outcome
