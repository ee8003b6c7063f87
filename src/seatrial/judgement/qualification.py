"""What slices of idle time say together: which nodes are bad, how much is covered, and which nodes come next; pure."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from random import Random
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from seatrial.judgement.standings import OPEN, Judged
from seatrial.model.monitoring import Fault, Standing
from seatrial.model.qualification import FEWEST_NODES, Coverage, NodeScore, QualifyPolicy
from seatrial.model.verdict import Verdict

FOUND_ON_GOOD, FOUND_ON_BAD = 0.002, 0.8
"""Shares of slices that find something on a good node, at most, and on a bad one. Each slice measures its suspects
again, alone: a series of 500 judgements of healthy nodes names one at most."""
UP = math.log(FOUND_ON_BAD / FOUND_ON_GOOD)
DOWN = math.log((1 - FOUND_ON_BAD) / (1 - FOUND_ON_GOOD))


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the partition. `known_s`: since when nothing happened that its verdict does not know of; 0: no verdict.

    Times in seconds since 1970.
    """

    node: str
    partitions: tuple[str, ...]
    idle: bool
    known_s: float = 0.0
    suspected: bool = False


def threshold(policy: QualifyPolicy) -> float:
    """The score from which on a node is bad.

    The score is Page's sum of log-likelihood ratios, at least 0 (E. S. Page, Biometrika 41, 1954, 100). From each of
    its zeros on, the product of the ratios of a good node exceeds e^h with a probability of at most e^-h, however long
    it is watched (J. Ville, 1939), and a node that is bad becomes so again only after another zero. So N judgements
    call N * e^-h good nodes bad at most, on average.
    """
    return math.log(policy.judgements_per_year / policy.alarms_per_year)


def scores_after(
    runs: Iterable[Judged], earlier: Mapping[str, NodeScore] = MappingProxyType({})
) -> dict[str, NodeScore]:
    """The score of each node that a run judged. `runs`: the oldest first, and later than those of the scores `earlier`.

    Findings of facts do not count: they repeat in each run, and say nothing on how often a measurement errs. Another
    run than a slice never makes a node bad; if it finds nothing, the node is good.
    """
    scores = {**earlier}
    for run in runs:
        for standing in run.nodes:
            if ":" not in standing.node:
                before = scores.get(standing.node, NodeScore(node=standing.node))
                scores[standing.node] = _after(before, standing, run)
    return scores


def _after(before: NodeScore, standing: Standing, run: Judged) -> NodeScore:
    measured = _measured(standing)
    certain = [fault for fault in measured if not fault.shared]
    if not certain and (measured or standing.verdict in OPEN):
        return before
    before = replace(before, judged=run.ended)
    if certain and not run.threshold:
        return before
    if certain:
        score = min(before.score + UP, run.threshold)
        return replace(
            before,
            score=score,
            bad=before.bad or score >= run.threshold,
            findings=before.findings + 1,
            verdict=certain[0].verdict,
            text=certain[0].text,
            run=run.run,
        )
    score = before.score + DOWN if run.threshold else 0.0
    return replace(before, score=score) if score > 0 else NodeScore(node=before.node, judged=before.judged)


def _measured(standing: Standing) -> list[Fault]:
    return [fault for fault in standing.faults if fault.verdict.gravity > Verdict.MISCONFIGURED.gravity]


def confirmed(runs: Iterable[Judged]) -> list[Judged]:
    """The runs, the oldest first, as each counts by itself: a slice is undecided on nodes whose score says otherwise.

    A finding of a slice is open while the node is bad. A slice that decides nothing on a node leaves what was said.
    """
    scores: dict[str, NodeScore] = {}
    counted = []
    for run in runs:
        scores = scores_after([run], scores)
        nodes = (_counted(each, scores.get(each.node)) if run.threshold else each for each in run.nodes)
        counted.append(replace(run, nodes=tuple(each for each in nodes if each is not None)))
    return counted


def _counted(standing: Standing, score: NodeScore | None) -> Standing | None:
    if score is not None and score.judged and standing.verdict in OPEN and not standing.faults:
        return None
    measured = _measured(standing)
    says_so = score is None or score.bad == bool(measured)
    facts = tuple(fault for fault in standing.faults if fault not in measured)
    return standing if says_so else replace(standing, verdict=Verdict.INCONCLUSIVE, faults=facts)


def coverage(runs: Sequence[Judged], nodes: Collection[str], leaf_of: Mapping[str, str], since: str) -> Coverage:
    """What runs decided on: of the last week, which began at `since` (ISO 8601), and of all runs the pairs."""
    pairs: set[tuple[str, str]] = set()
    judged: set[str] = set()
    crossed: set[str] = set()
    for run in runs:
        decided = sorted({each.node for each in run.nodes if each.verdict not in OPEN}.intersection(nodes))
        pairs.update(combinations(decided, 2))
        if run.ended >= since:
            judged.update(decided)
            leaves = {leaf_of[node] for node in decided if node in leaf_of}
            crossed.update(leaves if len(leaves) > 1 else ())
    leaves = {leaf_of[node] for node in nodes if node in leaf_of}
    return Coverage(
        nodes=len(nodes),
        nodes_judged=len(judged),
        links=len(nodes) + (len(leaves) if len(leaves) > 1 else 0),
        links_judged=len(judged) + len(crossed),
        pairs=math.comb(len(nodes), 2),
        pairs_judged=len(pairs),
    )


def choose(nodes: Sequence[Candidate], mine: Collection[str], policy: QualifyPolicy, draw: Random) -> tuple[str, ...]:
    """The nodes of the next slice, by name; none if too few are idle beside those that stay free.

    Suspects come first, then nodes without a verdict, then those with the oldest one. One place in eight is drawn at
    random, so that a node meets other partners each time. `mine`: the nodes of the job's partition.
    """
    size = Counter(partition for node in nodes for partition in node.partitions)
    idle = Counter(partition for node in nodes if node.idle for partition in node.partitions)
    spare = {partition: idle[partition] - math.ceil(policy.keep_free * size[partition]) for partition in size}
    ready = [node for node in nodes if node.idle and node.node in mine]
    ready = sorted(draw.sample(ready, len(ready)), key=lambda node: (not node.suspected, node.known_s))
    needed = policy.nodes - policy.nodes // 8
    chosen: list[str] = []
    for node in [*ready[:needed], *draw.sample(ready[needed:], max(len(ready) - needed, 0))]:
        if len(chosen) < policy.nodes and all(spare[partition] > 0 for partition in node.partitions):
            chosen.append(node.node)
            for partition in node.partitions:
                spare[partition] -= 1
    return tuple(sorted(chosen)) if len(chosen) >= FEWEST_NODES else ()
