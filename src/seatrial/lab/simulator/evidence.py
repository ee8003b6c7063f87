"""All that was measured so far, and what it says about the parts of the fabric."""

from collections.abc import Collection, Sequence

import msgspec
import numpy as np

from seatrial.fabric.routes import Path
from seatrial.lab.simulator.parts import Part, Parts
from seatrial.locate.links import locate_hops
from seatrial.model.pair_table import Reals
from seatrial.pairing.complete import Pair


class Suspects(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of which one is at fault; `rows` of the evidence that it explains, `ratio` the best that went through."""

    parts: tuple[Part, ...]
    rows: tuple[int, ...]
    ratio: float


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What the evidence says. `undecided`: hops that are neither acquitted nor under suspicion."""

    suspects: tuple[Suspects, ...]
    unexplained: tuple[int, ...]
    acquitted: frozenset[int]
    undecided: tuple[int, ...]
    usual: float
    line: float


class Evidence:
    """One row an ordered pair. A pair that is measured again has its newest number, and no other, in account.

    The newest and not the best: to take the best of several would acquit what fails now and then.
    """

    def __init__(self, parts: Parts, pairs: Sequence[Pair], paths: Sequence[Path], ratios: Reals) -> None:
        """`ratios`: bandwidth over what the cables on the way are rated for. A pair without a way does not count."""
        self.parts = parts
        crossed = {hop for path in paths for hop in path}
        parts.use(crossed)
        self.pairs: list[Pair] = []
        self.paths: list[Path] = []
        self.ratios: list[float] = []
        self.times: list[int] = []
        """How often each row was measured."""
        self._ways: list[tuple[int, ...]] = []
        self._row: dict[Pair, int] = {}
        self.add(pairs, paths, ratios.tolist())

    @property
    def known(self) -> Collection[Pair]:
        """Pairs that were measured."""
        return self._row.keys()

    def add(self, pairs: Sequence[Pair], paths: Sequence[Path], ratios: Sequence[float]) -> None:
        """New numbers, of new pairs or of known ones."""
        for pair, path, ratio in zip(pairs, paths, ratios, strict=True):
            if not path or not np.isfinite(ratio):
                continue
            row = self._row.setdefault(pair, len(self.pairs))
            if row == len(self.pairs):
                self.pairs.append(pair)
                self.paths.append(path)
                self._ways.append(self.parts.crossed(path))
                self.ratios.append(ratio)
                self.times.append(1)
            else:
                self.ratios[row] = ratio
                self.times[row] += 1

    def look(self) -> Look:
        """Locate; a bundle's hops are not undecided while the bundle is under suspicion."""
        found = locate_hops(np.array(self.ratios), self._ways, self.parts.count)
        suspects = tuple(
            Suspects(parts=tuple(self.parts.numbered(number) for number in one.hops), rows=one.rows, ratio=one.ratio)
            for one in found.suspects
        )
        suspected = {hop for one in suspects for part in one.parts for hop in part.hops}
        acquitted = frozenset(number for number in found.acquitted if number < self.parts.hops)
        return Look(
            suspects=suspects,
            unexplained=found.unexplained,
            acquitted=acquitted,
            undecided=tuple(
                hop for hop in (*self.parts.trunks, *self.parts.ports) if hop not in acquitted and hop not in suspected
            ),
            usual=float(np.median(self.ratios)) if self.ratios else 1.0,
            line=found.line,
        )
