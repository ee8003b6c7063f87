"""One, two, four, ... ranks of a node sending to as many of another, all at once."""

import sys

from seatrial.commands.link.saturate.judge import Saturation, judge_saturation
from seatrial.driver.clock import monotonic_s
from seatrial.driver.manners import rank_counts_of
from seatrial.driver.progress import SILENT, Progress
from seatrial.driver.run import MeasuredRun
from seatrial.driver.two_nodes import TwoNodes, run_two_nodes
from seatrial.experiment.controls import RETEST_RUNS
from seatrial.locate.evidence import run_value
from seatrial.model.measurement import Kernel, Phase, Round, Shape
from seatrial.model.settings import PAIR_BUDGET_S, SaturateSettings
from seatrial.pairs.rank_pairs import LATENCY_BYTES, SIZES, place_pairs, repetitions_within, saturation_rounds
from seatrial.pairs.sizes import FEWEST_REPETITIONS, Pace
from seatrial.pairs.survey import BANDWIDTH


def run_saturate(settings: SaturateSettings, progress: Progress = SILENT) -> MeasuredRun[Saturation]:
    """Carry out `seatrial link --ranks-per-node`; errors as of run_two_nodes."""
    return run_two_nodes(settings, lambda trial: _carry_out(trial, settings), judge_saturation, progress)


def _carry_out(trial: TwoNodes, settings: SaturateSettings) -> str:
    budget_s = trial.settings.budget_s
    trial.begin()
    counts = rank_counts_of(settings.ranks, trial.facts)
    trial.start(counts[-1])
    deadline = monotonic_s() + budget_s
    pace = _pilot(trial)
    most = RETEST_RUNS if budget_s <= PAIR_BUDGET_S else sys.maxsize
    repetitions = repetitions_within(counts, pace, budget_s, most, FEWEST_REPETITIONS)
    rounds = saturation_rounds(trial.pair, counts, repetitions, pace, trial.seed)
    numbers = ", ".join(map(str, counts))
    trial.plan(
        "saturation",
        len(rounds),
        repetitions,
        f"{numbers} ranks of each node at once, {len(SIZES)} message sizes, in {repetitions} rounds each in random "
        "order. The launcher chooses the cores of the ranks.",
        pairs_at_once=counts[-1],
    )
    trial.progress.stage(f"Measuring {numbers} ranks of {trial.pair[0]} with as many of {trial.pair[1]}")
    whole = trial.measure(rounds, deadline)
    return "" if whole else trial.spent(f"before all was measured {repetitions} times")


def _pilot(trial: TwoNodes) -> Pace:
    """One rank's pace; without results of the pilot, the default is used."""
    pairs = place_pairs(trial.pair, 1)
    small = Shape(kernel=Kernel.PINGPONG, message_bytes=LATENCY_BYTES, window=1, warmup=5, iterations=10)
    large = Shape(kernel=Kernel.ONEWAY, message_bytes=SIZES[-1], window=BANDWIDTH.window, warmup=1, iterations=2)
    for shape in (small, large):
        trial.measurer.measure(Round(phase=Phase.PILOT, repetition=0, shape=shape, pairs=pairs))
    values = [run_value(one) for one in trial.measurer.measurements if one.times_s]
    if len(values) < 2:
        return Pace()
    pace = Pace(latency_s=values[0], bytes_per_s=values[1])
    trial.measurer.window_s = BANDWIDTH.window * SIZES[-1] / pace.bytes_per_s
    return pace
