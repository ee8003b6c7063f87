"""A round of groups that is lost costs the group at fault, and nothing that was delivered."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from seatrial.archive.writer import RunWriter
from seatrial.driver.measurer import Measurer
from seatrial.driver.node_trials import measure_groups
from seatrial.driver.progress import Silent
from seatrial.launch.contract import PLAIN, StartManner
from seatrial.model.errors import ProbeLost, RoundRefused
from seatrial.model.measurement import GroupMeasurement, GroupRound, Kernel, Phase, Shape, node_of
from tests.support.builders import Cluster, info_of, names
from tests.support.scripted import ScriptedLauncher, ScriptedSession

SHAPE = Shape(kernel=Kernel.FMA, message_bytes=32, window=1, warmup=0, iterations=2)
NODES = names(8)
ALONE = tuple((name,) for name in NODES)


class GroupSession(ScriptedSession):
    """Delivers groups in order until one that ends the session."""

    def __init__(self, launcher: "GroupLauncher", nodes: Sequence[str]) -> None:
        super().__init__(launcher, nodes)
        self._groups = launcher

    def measure_groups(self, wanted: GroupRound, timeout_s: float) -> Iterator[GroupMeasurement]:
        self._groups.asked.append(wanted.groups)
        for group in wanted.groups:
            if self._groups.refuses:
                raise RoundRefused("The probe refused a round: no memory")
            if set(group) & self._groups.deadly:
                self._groups.deadly -= self._groups.once
                raise ProbeLost("The probe ended in mid-work", "died")
            yield GroupMeasurement(
                phase=wanted.phase, repetition=wanted.repetition, shape=wanted.shape, nodes=group, times_s=(1.0, 1.0)
            )


class GroupLauncher(ScriptedLauncher):
    """`deadly`: nodes in whose turn the session ends; `once`: those of them that do so only once."""

    def __init__(self, deadly: set[str], once: set[str], *, refuses: bool = False) -> None:
        super().__init__(Cluster(nodes=NODES))
        self.deadly, self.once, self.refuses = deadly, once, refuses
        self.asked: list[tuple[tuple[str, ...], ...]] = []

    def start(self, nodes: Sequence[str], log: Path, manner: StartManner = PLAIN) -> GroupSession:
        super().start(nodes, log, manner)
        return GroupSession(self, nodes)


def measured(tmp_path: Path, launcher: GroupLauncher) -> Measurer:
    measurer = Measurer(launcher, RunWriter(tmp_path, info_of(launcher.cluster)), NODES, Silent(), 0.5)
    measure_groups(measurer, GroupRound(phase=Phase.NODES, repetition=0, shape=SHAPE, groups=ALONE))
    return measurer


def test_all_goes_well_in_one_round(tmp_path: Path) -> None:
    launcher = GroupLauncher(set(), set())
    assert [one.nodes for one in measured(tmp_path, launcher).group_measurements] == list(ALONE)
    assert launcher.asked == [ALONE]


def test_a_session_that_is_lost_once_costs_nothing(tmp_path: Path) -> None:
    measurer = measured(tmp_path, GroupLauncher({"n4"}, {"n4"}))
    assert sorted(one.nodes for one in measurer.group_measurements) == list(ALONE)
    assert measurer.remarks == []
    assert len(measurer.losses) == 1


@pytest.mark.parametrize("culprit", ["n1", "n5", "n8"])
def test_the_group_that_ends_every_session_is_left_out_and_named(tmp_path: Path, culprit: str) -> None:
    launcher = GroupLauncher({culprit}, set())
    measurer = measured(tmp_path, launcher)
    assert sorted(one.nodes for one in measurer.group_measurements) == [(name,) for name in NODES if name != culprit]
    assert measurer.remarks == [f"fma was not measured on {culprit}: The probe ended in mid-work"]
    assert launcher.asked.count(((culprit,),)) == 2, "once more, alone"


def test_a_refusal_is_a_remark(tmp_path: Path) -> None:
    measurer = measured(tmp_path, GroupLauncher(set(), set(), refuses=True))
    assert (measurer.group_measurements, measurer.remarks) == ([], ["The probe refused a round: no memory"])


def test_the_node_of_a_place() -> None:
    assert [node_of(name) for name in ("n1:0", "n1", "vm:12", "a:b")] == ["n1", "n1", "vm", "a:b"]
