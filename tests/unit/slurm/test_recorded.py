"""What a real Slurm 22.05.8 said, recorded in a lab."""

from seatrial.fabric.slurm_topology import parse_topology
from seatrial.slurm import text
from tests.support.paths import DATA

RECORDED = DATA / "slurm"


def said(name: str) -> str:
    return (RECORDED / f"{name}.txt").read_text(encoding="utf-8")


def test_idle_nodes_of_the_default_partition() -> None:
    lines = text.partition_lines(text.parse_sinfo(said("sinfo-idle")), "")
    assert [line.node for line in lines if line.idle] == ["n1", "n2", "n3", "n4"]
    assert {line.partition for line in lines} == {"main"}


def test_drained_down_and_allocated_nodes() -> None:
    lines = {line.node: line for line in text.parse_sinfo(said("sinfo-mixed-states")) if line.default}
    assert [line.idle for line in lines.values()] == [True, False, False, False]
    assert lines["n2"].reason == "bad DIMM | slot 3"
    assert [text.why_not(lines[node]).fault for node in ("n2", "n3", "n4")] == [False, True, False]
    assert lines["n4"].busy


def test_salloc() -> None:
    assert text.granted_job(said("salloc-granted")) == "2"
    assert text.pending_job(said("salloc-granted")) == ""
    assert text.granted_job(said("salloc-pending")) == ""
    assert text.pending_job(said("salloc-pending")) == "3"
    assert text.granted_job(said("salloc-no-partition")) == ""
    assert text.complaint(said("salloc-no-partition")) == "invalid partition specified: nope"


def test_sbatch_and_srun() -> None:
    assert text.submitted_job(said("sbatch")) == "4"
    assert text.unlabelled(said("srun-label")) == ("a: b\nn1\n", "a: b\nn2\n")
    assert text.launch_failures(said("srun-launch-failed")) == {"n2": "Communication connection failure"}


def test_topology() -> None:
    fabric = parse_topology(said("topology"))
    assert fabric.leaf_of == {"n1": "leaf1", "n2": "leaf1", "n3": "leaf2", "n4": "leaf2"}
