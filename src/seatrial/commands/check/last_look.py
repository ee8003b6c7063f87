"""The last thing that a check measures: every node and uplink once more, both ways, as before.

A part may fall when all its pairs have been measured. A few of the rounds that showed it to be good, exactly as they
were, show whether anything changed since.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from seatrial.commands.check.next_experiments import next_bandwidth
from seatrial.commands.check.retests import Growing, distinguish, retest
from seatrial.locate.evidence import AVERAGED, Pair
from seatrial.model.fabric import Wiring
from seatrial.model.measurement import Kernel, Measurement, Phase, Round
from seatrial.model.subject import SubjectKind
from seatrial.pairs.survey import bandwidth_shape

PARTS = (SubjectKind.NODE, SubjectKind.UPLINK)
"""What must be crossed again; to cross every single cable takes a whole survey."""


def last_rounds(measurements: Iterable[Measurement], good: Collection[Pair], fabric: Wiring) -> list[Round]:
    """Rounds of bandwidth that cross all `PARTS` again, each direction at least once.

    Few, not the fewest: each next one crosses the most parts that none before it did. `measurements`: of the run until
    now. `good`: pairs that have passed, to which rounds are cut; what is slow already needs no other look. A pair that
    was good only with fewer pairs at once is measured again as it was then.
    """
    rounds = _good_rounds(measurements, good)
    crossed = [
        frozenset(part for pair in one.pairs for part in fabric.path(*pair) if part.kind in PARTS) for one in rounds
    ]
    left = frozenset().union(*crossed)
    chosen = []
    while left:
        best = max(range(len(rounds)), key=lambda number: len(crossed[number] & left))
        chosen.append(rounds[best])
        left -= crossed[best]
    return chosen


def _good_rounds(measurements: Iterable[Measurement], good: Collection[Pair]) -> list[Round]:
    """The rounds before the retest, with those pairs of each that were measured with no fewer at once elsewhere."""
    wanted = frozenset(good)
    kept = [
        measured
        for measured in measurements
        if measured.phase in AVERAGED and measured.shape.kernel is Kernel.ONEWAY and measured.pair in wanted
    ]
    fewest: dict[Pair, int] = {}
    for measured in kept:
        fewest[measured.pair] = min(measured.pairs_at_once, fewest.get(measured.pair, measured.pairs_at_once))
    together: defaultdict[float | None, list[Measurement]] = defaultdict(list)
    for measured in kept:
        if measured.pairs_at_once == fewest[measured.pair]:
            together[measured.at_s].append(measured)
    return [
        Round(phase=Phase.LAST, repetition=0, shape=alike[0].shape, pairs=tuple(measured.pair for measured in alike))
        for alike in together.values()
    ]


def look_once_more(check: Growing, rounds: Sequence[Round], deadline: float) -> bool:
    """Every node and uplink once more; what turned out slow since is distinguished and measured again as before."""
    if not rounds:
        return True
    _, _, before = check.assessor.assess(check.recorded())
    check.progress.stage("Measuring every node once more: nothing may have changed since")
    check.progress.rounds(len(rounds))
    check.measurer.begin()
    in_time = check.measurer.run(rounds, deadline)
    distinguish(check, next_bandwidth, bandwidth_shape(check.measurer.window_s), deadline, Phase.LAST)
    retested = {(suspect.subject, suspect.direction) for suspect in before.suspects}
    return retest(check, deadline, retested, latency=True) and in_time
