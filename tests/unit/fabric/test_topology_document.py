"""Slurm's topology.yaml and topology.conf: the leaf or base block of each node."""

import pytest

from seatrial.fabric.slurm_topology import is_leaf_file, parse_leaf_file
from tests.support.paths import data

TREE = data("fabric/topology.yaml")
BLOCKS = """\
- topology: topo-block
  cluster_default: {default}
  block:
    block_sizes: [4, 16]
    blocks:
      - {{block: b1, nodes: "node[1-4]"}}
      - block: 0002
        nodes: node[5-6],gpu[01-02]
"""
FLAT = "- topology: topo-flat\n  cluster_default: false\n  flat: true\n"
LEAVES = {f"node{number}": "s1" if number < 5 else "s2" for number in range(1, 9)}


def test_a_tree() -> None:
    assert is_leaf_file(TREE)
    assert parse_leaf_file(TREE) == LEAVES


@pytest.mark.parametrize(
    "text", [TREE + BLOCKS.format(default="false"), FLAT + BLOCKS.format(default="no") + TREE.removeprefix("---\n")]
)
def test_the_default_of_several_topologies_counts_and_others_for_nodes_that_it_lacks(text: str) -> None:
    assert parse_leaf_file(text) == LEAVES | {"gpu01": "0002", "gpu02": "0002"}


def test_base_blocks_are_leaves_where_they_are_the_default() -> None:
    text = TREE.replace("default: true", "default: false") + BLOCKS.format(default="True")
    assert parse_leaf_file(text)["node1"] == "b1"
    assert parse_leaf_file(text)["gpu01"] == "0002"
    assert parse_leaf_file(text)["node7"] == "s2"


def test_a_node_that_a_leaf_and_a_switch_above_list_is_on_the_leaf() -> None:
    text = TREE.replace("children: s[1-2]", "children: s[1-2]\n        nodes: [node1, login1]")
    assert parse_leaf_file(text) == LEAVES | {"login1": "sw_root"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (FLAT, "has no tree and no blocks that name nodes"),
        ("- topology: a\n  tree: &x\n    switches: []\n  block: *x\n", "refers to an anchor"),
        (TREE.replace("node[5-8]", "node[5-"), "the nodes of s2 \\('node\\[5-'\\) are not a host list"),
        (TREE.replace("node[5-8]", "n[1-99999]x[1-99999]"), "are not a host list"),
        (TREE.replace("- switch: s1", "- switch: {s1"), "is not valid YAML"),
        ("- topology: a\n  tree: " + "[" * 1200, "is not valid YAML"),
        (TREE + "\x7f", "is not valid YAML"),
        (TREE + "#" * (1 << 20), "at most 1048576 are read"),
    ],
)
def test_documents_that_cannot_be_read_say_why(text: str, reason: str) -> None:
    assert is_leaf_file(text)
    with pytest.raises(ValueError, match=reason):
        parse_leaf_file(text)


def test_blocks_in_topology_conf() -> None:
    text = "# H100 racks\nBlockName=b1 Nodes=n[1-4]\nblockname=b2 nodes=n[5-8]\nBlockSizes=4,8\n"
    assert is_leaf_file(text)
    assert parse_leaf_file(text) == {f"n{number}": "b1" if number < 5 else "b2" for number in range(1, 9)}


def test_parameters_in_any_case() -> None:
    text = "SWITCHNAME=leaf1 NODES=n[1-2]\nswitchname=leaf2 nodes=n3 linkspeed=100\nSwitchName=top Switches=leaf[1-2]\n"
    assert is_leaf_file(text)
    assert parse_leaf_file(text) == {"n1": "leaf1", "n2": "leaf1", "n3": "leaf2"}


@pytest.mark.parametrize("text", ["", "vendid=0x2c9\ndevid=0xd2f0\n", 'Switch 36 "S-1" # "leaf"\n', "n1 n2 n3\n"])
def test_a_map_of_cables_is_no_leaf_file(text: str) -> None:
    assert not is_leaf_file(text)
