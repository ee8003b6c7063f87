"""Caps: pairs across a part that loses packets, hangs or is very slow are cut short, and most of them left out.

Such pairs cost most and show least: with 5 % packet loss one pair takes as long as a hundred healthy ones. What is left
is enough to locate the part, and no other fault hides behind it: a pair is left out only where a part on its own path
explains everything that is known to be grossly wrong with that part's pairs.
"""

from collections.abc import Sequence

import msgspec

from seatrial.driver.gross_faults import LEAST_TRIPS, GrossFaults, Part
from seatrial.model.fabric import Wiring
from seatrial.model.loss import CapCause, CappedPair
from seatrial.model.measurement import Kernel, Measurement, Phase, Round, Shape
from seatrial.model.subject import Direction, Subject, SubjectKind

Pair = tuple[str, str]

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


class Caps:
    """What is measured in full, in part or not at all, by what a run has shown so far."""

    def __init__(self, fabric: Wiring) -> None:
        self._faults = GrossFaults(fabric)
        self.left_out: dict[Pair, CappedPair] = {}
        """Ordered pairs whose bandwidth a survey was to measure, and that were left out at least once."""
        self._put_off: list[Round] = []

    def take(self, one: Measurement) -> None:
        """Learn from what one pair delivered."""
        self._faults.take(one)

    def hang(self, pair: Pair, kernel: Kernel) -> None:
        """Learn that a pair did not answer."""
        self._faults.hang(pair, kernel)

    def is_good(self, one: Measurement) -> bool:
        """Whether a round shows no gross fault."""
        return self._faults.is_good(one)

    def hangs_again(self, pair: Pair, kernel: Kernel) -> bool:
        """Whether another pair hung across a part of this one, which good pairs do not clear."""
        return any(self._faults.hung(way) for way in self._faults.ways(pair, kernel))

    def sort(self, wanted: Round, pairs: Sequence[Pair]) -> Sorted:
        """What to do with these pairs of a round."""
        if not self._faults.any or wanted.phase in UNTOUCHED:
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
        pace_s = self._faults.pace_s(shape.kernel) or ROUND_S
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
        ways = self._faults.ways(pair, kernel)
        on_path = {way[2] for way in ways}
        for way in ways:
            part = way[2]
            if len(self._faults.pairs_of(part)) < LEAST_PAIRS or not self._faults.convicted(way):
                continue
            cause = self._faults.cause_of(part)
            passed = cause is CapCause.LOSS and self._faults.acquitted((Kernel.PINGPONG, Direction.BOTH, part))
            if not passed and not self._explained_beside(part, on_path, kernel):
                subject = Subject(kind=SubjectKind(part[0]), name=part[1])
                return CappedPair(source=pair[0], target=pair[1], part=subject.text, cause=cause)
        return None

    def _explained_beside(self, part: Part, on_path: set[Part], kernel: Kernel) -> bool:
        """Whether a part that the pair does not cross explains the same gross pairs: then it separates the two."""
        paths = [
            {way[2] for way in self._faults.ways((min(ends), max(ends)), Kernel.PINGPONG)}
            for ends in self._faults.pairs_of(part)
        ]
        others = set.intersection(*paths) - on_path
        ways = [Direction.OUT, Direction.IN] if kernel is Kernel.ONEWAY else [Direction.BOTH]
        return any(not self._faults.acquitted((kernel, way, other)) for other in others for way in ways)

    def _is_doubtful(self, pair: Pair, kernel: Kernel) -> bool:
        if self._faults.bad_pair(pair):
            return True
        ways = self._faults.ways(pair, kernel)
        return any(self._faults.suspected(way[2]) and not self._faults.acquitted(way) for way in ways)


def _is_left_out(wanted: Round, cap: CappedPair) -> bool:
    """A survey leaves capped pairs out. A retest keeps them; across a lossy part, a few round trips prove the loss."""
    if wanted.phase is Phase.PILOT:
        return False
    if wanted.phase not in (Phase.NEXT, Phase.RETEST):
        return True
    if cap.cause is not CapCause.LOSS:
        return False
    return wanted.shape.kernel is not Kernel.PINGPONG or wanted.repetition >= LOSS_RETESTS
