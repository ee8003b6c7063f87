"""Holds what was named in a simulated fabric against what was planted there."""

from collections.abc import Collection, Sequence

import msgspec

from seatrial.lab.simulator.faults import Planted
from seatrial.lab.simulator.proving import Ambiguous, Named
from seatrial.pairing.complete import Pair


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """Counted in elements: a direction of a cable, or a single pair. One that lies in an ambiguity set is found.

    `unseen`: faulty pairs that the design never measured, counted nowhere else. `claims`: elements named, and sets;
    `false_claims`: those of them in which nothing is at fault. `set_sizes`: of every claim of a cable or pair, the
    number of parts it leaves open, 1 for a name.
    """

    planted: int
    found: int
    unseen: int
    claims: int
    false_claims: int
    set_sizes: tuple[int, ...]

    @property
    def recall(self) -> float:
        """Share of the planted that was found; 1 where nothing was planted."""
        return self.found / self.planted if self.planted else 1.0

    @property
    def precision(self) -> float:
        """Share of the claims that are true; 1 where nothing was claimed."""
        return 1 - self.false_claims / self.claims if self.claims else 1.0

    @property
    def mean_set(self) -> float:
        """Mean size of the ambiguity sets, names counted as sets of one."""
        return sum(self.set_sizes) / len(self.set_sizes) if self.set_sizes else 1.0

    @property
    def right(self) -> bool:
        """Everything that was measured is found, and nothing else claimed."""
        return self.found == self.planted and not self.false_claims


def score(
    planted: Sequence[Planted],
    named: Sequence[Named],
    ambiguous: Sequence[Ambiguous],
    measured: Collection[Pair],
) -> Score:
    """`measured`: the ordered pairs that were."""
    hops = {hop for fault in planted for hop in fault.part.hops}
    pairs = {fault.part.pair for fault in planted if fault.part.pair is not None}
    seen = {pair for pair in pairs if pair in measured}
    told_hops = {hop for one in named for hop in one.part.hops}
    told_pairs = {one.part.pair for one in named if one.part.pair is not None}
    open_hops = {hop for one in ambiguous for part in one.parts for hop in part.hops}
    open_pairs = {part.pair for one in ambiguous for part in one.parts if part.pair is not None}
    wrong_sets = sum(
        not any(hops.intersection(part.hops) or part.pair in seen for part in one.parts) for one in ambiguous
    )
    return Score(
        planted=len(hops) + len(seen),
        found=len(hops & (told_hops | open_hops)) + len(seen & (told_pairs | open_pairs)),
        unseen=len(pairs) - len(seen),
        claims=len(told_hops) + len(told_pairs) + len(ambiguous),
        false_claims=len(told_hops - hops) + len(told_pairs - pairs) + wrong_sets,
        set_sizes=(*(1 for _ in named), *(len(one.parts) for one in ambiguous)),
    )
