"""Series of a synthetic cluster whose parts change while it is measured."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from seatrial.locate.changes import find_changes
from seatrial.locate.part_series import RowSeries
from seatrial.locate.thresholds import practical_effects
from seatrial.model.pair_faults import Change
from seatrial.model.units import BANDWIDTH
from seatrial.pairs.rounds import circle_rounds

EFFECTS = practical_effects(BANDWIDTH, 1e9, None)
Share = Callable[[float], float]
"""Share of its bandwidth that a part carries at a time."""


def steady(time_s: float) -> float:
    return 1.0


def drop(share: float, at_s: float) -> Share:
    return lambda time_s: share if time_s >= at_s else 1.0


def recovery(share: float, at_s: float) -> Share:
    return lambda time_s: 1.0 if time_s >= at_s else share


def flaps(share: float, period_s: float, phase_s: float = 0.0) -> Share:
    return lambda time_s: share if (time_s + phase_s) % period_s < period_s / 2 else 1.0


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Who changes and how it is measured. A pair is as good as the worst part on its way."""

    nodes: int = 4
    repetitions: int = 3
    pairs_at_once: int = 1
    round_s: float = 0.2
    noise: float = 0.005
    """Standard deviation of the logarithm."""
    outliers: float = 0.0
    """Share of values of everybody that are at half."""
    both: dict[int, Share] = field(default_factory=dict)
    out: dict[int, Share] = field(default_factory=dict)
    into: dict[int, Share] = field(default_factory=dict)
    leaf: int = 0
    """Nodes on each leaf; 0: no leaves."""
    uplink: dict[int, Share] = field(default_factory=dict)
    pair: dict[tuple[int, int], Share] = field(default_factory=dict)
    everything: Share = steady
    partners: int = 0
    """Rounds of pairs of each repetition; 0: all pairs."""
    retested: int = -1
    """Number of a node of which four pairs are measured six times more, alone, beside three controls; -1: none."""

    def share(self, source: int, target: int, time_s: float) -> float:
        """What a pair carries."""
        found = [self.pair.get((source, target), steady)(time_s)]
        for ends, ways in (((source, target), self.both), ((source,), self.out), ((target,), self.into)):
            found += [ways[end](time_s) for end in ends if end in ways]
        if self.leaf and source // self.leaf != target // self.leaf:
            found += [
                self.uplink[end // self.leaf](time_s) for end in (source, target) if end // self.leaf in self.uplink
            ]
        return min(found) * self.everything(time_s)

    def rounds(self, draw: np.random.Generator) -> list[list[tuple[int, int]]]:
        """Pairs of each round, as a survey has them: both directions of a piece one after the other."""
        names = [str(place) for place in range(self.nodes)]
        if self.partners:
            turns = []
            for _ in range(self.partners):
                order = draw.permutation(self.nodes)
                turns.append([(int(order[i]), int(order[i + 1])) for i in range(0, self.nodes - 1, 2)])
        else:
            turns = [[(int(a), int(b)) for a, b in turn] for turn in circle_rounds(names)]
        pieces = [
            turn[first : first + self.pairs_at_once]
            for turn in turns
            for first in range(0, len(turn), self.pairs_at_once)
        ]
        rounds = []
        for _ in range(self.repetitions):
            for place in draw.permutation(len(pieces)).tolist():
                rounds += [pieces[place], [(there, here) for here, there in pieces[place]]]
        return rounds + self.retest(draw)

    def retest(self, draw: np.random.Generator) -> list[list[tuple[int, int]]]:
        """Six runs of four of a node's ordered pairs and of three others, each alone."""
        if self.retested < 0:
            return []
        everything = [(a, b) for a in range(self.nodes) for b in range(self.nodes) if a != b]
        own = [pair for pair in everything if self.retested in pair]
        other = [pair for pair in everything if self.retested not in pair]
        chosen = [own[i] for i in draw.permutation(len(own))[:4]] + [other[i] for i in draw.permutation(len(other))[:3]]
        return [[chosen[i]] for _ in range(6) for i in draw.permutation(len(chosen))]

    def series(self, seed: int) -> RowSeries:
        """What was measured, relative to the usual value."""
        draw = np.random.default_rng([seed, self.nodes])
        rows = []
        time_s = 0.0
        for pairs in self.rounds(draw):
            time_s += self.round_s * float(draw.uniform(0.5, 1.5))
            for here, there in pairs:
                low = draw.random() < self.outliers
                share = self.share(here, there, time_s) * (0.5 if low else 1.0)
                rows.append((here, there, time_s, math.log(share) + self.noise * float(draw.standard_normal())))
        source, target, times, logs = zip(*rows, strict=True)
        return RowSeries(source=np.array(source), target=np.array(target), time_s=np.array(times), log=np.array(logs))

    @property
    def duration_s(self) -> float:
        """How long it takes on average."""
        return self.round_s * len(self.rounds(np.random.default_rng(0)))

    def changes(self, seed: int) -> tuple[Change, ...]:
        """What is found in one draw."""
        names = [f"n{place}" for place in range(self.nodes)]
        groups = {}
        if self.leaf:
            groups = {
                f"leaf{first // self.leaf}": names[first : first + self.leaf]
                for first in range(0, self.nodes, self.leaf)
            }
        return find_changes(self.series(seed), names, EFFECTS, groups)


def said(changes: tuple[Change, ...]) -> set[tuple[str, str, str]]:
    """Subject, direction and kind of each."""
    return {(one.subject.text, one.direction.value, one.kind.value) for one in changes}


def named_parts(changes: tuple[Change, ...]) -> list[str]:
    """The subjects alone."""
    return sorted({one.subject.text for one in changes})
