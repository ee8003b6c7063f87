"""Slow pairs once more over each rail alone, where nodes have several and the MPI's setting for it is known."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from seatrial.driver.clock import monotonic_s
from seatrial.driver.manners import rail_manners, run_in
from seatrial.driver.measurer import Measurer
from seatrial.driver.progress import Progress
from seatrial.experiment.controls import RETEST_RUNS, alternating, below, median_ratio, usual_of_rounds
from seatrial.locate.evidence import Pair, run_value
from seatrial.locate.explanation import PartSuspect
from seatrial.locate.thresholds import PEERS_FLOOR
from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import Estimate, Kernel, Measurement, Phase, Round, Shape
from seatrial.model.units import BANDWIDTH, bandwidth
from seatrial.model.verdict import Experiment, Finding
from seatrial.statistics.estimates import median_estimate


def measure_over_rails(
    measurer: Measurer,
    facts: Mapping[str, NodeFacts],
    pairs: Sequence[Pair],
    shape: Shape,
    progress: Progress,
    deadline: float,
) -> None:
    """Six runs of each pair over each rail, alternating direction; nothing where `deadline` is over or no rails are.

    Every node that takes part must have the rails, since the probe is started on all of them.
    """
    if not pairs or monotonic_s() > deadline:
        return
    known = [facts[node] for node in measurer.nodes if node in facts]
    manners = rail_manners(str(measurer.header.get("mpi_library", "")), known)
    if not manners or len(known) < len(measurer.nodes):
        return
    progress.stage(f"Measuring {len(pairs)} suspect pairs over {', '.join(manners)}, each alone")
    progress.rounds(len(manners) * RETEST_RUNS * len(pairs))
    half = RETEST_RUNS // 2
    for turn, rail in alternating(list(manners), 2):
        rounds = [
            Round(phase=Phase.VARIANT, repetition=number, shape=shape, pairs=(pair,), variant=rail)
            for number in range(turn * half, (turn + 1) * half)
            for pair in pairs
        ]
        if not run_in(measurer, manners[rail], rounds, deadline, f"Over {rail} alone"):
            return


PAIRS_OF_EACH = 2
"""Pairs of each suspect that are measured over each rail."""
MOST_PAIRS = 6

Runs = Mapping[str, Mapping[Pair, Mapping[int, float]]]
"""Bytes per second by rail, pair and repetition."""


def pairs_to_split(suspects: Iterable[PartSuspect]) -> tuple[Pair, ...]:
    """A few pairs of every suspect, partners as different as can be."""
    chosen: dict[Pair, None] = {}
    for suspect in suspects:
        fresh = {frozenset(pair): pair for pair in reversed(suspect.pairs)}
        for pair in sorted(fresh.values(), key=suspect.pairs.index)[:PAIRS_OF_EACH]:
            chosen.setdefault(pair)
    return tuple(chosen)[:MOST_PAIRS]


def told_by_rail(findings: Sequence[Finding], measurements: Iterable[Measurement]) -> list[Finding]:
    """The findings on bandwidth with what their pairs carry over each rail alone, where that was measured."""
    runs = _runs(measurements)
    return [_told(finding, runs) if finding.metric == BANDWIDTH else finding for finding in findings]


def _runs(measurements: Iterable[Measurement]) -> Runs:
    found: dict[str, dict[Pair, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for one in measurements:
        counts = one.shape.kernel is Kernel.ONEWAY and one.times_s and not one.errors
        if one.phase is Phase.VARIANT and counts and one.variant:
            found[one.variant][one.pair][one.repetition] = run_value(one)
    return found


def _told(finding: Finding, runs: Runs) -> Finding:
    named = ((source, target) for source, _, target in (text.partition(">") for text in finding.pairs))
    pairs = [pair for pair in named if all(pair in known for known in runs.values())]
    if len(runs) < 2 or not pairs:
        return finding
    series = {rail: usual_of_rounds([known[pair] for pair in pairs]) for rail, known in sorted(runs.items())}
    measured = {rail: median_estimate([*values.values()]) for rail, values in series.items()}
    order = sorted(measured, key=lambda rail: measured[rail].value)
    said = ", ".join(f"over {rail} alone {bandwidth(measured[rail].value)}" for rail in order)
    best = series[order[-1]]
    beside = {rail: [(rate, best[run]) for run, rate in series[rail].items() if run in best] for rail in order[:-1]}
    slow = [rail for rail, rates in beside.items() if below(median_ratio(rates), PEERS_FLOOR)]
    names = " and ".join(slow)
    told = f"It is the rail {names}" if slow else "No rail is slower than another"
    return msgspec.structs.replace(
        finding,
        statement=f"{finding.statement} {told}: {said}.",
        remedy=f"{finding.remedy} Begin with {names}." if slow else finding.remedy,
        experiments=(*finding.experiments, _experiment(measured, pairs, bool(slow))),
    )


def _experiment(measured: Mapping[str, Estimate], pairs: Sequence[Pair], confirmed: bool) -> Experiment:
    fewest = min(one.runs for one in measured.values())
    each = (
        f"{rail} {bandwidth(one.value)} [{bandwidth(one.low)}-{bandwidth(one.high)}]" for rail, one in measured.items()
    )
    return Experiment(
        description=(
            f"Measured {', '.join('>'.join(pair) for pair in pairs)} over each rail alone, {fewest} runs each, there "
            "and back in turn"
        ),
        outcome="; ".join(each),
        confirmed=confirmed,
    )
