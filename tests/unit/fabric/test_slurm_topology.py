"""`scontrol show topology`, as Slurm 22.05.8 printed it and as it might."""

import re

import pytest

from seatrial.fabric.slurm_topology import is_leaf_file, parse_leaf_file, parse_topology

TREE = """\
SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-4]
SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[5-8]
SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[1-8] Switches=leaf[1-2]
"""


def test_two_leaves_and_a_spine() -> None:
    fabric = parse_topology(TREE)
    assert fabric.leaf_of == {f"n{number}": "leaf1" if number < 5 else "leaf2" for number in range(1, 9)}
    assert fabric.source == "scontrol show topology: 2 leaf switches"


def test_the_order_of_the_lines_does_not_matter() -> None:
    assert parse_topology("\n".join(reversed(TREE.splitlines()))).leaf_of == parse_topology(TREE).leaf_of


def test_a_node_on_a_higher_switch_alone_hangs_on_that() -> None:
    fabric = parse_topology(
        "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=a[1-2],b007\n"
        "SwitchName=spine Level=1 LinkSpeed=1 Nodes=a[1-2],b007,login Switches=leaf1\n"
    )
    assert fabric.leaf_of == {"a1": "leaf1", "a2": "leaf1", "b007": "leaf1", "login": "spine"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "printed nothing"),
        ("\n \n", "printed nothing"),
        ("BlockName=b1 BlockIndex=0 Nodes=(null) BlockSize=4\n", "a block topology"),
        ("scontrol: error: No topology information available\n", "No topology information available"),
        ("SwitchName=leaf1 Level=0 LinkSpeed=1\n", "names no leaf switch"),
        ("SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=(null)\n", "names no leaf switch"),
    ],
)
def test_no_leaves_with_the_reason(text: str, reason: str) -> None:
    fabric = parse_topology(text)
    assert fabric.leaf_of == {}
    assert reason in fabric.source


@pytest.mark.parametrize(
    "nodes",
    ["n[1-4", "n[1-99999999999]", "n[1-99999]x[1-99999]", "n[4-1]", "@all", "n[1-4]&n2", "n%d", "n[a-b]", "n[]", "ñ1"],
)
def test_lines_that_cannot_be_read_are_counted_not_guessed(nodes: str) -> None:
    fabric = parse_topology(f"{TREE}SwitchName=leaf3 Level=0 LinkSpeed=1 Nodes={nodes}\n")
    assert "leaf3" not in fabric.leaf_of.values()
    assert fabric.source == "scontrol show topology: 2 leaf switches, 1 line not understood"


def test_a_large_site_is_not_too_large() -> None:
    nodes = ",".join(f"r{rack}n[0001-1000]" for rack in range(50))
    fabric = parse_topology(f"SwitchName=core Level=0 LinkSpeed=1 Nodes={nodes}\n")
    assert len(fabric.leaf_of) == 50_000
    assert fabric.leaf_of["r7n0042"] == "core"


BLOCKS = """\
BlockName=b1 BlockIndex=0 Nodes=n[1-4] BlockSize=4
BlockName=b2 BlockIndex=1 Nodes=n[5-8] BlockSize=4
AggregatedBlock=b[1-2] BlockIndex=2 Nodes=n[1-8] BlockSize=8
"""
"""As scontrol of Slurm 24.05 prints a block topology (scontrol(1), show topology; topology.conf(5), BlockName)."""


@pytest.mark.parametrize("text", [BLOCKS, "BlockName=b1 Nodes=n[1-4]\nBlockName=b2 Nodes=n[5-8]\nBlockSizes=4,8\n"])
def test_a_base_block_counts_as_a_leaf(text: str) -> None:
    fabric = parse_topology(text)
    assert fabric.leaf_of == {f"n{number}": "b1" if number < 5 else "b2" for number in range(1, 9)}
    assert fabric.source == "scontrol show topology: 2 blocks"
    assert "1 line not understood" in parse_topology(text + "BlockName=b3 Nodes=n[1-\n").source


@pytest.mark.parametrize(
    "text",
    [
        "n[1-2],n3 leaf1\n# a comment\n\nn4 leaf2  # the last\n",
        "n1 leaf1\nn2\tleaf1\nn3 leaf1\nn4 leaf2\n",
        "SwitchName=leaf1 Nodes=n[1-3]\nSwitchName=leaf2 Nodes=n4\nSwitchName=s Switches=leaf[1-2]\n",
    ],
)
def test_a_file_of_leaves(text: str) -> None:
    assert parse_leaf_file(text) == {"n1": "leaf1", "n2": "leaf1", "n3": "leaf1", "n4": "leaf2"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "names no node"),
        ("n1\n", "line 1 ('n1') is not of the form"),
        ("n1 leaf1 leaf2\n", "is not of the form"),
        ("n[1- leaf1\n", "is not of the form"),
        ("n1 leaf1\nn[1-2] leaf2\n", "line 2: node n1 is on leaf1 and on leaf2"),
        ("SwitchName=s1 Switches=leaf[1-2]\n", "names no leaf switch"),
    ],
)
def test_a_file_that_names_no_leaves_is_refused_with_its_line(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        parse_leaf_file(text)


HALVES = {f"n{number}": "s1" if number < 5 else "s2" for number in range(1, 9)}


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffSwitchName=s1 Nodes=n[1-4]\r\nSwitchName=s2 Nodes=n[5-8]\r\nSwitchName=top Switches=s[1-2]\r\n",
        "SwitchName=s1 \\\n  Nodes=n[1-4]\nSwitchName=s2 Nodes=n[5-6],\\\nn[7-8]\n",
        "SwitchName = s1 Nodes = n[1-4]\nswitchname=s2 nodes=n[5-8]\nSWITCHNAME=top SWITCHES=s[1-2]\n",
        "topology: main\ntree:\n  switches:\n  - {switch: s1, nodes: 'n[1-4]'}\n  - {switch: s2, nodes: 'n[5-8]'}\n",
        "-\n  tree:\n    switches:\n    - {switch: s1, nodes: 'n[1-4]'}\n    - {switch: s2, nodes: 'n[5-8]'}\n",
    ],
)
def test_forms_that_slurm_reads(text: str) -> None:
    assert is_leaf_file(text)
    assert parse_leaf_file(text) == HALVES


def test_a_file_with_a_line_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ValueError, match=r"line 2 \('SwitchName=s2 Nodes=n\[5-8'\)"):
        parse_leaf_file("SwitchName=s1 Nodes=n[1-4]\nSwitchName=s2 Nodes=n[5-8\nSwitchName=top Switches=s[1-2]\n")


@pytest.mark.parametrize("line", ["BlockName=b2 Nodes=n[5-", "BlockName=b2 Nodez=n[5-8]", "BlockName= Nodes=n[5-8]"])
def test_a_block_of_topology_conf_that_cannot_be_read_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"line 2 .* is not a block with a list of its nodes"):
        parse_leaf_file(f"BlockName=b1 Nodes=n[1-4]\n{line}\nBlockSizes=4\n")
