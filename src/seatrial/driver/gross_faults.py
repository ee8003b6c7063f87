"""Which parts of a cluster show gross faults so far: packet loss, hangs, windows of several times the usual length."""

from collections import Counter, defaultdict

from seatrial.locate.evidence import stalls_of
from seatrial.model.fabric import Wiring
from seatrial.model.loss import CapCause
from seatrial.model.measurement import Kernel, Measurement, Phase
from seatrial.model.subject import Direction
from seatrial.statistics.estimates import median

Pair = tuple[str, str]
Part = tuple[str, str]
"""Kind and name."""
Way = tuple[Kernel, Direction, Part]
"""One part as one kernel crosses it; round trips cross both directions."""

SLOWDOWN = 5.0
"""A pair whose fastest window takes this many times the usual is grossly slow."""
GOOD_SLOWDOWN = 3.0
"""A pair whose median window takes less than this many times the usual is good, as far as gross faults go."""
LEAST_STALLS = 2
"""Stalls in one round that count as packet loss. A single one may be a passing stall of a busy machine."""
LEAST_TRIPS = 40
"""Round trips without a stall that count as good; fewer may miss a loss of 5 % by chance."""
LUCK = 3
"""Good rounds clear a part of suspicion unless it has this many times as many gross ones."""
SEEN = 2
"""Rounds across a part that must show loss, or a hang, before it is called that."""
LEARNING_WINDOWS = 64
"""Rounds from which the usual time of a window is estimated; it is fixed afterwards."""
COUNTED = (Phase.PILOT, Phase.SURVEY, Phase.NEXT, Phase.RETEST, Phase.LAST)


class GrossFaults:
    """The gross faults of one run as it grows.

    Every round of a pair is good, gross, or neither, for each part that it crosses. Good rounds clear these parts.
    Where many pairs are measured at once a slow one may share a cable with others, so that it accuses nobody.
    """

    def __init__(self, fabric: Wiring) -> None:
        self._fabric = fabric
        self._usual_s_per_byte = 0.0
        self._learnt: list[float] = []
        """The median window of each round, seconds per byte."""
        self._seen: list[Measurement | tuple[Pair, Kernel]] = []
        """All that was taken; a pair and a kernel is a hang."""
        self.any = False
        """Whether any part is accused. Until then nothing is counted, which would take long on large clusters, where
        pairs that share a cable are grossly slow and accuse nobody."""
        self._reset()

    def _reset(self) -> None:
        self._counted = 0
        self._pace_s: dict[Kernel, float] = {}
        self._pairs: defaultdict[Part, set[frozenset[str]]] = defaultdict(set)
        self._suspected: set[Part] = set()
        self._causes: defaultdict[Part, Counter[CapCause]] = defaultdict(Counter)
        self._hung: set[Way] = set()
        self._gross: Counter[Way] = Counter()
        self._good: Counter[Way] = Counter()
        self._bad_pairs: set[frozenset[str]] = set()

    def take(self, one: Measurement) -> None:
        """Take in what one pair delivered in one round."""
        if one.phase not in COUNTED or not one.times_s:
            return
        self._seen.append(one)
        if one.shape.kernel is Kernel.ONEWAY and len(self._learnt) < LEARNING_WINDOWS:
            self._learn(one)
        elif not self.any:
            self.any = _accuses(one, self._cause(one))
        if self.any:
            self._count_new()

    def hang(self, pair: Pair, kernel: Kernel) -> None:
        """Take in a pair that did not answer."""
        self._seen.append((pair, kernel))
        self.any = True
        self._count_new()

    def _learn(self, one: Measurement) -> None:
        """Refine the usual time of a window; what was seen before is counted again by it."""
        self._learnt.append(_s_per_byte(one, median(one.times_s)))
        self._usual_s_per_byte = sorted(self._learnt)[len(self._learnt) // 4]
        self._reset()
        self.any = any(not isinstance(each, Measurement) or _accuses(each, self._cause(each)) for each in self._seen)

    def _count_new(self) -> None:
        for each in self._seen[self._counted :]:
            if isinstance(each, Measurement):
                self._count(each)
            else:
                self._accuse(*each, CapCause.HANG)
        self._counted = len(self._seen)

    def is_good(self, one: Measurement) -> bool:
        """Whether a round shows no gross fault, and had iterations enough to show it."""
        if one.shape.kernel is Kernel.PINGPONG:
            return not _stalls(one) and len(one.times_s) + len(one.warmup_times_s) >= LEAST_TRIPS
        times = sorted((*one.times_s, *one.warmup_times_s))
        typical_s = times[len(times) // 2]  # of two windows the slower: where packets are lost, one may have luck
        return _s_per_byte(one, typical_s) < GOOD_SLOWDOWN * self._usual_s_per_byte

    def pace_s(self, kernel: Kernel) -> float | None:
        """The longest mean time of an iteration in a gross round; None where there was none."""
        return self._pace_s.get(kernel)

    def suspected(self, part: Part) -> bool:
        """Whether anything was grossly wrong with a pair across the part, the pilot's included."""
        return part in self._suspected

    def pairs_of(self, part: Part) -> set[frozenset[str]]:
        """The gross pairs across a part, whatever is wrong with them; those of the pilot alone are not yet evidence."""
        return self._pairs.get(part, set())

    def convicted(self, way: Way) -> bool:
        """Whether rounds that went this way were gross and none good, except by luck where packets are lost."""
        lossy = self.cause_of(way[2]) is CapCause.LOSS
        return bool(self._gross[way]) and (not self._good[way] or (lossy and not self.acquitted(way)))

    def acquitted(self, way: Way) -> bool:
        """Whether rounds that went this way were good, and not by luck alone."""
        return LUCK * self._good[way] > self._gross[way]

    def hung(self, way: Way) -> bool:
        """Whether a pair that went this way hung, and none was good."""
        return way in self._hung and not self._good[way]

    def bad_pair(self, pair: Pair) -> bool:
        """Whether the pair itself was bad in its last round that shows anything."""
        return frozenset(pair) in self._bad_pairs

    def cause_of(self, part: Part) -> CapCause:
        """What is wrong with it. Loss and hangs make windows slow, too, so they come first."""
        seen = self._causes[part]
        return next((one for one in (CapCause.LOSS, CapCause.HANG) if seen[one] >= SEEN), CapCause.SLOW)

    def ways(self, pair: Pair, kernel: Kernel) -> list[Way]:
        """The parts that a pair crosses."""
        both = kernel is not Kernel.ONEWAY
        return [
            (kernel, Direction.BOTH if both else part.direction, (part.kind, part.name))
            for part in self._fabric.path(*pair)
        ]

    def _count(self, one: Measurement) -> None:
        kernel = one.shape.kernel
        cause = self._cause(one)
        if cause is not None:
            times = (*one.warmup_times_s, *one.times_s)
            self._pace_s[kernel] = max(self._pace_s.get(kernel, 0.0), sum(times) / len(times))
            if _accuses(one, cause):
                self._accuse(one.pair, kernel, cause, evident=one.phase is not Phase.PILOT)
            else:
                self._gross.update(self.ways(one.pair, kernel))
        elif self.is_good(one):
            self._bad_pairs.discard(frozenset(one.pair))
            self._good.update(self.ways(one.pair, kernel))

    def _cause(self, one: Measurement) -> CapCause | None:
        if one.shape.kernel is Kernel.PINGPONG:
            return CapCause.LOSS if _stalls(one) >= LEAST_STALLS else None
        fastest_s = min((*one.times_s, *one.warmup_times_s))
        return CapCause.SLOW if _s_per_byte(one, fastest_s) > SLOWDOWN * self._usual_s_per_byte > 0 else None

    def _accuse(self, pair: Pair, kernel: Kernel, cause: CapCause, *, evident: bool = True) -> None:
        """Count against every part of the pair. A hang does so both ways: nobody knows which message was lost."""
        self._bad_pairs.add(frozenset(pair))
        hangs = cause is CapCause.HANG
        for way in dict.fromkeys((*self.ways(pair, kernel), *(self.ways(pair[::-1], kernel) if hangs else ()))):
            self._suspected.add(way[2])
            if evident:
                self._gross[way] += 1
                self._pairs[way[2]].add(frozenset(pair))
                self._causes[way[2]][cause] += 1
            if hangs:
                self._hung.add(way)


def _accuses(one: Measurement, cause: CapCause | None) -> bool:
    """Whether a round is evidence against the parts that its pair crosses. `cause`: what is wrong with it."""
    return cause is CapCause.LOSS or (cause is not None and one.pairs_at_once == 1)


def _s_per_byte(one: Measurement, window_s: float) -> float:
    return window_s / max(one.shape.message_bytes * one.shape.window, 1)


def _stalls(one: Measurement) -> int:
    return stalls_of(one, (*one.warmup_times_s, *one.times_s))
