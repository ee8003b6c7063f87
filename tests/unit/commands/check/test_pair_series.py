"""A program on sixteen simulated nodes, many times: each fault is named with few starts, healthy nodes are silent."""

from pathlib import Path

import pytest

from seatrial.model.fabric import Component
from seatrial.model.subject import Direction, node, uplink
from seatrial.model.verdict import FindingKind, Verdict
from tests.support.builders import Cluster, leaves, slow_part
from tests.support.pair_programs import OSU_BW, SENDRECV, PairProgramLauncher, nccl_test, osu_bw
from tests.unit.commands.check.test_pair_program import QUARTER, SIXTEEN, checked

FAULTS: dict[str, tuple[dict[Component, float], tuple[str, ...], tuple[FindingKind, object, Direction]]] = {
    "slow node": (slow_part("node", "n5", 0.7), (), (FindingKind.SLOW_LINK, node("n5"), Direction.BOTH)),
    "slow link": (slow_part("node", "n11", 0.8, [Direction.IN]), (),
                  (FindingKind.SLOW_LINK, node("n11"), Direction.IN)),
    "uplink": (slow_part("uplink", "leaf3", 0.6), (), (FindingKind.SLOW_UPLINK, uplink("leaf3"), Direction.BOTH)),
    "failing start": ({}, ("n14",), (FindingKind.RANK_DIED, node("n14"), Direction.BOTH)),
}  # fmt: skip


@pytest.mark.series
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("both_ways", [False, True], ids=["osu_bw", "sendrecv"])
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_of_sixteen_nodes_is_named_in_a_quarter_of_all_starts(
    tmp_path: Path, fault: str, both_ways: bool, seed: int
) -> None:
    slow, fails, (kind, subject, direction) = FAULTS[fault]
    if both_ways and direction is not Direction.BOTH:
        pytest.skip("one figure for both directions")
    cluster = Cluster(nodes=SIXTEEN, leaf_of=leaves(16, 4), parts=slow, seed=seed)
    says, words = (nccl_test, SENDRECV) if both_ways else (osu_bw, OSU_BW)
    launcher = PairProgramLauncher(cluster, says, fails=fails, waits=lambda _node: 0.0)
    (finding,) = checked(tmp_path, launcher, words).judgement.findings
    assert (finding.kind, finding.subject) == (kind, subject)
    assert fails or finding.direction is direction
    assert len(launcher.pairs) <= QUARTER


@pytest.mark.series
@pytest.mark.parametrize("seed", range(100, 120))
@pytest.mark.parametrize("both_ways", [False, True], ids=["osu_bw", "sendrecv"])
def test_sixteen_healthy_nodes_are_silent(tmp_path: Path, both_ways: bool, seed: int) -> None:
    says, words = (nccl_test, SENDRECV) if both_ways else (osu_bw, OSU_BW)
    launcher = PairProgramLauncher(Cluster(nodes=SIXTEEN, leaf_of=leaves(16, 4), seed=seed), says,
                                   waits=lambda _node: 0.0)  # fmt: skip
    judgement = checked(tmp_path, launcher, words).judgement
    assert (judgement.findings, judgement.verdict) == ((), Verdict.PASS)
    assert len(launcher.pairs) <= QUARTER
