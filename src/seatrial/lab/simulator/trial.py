"""One trial: plant faults in a simulated fabric, let `seatrial check` run on it, score it; and totals."""

import math
import random
import resource
import time
from collections.abc import Callable, Iterable, Sequence
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
from seatrial.lab.simulator.score import LOSS_CLASSES, Match, Namer, ScoredFault, SimulatorScore, Truth, score
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


Z = 1.959964
"""Quantile of the normal distribution for 95 %."""


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """`hits` of `count`; `ratio` is 1 where there are none. `low` to `high`: the 95 % interval by Wilson's method."""

    hits: int
    count: int
    ratio: float
    low: float
    high: float


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """All trials. Means of the cost are a trial's; `cpu_s_max` and `peak_bytes` are the largest.

    `cpu_s`: processor seconds without those that made measurements up, which a real fabric does by itself.
    """

    trials: int
    right: int
    verdicts: dict[str, int]
    false_pass: int
    """Trials with a fault that was missed although the check reports PASS."""
    recall: Share
    recall_by_kind: dict[str, Share]
    recall_by_loss: dict[str, Share]
    precision: Share
    """Findings that are not false, of all findings."""
    partial: int
    """Findings on a pair or cable that is slow only because of a planted larger fault."""
    mean_set: float
    """Subjects that a true finding names or leaves open; 1 for a single name."""
    unseen: int
    measurements: float
    node_s: float
    wall_s: float
    cpu_s: float
    cpu_s_max: float
    peak_bytes: int


def wilson(hits: int, count: int) -> Share:
    """A share with its 95 % interval (Wilson, J. Am. Stat. Assoc. 22, 1927); 0 to 1 where nothing was counted."""
    if not count:
        return Share(hits=0, count=0, ratio=1.0, low=0.0, high=1.0)
    ratio, square = hits / count, Z**2 / count
    centre = (ratio + square / 2) / (1 + square)
    half = math.sqrt(ratio * (1 - ratio) * square + square**2 / 4) / (1 + square)
    return Share(
        hits=hits,
        count=count,
        ratio=ratio,
        low=0.0 if hits == 0 else max(centre - half, 0.0),
        high=1.0 if hits == count else min(centre + half, 1.0),
    )


def totals(trials: Sequence[FabricTrial]) -> Totals:
    """Sums and means; every fault and every finding counts the same."""
    faults = [fault for one in trials for fault in one.score.faults if fault.match is not Match.UNSEEN]
    claims = [claim for one in trials for claim in one.score.claims]
    sets = [1 + len(claim.ambiguous_with) for claim in claims if claim.truth is Truth.TRUE]
    verdicts = [one.verdict.value for one in trials]
    count = max(len(trials), 1)
    return Totals(
        trials=len(trials),
        right=sum(one.score.right for one in trials),
        verdicts={verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))},
        false_pass=sum(
            one.verdict == "PASS" and any(fault.match is Match.MISSED for fault in one.score.faults) for one in trials
        ),
        recall=_recall(faults),
        recall_by_kind=_by(faults, sorted({fault.kind.value for fault in faults}), lambda fault: fault.kind.value),
        recall_by_loss=_by(faults, [name for _, name in LOSS_CLASSES], lambda fault: fault.loss_class),
        precision=wilson(sum(claim.truth is not Truth.FALSE for claim in claims), len(claims)),
        partial=sum(claim.truth is Truth.PARTIAL for claim in claims),
        mean_set=sum(sets) / len(sets) if sets else 1.0,
        unseen=sum(fault.match is Match.UNSEEN for one in trials for fault in one.score.faults),
        measurements=sum(one.cost.measurements for one in trials) / count,
        node_s=sum(one.cost.node_s for one in trials) / count,
        wall_s=sum(one.cost.wall_s for one in trials) / count,
        cpu_s=sum(map(_cpu_s, trials)) / count,
        cpu_s_max=max(map(_cpu_s, trials), default=0.0),
        peak_bytes=max((one.cost.peak_bytes for one in trials), default=0),
    )


def _cpu_s(trial: FabricTrial) -> float:
    return trial.cost.cpu_s - trial.cost.simulated_s


def _by(faults: Sequence[ScoredFault], names: Iterable[str], name_of: Callable[[ScoredFault], str]) -> dict[str, Share]:
    groups = {name: [fault for fault in faults if name_of(fault) == name] for name in names}
    return {name: _recall(group) for name, group in groups.items() if group}


def _recall(faults: Sequence[ScoredFault]) -> Share:
    return wilson(sum(fault.match is not Match.MISSED for fault in faults), len(faults))
