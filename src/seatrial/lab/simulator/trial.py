"""One trial: plan, measure, locate, prove and tell, on a fabric whose faults are known; each with its cost."""

import random
import resource
import time
from collections.abc import Sequence

import msgspec
import numpy as np

from seatrial.fabric.routes import Path, Routes
from seatrial.lab.simulator.evidence import Evidence
from seatrial.lab.simulator.faults import FaultSpec, draw_faults
from seatrial.lab.simulator.network import Network
from seatrial.lab.simulator.outcome import Cost, Outcome
from seatrial.lab.simulator.parts import Parts
from seatrial.lab.simulator.plan import ROUNDS, Plan, make_plan
from seatrial.lab.simulator.proving import prove
from seatrial.lab.simulator.score import score
from seatrial.lab.simulator.telling import as_data, as_text
from seatrial.model.fabric_map import FabricMap
from seatrial.model.pair_table import Reals
from seatrial.pairing.complete import Pair
from seatrial.pairing.conflicts import pieces

SLOW = 0.99
GOOD_QUANTILE = 0.9
"""In a round measured at once, a pair below SLOW of this quantile shared a cable or crossed a bad one."""


class Bench:
    """A map that is ready for trials: its routes and parts, made once."""

    def __init__(self, fabric: FabricMap) -> None:
        """Seconds that this takes count as planning in the first trial."""
        began = time.process_time()
        self.routes = Routes(fabric)
        self.parts = Parts(self.routes)
        self.made_s = time.process_time() - began


def run_trial(
    bench: Bench,
    specs: Sequence[FaultSpec] = (),
    *,
    seed: int,
    rounds: int = ROUNDS,
    design: str = "",
    at_once: bool = False,
) -> Outcome:
    """Plant, measure and name. `at_once` measures whole rounds, with contention, and slow pairs again without."""
    planted = draw_faults(bench.parts, specs, random.Random(seed))
    began = time.process_time()
    plan = make_plan(bench.routes, rounds, seed, design, at_once=at_once)
    planned = time.process_time()
    meter = Meter(Network(bench.routes, planted), seed)
    ratios = meter.plan(plan)
    contended = meter.apart(plan, ratios) if at_once else 0
    evidence = Evidence(bench.parts, plan.pairs, plan.paths, ratios)
    proof = prove(evidence, meter.alone, pairs_per_turn=32 + len(bench.routes.adapters) // 4, seed=seed)
    located = time.process_time()
    outcome = Outcome(
        seed=seed,
        adapters=len(bench.routes.adapters),
        planted=tuple(planted),
        proof=proof,
        contended=contended,
        statement=plan.statement,
        score=score(planted, proof.named, proof.ambiguous, evidence.known),
        cost=Cost(
            rounds=plan.rounds,
            pairs=meter.pairs,
            adaptive_pairs=meter.pairs - len(plan.pairs),
            pieces=meter.pieces,
            turns=proof.turns,
            plan_s=planned - began + bench.made_s,
            locate_s=located - planned - meter.seconds,
            simulate_s=meter.seconds,
        ),
    )
    return _with_report(outcome)


def _with_report(outcome: Outcome) -> Outcome:
    """The same, with what its report costs, and the memory that all of it took."""
    began = time.process_time()
    as_text(outcome)
    as_data(outcome)
    report_s = time.process_time() - began
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return msgspec.structs.replace(
        outcome, cost=msgspec.structs.replace(outcome.cost, report_s=report_s, peak_bytes=peak_bytes)
    )


class Meter:
    """Measures on a network, and keeps count of what it cost."""

    def __init__(self, network: Network, seed: int) -> None:
        """`seed` of the noise."""
        self._network = network
        self._chance = np.random.default_rng(seed)
        self.pairs = 0
        self.pieces = 0
        self.seconds = 0.0

    def plan(self, plan: Plan) -> Reals:
        """All pieces of a plan: the share of the rated bandwidth that each pair has."""
        return self._pieces(plan.pairs, plan.paths, plan.pieces)

    def alone(self, pairs: Sequence[Pair], paths: Sequence[Path]) -> Reals:
        """The same for pairs in pieces of which no two share a hop."""
        return self._pieces(pairs, paths, pieces(pairs, paths))

    def apart(self, plan: Plan, ratios: Reals) -> int:
        """Measure what was slow in whole rounds again without contention, into `ratios`; how many pairs were good."""
        line = SLOW * float(np.nanquantile(ratios, GOOD_QUANTILE))
        slow = np.flatnonzero(ratios < line)
        again = self.alone([plan.pairs[row] for row in slow], [plan.paths[row] for row in slow])
        ratios[slow] = again
        return int((again >= line).sum())

    def _pieces(self, pairs: Sequence[Pair], paths: Sequence[Path], apart: Sequence[Sequence[int]]) -> Reals:
        began = time.process_time()
        found = np.full(len(pairs), np.nan)
        for piece in apart:
            ways = [paths[place] for place in piece]
            rate = self._network.measure([pairs[place] for place in piece], ways, self._chance)
            found[list(piece)] = rate / self._network.expected(ways)
        self.pairs += len(pairs)
        self.pieces += len(apart)
        self.seconds += time.process_time() - began
        return found
