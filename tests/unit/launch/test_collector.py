"""Recorded trees of somebody else's: what is no file is not read, and a file without end takes no memory."""

import os
import resource
from pathlib import Path

import pytest

from seatrial.launch.collector import TREE_MEMORY_KIB, collect_tree


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/hostname").write_text("n1\n")
    (tmp_path / "proc/cmdline").write_text("quiet\n")
    return tmp_path


def test_devices_and_pipes_are_not_there(tree: Path) -> None:
    (tree / "proc/cmdline").unlink()
    (tree / "proc/cmdline").symlink_to("/dev/zero")
    (tree / "proc/meminfo").symlink_to("/dev/zero")
    os.mkfifo(tree / "proc/mounts")
    os.mkfifo(tree / "proc/sys/kernel/ostype")
    facts = collect_tree(tree, "tree")
    assert facts.startswith("#seatrial-facts 1 n1\n")
    for path in ("/proc/cmdline", "/proc/meminfo", "/proc/sys/kernel/ostype"):
        assert f"@absent {path}|no such file" in facts


def test_a_file_of_one_endless_line_takes_no_memory(tree: Path) -> None:
    with (tree / "proc/cmdline").open("r+b") as file:
        file.truncate(2 * TREE_MEMORY_KIB << 10)
    if (child := os.fork()) == 0:  # whose children are the collector's programs, and no others
        small = len(collect_tree(tree, "tree")) < 1 << 20
        os._exit(0 if small and resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss <= TREE_MEMORY_KIB else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_links_within_a_tree_are_followed(tree: Path) -> None:
    (tree / "proc/self").mkdir()
    (tree / "proc/self/line").write_text("quiet splash\n")
    (tree / "proc/cmdline").unlink()
    (tree / "proc/cmdline").symlink_to("self/line")
    assert "|quiet splash\n" in collect_tree(tree, "tree")
