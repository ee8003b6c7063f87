"""`link --rails`: one pair over each of its rails alone and over all of them, alternating from launch to launch."""

from collections.abc import Iterable

from seatrial.commands.link.curve.rails.judge import RailComparison, judge_rails
from seatrial.driver.clock import monotonic_s
from seatrial.driver.measurer import Measurer
from seatrial.driver.progress import SILENT, Progress
from seatrial.driver.run import MeasuredRun
from seatrial.driver.two_nodes import TwoNodes, choose_rails, manners_of, run_two_nodes
from seatrial.experiment.controls import alternating
from seatrial.launch.contract import StartManner
from seatrial.model.errors import LaunchError
from seatrial.model.measurement import Round
from seatrial.model.settings import RailsSettings
from seatrial.pairs.rank_pairs import RailDesign, rail_design, rail_rounds, rail_variants


def run_rails(settings: RailsSettings, progress: Progress = SILENT) -> MeasuredRun[RailComparison]:
    """Carry out `seatrial link --rails`; errors as of run_two_nodes."""
    return run_two_nodes(settings, lambda trial: _carry_out(trial, settings), judge_rails, progress)


def _carry_out(trial: TwoNodes, settings: RailsSettings) -> str:
    budget_s = trial.settings.budget_s
    trial.begin()
    rails, remark = choose_rails(trial, settings.rails)
    variants = rail_variants([rail.name for rail in rails])
    began = monotonic_s()
    trial.start()
    start_s = monotonic_s() - began
    manners = manners_of(str(trial.measurer.header.get("mpi_library", "")), rails, variants)
    deadline = monotonic_s() + budget_s
    pace = trial.pilot(settings.most_bytes, len(rails))
    design = rail_design(
        settings.most_bytes, settings.per_octave, len(variants), pace, start_s=start_s, budget_s=budget_s
    )
    sizes = sorted({shape.message_bytes for shape in design.shapes})
    trial.plan(
        "rails",
        len(variants) * design.repetitions * len(design.shapes),
        design.repetitions,
        f"{len(sizes)} message sizes from {sizes[0]} to {sizes[-1]} B over {', '.join(variants)}, each "
        f"{design.repetitions} times in launches of its own, in alternating order. One pair, one direction: to find "
        "which end of a slow rail is at fault, measure each with a third node.",
        variants=tuple(variants),
    )
    trial.progress.stage(f"Measuring {', '.join(variants)} in turn, from {trial.pair[0]} to {trial.pair[1]}")
    failed = _take_turns(trial, design, manners, deadline)
    late = [trial.spent(f"before all was measured {design.repetitions} times")] if monotonic_s() > deadline else []
    return " ".join((*remark, *failed, *late))


def _take_turns(trial: TwoNodes, design: RailDesign, manners: dict[str, StartManner], deadline: float) -> list[str]:
    """All variants, alternating, until `deadline` (monotonic_s); a sentence for each that failed.

    One that cannot be started, or hangs, is given up without stopping the others.
    """
    failed: dict[str, str] = {}
    trial.progress.rounds(len(manners) * design.repetitions)
    for repetition, variant in alternating(tuple(manners), design.repetitions):
        if monotonic_s() > deadline:
            break
        if variant not in failed:
            rounds = rail_rounds(trial.pair, design, variant, repetition, trial.seed)
            if why := _failure(trial.measurer, manners[variant], rounds, deadline):
                failed[variant] = why
        trial.progress.advance()
    return [f"With only {variant} in its settings the probe failed: {why}" for variant, why in failed.items()]


def _failure(measurer: Measurer, manner: StartManner, rounds: Iterable[Round], deadline: float) -> str:
    """Measure the rounds in that manner; why it failed, or nothing."""
    hung = len(measurer.hung)
    try:
        measurer.begin(manner)
    except LaunchError as error:
        return error.what
    for one in rounds:
        if monotonic_s() > deadline:
            break
        measurer.measure(one)
        if len(measurer.hung) > hung:
            # it is this rail that does not answer: the pair does over others
            del measurer.hung[hung:]
            return measurer.remarks.pop()
    return ""
