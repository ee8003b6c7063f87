"""Clusters whose links are shared: streams of one round as a fluid, each with its part of every link on its way."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from seatrial.commands.check.assessment import Assessor
from seatrial.commands.check.loaded_rounds import measure_loaded
from seatrial.commands.check.uplink_verdicts import LoadedVerdict, judge_loaded
from seatrial.driver.progress import Silent
from seatrial.model.measurement import Measurement, Phase, Round
from seatrial.model.run import Design, RecordedRun
from seatrial.pairs.survey import bandwidth_shape
from tests.support.builders import Cluster, info_of, leaves, names

Pair = tuple[str, str]
NODE = 100e6
"""Bytes per second of a node's link."""
FEW = 9
"""Of fewer nodes all pairs are measured alone."""


@dataclass(frozen=True, kw_only=True)
class Shared:
    """Nodes of `NODE` bytes per second each way; the uplink of every leaf carries `trunk`, or what `slow` says."""

    leaf_of: Mapping[str, str]
    trunk: float
    slow: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """(leaf or node, "out" or "in") -> bytes per second."""
    unfair: float = 1.0
    """How many times as much of a shared link the first stream of a round gets as the last one."""
    noise: float = 0.0
    seed: int = 1
    until: int = 10_000
    """The round under load in which what `slow` says ends, as traffic of another job does."""

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(self.leaf_of)

    def links(self, pair: Pair) -> list[tuple[str, str]]:
        source, target = pair
        here, there = self.leaf_of[source], self.leaf_of[target]
        trunks = [(here, "out"), (there, "in")] if here != there else []
        return [(source, "out"), *trunks, (target, "in")]

    def capacity(self, link: tuple[str, str], number: int = 0) -> float:
        usual = self.trunk if link[0].startswith("leaf") else NODE
        return self.slow.get(link, usual) if number < self.until else usual

    def rates(self, pairs: Sequence[Pair], weights: Mapping[Pair, float], number: int = 0) -> dict[Pair, float]:
        """Weighted max-min fair: the tightest link is divided first."""
        on: dict[tuple[str, str], list[Pair]] = {}
        for pair in pairs:
            for link in self.links(pair):
                on.setdefault(link, []).append(pair)
        left = {link: self.capacity(link, number) for link in on}
        load = {link: sum(weights[pair] for pair in crossing) for link, crossing in on.items()}
        found: dict[Pair, float] = {}
        while len(found) < len(pairs):
            tightest = min(load, key=lambda link: left[link] / load[link])
            unit = left[tightest] / load[tightest]
            for pair in on[tightest]:
                if pair not in found:
                    found[pair] = unit * weights[pair]
                    for link in self.links(pair):
                        left[link] -= found[pair]
                        load[link] -= weights[pair]
            load = {link: value for link, value in load.items() if value > 1e-9}
        return found

    def measure(self, wanted: Round, draw: random.Random) -> list[Measurement]:
        """Times of all windows; when a stream ends, the others get its part."""
        count = len(wanted.pairs)
        weights = {
            pair: self.unfair ** (place / max(count - 1, 1)) for place, pair in enumerate(reversed(wanted.pairs))
        }
        shape = wanted.shape
        windows = shape.warmup + shape.iterations
        size = shape.message_bytes * shape.window
        todo = {pair: [size * draw.lognormvariate(0, self.noise) for _ in range(windows)] for pair in wanted.pairs}
        ends: dict[Pair, list[float]] = {pair: [] for pair in wanted.pairs}
        now = 0.0
        rates: dict[Pair, float] = {}
        while running := [pair for pair in wanted.pairs if todo[pair]]:
            if len(running) != len(rates):  # a stream has ended; other windows change nothing
                rates = self.rates(running, weights, wanted.repetition)
            step = min(todo[pair][0] / rates[pair] for pair in running)
            now += step
            for pair in running:
                todo[pair][0] -= step * rates[pair]
                if todo[pair][0] <= 1e-3:
                    todo[pair].pop(0)
                    ends[pair].append(now)
        return [_measurement(wanted, pair, ends[pair]) for pair in wanted.pairs]


def _measurement(wanted: Round, pair: Pair, ends: Sequence[float]) -> Measurement:
    times = [end - begin for begin, end in zip([0.0, *ends], ends, strict=False)]
    warmup = wanted.shape.warmup
    return Measurement(
        phase=wanted.phase,
        repetition=wanted.repetition,
        shape=wanted.shape,
        source=pair[0],
        target=pair[1],
        times_s=tuple(times[warmup:]),
        warmup_times_s=tuple(times[:warmup]),
        pairs_at_once=len(wanted.pairs),
    )


class Bench:
    """What `measure_loaded` needs of a measurer."""

    def __init__(self, cluster: Shared, rounds_in_time: int) -> None:
        self.nodes = cluster.nodes
        self.window_s = 4 * (1 << 20) / NODE
        self.measurements: list[Measurement] = []
        self.remarks: list[str] = []
        self.hung: list[Pair] = []
        self.rounds: list[Round] = []
        self._cluster = cluster
        self._left = rounds_in_time
        self._draw = random.Random(cluster.seed)

    def run(self, rounds: Sequence[Round], deadline: float) -> bool:
        for one in rounds:
            if not self._left:
                return False
            self._left -= 1
            self.rounds.append(one)
            self.measurements += self._cluster.measure(one, self._draw)
        return True


def sizes(*counts: int) -> dict[str, str]:
    """Leaves of so many nodes: leaf1, leaf2, ..."""
    found: dict[str, str] = {}
    for number, count in enumerate(counts, start=1):
        for _ in range(count):
            found[f"n{len(found) + 1}"] = f"leaf{number}"
    return found


def even(leaf_count: int, per_leaf: int) -> dict[str, str]:
    return leaves(leaf_count * per_leaf, per_leaf)


def sailed(cluster: Shared, *, rounds_in_time: int = 10_000) -> tuple[RecordedRun, Bench]:
    """The survey of single pairs, of many nodes a few for each, then the stage under load as a check has it."""
    bench = Bench(cluster, rounds_in_time)
    draw = random.Random(cluster.seed + 1)
    shape = bandwidth_shape(bench.window_s)
    count = len(cluster.nodes)
    steps = range(1, count) if count < FEW else (1, 2, 5, count // 2)
    ring = [(place, (place + step) % count) for place in range(count) for step in steps]
    wanted = dict.fromkeys((cluster.nodes[a], cluster.nodes[b]) for one in ring for a, b in (one, one[::-1]))
    for repetition in range(3):
        for pair in wanted:
            one = Round(phase=Phase.SURVEY, repetition=repetition, shape=shape, pairs=(pair,))
            bench.measurements += cluster.measure(one, draw)
    of = Cluster(nodes=names(len(cluster.nodes)), leaf_of=dict(cluster.leaf_of), seed=cluster.seed)
    design = Design(
        name="complete", pairs_at_once=1, repetitions=3, rounds=1, ordered_pairs=1, planned_pairs=1, statement=""
    )
    recorded = RecordedRun(
        info=info_of(of, design=design),
        planned=tuple(wanted),
        facts={},
        facts_after={},
        measurements=tuple(bench.measurements),
    )
    measure_loaded(
        bench,  # type: ignore[arg-type]
        Silent(),
        recorded,
        Assessor().assess(recorded),
        replay=None,
        survey_s=100.0,
        deadline=float("inf"),
    )
    return msgspec.structs.replace(recorded, measurements=tuple(bench.measurements)), bench


def judged(cluster: Shared, **options: object) -> LoadedVerdict:
    """The judgement of what the check measured under load."""
    recorded, _ = sailed(cluster, **options)  # type: ignore[arg-type]
    evidence, _, _ = Assessor().assess(recorded)
    return judge_loaded(recorded, evidence)
