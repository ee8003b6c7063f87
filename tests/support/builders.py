"""Synthetic clusters of known truth, the measurements they would give, and recorded runs of them."""

import itertools
import os
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from unittest import mock
from urllib.parse import quote

import msgspec

from seatrial.archive import contents, layout
from seatrial.archive.journal import Delivered, RoundEnded, RoundStarted, SessionStarted, SurveyPlanned
from seatrial.archive.reader import read_info
from seatrial.archive.samples import refuse_cramped, write_samples
from seatrial.archive.writer import RunWriter, ended
from seatrial.commands.check.assessment import Assessor
from seatrial.commands.check.next_experiments import plan_retest
from seatrial.files.writing import own_folder
from seatrial.model import formats
from seatrial.model.fabric import Component, Fabric, Wiring
from seatrial.model.measurement import Corruption, Kernel, Measurement, Phase, Round, Verification
from seatrial.model.run import Ending, NodeState, RecordedRun, RunInfo, RunKind
from seatrial.model.subject import Direction
from seatrial.node.node import parse_facts
from seatrial.pairs.rounds import circle_rounds
from seatrial.pairs.survey import LATENCY, PILOT, bandwidth_shape, plan_survey

Pair = tuple[str, str]
T = TypeVar("T")

HEALTHY = 117e6
"""Bytes per second through a good gigabit link; its limit is 117.67e6."""
BOTH = (Direction.OUT, Direction.IN)
COMPARED = {Verification.NONE: 0, Verification.ENDS: 2, Verification.ALL: 5}
"""Iterations whose data are compared."""
LEAST_CORRUPTED = 4096
"""Messages below it arrive as they were sent."""
HEADER = {"record": "header", "format": 2, "probe": "1", "mpi_library": "Open MPI v4.1.4", "ranks": 0}


def steady(phase: Phase, repetition: int, pair: Pair) -> float:
    """The mood of a pair that is always the same."""
    return 1.0


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Each part carries `HEALTHY` bytes per second, or its share of it; a pair gets what its worst part carries."""

    nodes: tuple[str, ...]
    leaf_of: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[Component, float] = field(default_factory=dict)
    pairs: Mapping[Pair, float] = field(default_factory=dict)
    mood: Callable[[Phase, int, Pair], float] = steady
    """A further factor by phase, repetition and pair."""
    everything: float = 1.0
    loss: Mapping[str, float] = field(default_factory=dict)
    """Probability, by node, that a small round trip with it waits 0.2 s."""
    near_s: float = 20e-6
    far_s: float = 20e-6
    late: Mapping[str, float] = field(default_factory=dict)
    """Factor on a node's latency."""
    noise: float = 0.004
    seed: int = 0
    megabits: int | None = 1000
    """What the interfaces say; None: nothing, so that there is no limit."""
    waits: Mapping[str, float] = field(default_factory=dict)
    """Share of its time for which the rank of a node has no processor; empty: not known of any."""
    boot_id: str = ""
    """One for all, as where nodes share a kernel; empty: each its own."""
    wiring: Wiring | None = None
    """What pairs really cross; None: what `leaf_of` says."""
    corrupt: Mapping[Component, float] = field(default_factory=dict)
    """Parts that corrupt large messages, with the share of measurements in which they do."""

    @property
    def fabric(self) -> Fabric:
        return Fabric(leaf_of=dict(self.leaf_of), source="test")

    def measure(self, wanted: Round, draw: random.Random) -> list[Measurement]:
        """What one round delivers."""
        return [self._measurement(wanted, pair, draw) for pair in wanted.pairs]

    def _measurement(self, wanted: Round, pair: Pair, draw: random.Random) -> Measurement:
        times = self._times(wanted, pair, draw)
        wrong = self._corruptions(wanted, pair, draw)
        return Measurement(
            phase=wanted.phase,
            repetition=wanted.repetition,
            shape=wanted.shape,
            source=pair[0],
            target=pair[1],
            times_s=tuple(times),
            warmup_times_s=tuple(times[:1]),
            pairs_at_once=len(wanted.pairs),
            variant=wanted.variant,
            verified=COMPARED[wanted.verify],
            errors=3 * len(wrong),
            corruptions=wrong,
            waited_s=tuple(self.waits.get(name, 0.0) * sum(times) for name in pair),
        )

    def _corruptions(self, wanted: Round, pair: Pair, draw: random.Random) -> tuple[Corruption, ...]:
        """Three wrong bytes in each direction in which data cross such a part."""
        if not self.corrupt or wanted.shape.message_bytes < LEAST_CORRUPTED:
            return ()
        ways = (pair,) if wanted.shape.kernel is Kernel.ONEWAY else (pair, pair[::-1])
        shares = [[self.corrupt.get(part, 0.0) for part in (self.wiring or self.fabric).path(*way)] for way in ways]
        return tuple(
            Corruption(source=way[0], target=way[1], wrong_bytes=3, first_byte=168)
            for way, crossed in zip(ways, shares, strict=True)
            if draw.random() < max(crossed)
        )

    def _times(self, wanted: Round, pair: Pair, draw: random.Random) -> list[float]:
        iterations = range(wanted.shape.iterations)
        if wanted.shape.kernel is Kernel.PINGPONG:
            far = self.leaf_of.get(pair[0]) != self.leaf_of.get(pair[1])
            usual = 2 * (self.far_s if far else self.near_s) * max(self.late.get(name, 1.0) for name in pair)
            loss = max(self.loss.get(name, 0.0) for name in pair)
            return [usual * self._noise(draw) + (0.204 if draw.random() < loss else 0.0) for _ in iterations]
        crossed = (self.wiring or self.fabric).path(*pair)
        share = min(self.parts.get(part, 1.0) for part in crossed) * self.everything * self.pairs.get(pair, 1.0)
        usual = wanted.shape.message_bytes * wanted.shape.window / (HEALTHY * share)
        mood = self.mood
        return [usual / mood(wanted.phase, wanted.repetition, pair) * self._noise(draw) for _ in iterations]

    def _noise(self, draw: random.Random) -> float:
        return max(draw.gauss(1.0, self.noise), 0.1) if self.noise else 1.0

    def facts_text(self, node: str) -> str:
        """A node's raw facts, as the collector prints them."""
        here, host = "/sys/class/net/eth0", quote(node)
        lines = [
            f"#seatrial-facts 1 {host}",
            f"@value /proc/sys/kernel/random/boot_id|{self.boot_id or f'boot-of-{host}'}",
            "@list /sys/class/net/*|eth0",
            f"@value {here}/type|1",
            f"@value {here}/operstate|up",
            f"@value {here}/mtu|1500",
            f"@value {here}/speed|{-1 if self.megabits is None else self.megabits}",
            f"#end {host}",
        ]
        return "\n".join(lines) + "\n"


def names(count: int) -> tuple[str, ...]:
    """n1, n2, ..."""
    return tuple(f"n{place + 1}" for place in range(count))


def leaves(count: int, per_leaf: int) -> dict[str, str]:
    """n1, n2, ... on leaf1, leaf2, ..."""
    return {name: f"leaf{place // per_leaf + 1}" for place, name in enumerate(names(count))}


def slow_once(phase: Phase, repetition: int, pair: tuple[str, str]) -> float:
    """The mood in which pairs of n2 have half their speed in the survey, and all of it later."""
    return 0.5 if phase is Phase.SURVEY and "n2" in pair else 1.0


def slow_part(kind: str, name: str, share: float, ways: Iterable[Direction] = BOTH) -> dict[Component, float]:
    """One part at that share of what it should carry."""
    return {Component(kind=kind, name=name, direction=way): share for way in ways}


def survey_rounds(cluster: Cluster, pairs_at_once: int = 0) -> tuple[Round, ...]:
    """The complete survey of a cluster, in three repetitions."""
    at_once = pairs_at_once or max(len(cluster.nodes) // 2, 1)
    window_s = 4 * (1 << 20) / HEALTHY
    plan = plan_survey(cluster.nodes, pairs_at_once=at_once, window_s=window_s, budget_s=1e6, seed=cluster.seed)
    return tuple(one for repetition in plan.passes[:3] for one in repetition)


def info_of(cluster: Cluster, **changes: object) -> RunInfo:
    """run.json of a complete run on the cluster."""
    info = RunInfo(
        format=formats.RUN,
        run="run",
        kind=RunKind.CHECK,
        seatrial="0.1.0",
        command=("check",),
        started="2026-11-21T10:00:00Z",
        ended="2026-11-21T10:01:00Z",
        ending=Ending.COMPLETE,
        launcher="slurm",
        cluster="test",
        nodes=cluster.nodes,
        fabric=cluster.fabric,
        seed=cluster.seed,
    )
    return msgspec.structs.replace(info, **changes)


def sail(
    cluster: Cluster,
    *,
    lost: tuple[NodeState, ...] = (),
    hung: tuple[Pair, ...] = (),
    skipped: tuple[Pair, ...] = (),
    retest: bool = True,
    retest_all: bool = True,
    reason: str = "",
) -> RecordedRun:
    """Pilot, survey and, where something is suspected, retest; the pairs of `hung` and `skipped` deliver nothing."""
    draw = random.Random(cluster.seed)
    dead = {state.node for state in lost}
    closed = {frozenset(pair) for pair in hung}
    measurements: list[Measurement] = []
    number = itertools.count()

    def carry_out(rounds: Iterable[Round]) -> None:
        for one in rounds:
            pairs = [pair for pair in one.pairs if frozenset(pair) not in closed and pair not in skipped]
            left = tuple(pair for pair in pairs if not dead & set(pair))
            began_s = 0.2 * next(number)
            delivered = cluster.measure(msgspec.structs.replace(one, pairs=left, verify=Verification.ENDS), draw)
            measurements.extend(msgspec.structs.replace(one, at_s=began_s) for one in delivered)

    rounds = survey_rounds(cluster)
    pilots = circle_rounds(cluster.nodes)[0][:3]
    carry_out(Round(phase=Phase.PILOT, repetition=0, shape=PILOT, pairs=(pair,)) for pair in pilots)
    carry_out(rounds)
    oneway = [pair for one in rounds if one.shape.kernel is Kernel.ONEWAY for pair in one.pairs]
    facts = {node: parse_facts(cluster.facts_text(node)) for node in cluster.nodes}
    shapes = [bandwidth_shape(4 * (1 << 20) / HEALTHY), LATENCY]
    recorded = RecordedRun(
        info=info_of(cluster, lost=lost, hanging_pairs=hung, reason=reason),
        planned=tuple(dict.fromkeys(oneway)),
        facts=facts,
        facts_after=facts,
        measurements=tuple(measurements),
        sessions=1,
    )
    _, _, suspicion = Assessor().assess(recorded)
    if retest and suspicion.suspects:
        carry_out(plan_retest(suspicion.suspects, suspicion.good(), shapes, cluster.seed))
        recorded = msgspec.structs.replace(recorded, measurements=tuple(measurements))
        _, _, suspicion = Assessor().assess(recorded)
        if suspicion.unproved and retest_all:
            carry_out(plan_retest(suspicion.unproved, suspicion.good(), shapes, cluster.seed))
            recorded = msgspec.structs.replace(recorded, measurements=tuple(measurements))
        _, _, suspicion = Assessor().assess(recorded)
        if retest_all and suspicion.open:
            carry_out(plan_retest(suspicion.open, suspicion.good(), shapes[:1], cluster.seed))
    return msgspec.structs.replace(recorded, measurements=tuple(measurements))


def record(
    of: Cluster, archive: Path, run: str = "run", recorded: RecordedRun | None = None, **changes: object
) -> Path:
    """A closed run of the cluster in an archive, written as the driver writes it; its folder."""
    recorded = recorded or sail(of)
    info = msgspec.structs.replace(recorded.info, run=run, **changes)
    writer = RunWriter(archive, info)
    fill(writer, of, recorded)
    with mock.patch.object(contents, "write_samples", copy_samples):
        return writer.close(ended(info, info.ending, info.ended, info.reason))


def described_again(folder: Path, **changes: object) -> None:
    """Change the description of a closed run, as its owner can."""
    info = msgspec.structs.replace(read_info(folder), **changes)
    with own_folder(folder) as own:
        contents.write_run_file(own, info)


_SAMPLES: dict[tuple[str, bytes], bytes] = {}
"""Contents of samples.parquet by name of the run and content of its journal."""


def copy_samples(folder: Path, run: str) -> None:
    """Make samples.parquet, or copy it from an equal run: starting DuckDB takes most of the time of recording one."""
    refuse_cramped()
    key = run, (folder / layout.JOURNAL_FILE).read_bytes()
    if key not in _SAMPLES:
        write_samples(folder, run)
        _SAMPLES[key] = (folder / layout.SAMPLES_FILE).read_bytes()
    (folder / layout.SAMPLES_FILE).write_bytes(_SAMPLES[key])


def without_checksums(folder: Path) -> Path:
    """The folder of a run whose description has lost what the run held, so that nothing is compared with that."""
    content = msgspec.json.decode((folder / layout.RUN_FILE).read_bytes()) | {"contents": None}
    (folder / layout.RUN_FILE).write_bytes(msgspec.json.encode(content))
    return folder


def abandoned(writer: RunWriter, **changes: object) -> RunWriter:
    """The open run as a driver leaves it that was killed: its lease names a process that has ended.

    `changes`: of the lease.
    """
    writer._held.release()
    gone = os.posix_spawn("/bin/sh", ["sh", "-c", ":"], {})
    os.waitpid(gone, 0)
    of = msgspec.structs.replace(writer._held.lease, **{"pid": gone, **changes})
    (writer.folder / layout.LEASE_FILE).write_bytes(msgspec.json.encode(of))
    return writer


def fill(writer: RunWriter, cluster: Cluster, recorded: RecordedRun) -> None:
    """Write facts and journal of a run, and leave it open."""
    for node in cluster.nodes:
        for reading in (layout.BEFORE, layout.AFTER):
            writer.write_facts(reading, {node: cluster.facts_text(node)})
    writer.append(SessionStarted(session=1, nodes=cluster.nodes, header={**HEADER, "ranks": len(cluster.nodes)}))
    writer.append(SurveyPlanned(pairs=recorded.planned))
    for number, one in enumerate(recorded.measurements):
        asked = Round(phase=one.phase, repetition=one.repetition, shape=one.shape, pairs=(one.pair,))
        writer.append(RoundStarted(number=number, session=1, at_s=one.at_s or 0.0, round=asked))
        writer.append(Delivered(number=number, measurement=one))
        writer.append(RoundEnded(number=number, outcome="complete"))


def by_run(columns: Mapping[Pair, Sequence[T]]) -> dict[Pair, dict[int, T]]:
    """Runs of pairs by their number, all of one retest from its first run on."""
    return {pair: dict(enumerate(runs)) for pair, runs in columns.items()}
