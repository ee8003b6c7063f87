"""Slow pairs once more over each rail alone, where nodes have several and the MPI's setting for it is known."""

from collections.abc import Mapping, Sequence

from seatrial.driver.clock import monotonic_s
from seatrial.driver.measurer import Measurer
from seatrial.driver.progress import Progress
from seatrial.launch.contract import StartManner
from seatrial.launch.mpi import family_of
from seatrial.launch.rails import rail_manner
from seatrial.limits.rail_paths import rails_of, shared_rails
from seatrial.locate.evidence import Pair
from seatrial.model.errors import SeatrialError
from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import Phase, Round, Shape

REPETITIONS_A_TURN = 3
"""There and back: twice as many in all, six, the fewest whose interval holds with 95 %."""


def rail_manners(library: str, facts: Sequence[NodeFacts]) -> dict[str, StartManner]:
    """Rail -> how to start a probe that uses it alone; empty if nodes share fewer than two, or the way is unknown."""
    if len(facts) < 2:
        return {}
    rails = shared_rails(facts[0], facts[1]).rails
    for each in facts[2:]:
        here = {(rail.name, rail.kind) for rail in rails_of(each)}
        rails = tuple(rail for rail in rails if (rail.name, rail.kind) in here)
    manners = {rail.name: rail_manner(family_of(library), rail.kind, [rail.name]) for rail in rails}
    known = {rail: manner for rail, manner in manners.items() if manner is not None}
    return known if len(known) > 1 else {}


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
    progress.rounds(2 * len(manners) * REPETITIONS_A_TURN * len(pairs))
    for turn, order in enumerate((list(manners), list(manners)[::-1])):
        for rail in order:
            rounds = [
                Round(
                    phase=Phase.VARIANT,
                    repetition=turn * REPETITIONS_A_TURN + number,
                    shape=shape,
                    pairs=(pair,),
                    variant=rail,
                )
                for number in range(REPETITIONS_A_TURN)
                for pair in pairs
            ]
            if not _turn(measurer, manners[rail], rail, rounds, deadline):
                return


def _turn(measurer: Measurer, manner: StartManner, rail: str, rounds: Sequence[Round], deadline: float) -> bool:
    """False where continuing is pointless. A hang over one rail does not count as a hang of the pair."""
    hung, remarks = len(measurer.hung), len(measurer.remarks)
    try:
        measurer.begin(manner)
        in_time = measurer.run(rounds, deadline)
    except SeatrialError as error:
        measurer.remarks.append(f"Over {rail} alone nothing could be measured: {error.what}")
        return False
    if len(measurer.hung) == hung:
        return in_time
    del measurer.hung[hung:]
    measurer.remarks[remarks:] = [f"Over {rail} alone: {remark}" for remark in measurer.remarks[remarks:]]
    return False
