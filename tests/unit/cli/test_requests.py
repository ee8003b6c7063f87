"""What a check asks Slurm for, and what it says about it before: scripts stand in for Slurm's commands."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial.driver.node_selection import allocate_available, sampled
from seatrial.driver.submitted import read_settings
from seatrial.frame import command_line
from seatrial.launch.contract import Hosts
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.errors import LaunchError, SeatrialError, UsageError
from seatrial.model.fabric import Fabric
from seatrial.model.settings import CheckSettings, SiteSettings
from tests.support.command_line import Seatrial
from tests.support.slurm_scripts import GRANTS, SlurmScripts, in_place_of_slurm

NODES = tuple(f"n{place}" for place in range(1, 13))
HOSTS = Hosts(nodes=NODES, fabric=Fabric(leaf_of={n: f"leaf{(i // 4) + 1}" for i, n in enumerate(NODES)}, source="x"))


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlurmScripts:
    monkeypatch.setenv("SEATRIAL_SITE", "")
    return in_place_of_slurm(tmp_path / "bin", tmp_path / "archive", monkeypatch)


def test_a_dry_run_prints_nodes_time_and_node_hours_and_asks_for_nothing(
    slurm: SlurmScripts, seatrial: Seatrial
) -> None:
    words = ["check", "--dry-run", "--exclude", "n2", "--account", "ops", "--slurm-arg=--comment=a b"]
    out = seatrial(*words).out
    assert "n[1,3]" in out
    assert "2 nodes for at most 30 minutes: at most 1.00 node-hours" in out
    assert "--account=ops '--comment=a b'" in out
    found = seatrial(*words, "--json").data
    assert (found["nodes"], found["allocation_minutes"], found["node_hours"]) == (["n1", "n3"], 30, 1.0)
    assert slurm.all_asked("salloc") == slurm.all_asked("sbatch") == slurm.all_asked("srun") == []


def test_a_dry_run_says_what_several_ranks_per_node_take(slurm: SlurmScripts, seatrial: Seatrial) -> None:
    words = ["check", "--dry-run", "--ranks-per-node", "2,4"]
    said = "the pairs with 2, 4 ranks per node at once; each survey may take 23 % of the time"
    assert said in " ".join(seatrial(*words).out.split())
    assert seatrial(*words, "--json").data["ranks_per_node"] == [2, 4]
    assert seatrial("check", "--dry-run", "--json").data["ranks_per_node"] == []


def test_the_partition_is_asked_how_many_nodes_a_job_may_have(slurm: SlurmScripts, seatrial: Seatrial) -> None:
    slurm.says("scontrol", "ClusterName = demo\nPartitionName=normal MaxNodes=2 MaxTime=1-00:00:00\n")
    asked = seatrial("check", "--dry-run", "--json").data
    assert len(asked["nodes"]) == 2
    assert "allows jobs of 2 nodes (MaxNodes): 2 of 3 nodes" in asked["notes"][0]
    assert ["--oneliner", "show", "partition", "normal"] in slurm.all_asked("scontrol")
    slurm.says("scontrol", "ClusterName = demo\nPartitionName=normal MaxNodes=UNLIMITED\n")
    assert len(seatrial("check", "--dry-run", "--json").data["nodes"]) == 3


def test_a_dry_run_says_which_partners_a_returning_node_gets_and_that_it_is_resumed(
    slurm: SlurmScripts, seatrial: Seatrial
) -> None:
    slurm.says("sinfo", "n1|idle|normal*|none\nn2|idle|normal*|none\nn3|drained|normal*|bad DIMM\n")
    asked = seatrial("check", "n3", "--dry-run", "--json").data
    assert asked["nodes"] == ["n1", "n2", "n3"]
    assert asked["notes"][0].startswith("Out of service (n3: bad DIMM): resumed for the check inside a reservation")
    assert not [words for words in slurm.all_asked("scontrol") if "update" in words or "create" in words]
    for option in ("--detach", "--one-per-leaf", "--sample=2"):
        assert "chooses their partners" in seatrial("check", "n3", option, code=64).err


def test_a_detached_check_asks_alike_and_its_job_decides_the_nodes(slurm: SlurmScripts, tmp_path: Path) -> None:
    words = ["--account", "ops", "--qos", "high", "--slurm-arg=--comment=x", "--sample", "2", "--html", "page.html"]
    assert command_line.run(["check", "--detach", "--run", "later", "--probe", "/bin/true", *words]) == 0
    asked = slurm.asked("sbatch")
    assert {"--account=ops", "--qos=high", "--comment=x", "--nodes=2"} <= set(asked)
    settings = read_settings(Path(asked[-1]))
    assert (settings.slurm.account, settings.slurm.arguments, settings.sample) == ("", ("--comment=x",), 0)
    assert settings.html == Path("page.html").absolute()


@pytest.mark.parametrize(("sample", "leaves"), [(3, 3), (6, 3), (2, 2)])
def test_a_sample_is_spread_over_the_leaves(sample: int, leaves: int) -> None:
    chosen, remark = sampled(CheckSettings(archive=Path(), sample=sample), HOSTS, NODES)
    assert len(chosen) == sample
    assert len({HOSTS.fabric.leaf_of[node] for node in chosen}) == leaves
    assert remark == f"--sample {sample}: {sample} of 12 nodes of 3 leaf switches are measured."
    other, _ = sampled(CheckSettings(archive=Path(), sample=sample, seed=8), HOSTS, NODES)
    assert other != chosen


def test_one_node_of_each_leaf() -> None:
    chosen, _ = sampled(CheckSettings(archive=Path(), one_per_leaf=True), HOSTS, NODES)
    assert sorted(HOSTS.fabric.leaf_of[node] for node in chosen) == ["leaf1", "leaf2", "leaf3"]
    two, _ = sampled(CheckSettings(archive=Path(), one_per_leaf=True, sample=2), HOSTS, NODES)
    assert len({HOSTS.fabric.leaf_of[node] for node in two}) == 2
    unknown = Hosts(nodes=NODES, fabric=Fabric(leaf_of={}, source=""))
    with pytest.raises(UsageError, match="no leaf switches are known"):
        sampled(CheckSettings(archive=Path(), one_per_leaf=True), unknown, NODES)
    with pytest.raises(UsageError, match="leaves 1 node of 3 leaf switches, and a pair needs two"):
        sampled(CheckSettings(archive=Path(), sample=1), HOSTS, NODES)
    assert sampled(CheckSettings(archive=Path()), HOSTS, NODES) == (NODES, "")


def test_no_more_nodes_are_taken_than_the_partition_allows_one_job() -> None:
    def taken(most: int, **settings: Any) -> tuple[int, str]:
        hosts = msgspec.structs.replace(HOSTS, most_nodes=most)
        chosen, remark = sampled(CheckSettings(archive=Path(), **settings), hosts, NODES)
        return len(chosen), remark

    number, remark = taken(3)
    assert number == 3
    assert remark.startswith(f"The partition allows jobs of 3 nodes (MaxNodes): 3 of {len(NODES)} nodes")
    assert taken(3, sample=2)[0] == 2
    assert taken(3, nodes=NODES) == (len(NODES), "")
    assert taken(len(NODES)) == (len(NODES), "")
    with pytest.raises(SeatrialError, match=r"jobs of 1 node \(MaxNodes\), and a pair needs two"):
        taken(1)


REFUSES_N3 = f"""
case "$*" in
*n3*|*'n[1-3]'*)
    echo 'salloc: error: Job submit/allocate failed: Required node not available (down, drained or reserved)' >&2
    exit 1 ;;
esac
{GRANTS}
"""


def test_a_node_that_disappears_before_the_grant_does_not_block_the_others(slurm: SlurmScripts) -> None:
    launcher = SlurmLauncher(SiteSettings(archive=Path()), probe=Path())
    nodes = launcher.hosts().nodes
    slurm.runs("salloc", REFUSES_N3)
    slurm.says("sinfo", "n1|idle|normal*|none\nn2|idle|normal*|none\nn3|down*|normal*|Not responding\n")
    try:
        granted, lost = allocate_available(launcher, nodes, 60, 2)
    finally:
        launcher.close()
    assert granted == ("n1", "n2")
    assert [(state.node, state.fault) for state in lost] == [("n3", True)]
    assert "down" in lost[0].reason


def test_a_node_that_slurm_no_longer_lists_is_lost_and_too_few_left_are_an_error(slurm: SlurmScripts) -> None:
    launcher = SlurmLauncher(SiteSettings(archive=Path()), probe=Path())
    nodes = launcher.hosts().nodes
    slurm.runs("salloc", REFUSES_N3)
    slurm.says("sinfo", "n1|idle|normal*|none\nn2|idle|normal*|none\n")
    with pytest.raises(LaunchError, match="n3: Slurm does not list it any more"):
        allocate_available(launcher, nodes, 60, 3)


def test_a_refusal_with_all_nodes_in_service_is_not_repeated(slurm: SlurmScripts) -> None:
    launcher = SlurmLauncher(SiteSettings(archive=Path()), probe=Path())
    nodes = launcher.hosts().nodes
    slurm.runs("salloc", REFUSES_N3.replace("case", f"echo x >> {slurm.folder}/calls\ncase"))
    with pytest.raises(LaunchError, match="is down, drained or reserved"):
        allocate_available(launcher, nodes, 60, 2)
    assert (slurm.folder / "calls").read_text() == "x\n"


def test_a_large_check_says_what_it_takes_before_it_asks(slurm: SlurmScripts, seatrial: Seatrial) -> None:
    slurm.says("sinfo", "".join(f"n{place}|idle|normal*|none\n" for place in range(1, 101)))
    slurm.says("salloc", "salloc: error: Job submit/allocate failed: Invalid qos specification\n", code=1)
    err = seatrial("check", "--probe", "/bin/true", code=2).err
    takes = "This takes 100 nodes for at most 30 minutes: at most 50.00 node-hours. --sample N"
    assert 0 <= err.find(takes) < err.find("Waiting for 100 nodes")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--slurm-arg=--clusters=b"], "asks another cluster"),
        (["--slurm-arg=-Mb"], "asks another cluster"),
        (["--hosts", "[fe80::1],n2"], "the IPv6 address fe80::1 cannot be given to mpirun"),
    ],
)
def test_other_clusters_and_addresses_are_refused_with_a_sentence(
    words: list[str], why: str, seatrial: Seatrial
) -> None:
    assert why in seatrial("check", *words, code=64).err
