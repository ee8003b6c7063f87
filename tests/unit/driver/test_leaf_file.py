"""--leaves: the file's switches replace what the scheduler knows; others are refused with a sentence."""

from pathlib import Path

import msgspec
import pytest

from seatrial.commands.check.run import run_check
from seatrial.driver.site import with_leaf_file
from seatrial.launch.contract import Hosts
from seatrial.model.errors import UsageError
from seatrial.model.fabric import Fabric
from seatrial.model.settings import CheckSettings
from tests.support.builders import Cluster, names, record

SLURMS = Hosts(nodes=names(3), fabric=Fabric(leaf_of={"n1": "old"}, source="scontrol show topology"))


def settings(folder: Path, text: str) -> CheckSettings:
    (folder / "leaves.txt").write_text(text)
    return CheckSettings(archive=folder / "archive", leaves=str(folder / "leaves.txt"))


def test_the_file_replaces_what_slurm_knows(tmp_path: Path) -> None:
    hosts = with_leaf_file(settings(tmp_path, "n[1-2] leaf1\nn9 leaf2\n"), SLURMS)
    assert hosts.fabric.leaf_of == {"n1": "leaf1", "n2": "leaf1"}
    assert hosts.fabric.source == "leaves.txt: 1 leaf switch, 1 node without one"
    assert with_leaf_file(CheckSettings(archive=tmp_path), SLURMS) is SLURMS


BLOCKS = "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n3\nBlockSizes=2\n"
DOCUMENT = """\
- topology: fabric
  tree:
    switches:
      - {switch: top, children: "b[1-2]"}
      - {switch: b1, nodes: "n[1-2]"}
      - {switch: b2, nodes: n3}
"""


@pytest.mark.parametrize("text", [BLOCKS, DOCUMENT])
def test_slurms_blocks_and_its_topology_yaml(text: str, tmp_path: Path) -> None:
    hosts = with_leaf_file(settings(tmp_path, text), SLURMS)
    assert hosts.fabric.leaf_of == {"n1": "b1", "n2": "b1", "n3": "b2"}


@pytest.mark.parametrize(("text", "why"), [("m[1-9] leaf1\n", "has none of the nodes; it has m1"), ("n1\n", "NODES")])
def test_a_file_that_does_not_fit_is_refused(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=why):
        with_leaf_file(settings(tmp_path, text), SLURMS)
    with pytest.raises(UsageError):
        with_leaf_file(CheckSettings(archive=tmp_path, leaves=str(tmp_path / "none.txt")), SLURMS)


def test_a_check_reports_where_its_leaves_are_from(tmp_path: Path) -> None:
    folder = record(Cluster(nodes=names(4)), tmp_path / "archive")
    (tmp_path / "leaves.txt").write_text("n[1-2] a\nn[3-4] b\n")
    asked = CheckSettings(archive=tmp_path / "archive", replay=folder, leaves=str(tmp_path / "leaves.txt"))
    info = run_check(asked).recorded.info
    assert set(info.fabric.leaf_of.values()) == {"a", "b"}
    assert info.fabric.source.startswith("leaves.txt: 2 leaf switches")


def test_what_a_site_says_of_its_own_leaves_does_not_hold_for_a_replay(tmp_path: Path) -> None:
    folder = record(Cluster(nodes=names(4)), tmp_path / "archive")
    of_site = msgspec.structs.replace(settings(tmp_path, "login[1-2] leaf1\n"), from_site=("--leaves",))
    with pytest.raises(UsageError, match="has none of the nodes"):
        with_leaf_file(of_site, SLURMS)
    assert run_check(msgspec.structs.replace(of_site, replay=folder)).recorded.info.nodes == names(4)
