"""Control groups of nodes: where they are, and what is written into them."""

import os
from pathlib import Path
from typing import Any

import pytest

from seatrial.lab.cluster import node_groups
from seatrial.lab.cluster.node_groups import NodeGroup, hierarchies, name_of, own_group, remove_groups
from seatrial.model.errors import SeatrialError

SEPARATE = """cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0
cgroup /sys/fs/cgroup/cpuacct cgroup rw,relatime,cpuacct 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0
"""
TOGETHER = "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct 0 0\n"
ONLY_V2 = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nsdelegate 0 0\n"
OWN = "9:name=systemd:/a\n4:cpu,cpuacct:/slurm/job\n0::/user.slice\n"


def test_the_hierarchies_of_both_versions_are_found() -> None:
    found = hierarchies(SEPARATE)
    assert (found["cpu"], found["cpuacct"]) == (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup/cpuacct"))
    assert set(hierarchies(TOGETHER)) == {"cpu", "cpuacct"}
    assert hierarchies(ONLY_V2) == {"unified": Path("/sys/fs/cgroup")}
    assert hierarchies("broken\ntmpfs /tmp tmpfs rw 0 0\n") == {}


def test_the_group_of_a_process_by_controller() -> None:
    assert own_group(OWN, "cpu") == own_group(OWN, "cpuacct") == "/slurm/job"
    assert own_group(OWN, "memory") == own_group("", "cpu") == "/"


def test_a_quota_is_written_as_each_version_wants_it(tmp_path: Path) -> None:
    first = NodeGroup(cpu=tmp_path, accounting=tmp_path / "acct", version=1)
    first.limit(0.8)
    assert (tmp_path / "cpu.cfs_quota_us").read_text() == "8000"
    assert (tmp_path / "cpu.cfs_period_us").read_text() == "10000"
    assert (first.usage.name, len(first.folders)) == ("cpuacct.usage", 2)
    second = NodeGroup(cpu=tmp_path, accounting=tmp_path, version=2)
    second.limit(0.001)
    assert (tmp_path / "cpu.max").read_text() == "1000 10000", "the kernel takes no less than a millisecond"
    assert (second.usage.name, second.folders) == ("cpu.stat", (tmp_path,))


def test_a_limit_of_a_device_is_written_as_each_version_wants_it(tmp_path: Path) -> None:
    first = NodeGroup(cpu=tmp_path, accounting=tmp_path, version=1, blocks=tmp_path)
    first.limit_device("7:3", 20_000_000)
    for way in ("read", "write"):
        assert (tmp_path / f"blkio.throttle.{way}_bps_device").read_text() == "7:3 20000000"
    assert first.folders == (tmp_path,)
    second = NodeGroup(cpu=tmp_path, accounting=tmp_path, version=2, blocks=tmp_path)
    second.limit_device("7:3", 20_000_000)
    assert (tmp_path / "io.max").read_text() == "7:3 rbps=20000000 wbps=20000000"
    with pytest.raises(SeatrialError, match="no cgroup that limits block devices"):
        NodeGroup(cpu=tmp_path, accounting=tmp_path, version=2).limit_device("7:3", 1)


def test_labs_do_not_share_a_group() -> None:
    assert name_of("a", "n1") != name_of("b", "n1")


def test_groups_of_a_lab_are_removed_while_those_of_others_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers and other labs end theirs at any time, also when they are about to be looked into."""
    root = tmp_path / "cgroup"
    own, inner, foreign, gone = (
        root / name for name in (name_of("x", "n1"), f"slice/{name_of('x', 'n2')}", name_of("y", "n1"), "container")
    )
    for folder in (own, inner, foreign, gone):
        folder.mkdir(parents=True)
    (tmp_path / "mounts").write_text(f"cgroup2 {root} cgroup2 rw 0 0\n")
    monkeypatch.setattr(node_groups, "MOUNTS", tmp_path / "mounts")
    scan = os.scandir

    def scandir(path: Any) -> Any:
        if path == gone:
            gone.rmdir()
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    remove_groups("x")
    assert not gone.exists()
    assert not own.exists() and not inner.exists()
    assert foreign.exists()
