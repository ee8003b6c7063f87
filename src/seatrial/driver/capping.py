"""Caps: pairs across a part that loses packets, hangs or is very slow are cut short, and most of them left out.

Such pairs cost most and show least: with 5 % packet loss one pair takes as long as a hundred healthy ones. What is left
is enough to locate the part, and no other fault hides behind it: a pair is left out only where a part on its own path
explains everything that is known to be grossly wrong with that part's pairs.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

import msgspec

from seatrial.locate.evidence import stalls_of
from seatrial.model.fabric import Wiring
from seatrial.model.loss import CapCause, CappedPair
from seatrial.model.measurement import Kernel, Measurement, Phase, Round, Shape
from seatrial.model.subject import Direction, Subject, SubjectKind
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
        """The longest mean time of an iteration in a gross round."""
        self._pairs: defaultdict[Part, set[frozenset[str]]] = defaultdict(set)
        """The gross pairs across a part, whatever is wrong with them; those of the pilot alone are not yet evidence."""
        self._suspected: set[Part] = set()
        """Parts of pairs with which anything was grossly wrong, also in the pilot."""
        self._causes: defaultdict[Part, Counter[CapCause]] = defaultdict(Counter)
        self._hung: set[Way] = set()
        self._gross: Counter[Way] = Counter()
        self._good: Counter[Way] = Counter()
        self._bad_pairs: set[frozenset[str]] = set()
        """Pairs that were bad in their last round that shows anything."""

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

    def convicted(self, way: Way) -> bool:
        """Whether rounds that went this way were gross and none good, except by luck where packets are lost."""
        lossy = self.cause_of(way[2]) is CapCause.LOSS
        return bool(self._gross[way]) and (not self._good[way] or (lossy and not self.acquitted(way)))

    def acquitted(self, way: Way) -> bool:
        """Whether rounds that went this way were good, and not by luck alone."""
        return LUCK * self._good[way] > self._gross[way]

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
    return window_s / max(one.shape.window_bytes, 1)


def _stalls(one: Measurement) -> int:
    return stalls_of(one, (*one.warmup_times_s, *one.times_s))[0]


LEAST_PAIRS = 3
"""Pairs with different partners that must show a gross fault before their common part is capped."""
ROUND_S = 1.0
"""A round across a doubtful part is cut to as many iterations as last about this long."""
LOSS_RETESTS = 1
"""Runs of a retest across a part that loses packets: several stalls in each of its pairs are proof."""
UNTOUCHED = (Phase.CURVE, Phase.SATURATION, Phase.VARIANT, Phase.SOAK)
"""Phases of a pair that somebody chose, which is measured as it was asked for."""


class Sorted(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs of a round: measured as planned, cut short first, or left out."""

    plain: tuple[Pair, ...] = ()
    doubtful: tuple[Pair, ...] = ()
    left_out: tuple[CappedPair, ...] = ()


class Caps(GrossFaults):
    """What is measured in full, in part or not at all, by what a run has shown so far."""

    def __init__(self, fabric: Wiring) -> None:
        super().__init__(fabric)
        self.left_out: dict[Pair, CappedPair] = {}
        """Ordered pairs whose bandwidth a survey was to measure, and that were left out at least once."""
        self._put_off: list[Round] = []

    def hangs_again(self, pair: Pair, kernel: Kernel) -> bool:
        """Whether another pair hung across a part of this one, which good pairs do not clear."""
        return any(way in self._hung and not self._good[way] for way in self.ways(pair, kernel))

    def sort(self, wanted: Round, pairs: Sequence[Pair]) -> Sorted:
        """What to do with these pairs of a round."""
        if not self.any or wanted.phase in UNTOUCHED:
            return Sorted(plain=tuple(pairs))
        plain: list[Pair] = []
        doubtful: list[Pair] = []
        left_out: list[CappedPair] = []
        for pair in pairs:
            cap = self.cap(pair, wanted.shape.kernel)
            if cap is not None and _is_left_out(wanted, cap):
                left_out.append(cap)
            elif cap is not None or self._is_doubtful(pair, wanted.shape.kernel):
                doubtful.append(pair)
            else:
                plain.append(pair)
        return Sorted(plain=tuple(plain), doubtful=tuple(doubtful), left_out=tuple(left_out))

    def put_off(self, wanted: Round, capped: Sequence[CappedPair]) -> list[CappedPair]:
        """Remember pairs that a survey leaves out; those that it left out for the first time."""
        if wanted.phase is not Phase.SURVEY or not capped:
            return []
        self._put_off.append(msgspec.structs.replace(wanted, pairs=tuple(one.pair for one in capped)))
        known = self.left_out.keys() if wanted.shape.kernel is Kernel.ONEWAY else {one.pair for one in capped}
        fresh = [one for one in capped if one.pair not in known]
        self.left_out.update((one.pair, one) for one in fresh)
        return fresh

    def released(self) -> list[Round]:
        """Rounds of pairs that were put off and are capped no more; each is given out once."""
        rounds = []
        for one in self._put_off:
            pairs = tuple(pair for pair in one.pairs if self.cap(pair, one.shape.kernel) is None)
            rounds += [msgspec.structs.replace(one, pairs=pairs)] if pairs else []
        self._put_off = []
        return rounds

    def cut(self, shape: Shape, pairs: Sequence[Pair]) -> Shape:
        """The shape for doubtful pairs: as many iterations as last `ROUND_S` at the pace of gross pairs.

        For pairs that are capped, windows of one message without a warm-up: nothing depends on their exact speed.
        """
        pace_s = self._pace_s.get(shape.kernel) or ROUND_S
        if shape.kernel is Kernel.PINGPONG:
            iterations = min(max(int(ROUND_S / pace_s), LEAST_TRIPS), shape.iterations)
            return msgspec.structs.replace(shape, iterations=iterations, warmup=min(shape.warmup, iterations // 5))
        certain = all(self.cap(pair, shape.kernel) is not None for pair in pairs)
        window, warmup = (1, 0) if certain else (shape.window, min(shape.warmup, 1))
        fitting = int(ROUND_S * shape.window / (pace_s * window)) - warmup
        iterations = min(max(fitting, 1), shape.iterations)
        return msgspec.structs.replace(shape, window=window, iterations=iterations, warmup=warmup)

    def cap(self, pair: Pair, kernel: Kernel) -> CappedPair | None:
        """The part for which the pair is capped; None where measuring it may show something new."""
        ways = self.ways(pair, kernel)
        on_path = {way[2] for way in ways}
        for way in ways:
            part = way[2]
            if len(self._pairs.get(part, ())) < LEAST_PAIRS or not self.convicted(way):
                continue
            cause = self.cause_of(part)
            passed = cause is CapCause.LOSS and self.acquitted((Kernel.PINGPONG, Direction.BOTH, part))
            if not passed and not self._explained_beside(part, on_path, kernel):
                subject = Subject(kind=SubjectKind(part[0]), name=part[1])
                return CappedPair(source=pair[0], target=pair[1], part=subject.text, cause=cause)
        return None

    def _explained_beside(self, part: Part, on_path: set[Part], kernel: Kernel) -> bool:
        """Whether a part that the pair does not cross explains the same gross pairs: then it separates the two."""
        paths = [{way[2] for way in self.ways((min(ends), max(ends)), Kernel.PINGPONG)} for ends in self._pairs[part]]
        others = set.intersection(*paths) - on_path
        ways = [Direction.OUT, Direction.IN] if kernel is Kernel.ONEWAY else [Direction.BOTH]
        return any(not self.acquitted((kernel, way, other)) for other in others for way in ways)

    def _is_doubtful(self, pair: Pair, kernel: Kernel) -> bool:
        doubtful = (way[2] in self._suspected and not self.acquitted(way) for way in self.ways(pair, kernel))
        return frozenset(pair) in self._bad_pairs or any(doubtful)


def _is_left_out(wanted: Round, cap: CappedPair) -> bool:
    """A survey leaves capped pairs out. A retest keeps them; across a lossy part, a few round trips prove the loss."""
    if wanted.phase is Phase.PILOT:
        return False
    if wanted.phase not in (Phase.NEXT, Phase.RETEST):
        return True
    if cap.cause is not CapCause.LOSS:
        return False
    return wanted.shape.kernel is not Kernel.PINGPONG or wanted.repetition >= LOSS_RETESTS
