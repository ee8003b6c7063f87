"""A year of `seatrial qualify` on a simulated cluster: coverage by week, false alarms, delays until nodes are found.

Slices are chosen and scored by the functions that the command uses. Each finds something on a good node as often as
the command's model permits at most. It exits with 1 where a node or a link is left out of a week, where the pairs that
were judged do not become more, or where good nodes are called bad more often than the policy permits.
"""

import sys
from datetime import UTC, datetime, timedelta
from itertools import count
from math import sqrt
from random import Random
from statistics import median

import numpy as np
from msgspec.structs import replace

from seatrial.judgement import qualification
from seatrial.judgement.qualification import Candidate, choose, coverage, scores_after, threshold
from seatrial.judgement.standings import Judged
from seatrial.model.monitoring import Fault, Standing
from seatrial.model.qualification import NodeScore, QualifyPolicy
from seatrial.model.verdict import Verdict

NODES, LEAF, WEEKS, YEARS = 1000, 24, 52, 200
BUSY_H, IDLE_H = 8.0, 1.5
"""Mean times for which a node is busy and idle: 84 % are in use."""
WAITING = 0.3
"""Share of calls in which a job waits that would fit, so that there is no slice."""
STOPPED = 0.1
"""Share of slices that end before they decide, since a job needs their nodes."""
SLOW_NODES = 40
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
SLOW = Fault(kind="slow-link", verdict=Verdict.SLOW, text="link at 60 % of its limit")


class Year:
    """The nodes of a cluster, the slices of a year, and what they find."""

    def __init__(self, policy: QualifyPolicy, seed: int) -> None:
        self.policy, self.limit = policy, threshold(policy)
        self.random, self.draw = Random(seed), np.random.default_rng(seed)
        self.names = [f"n{number:04}" for number in range(NODES)]
        self.leaf_of = {name: f"leaf{number // LEAF}" for number, name in enumerate(self.names)}
        self.nodes = [Candidate(node=name, partitions=("main",), idle=False) for name in self.names]
        self.place = {name: number for number, name in enumerate(self.names)}
        self.idle = self.draw.random(NODES) < IDLE_H / (BUSY_H + IDLE_H)
        whole = WEEKS * 7 * 24 * 60 / policy.minutes
        self.slow_from = dict.fromkeys(self.random.sample(self.names, SLOW_NODES), 0.0)
        self.slow_from = {name: self.random.random() * whole for name in self.slow_from}
        self.scores: dict[str, NodeScore] = {}
        self.false_alarms: list[str] = []
        self.delays_h: list[float] = []

    def slice(self, number: int) -> Judged | None:
        """The state of the nodes after another pause, and a slice on them; None where there is none."""
        hours = self.policy.minutes / 60
        change = np.where(self.idle, hours / IDLE_H, hours / BUSY_H)
        self.idle ^= self.draw.random(NODES) < change
        for place in np.flatnonzero([node.idle for node in self.nodes] != self.idle):
            self.nodes[place] = replace(self.nodes[place], idle=bool(self.idle[place]))
        if self.random.random() < WAITING:
            return None
        chosen = choose(self.nodes, self.place, self.policy, self.random)
        stopped = self.random.random() < STOPPED
        if not chosen:
            return None
        ended = BEGAN + timedelta(minutes=number * self.policy.minutes)
        nodes = tuple(self.standing(name, number, stopped=stopped) for name in chosen)
        run = Judged(run=str(number), ended=ended.isoformat(), looks=frozenset(), nodes=nodes, threshold=self.limit)
        self.take(run, number)
        return run

    def standing(self, name: str, number: int, *, stopped: bool) -> Standing:
        is_slow = number >= self.slow_from.get(name, number + 1)
        share = qualification.FOUND_ON_BAD if is_slow else qualification.FOUND_ON_GOOD
        if stopped:
            return Standing(node=name, verdict=Verdict.INCONCLUSIVE)
        faults = (SLOW,) if self.random.random() < share else ()
        return Standing(node=name, verdict=Verdict.SLOW if faults else Verdict.PASS, faults=faults)

    def take(self, run: Judged, number: int) -> None:
        """Score the nodes. One that is called bad is repaired, and good from then on."""
        self.scores = scores_after([run], self.scores)
        for standing in run.nodes:
            score = self.scores[standing.node]
            if score.bad:
                began = self.slow_from.pop(score.node, number + 1)
                if number >= began:
                    self.delays_h.append((number - began) * self.policy.minutes / 60)
                else:
                    self.false_alarms.append(score.node)
                score = self.scores[standing.node] = NodeScore(node=score.node, judged=score.judged)
            place = self.place[standing.node]
            known_s = datetime.fromisoformat(score.judged).timestamp() if score.judged else 0.0
            self.nodes[place] = replace(self.nodes[place], known_s=known_s, suspected=score.findings > 0)


def false_alarms_per_year(policy: QualifyPolicy, seed: int) -> float:
    """Good nodes that are called bad in a year, over many years in which each node is judged as often as can be."""
    draw = np.random.default_rng(seed)
    score = np.zeros(NODES * YEARS)
    alarms = 0
    for _ in range(round(policy.judgements_per_year / NODES)):
        found = draw.random(len(score)) < qualification.FOUND_ON_GOOD
        score = np.maximum(score + np.where(found, qualification.UP, qualification.DOWN), 0.0)
        alarms += int(np.count_nonzero(score >= threshold(policy)))
        score[score >= threshold(policy)] = 0.0
    return alarms / YEARS


def main(seed: int) -> int:
    policy = QualifyPolicy()
    year, numbers = Year(policy, seed), count()
    runs: list[Judged] = []
    pairs_before, failed = 0, False
    print("week  nodes  links  pairs so far")
    for week in range(1, WEEKS + 1):
        slices = [year.slice(next(numbers)) for _ in range(round(7 * 24 * 60 / policy.minutes))]
        runs += [run for run in slices if run]
        since = (BEGAN + timedelta(weeks=week - 1)).isoformat()
        covered = coverage(runs, year.place, year.leaf_of, since)
        nodes, links = covered.nodes_judged / covered.nodes, covered.links_judged / covered.links
        print(f"{week:4}  {nodes:5.1%}  {links:5.1%}  {covered.pairs_judged / covered.pairs:.2%}")
        failed |= nodes < 1 or links < 1 or covered.pairs_judged <= pairs_before
        pairs_before = covered.pairs_judged
    rate = false_alarms_per_year(policy, seed)
    print(f"slices: {len(runs)}; a node is bad from a score of {threshold(policy):.1f} on")
    print(f"false alarms in this year: {len(year.false_alarms)}; on average of {YEARS} years: {rate:.3f} a year")
    print(f"slow nodes found: {len(year.delays_h)} of {SLOW_NODES}, after {median(year.delays_h):.0f} h (median)")
    failed |= rate > policy.alarms_per_year or len(year.false_alarms) > policy.alarms_per_year + 3 * sqrt(rate)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
