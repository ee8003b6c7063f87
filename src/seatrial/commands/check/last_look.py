"""The last thing that a check measures: every node and uplink once more, both ways, as before.

A part may fall when all its pairs have been measured. A few of the rounds that showed it to be good, exactly as they
were, show whether anything changed since.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from seatrial.commands.check.next_experiments import next_bandwidth, next_latency
from seatrial.commands.check.retests import Growing, distinguish, retest
from seatrial.locate.evidence import AVERAGED, Pair
from seatrial.model.fabric import Component, Wiring
from seatrial.model.measurement import Kernel, Measurement, Phase, Round
from seatrial.model.subject import SubjectKind
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.pairs.survey import LATENCY as ROUND_TRIP

PARTS = (SubjectKind.NODE, SubjectKind.UPLINK)
"""What must be crossed again; to cross every single cable takes a whole survey."""
ROUND_TRIPS = 3
"""Rounds of each pair: where 1 % of packets is lost, 300 round trips lose none in 1 case of 20, and 100 in 1 of 3."""


def last_rounds(
    measurements: Iterable[Measurement], good: Mapping[str, Collection[Pair]], fabric: Wiring
) -> list[Round]:
    """Rounds of bandwidth and of round trips that cross all `PARTS` again, each direction at least once.

    Few, not the fewest: each next one crosses the most parts that none before it did. `measurements`: of the run until
    now. `good`: by metric, pairs that have passed, to which rounds are cut; what is bad already needs no other look. A
    pair whose bandwidth was good only with fewer pairs at once is measured again as it was then. Round trips are made
    several times: a packet in a hundred is seldom lost in one round.
    """
    measured = list(measurements)
    bandwidth = _fewest(_good_rounds(measured, Kernel.ONEWAY, good[BANDWIDTH]), fabric)
    latency = _fewest(_good_rounds(measured, Kernel.PINGPONG, good[LATENCY]), fabric)
    again = [replace(one, repetition=number) for number in range(ROUND_TRIPS) for one in latency]
    return [*bandwidth, *again]


def _fewest(rounds: Sequence[Round], fabric: Wiring) -> list[Round]:
    """A few of the rounds that cross all parts that they cross together."""
    crossed = [frozenset(_crossed(one, fabric)) for one in rounds]
    left = frozenset().union(*crossed)
    chosen = []
    while left:
        best = max(range(len(rounds)), key=lambda number: len(crossed[number] & left))
        chosen.append(rounds[best])
        left -= crossed[best]
    return chosen


def _crossed(one: Round, fabric: Wiring) -> Iterator[Component]:
    """The parts on the ways of a round's pairs; round trips go both ways."""
    back = (pair[::-1] for pair in one.pairs) if one.shape.kernel is Kernel.PINGPONG else ()
    for pair in (*one.pairs, *back):
        yield from (part for part in fabric.path(*pair) if part.kind in PARTS)


def _good_rounds(measurements: Sequence[Measurement], kernel: Kernel, good: Collection[Pair]) -> list[Round]:
    """The rounds before the retest, with those pairs of each that were measured with no fewer at once elsewhere."""
    wanted = frozenset(good)
    kept = [
        measured
        for measured in measurements
        if measured.phase in AVERAGED and measured.shape.kernel is kernel and measured.pair in wanted
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
    check.progress.stage("Measuring every node once more: nothing may have changed since")
    check.progress.rounds(len(rounds))
    check.measurer.begin()
    in_time = check.measurer.run(rounds, deadline)
    distinguish(check, next_bandwidth, check.shape, deadline, Phase.LAST)
    distinguish(check, next_latency, ROUND_TRIP, deadline, Phase.LAST)
    return retest(check, deadline, latency=True) and in_time
