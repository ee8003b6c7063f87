"""A soak of days needs no more memory than one of an hour, and is judged as the same."""

import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from seatrial.archive import contents, writer
from seatrial.archive.reader import read_run
from seatrial.commands.soak import judge
from seatrial.commands.soak.judge import SoakResult, judge_soak, sampled
from seatrial.commands.soak.run import run_soak
from seatrial.driver.run import MeasuredRun
from seatrial.launch.contract import PLAIN, StartManner
from seatrial.model.measurement import Conditions, Corruption, GroupMeasurement, GroupRound, Kernel, Measurement, Round
from seatrial.model.run import Ending
from seatrial.model.settings import SiteSettings, SoakSettings, Trial
from seatrial.model.verdict import FindingKind
from tests.support.builders import Cluster
from tests.support.clocks import Clock, use_clock
from tests.support.launchers import use_launcher
from tests.support.node_series import GOOD, Machine, linked, soaked
from tests.support.scripted import ScriptedLauncher, ScriptedSession

NAMES = ("n1", "n2")
ROUND_S = 60.0
HOUR_S = 3600.0
MOST_GROWTH_BYTES = 1 << 17
"""Bytes in three hours, which is less than the samples of one take."""


class HotSession(ScriptedSession):
    """Every round takes a minute of a clock that costs no time."""

    def __init__(self, launcher: "HotLauncher", nodes: Sequence[str]) -> None:
        super().__init__(launcher, nodes)
        self._hot = launcher

    def measure(self, wanted: Round, timeout_s: float) -> Iterator[Measurement]:
        self._hot.clock.advance(ROUND_S)
        yield from super().measure(wanted, timeout_s)
        self._hot.rounds.clear()

    def measure_groups(self, wanted: GroupRound, timeout_s: float) -> Iterator[GroupMeasurement]:
        self._hot.held_bytes.append(tracemalloc.get_traced_memory()[0])
        self._hot.clock.advance(ROUND_S)
        for group in wanted.groups:
            yield GroupMeasurement(
                phase=wanted.phase, repetition=wanted.repetition, shape=wanted.shape, nodes=group,
                times_s=tuple(1e-3 + 1e-6 * number for number in range(50)), variant=wanted.variant,
            )  # fmt: skip


class HotLauncher(ScriptedLauncher):
    """Two nodes; `held_bytes`: what Python holds at the beginning of each round."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(Cluster(nodes=NAMES))
        self.clock = clock
        self.held_bytes: list[int] = []

    def start(self, nodes: Sequence[str], log: Path, manner: StartManner = PLAIN) -> HotSession:
        super().start(nodes, log, manner)
        return HotSession(self, nodes)


def soak_of(folder: Path, hours: float) -> tuple[MeasuredRun[SoakResult], HotLauncher]:
    clock = Clock()
    use_clock(clock)
    launcher = HotLauncher(clock)
    use_launcher(launcher)
    site = SiteSettings(archive=folder, budget_s=hours * HOUR_S)
    return run_soak(SoakSettings(site=site, trials=(Trial.NOISE,))), launcher


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Small bounds, so that minutes of samples reach them; no samples.parquet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(contents, "write_samples", lambda *_: None)
    monkeypatch.setattr(writer, "MEMORY_BYTES", 1 << 14)
    monkeypatch.setattr(judge, "MOST_TIMES", 2_000)
    monkeypatch.setattr(judge, "FEWEST_KEPT", 4)
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("traced")
def test_what_a_soak_holds_does_not_grow_with_its_length(tmp_path: Path) -> None:
    soak_of(tmp_path, 0.2)  # what is made once
    peaks, ends = [], []
    for hours in (1, 4):
        outcome, launcher = soak_of(tmp_path, hours)
        assert outcome.recorded.info.ending is Ending.COMPLETE
        ends.append(launcher.held_bytes[-1] - launcher.held_bytes[10])
        del outcome, launcher
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        folder = max(tmp_path.glob("*-soak-*"), key=lambda path: path.stat().st_mtime_ns)
        judge_soak(read_run(folder))
        peaks.append(tracemalloc.get_traced_memory()[1] - before)
    assert ends[1] < ends[0] + MOST_GROWTH_BYTES, "while it measures"
    assert peaks[1] < 2 * peaks[0], "while it is judged"


def test_short_soaks_are_judged_by_all_their_cycles() -> None:
    run = soaked(lambda _node, _cycle: GOOD, NAMES, 6)
    assert sampled(run.group_measurements, 10**9) == [*run.group_measurements]
    assert sampled(run.measurements, 10**9) == [*run.measurements]


def test_of_long_ones_cycles_are_left_out_evenly() -> None:
    links = linked(NAMES, 600)
    kept = sampled(links, 100)
    cycles = sorted({one.repetition for one in kept})
    assert cycles == [*range(0, 600, cycles[1])]
    assert judge.FEWEST_KEPT <= len(cycles) < 2 * judge.FEWEST_KEPT
    by_cycle = {one.repetition: one for one in links}
    assert {one.repetition: one for one in kept} == {cycle: by_cycle[cycle] for cycle in cycles}


def test_what_happened_once_is_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "FEWEST_KEPT", 2)
    run = soaked(lambda _node, _cycle: GOOD, NAMES, 9)
    groups = [
        msgspec.structs.replace(
            group, errors=8, corruptions=(Corruption(source="", target=group.nodes[0], wrong_bytes=8, first_byte=0),),
            conditions=Conditions(wall_s=1.0, throttles=3, millicelsius=99_000, least_khz=800_000),
        )
        if (group.repetition, group.nodes[0], group.shape.kernel) == (7, "n2:1", Kernel.FMA)
        else msgspec.structs.replace(group, conditions=Conditions(wall_s=1.0, throttles=0, millicelsius=50_000))
        for group in run.group_measurements
    ]  # fmt: skip
    kept = sampled(groups, 100)
    assert {group.repetition for group in kept} == {0, 4, 8}
    times = len([group for group in groups if group.errors])
    assert sum(group.errors for group in kept) == 8 * times > 0
    assert sum(group.conditions.throttles or 0 for group in kept if group.conditions) == 3 * times
    hottest = max(kept, key=lambda group: group.conditions.millicelsius or 0 if group.conditions else 0)
    assert (hottest.repetition, hottest.nodes[0][:2]) == (4, "n2")
    assert hottest.conditions is not None
    assert hottest.conditions.least_khz == 800_000


def test_a_long_soak_is_judged_as_a_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "FEWEST_KEPT", 20)
    names = ("n1", "n2", "n3")
    run = soaked(lambda node, cycle: Machine(memory=0.7) if node == "n3" and cycle > 60 else GOOD, names, 100)
    whole = judge_soak(run)
    monkeypatch.setattr(judge, "MOST_TIMES", 100)
    part = judge_soak(run)
    for result in (whole, part):
        assert {(one.kind, one.subject.name) for one in result.findings} == {(FindingKind.WORSE_UNDER_LOAD, "n3")}
    assert [node.cycles for node in part.nodes] == [100] * 3
    assert part.reason == whole.reason
