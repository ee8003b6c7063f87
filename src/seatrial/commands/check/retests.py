"""Suspects measured again alone, and the pairs that distinguish them: what decides on every finding of a number."""

import math
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from msgspec.structs import replace

from seatrial.commands.check.assessment import Assessor
from seatrial.commands.check.next_experiments import (
    OF_STARTS,
    USUAL_SIZE,
    crowded,
    due,
    next_bandwidth,
    next_latency,
    not_seen,
    plan_retest,
    still_crowded,
)
from seatrial.commands.check.suspects import Suspicion
from seatrial.driver.measurer import Measurer
from seatrial.driver.progress import Progress
from seatrial.locate.evidence import AVERAGED, Pair
from seatrial.locate.explanation import PartSuspect, nodes_of
from seatrial.model.fabric import Component, Wiring
from seatrial.model.measurement import Kernel, Measurement, Phase, Round, Shape
from seatrial.model.run import RecordedRun
from seatrial.model.subject import SubjectKind
from seatrial.model.units import BANDWIDTH, LATENCY
from seatrial.model.words import count
from seatrial.pairs.leaf_matchings import apart, cables_known
from seatrial.pairs.survey import BANDWIDTH_ROUND_S, MOST_PAIRS, PILOT, PROGRAM, SurveyPlan
from seatrial.pairs.survey import LATENCY as ROUND_TRIP

NEXT_STEPS = 3
"""How often pairs are chosen from the results of the last ones, and parts measured for which a retest had no room."""
MORE_LOOKS = 2
"""How often a part is measured again whose runs lie on both sides of the line, or beside other jobs' traffic."""


class Growing(Protocol):
    """A check in progress, as far as the stages after the survey need it."""

    measurer: Measurer
    assessor: Assessor
    progress: Progress

    @property
    def shape(self) -> Shape:
        """How bandwidth is measured in a round."""

    @property
    def seed(self) -> int:
        """The seed of the order of the pairs."""

    @property
    def wiring(self) -> Wiring | None:
        """Cables, where they are known."""

    def recorded(self) -> RecordedRun:
        """What was measured until now."""


def distinguish(
    check: Growing,
    choose: Callable[..., list[tuple[str, str]]],
    shape: Shape,
    deadline: float,
    phase: Phase = Phase.NEXT,
) -> int:
    """Measure pairs that distinguish suspects, each once and alone, while there are any; returns how many."""
    asked: list[tuple[str, str]] = []
    for step in range(NEXT_STEPS):
        evidence, references, suspicion = check.assessor.assess(check.recorded())
        seed = check.seed + step
        hung = {name for pair in check.measurer.hung for name in pair}
        nodes = tuple(node for node in check.measurer.nodes if node not in hung)
        pairs = choose(evidence, references.fabric, suspicion, nodes, asked=asked, seed=seed)
        if not pairs:
            break
        asked += pairs
        check.progress.stage(f"Measuring {count(len(pairs), 'pair')} alone to distinguish suspects")
        check.progress.rounds(len(pairs))
        rounds = [Round(phase=phase, repetition=step, shape=shape, pairs=(pair,)) for pair in pairs]
        if not check.measurer.run(rounds, deadline):
            break
    return len(asked)


def retest(check: Growing, deadline: float, *, latency: bool = False) -> bool:
    """A few pairs of every suspect; then, of suspects that this refuted, pairs that may be bad by themselves.

    Suspects that were measured again before are left out, unless the last look gave them bad pairs. `latency`: also
    where only bandwidth is suspected, since it shows packet loss. Returns False where the deadline came first.
    """
    evidence, _, first = check.assessor.assess(check.recorded())
    suspects = due(evidence, first)
    if not suspects and not first.unproved:
        return True
    bandwidth = bool(first.slow or first.unstable or first.too_fast)
    late = any(evidence[pair].late_trips for suspect in suspects for pair in suspect.pairs)
    latency = latency or late or bool(first.late or first.lossy)
    in_time = not suspects or _measure_again(check, suspects, first, bandwidth, latency, deadline)
    _, _, then = check.assessor.assess(check.recorded())
    if then.unproved:
        rates, lates = (any(one.refuted for one in judged.values()) for judged in (then.bandwidth, then.latency))
        in_time = _measure_again(check, then.unproved, then, rates, lates, deadline) and in_time
    for _ in range(NEXT_STEPS):
        evidence, _, then = check.assessor.assess(check.recorded())
        unseen = not_seen(evidence, then)
        if not unseen or not in_time:
            break
        in_time = _measure_again(check, unseen, then, True, False, deadline)
    for _ in range(MORE_LOOKS):
        _, _, then = check.assessor.assess(check.recorded())
        if not then.open or not in_time:
            break
        in_time = _measure_again(check, then.open, then, True, False, deadline)
    return in_time


def retest_late(check: Growing, deadline: float) -> bool:
    """Once more those that the last pairs left late or lossy: one measurement alone is not proof."""
    _, _, suspicion = check.assessor.assess(check.recorded())
    suspects = (*suspicion.late, *suspicion.lossy)
    return not suspects or _measure_again(check, suspects, suspicion, False, True, deadline)


def _measure_again(
    check: Growing,
    suspects: Sequence[PartSuspect],
    suspicion: Suspicion,
    bandwidth: bool,
    latency: bool,
    deadline: float,
) -> bool:
    program = check.shape == PROGRAM
    shapes = [check.shape] if bandwidth else []
    shapes += [ROUND_TRIP] if latency and not program else []
    size = OF_STARTS if program else USUAL_SIZE
    leaf_of = check.wiring.leaf_of if check.wiring is not None else None
    clear = [*suspicion.clear(), *suspicion.quiet()]
    rounds = plan_retest(
        suspects,
        suspicion.good(),
        shapes,
        check.seed,
        clear=clear,
        leaf_of=leaf_of,
        near=suspicion.without_stalls.fabric.leaf_of,
        lossy=suspicion.lossy,
        size=size,
    )
    check.progress.stage(f"Measuring {len({one.pairs for one in rounds})} suspect and control pairs again, alone")
    check.progress.rounds(len(rounds))
    return check.measurer.run(rounds, deadline)


FEWER = 8
"""One of this many pairs at once remains in the next attempt to measure slow ones without contention."""
HELPS = 0.8
"""The next attempt is made while at most this share of the slow pairs stays slow: what stays is not contention."""
MOST_PASSING = 2000
"""If all cables are known, none of our pairs shares one with what stays slow; traffic of other jobs may, and it passes.
The attempts go on while any of them recovers, in at most this many rounds each: a retest takes far longer."""
MOST_ATTEMPTS = 8
"""Attempts in all. The last ones are of one pair at a time, while traffic passes."""


def measure_without_contention(check: Growing, plan: SurveyPlan, deadline: float) -> None:
    """Slow pairs again in rounds of which no two pairs share a known cable, or leave or enter the same leaf.

    Many pairs at once share cables: what is slow may be no fault. Repeat with fewer at once while that helps.
    """
    shape = next((one.shape for one in plan.rounds if one.shape.kernel is Kernel.ONEWAY), PILOT)
    draw = random.Random(check.seed)
    at_once, before, step = FEWER * plan.design.pairs_at_once, math.inf, 0
    while at_once > 1 or (plan.separate and step < MOST_ATTEMPTS):
        evidence, references, suspicion = check.assessor.assess(check.recorded())
        accused = step > 0 or plan.separate
        pairs = still_crowded(evidence, suspicion, references.fabric) if accused else crowded(evidence, suspicion)
        passing = plan.separate or cables_known(pairs, references.fabric)
        recovered = len(pairs) < before if passing else len(pairs) <= HELPS * before
        if len(pairs) <= MOST_PAIRS or not recovered:
            return
        before, step = len(pairs), step + 1
        draw.shuffle(pairs)
        at_once = max(at_once // FEWER, 1)
        if plan.separate:
            rounds_wanted = MOST_PASSING if step == 1 else MOST_PASSING // 2
            at_once = max(at_once if step > 1 else 1, math.ceil(len(pairs) / rounds_wanted))
        found = apart(pairs, references.fabric, at_once)
        if step > 1 and len(found) > MOST_PASSING:
            return
        at_once = min(at_once, max(map(len, found)))
        check.progress.stage(f"Measuring {len(pairs)} slow pairs again, up to {at_once} at once")
        check.progress.rounds(len(found))
        rounds = [Round(phase=Phase.NEXT, repetition=step, shape=shape, pairs=tuple(one)) for one in found]
        if not check.measurer.run(rounds, deadline):
            return


PARTS = (SubjectKind.NODE, SubjectKind.UPLINK)
"""What must be crossed again; to cross every single cable takes a whole survey."""
ROUND_TRIPS = 3
"""Rounds of each pair: where 1 % of packets is lost, 300 round trips lose none in 1 case of 20, and 100 in 1 of 3."""
LAST_ROUND_S = 2 * BANDWIDTH_ROUND_S
"""Kept free of the budget for each round of the last look."""


def last_look_s(nodes: int, pairs_at_once: int) -> float:
    """About how long the last look takes: each node sends and receives once, and answers `ROUND_TRIPS` times."""
    return LAST_ROUND_S * math.ceil((1 + ROUND_TRIPS / 2) * nodes / max(pairs_at_once, 1))


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
    bandwidth = _fewest(measured, Kernel.ONEWAY, good[BANDWIDTH], fabric)
    latency = _fewest(measured, Kernel.PINGPONG, good[LATENCY], fabric)
    again = [replace(one, repetition=number) for number in range(ROUND_TRIPS) for one in latency]
    return [*bandwidth, *again]


def _fewest(measured: Sequence[Measurement], kernel: Kernel, good: Collection[Pair], fabric: Wiring) -> list[Round]:
    """A few of the good rounds that cross all parts which they cross together, and no good round crossed since."""
    rounds = _good_rounds(measured, kernel, good)
    crossed = [frozenset(_crossed(one.pairs, kernel, fabric)) for one in rounds]
    last = (one.pair for one in measured if one.phase is Phase.LAST and one.shape.kernel is kernel)
    left = frozenset().union(*crossed).difference(_crossed([pair for pair in last if pair in good], kernel, fabric))
    chosen = []
    while left:
        best = max(range(len(rounds)), key=lambda number: len(crossed[number] & left))
        chosen.append(rounds[best])
        left -= crossed[best]
    return chosen


def _crossed(pairs: Sequence[Pair], kernel: Kernel, fabric: Wiring) -> Iterator[Component]:
    """The parts on the ways of the pairs of a round; round trips go both ways."""
    back = (pair[::-1] for pair in pairs) if kernel is Kernel.PINGPONG else ()
    for pair in (*pairs, *back):
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


def look_once_more(check: Growing, rounds: Sequence[Round], deadline: float, *, again: bool = True) -> bool:
    """Every node and uplink once more; what turned out slow since is distinguished and measured again as before.

    `again`: then those parts that this showed only beside a node that loses packets, which excuses the bandwidth of its
    pairs, with other partners.
    """
    in_time = True
    for look in range(MORE_LOOKS if rounds else 0):
        check.progress.stage("Measuring every node once more: nothing may have changed since")
        check.progress.rounds(len(rounds))
        if look == 0:
            check.measurer.begin()
        in_time = check.measurer.run(rounds, deadline)
        distinguish(check, next_bandwidth, check.shape, deadline, Phase.LAST)
        distinguish(check, next_latency, ROUND_TRIP, deadline, Phase.LAST)
        in_time = retest(check, deadline, latency=True) and in_time
        _, references, suspicion = check.assessor.assess(check.recorded())
        if not again or not in_time or not suspicion.lossy:
            break
        suspected = {name for one in suspicion.suspects for name in nodes_of(one)}
        good = {metric: {*filter(suspected.isdisjoint, pairs)} for metric, pairs in suspicion.passed().items()}
        rounds = last_rounds(check.measurer.measurements, good, references.fabric)
        if not rounds:
            break
    return in_time
