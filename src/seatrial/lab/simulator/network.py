"""What pairs of a simulated fabric measure when they run at the same time."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from seatrial.fabric.routes import Route, Routes
from seatrial.lab.simulator.disturbances import JOB_LOAD
from seatrial.lab.simulator.faults import SimulatedFault
from seatrial.model.hca import data_bits_per_s
from seatrial.model.pair_table import Indices, Reals
from seatrial.pairs.rounds import Pair

UNKNOWN_RATE = 1e9
"""Bytes per second of a cable whose rate is not in the map."""
DEAD = 1e-6
"""Share that counts as nothing: a pair over a dead cable practically never ends."""


class Network:
    """Rates of pairs over static routes: the hops' capacities, less what faults take."""

    def __init__(self, routes: Routes, planted: Sequence[SimulatedFault] = ()) -> None:
        """If several faults are on one hop, the worst counts."""
        rates = [
            min(
                data_bits_per_s(link.width, link.speed) or np.inf,
                data_bits_per_s(link.other_width, link.other_speed) or np.inf,
            )
            / 8
            for link in routes.fabric.links
        ]
        nominal = np.repeat(np.array(rates, dtype=np.float64), 2)
        self.nominal: Reals = np.where(np.isfinite(nominal), nominal, UNKNOWN_RATE)
        """Bytes per second by hop, without faults."""
        self._planted = tuple(planted)
        self._acting: tuple[SimulatedFault, ...] | None = None
        self._beside: _Streams | None = None
        self.advance(0.0)

    def advance(self, at_s: float) -> bool:
        """Let faults begin and end at this simulated time; whether any did."""
        acting = tuple(fault for fault in self._planted if fault.course.acts(at_s))
        if acting == self._acting:
            return False
        self._acting = acting
        left = np.ones(len(self.nominal))
        self._arriving: Reals = np.ones(len(self.nominal))
        """Share of the packets that each hop lets through."""
        self._late_s: Reals = np.zeros(len(self.nominal))
        """Seconds that a small message takes longer on each hop."""
        self._late_pairs: dict[Pair, float] = {}
        self._pairs: dict[Pair, float] = {}
        for fault in acting:
            share = max(fault.share, DEAD)
            if fault.part.pair is not None:
                self._pairs[fault.part.pair] = share
                self._late_pairs[fault.part.pair] = fault.course.late_s
            hops = np.array(fault.part.hops, dtype=np.intp)
            np.minimum.at(left, hops, share)
            np.minimum.at(self._arriving, hops, 1 - fault.course.lost)
            np.maximum.at(self._late_s, hops, fault.course.late_s)
        self._capacity: Reals = self.nominal * left
        return True

    def lost(self, paths: Sequence[Route]) -> Reals:
        """Probability of each path to lose a packet now; empty where nothing is lost anywhere."""
        if self._arriving.min(initial=1.0) == 1.0:
            return np.zeros(0)
        return np.array([1 - float(np.prod(self._arriving[list(path)])) for path in paths])

    def late_s(self, pairs: Sequence[Pair], paths: Sequence[Route]) -> Reals:
        """Seconds that a small message of each pair takes longer now, because of faults on its path."""
        if not self._late_s.any() and not any(self._late_pairs.values()):
            return np.zeros(len(pairs))
        return np.array(
            [
                self._late_pairs.get(pair, 0.0) + float(self._late_s[list(path)].sum())
                for pair, path in zip(pairs, paths, strict=True)
            ]
        )

    def expected(self, paths: Sequence[Route]) -> Reals:
        """Bytes per second of each path alone, without faults; NaN for one without hops."""
        lengths = np.array([len(path) for path in paths], dtype=np.intp)
        crossed = np.fromiter(itertools.chain.from_iterable(paths), dtype=np.intp, count=int(lengths.sum()))
        least = np.full(len(paths), np.inf)
        np.minimum.at(least, np.repeat(np.arange(len(paths)), lengths), self.nominal[crossed])
        return np.where(lengths > 0, least, np.nan)

    def alone(self, pair: Pair, path: Route) -> float:
        """Bytes per second of one pair with nothing beside it, without noise; NaN without a path."""
        if not path:
            return math.nan
        least = min(float(self._capacity[hop]) for hop in path)
        if pair not in self._pairs:
            return least
        return min(least, float(self.nominal[list(path)].min()) * self._pairs[pair])

    def rates(self, pairs: Sequence[Pair], paths: Sequence[Route], others: Sequence[Route] = ()) -> Reals:
        """Bytes per second of pairs that run at once, without noise; NaN for one without a path.

        `others`: paths of background streams, each of which asks for a share of its bandwidth (`JOB_LOAD`). A
        faulty pair and a stream have their own bottleneck on their path. The same list is not read again.
        """
        if self._beside is None or self._beside.paths is not others:
            self._beside = _Streams(others, self.expected(others))
        beside, count = self._beside, len(pairs)
        lengths = np.array([len(path) for path in paths], dtype=np.intp)
        row = np.concatenate([np.repeat(np.arange(count), lengths), count + beside.row])
        hop = np.concatenate([np.fromiter(itertools.chain.from_iterable(paths), dtype=np.intp), beside.hop])
        used, hop = np.unique(hop, return_inverse=True)
        capacity = self._capacity[used]
        sick = (
            [place for place, pair in enumerate(pairs) if pair in self._pairs and paths[place]] if self._pairs else []
        )
        narrow = self.expected([paths[place] for place in sick]) * [self._pairs[pairs[place]] for place in sick]
        own = np.concatenate([np.array(sick, dtype=np.intp), count + np.arange(len(others))])
        row = np.concatenate([row, own])
        hop = np.concatenate([hop, len(capacity) + np.arange(len(own))])
        capacity = np.concatenate([capacity, narrow, beside.wanted])
        rates = fair_rates(row, hop, capacity, count + len(others))
        return np.where(lengths > 0, rates[:count], np.nan)


class _Streams:
    """Background streams as arrays: `row[x]` crosses `hop[x]`, and each stream asks for `wanted` bytes per second."""

    def __init__(self, paths: Sequence[Route], expected: Reals) -> None:
        self.paths = paths
        self.row = np.repeat(np.arange(len(paths)), np.array([len(path) for path in paths], dtype=np.intp))
        self.hop = np.fromiter(itertools.chain.from_iterable(paths), dtype=np.intp)
        self.wanted = JOB_LOAD * expected


def fair_rates(row: Indices, hop: Indices, capacity: Reals, flows: int) -> Reals:
    """Max-min fair rates of flows; flow `row[x]` crosses `hop[x]`. A flow that crosses nothing has rate infinity.

    Progressive filling (Bertsekas and Gallager, Data Networks, 2nd edition, section 6.5.2), all hops at once that are
    the tightest of every flow on them.
    """
    rate = np.full(flows, np.inf)
    left = capacity.astype(np.float64)
    while row.size:
        load = np.bincount(hop, minlength=len(left))
        share = np.divide(left, load, out=np.full(len(left), np.inf), where=load > 0)
        wanted = np.full(flows, np.inf)
        np.minimum.at(wanted, row, share[hop])
        looser = np.bincount(hop[wanted[row] < share[hop] * (1 - 1e-9)], minlength=len(left))
        done = np.zeros(flows, dtype=bool)
        done[row[looser[hop] == 0]] = True
        rate[done] = wanted[done]
        gone = done[row]
        left = np.maximum(left - np.bincount(hop[gone], weights=rate[row[gone]], minlength=len(left)), 0)
        row, hop = row[~gone], hop[~gone]
    return rate
