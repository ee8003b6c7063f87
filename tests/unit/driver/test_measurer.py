"""A round that hangs costs its culprit, never what was delivered."""

import time
from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import msgspec
import pytest

from seatrial.archive.journal import Delivered, NodeLost, PairHung, RoundEnded, RoundStarted, SessionStarted, of_type
from seatrial.archive.reader import read_entries
from seatrial.archive.writer import RunWriter
from seatrial.driver.measurer import STARTS, Measurer
from seatrial.driver.progress import Progress
from seatrial.model.errors import LaunchError, SeatrialError
from seatrial.model.measurement import Kernel, Measurement, Phase, Round, Verification
from seatrial.pairs.survey import BANDWIDTH, LATENCY
from tests.support.builders import Cluster, info_of, names, survey_rounds
from tests.support.clocks import Clock, use_clock
from tests.support.scripted import ScriptedLauncher


class Counted(Progress):
    """Progress that keeps count."""

    def __init__(self) -> None:
        self.done = 0

    def stage(self, text: str) -> None:
        assert text

    def rounds(self, more: int) -> None:
        assert more >= 0

    def advance(self, rounds: int = 1) -> None:
        self.done += rounds

    def until(self, deadline_s: float) -> None:
        assert deadline_s > 0


class Scene:
    """A measurer over a scripted launcher, and its journal."""

    def __init__(self, tmp_path: Path, launcher: ScriptedLauncher) -> None:
        self.launcher = launcher
        self.writer = RunWriter(tmp_path, info_of(launcher.cluster))
        self.progress = Counted()
        self.measurer = Measurer(launcher, self.writer, launcher.cluster.nodes, self.progress, 0.5)
        self.survey = survey_rounds(launcher.cluster)

    def run(self) -> bool:
        return self.measurer.run(self.survey, time.monotonic() + 60)

    def measured(self) -> Counter[tuple[str, str]]:
        return Counter(one.pair for one in self.measurer.measurements if one.shape.kernel is Kernel.ONEWAY)

    def journal(self) -> list[object]:
        return list(read_entries(self.writer.folder))


def test_all_goes_well(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ScriptedLauncher(Cluster(nodes=names(5))))
    assert scene.run()
    assert scene.measured() == dict.fromkeys(permutations(names(5), 2), 3)
    assert (scene.measurer.lost, scene.measurer.hung, scene.measurer.remarks) == ({}, [], [])
    assert scene.progress.done == len(scene.survey)
    assert len(scene.launcher.starts) == 1


def test_everything_is_in_the_journal_in_order(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ScriptedLauncher(Cluster(nodes=names(4))))
    scene.run()
    entries = read_entries(scene.writer.folder)
    assert [entry.measurement for entry in of_type(entries, Delivered)] == scene.measurer.measurements
    compared = [msgspec.structs.replace(one, verify=Verification.ENDS) for one in scene.survey]
    assert [entry.round for entry in of_type(entries, RoundStarted)] == compared
    assert {entry.outcome for entry in of_type(entries, RoundEnded)} == {"complete"}
    numbers = [entry.number for entry in of_type(entries, RoundStarted)]
    assert numbers == list(range(1, len(scene.survey) + 1))
    assert len(of_type(entries, SessionStarted)) == 1


def test_a_node_that_falls_silent_is_dropped_and_the_rest_is_measured(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ScriptedLauncher(Cluster(nodes=names(6)), dies_at={"n3": 4}))
    assert scene.run()
    assert set(scene.measurer.lost) == {"n3"}
    assert scene.measurer.lost["n3"].fault
    assert scene.measurer.lost["n3"].reason == "stopped answering in mid-run: it did not answer"
    assert scene.measurer.nodes == ("n1", "n2", "n4", "n5", "n6")
    rest = scene.measured()
    assert {pair: count for pair, count in rest.items() if "n3" not in pair} == dict.fromkeys(
        permutations(scene.measurer.nodes, 2), 3
    )
    assert scene.measurer.hung == []
    assert scene.launcher.starts[-1] == scene.measurer.nodes
    assert [entry.state.node for entry in of_type(read_entries(scene.writer.folder), NodeLost)] == ["n3"]


def test_two_nodes_fall_silent_one_after_the_other(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ScriptedLauncher(Cluster(nodes=names(6)), dies_at={"n3": 4, "n5": 9}))
    assert scene.run()
    assert set(scene.measurer.lost) == {"n3", "n5"}
    left = permutations(("n1", "n2", "n4", "n6"), 2)
    assert all(scene.measured()[pair] == 3 for pair in left)


def test_a_pair_that_hangs_is_found_among_eight_at_once(tmp_path: Path) -> None:
    pairs = tuple((f"n{place}", f"n{place + 8}") for place in range(1, 9))
    scene = Scene(tmp_path, ScriptedLauncher(Cluster(nodes=names(16)), hangs=[("n6", "n14")]))
    scene.measurer.measure(Round(phase=Phase.SURVEY, repetition=0, shape=BANDWIDTH, pairs=pairs))
    assert scene.measurer.hung == [("n6", "n14")]
    assert scene.measured() == dict.fromkeys(set(pairs) - {("n6", "n14")}, 1)
    assert scene.measurer.lost == {}
    assert "n6 to n14 is left out: The probe did not answer in time." in scene.measurer.remarks
    assert of_type(read_entries(scene.writer.folder), PairHung) == [PairHung(source="n6", target="n14")]


def test_a_pair_that_takes_its_whole_round_along_is_found_by_halving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = tuple((f"n{place}", f"n{place + 8}") for place in range(1, 9))
    launcher = ScriptedLauncher(Cluster(nodes=names(16)), hangs=[("n6", "n14")])
    real = Cluster.measure

    def nothing_first(cluster: Cluster, wanted: Round, draw: object) -> list[object]:
        delivered = real(cluster, wanted, launcher.draw)
        return [one for one in delivered if frozenset(one.pair) in launcher.hangs] or list(delivered)

    monkeypatch.setattr(Cluster, "measure", nothing_first)
    scene = Scene(tmp_path, launcher)
    scene.measurer.measure(Round(phase=Phase.SURVEY, repetition=0, shape=BANDWIDTH, pairs=pairs))
    assert scene.measurer.hung == [("n6", "n14")]
    assert scene.measured() == dict.fromkeys(set(pairs) - {("n6", "n14")}, 1)
    assert [len(one.pairs) for one in launcher.rounds] == [8, 4, 4, 2, 1, 1, 1, 2]
    assert launcher.killed == 5


def test_a_pair_that_hangs_is_asked_for_no_more_in_either_direction(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ScriptedLauncher(Cluster(nodes=names(5)), hangs=[("n2", "n4")]))
    assert scene.run()
    assert len(scene.measurer.hung) == 1
    assert set(scene.measurer.hung[0]) == {"n2", "n4"}
    asked = [pair for one in scene.launcher.rounds for pair in one.pairs if set(pair) == {"n2", "n4"}]
    assert len(asked) <= 3
    others = [pair for pair in permutations(names(5), 2) if set(pair) != {"n2", "n4"}]
    assert scene.measured() == dict.fromkeys(others, 3)


def test_a_hang_that_passes_is_no_hang(tmp_path: Path) -> None:
    launcher = ScriptedLauncher(Cluster(nodes=names(2)), hangs=[("n1", "n2")])

    def recover(number: int) -> None:
        if number == 2:
            launcher.hangs.clear()

    launcher.on_round = recover
    scene = Scene(tmp_path, launcher)
    assert scene.run()
    assert scene.measurer.hung == []
    assert scene.measured() == dict.fromkeys(permutations(names(2), 2), 3)


def test_a_refused_round_is_told_and_the_next_is_measured(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ScriptedLauncher(Cluster(nodes=names(3)), refused=[("n1", "n2")]))
    assert scene.run()
    assert set(scene.measurer.remarks) == {"The probe refused a round: no memory"}
    assert ("n1", "n2") not in scene.measured()
    assert scene.measured()["n2", "n3"] == 3
    outcomes = Counter(entry.outcome for entry in of_type(read_entries(scene.writer.folder), RoundEnded))
    assert outcomes["refused"] == len(scene.measurer.remarks)
    assert len(scene.launcher.starts) == 1


def test_past_the_deadline_no_round_is_begun(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ScriptedLauncher(Cluster(nodes=names(4))))
    assert not scene.measurer.run(scene.survey, time.monotonic() - 1)
    assert scene.launcher.rounds == []
    assert scene.progress.done == len(scene.survey)


def test_a_deadline_in_mid_survey_keeps_what_there_is(tmp_path: Path) -> None:
    clock = Clock()
    use_clock(clock)
    scene = Scene(tmp_path, ScriptedLauncher(Cluster(nodes=names(4)), on_round=lambda _: clock.advance(1.0)))
    assert not scene.measurer.run(scene.survey, 4.5)
    assert len(scene.launcher.rounds) == 5
    assert scene.measurer.measurements


def test_a_probe_that_does_not_start_for_a_silent_node_starts_without_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ScriptedLauncher(Cluster(nodes=names(4)), dies_at={"n2": 0}))
    scene.measurer.start()
    assert scene.launcher.starts == [names(4), ("n1", "n3", "n4")]
    assert scene.measurer.lost["n2"].reason.startswith("did not answer when the probe was started")


def test_a_round_that_starts_the_probe_leaves_out_nodes_that_were_lost_in_the_start(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ScriptedLauncher(Cluster(nodes=names(4)), dies_at={"n2": 0}))
    scene.measurer.measure(msgspec.structs.replace(scene.survey[0], pairs=(("n1", "n2"), ("n3", "n4"))))
    assert {one.pair for one in scene.measurer.measurements} == {("n3", "n4")}
    assert set(scene.measurer.lost) == {"n2"}


def test_a_probe_that_starts_nowhere_though_all_answer_is_an_error(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ScriptedLauncher(Cluster(nodes=names(4)), starts_fail=9))
    with pytest.raises(LaunchError, match="did not start on 4 ranks"):
        scene.measurer.start()
    assert scene.measurer.lost == {}


def test_with_one_node_left_there_is_nothing_to_measure(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ScriptedLauncher(Cluster(nodes=names(3)), dies_at={"n1": 2, "n2": 2}))
    assert scene.run()
    assert set(scene.measurer.lost) == {"n1", "n2"}
    assert len(scene.launcher.rounds) == 2
    assert len(of_type(read_entries(scene.writer.folder), Delivered)) == len(scene.measurer.measurements) > 0
    with pytest.raises(SeatrialError, match=r"Nodes that still answer: 1 of 3;.*n\[1-2\]: stopped answering"):
        scene.measurer.start()


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_round_that_is_broken_off_is_not_called_complete(tmp_path: Path, error: type[BaseException]) -> None:
    def break_off(number: int) -> None:
        if number == 3:
            raise error

    scene = Scene(tmp_path, ScriptedLauncher(Cluster(nodes=names(4)), on_round=break_off))
    with pytest.raises(error):
        scene.run()
    ends = of_type(read_entries(scene.writer.folder), RoundEnded)
    assert [entry.outcome for entry in ends] == ["complete", "complete", "interrupted"]


def test_long_windows_are_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(tmp_path, ScriptedLauncher(Cluster(nodes=names(2))))
    patience: list[float] = []
    session = scene.measurer.start()
    real = session.measure

    def listen(wanted: Round, timeout_s: float) -> Iterator[Measurement]:
        patience.append(timeout_s)
        return real(wanted, timeout_s)

    monkeypatch.setattr(session, "measure", listen)
    scene.measurer.window_s = 2.0
    for shape in (LATENCY, BANDWIDTH):
        scene.measurer.measure(Round(phase=Phase.SURVEY, repetition=0, shape=shape, pairs=(("n1", "n2"),)))
    assert patience == [0.5, 800.0]


@pytest.mark.parametrize("failures", [1, STARTS - 1])
def test_a_start_that_fails_in_passing_is_repeated_and_said(tmp_path: Path, failures: int) -> None:
    scene = Scene(tmp_path, ScriptedLauncher(Cluster(nodes=names(4)), starts_fail=failures, transient=True))
    assert scene.run()
    assert len(scene.measured()) == 12
    assert len(scene.launcher.starts) == failures + 1
    assert len(scene.measurer.remarks) == failures
    assert "was repeated" in scene.measurer.remarks[0]


def test_a_start_that_fails_again_is_not_repeated_for_ever(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ScriptedLauncher(Cluster(nodes=names(4)), starts_fail=9, transient=True))
    with pytest.raises(LaunchError):
        scene.run()
    assert len(scene.launcher.starts) == STARTS
