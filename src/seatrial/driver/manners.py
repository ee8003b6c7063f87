"""Parts of a run under another manner of starting the probe: over one rail alone, or with several ranks per node."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from seatrial.archive.journal import RoundStarted
from seatrial.archive.reader import read_entries
from seatrial.driver.clock import monotonic_s
from seatrial.driver.measurer import Measurer
from seatrial.driver.progress import Progress
from seatrial.launch.contract import StartManner
from seatrial.launch.mpi import family_of
from seatrial.launch.rails import rail_manner
from seatrial.limits.rail_paths import rails_of, shared_rails
from seatrial.model.errors import JobOver, SeatrialError, UsageError
from seatrial.model.facts import NodeFacts
from seatrial.model.judgement import ranks_of, variant_of
from seatrial.model.measurement import Kernel, Phase, Round, node_of
from seatrial.model.settings import CheckSettings
from seatrial.model.words import count
from seatrial.pairs.rank_pairs import doubling, place_pairs
from seatrial.pairs.survey import bandwidth_shape, thinned


def run_in(measurer: Measurer, manner: StartManner, rounds: Sequence[Round], deadline: float, how: str) -> bool:
    """Measure the rounds in that manner; False where continuing is pointless. `how` begins a remark: `Over eth1 alone`.

    A pair that hangs in that manner does not count as a pair that hangs.
    """
    hung, remarks = len(measurer.hung), len(measurer.remarks)
    try:
        measurer.begin(manner)
        in_time = measurer.run(rounds, deadline)
    except JobOver:  # not for the manner, and nothing else can be measured either
        raise
    except SeatrialError as error:
        measurer.remarks.append(f"{how} nothing could be measured: {error.what}")
        return False
    if len(measurer.hung) == hung:
        return in_time
    del measurer.hung[hung:]
    measurer.remarks[remarks:] = [f"{how}: {remark}" for remark in measurer.remarks[remarks:]]
    return False


def rail_manners(library: str, facts: Sequence[NodeFacts]) -> dict[str, StartManner]:
    """Rail -> how to start a probe that uses it alone; empty if nodes share fewer than two, or the way is unknown."""
    if len(facts) < 2:
        return {}
    rails = shared_rails(facts[0], facts[1]).rails
    for node in facts[2:]:
        names = {(rail.name, rail.kind) for rail in rails_of(node)}
        rails = tuple(rail for rail in rails if (rail.name, rail.kind) in names)
    manners = {rail.name: rail_manner(family_of(library), rail.kind, [rail.name]) for rail in rails}
    possible = {rail: manner for rail, manner in manners.items() if manner is not None}
    return possible if len(possible) > 1 else {}


def rank_counts_of(asked: Sequence[int], facts: Mapping[str, NodeFacts]) -> tuple[int, ...]:
    """Numbers of ranks per node, rising; 1 is always among them. `asked`: none for 1, 2, 4, ... up to all cores.

    Raises UsageError for more than a node has cores.
    """
    cores, node = min(((known.cores, name) for name, known in facts.items() if known.cores), default=(None, ""))
    if not asked:
        return doubling(cores or 1)
    if cores is not None and max(asked) > cores:
        raise UsageError(f"--ranks-per-node {max(asked)}: {node} has {cores} cores.", f"Give at most {cores}.")
    return tuple(sorted({1, *asked}))


def with_rank_counts(settings: CheckSettings, facts: Mapping[str, NodeFacts]) -> CheckSettings:
    """The settings with the numbers of ranks per node that these nodes can have, if --ranks-per-node asks for any.

    Raises UsageError where nodes are ranks themselves, and for more ranks than a node has cores.
    """
    if settings.ranks_per_node is None:
        return settings
    if any(node_of(name) != name for name in facts):
        raise UsageError("--ranks-per-node needs nodes, and these are ranks of one machine.", "Use Slurm or --hosts.")
    return replace(settings, ranks_per_node=rank_counts_of(settings.ranks_per_node, facts))


def spectrum_rounds(survey: Iterable[Round], counts: Iterable[int], window_s: float) -> tuple[Round, ...]:
    """The first repetition of a survey with each of these numbers of ranks per node, rank i with rank i of the partner.

    `window_s`: seconds of a window of one rank, which is multiplied where ranks share a port.
    """
    first = [one for one in survey if one.repetition == 0]
    pairs = sum(len(one.pairs) for one in first)
    return tuple(
        Round(
            phase=Phase.SATURATION,
            repetition=0,
            shape=thinned(
                bandwidth_shape(ranks * window_s) if one.shape.kernel is Kernel.ONEWAY else one.shape, ranks * pairs
            ),
            pairs=tuple(places for pair in one.pairs for places in place_pairs(pair, ranks)),
            variant=variant_of(ranks),
        )
        for ranks in counts
        if ranks > 1
        for one in first
    )


def measure_spectra(
    measurer: Measurer, settings: CheckSettings, survey: Iterable[Round], progress: Progress, deadline: float
) -> bool:
    """Measure the survey with several ranks per node, as the settings ask; False where `deadline` (monotonic_s) came.

    A replay plays what was recorded. What could not be measured is a remark.
    """
    if settings.replay:
        rounds = [one.round for one in read_entries(settings.replay) if isinstance(one, RoundStarted)]
        chosen = tuple(one for one in rounds if one.phase is Phase.SATURATION)
    else:
        chosen = spectrum_rounds(survey, settings.ranks_per_node or (), measurer.window_s)
    for variant in dict.fromkeys(one.variant for one in chosen):
        ranks, own = ranks_of(variant), [one for one in chosen if one.variant == variant]
        how = f"With {count(ranks, 'rank')} per node"
        if monotonic_s() > deadline:
            measurer.remarks.append(f"{how} nothing was measured: the budget was spent.")
            return False
        progress.stage(f"Measuring the pairs with {count(ranks, 'rank')} per node")
        progress.rounds(len(own))
        if not run_in(measurer, StartManner(ranks_per_node=ranks), own, deadline, how):
            return monotonic_s() <= deadline
    return True
