"""Latency and bandwidth of one pair over message sizes, and a closer look at every step that may be a switch."""

from seatrial.commands.link.curve.judge import LinkCurve, fit_latency, judge_curve, runs_by_size
from seatrial.driver.clock import monotonic_s
from seatrial.driver.progress import SILENT, Progress
from seatrial.driver.run import MeasuredRun
from seatrial.driver.two_nodes import TwoNodes, run_two_nodes
from seatrial.experiment.controls import RETEST_RUNS
from seatrial.model.measurement import Kernel
from seatrial.model.settings import CurveSettings
from seatrial.model.words import count, verb
from seatrial.pairs.sizes import Pace, between, closer_rounds, curve_rounds, geometric_sizes, repetitions_within

GRID_SHARE = 0.7
"""Share of the budget; the rest is for the closer look."""
MOST_STEPS = 10
"""Halvings of the gap around a switch; from half an octave to 2 % it takes 5."""


def run_curve(settings: CurveSettings, progress: Progress = SILENT) -> MeasuredRun[LinkCurve]:
    """Carry out `seatrial link`; errors as of run_two_nodes."""
    return run_two_nodes(settings, lambda trial: _carry_out(trial, settings), judge_curve, progress)


def _carry_out(trial: TwoNodes, settings: CurveSettings) -> str:
    budget_s = trial.settings.budget_s
    trial.begin()
    trial.start()
    deadline = monotonic_s() + budget_s
    pace = trial.pilot(settings.most_bytes)
    sizes = geometric_sizes(settings.most_bytes, settings.per_octave)
    repetitions = repetitions_within(sizes, pace, GRID_SHARE * budget_s)
    rounds = curve_rounds(trial.pair, sizes, repetitions, pace, trial.seed)
    trial.plan(
        "curve",
        len(rounds),
        repetitions,
        f"{len(sizes)} message sizes from 1 to {settings.most_bytes} B, latency and bandwidth, in {repetitions} rounds "
        "each in random order; then sizes in between to locate possible protocol switches, and more runs where in "
        "doubt. One pair, one direction: other pairs may differ.",
    )
    trial.progress.stage(f"Measuring {len(sizes)} message sizes from {trial.pair[0]} to {trial.pair[1]}")
    whole = trial.measure(rounds, deadline)
    unplaced = _look_closer(trial, repetitions, pace, deadline) if whole else 0
    if whole and not unplaced:
        _settle(trial, repetitions, pace, deadline)
    trial.look_at_default()
    if not whole:
        return trial.spent(f"before all sizes were measured {repetitions} times")
    steps = f"{count(unplaced, 'step')} {verb(unplaced, 'was', 'were')}"
    return trial.spent(f"before {steps} placed to within 2 %") if unplaced else ""


def _look_closer(trial: TwoNodes, repetitions: int, pace: Pace, deadline: float) -> int:
    """Halve the gap around every step until its place is known; returns how many are still unknown.

    Whether a step is a protocol switch is decided at the end, by resampling, with these sizes too.
    """
    trial.progress.stage("Looking closer at possible protocol switches")
    open_sizes: list[int] = []
    for _ in range(MOST_STEPS):
        fitted = fit_latency(trial.measurer.measurements, trial.pair, trial.seed, resamples=0)
        gaps = [between(one.last_bytes, one.first_bytes) for one in (fitted.unclear if fitted else ())]
        open_sizes = [size for size in gaps if size is not None]
        if not open_sizes:
            break
        rounds = closer_rounds(trial.pair, open_sizes, repetitions, pace, trial.seed)
        if not trial.measure(rounds, deadline):
            break
    return len(open_sizes)


def _settle(trial: TwoNodes, repetitions: int, pace: Pace, deadline: float) -> None:
    """Measure all latencies some more times, once, where resampling neither confirms nor refutes a step."""
    fitted = fit_latency(trial.measurer.measurements, trial.pair, trial.seed)
    if fitted is None or not fitted.doubtful:
        return
    trial.progress.stage(f"Measuring latencies {RETEST_RUNS} more times, to confirm or refute a protocol switch")
    sizes = [*runs_by_size(trial.measurer.measurements, trial.pair, Kernel.PINGPONG)]
    trial.measure(closer_rounds(trial.pair, sizes, RETEST_RUNS, pace, trial.seed, first=repetitions), deadline)
