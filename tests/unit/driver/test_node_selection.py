"""Whether there are two nodes to measure, and what is said where there are not."""

from pathlib import Path

import pytest

from seatrial.driver.node_selection import enough, grouped
from seatrial.launch.contract import Hosts
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.fabric import NO_FABRIC
from seatrial.model.run import NodeCause, NodeState
from seatrial.model.settings import CheckSettings


def left_out(reason: str, *nodes: str, cause: NodeCause = NodeCause.UNAVAILABLE) -> tuple[NodeState, ...]:
    return tuple(NodeState(node=node, reason=reason, fault=False, cause=cause) for node in nodes)


@pytest.mark.parametrize(
    ("there", "reason", "cause", "remedy"),
    [
        ((), "Slurm says drained (tonight)", NodeCause.UNAVAILABLE, "seatrial doctor"),
        ((), "Slurm says allocated", NodeCause.UNAVAILABLE, "seatrial doctor"),
        (("n9",), "Slurm says mixed", NodeCause.BUSY, "Wait for idle nodes"),
        (("n9",), "Slurm says drained", NodeCause.BUSY, "Wait for idle nodes"),
        (("n9",), "", NodeCause.UNKNOWN, "Choose a partition of two nodes or more"),
    ],
)
def test_the_remedy_fits_what_is_missing(
    there: tuple[str, ...], reason: str, cause: NodeCause, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    hosts = Hosts(nodes=there, left_out=left_out(reason, "n1", "n2", cause=cause) if reason else (), fabric=NO_FABRIC)
    with pytest.raises(SeatrialError) as caught:
        enough(hosts, CheckSettings(archive=tmp_path))
    assert remedy in caught.value.remedy
    assert ("n[1-2]: Slurm says" in caught.value.what) == bool(reason)


def test_one_node_asked_for_is_wrong_use_and_two_are_enough(tmp_path: Path) -> None:
    one = Hosts(nodes=("n1",), fabric=NO_FABRIC)
    with pytest.raises(UsageError, match="Name at least two"):
        enough(one, CheckSettings(archive=tmp_path, nodes=("n1",)))
    assert enough(Hosts(nodes=("n1", "n2"), fabric=NO_FABRIC), CheckSettings(archive=tmp_path)) == ("n1", "n2")


def test_many_reasons_are_cut_short() -> None:
    states = [state for number in range(9) for state in left_out(f"reason {number}", f"n{number}")]
    assert grouped(states).endswith("n3: reason 3; ...")
