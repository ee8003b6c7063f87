"""The rounds to measure, each taken apart into pieces without contention."""

from collections import Counter

import msgspec

from seatrial.fabric.routes import Path, Routes
from seatrial.pairing.complete import Pair
from seatrial.pairing.conflicts import pieces
from seatrial.pairing.shifts import shift_rounds
from seatrial.pairing.sparse import sparse_rounds

ROUNDS = 6
"""Every node sends and receives once in each; `pairing.sparse` says what fewer would promise."""
TASTED = 2
"""Rounds of each design that are taken apart to see which needs fewer pieces."""
Ways = tuple[Pair, ...]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """`pairs` with their `paths`, all rounds after each other; `pieces`: places of pairs that are measured at once."""

    design: str
    rounds: int
    pairs: Ways
    paths: tuple[Path, ...]
    pieces: tuple[tuple[int, ...], ...]
    pieces_per_round: dict[str, float]
    """Design -> pieces that one of its rounds takes, the mean of the first few."""

    @property
    def statement(self) -> str:
        """What it costs and what it cannot see, in one sentence."""
        nodes = len({pair[0] for pair in self.pairs})
        share = 100 * min(len(self.pairs) / max(nodes * (nodes - 1), 1), 1)
        needs = ", ".join(f"{name} {count:.1f}" for name, count in self.pieces_per_round.items())
        return (
            f"{self.rounds} rounds of {self.design}: {len(self.pairs)} ordered pairs ({share:.2g} % of all) in "
            f"{len(self.pieces)} pieces; a fault of one single pair among the others is not seen. "
            f"Pieces a round takes: {needs}."
        )


def make_plan(routes: Routes, rounds: int, seed: int, design: str = "", *, at_once: bool = False) -> Plan:
    """`design`: shifts or matchings; empty for the one that takes fewer pieces on this map.

    `at_once`: whole rounds are measured at once, and contention with them. A matching is measured in both directions,
    one after the other, so that both designs measure as many ordered pairs a round.
    """
    needs = {name: _pieces_needed(routes, name, seed) for name in DESIGNS}
    chosen = design or min(needs, key=lambda name: needs[name])
    pairs: list[Pair] = []
    paths: list[Path] = []
    found: list[tuple[int, ...]] = []
    made = _rounds(routes, chosen, rounds, seed)
    for at_same_time in (ways for one in made for ways in one):
        crossed = routes.paths(at_same_time)
        apart = [list(range(len(at_same_time)))] if at_once else pieces(at_same_time, crossed)
        found += [tuple(len(pairs) + place for place in piece) for piece in apart]
        pairs += at_same_time
        paths += crossed
    return Plan(
        design=chosen,
        rounds=len(made),
        pairs=tuple(pairs),
        paths=tuple(paths),
        pieces=tuple(found),
        pieces_per_round=needs,
    )


def _rounds(routes: Routes, design: str, rounds: int, seed: int) -> list[list[Ways]]:
    """Each round as the sets of ordered pairs that it measures one after the other."""
    nodes = routes.adapters
    if design == "shifts":
        return [[tuple(one)] for one in shift_rounds(nodes, rounds, seed, near=_most_per_leaf(routes))]
    return [
        [tuple(one), tuple((target, source) for source, target in one)] for one in sparse_rounds(nodes, rounds, seed)
    ]


def _pieces_needed(routes: Routes, design: str, seed: int) -> float:
    made = _rounds(routes, design, TASTED, seed)
    counts = [len(pieces(ways, routes.paths(ways))) for one in made for ways in one]
    return sum(counts) / max(len(made), 1)


def _most_per_leaf(routes: Routes) -> int:
    return max(Counter(routes.leaf_of.values()).values(), default=0)


DESIGNS = ("shifts", "matchings")
