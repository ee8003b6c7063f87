"""Nodes and adapters that a map should have: those that are given, and those that other nodes have."""

import re
from collections import Counter
from pathlib import Path

import pytest

from seatrial.fabric.ibnetdiscover import parse_fabric
from seatrial.fabric.map_check import check_map
from seatrial.fabric.map_lines import kind_of
from seatrial.model.errors import UsageError
from seatrial.model.fabric import End, FabricDevice, FabricLink, FabricMap
from seatrial.model.verdict import FindingKind, Verdict
from tests.support import fabrics
from tests.support.command_line import Seatrial, Text

TREE = fabrics.fabric_text("2 leaves x 4 hosts, 2 spines, 2 cables, 4xNDR, engines")


def without(text: str, *names: str) -> str:
    """The map without these adapters: the blocks that they head, and the lines of switches that name them."""
    blocks = [block for block in text.split("\n\n") if not any(f'# "{name}"\n' in block + "\n" for name in names)]
    blocks = [block for block in blocks if not re.match(rf'Ca .*# "(?:{"|".join(names)})"$', block, re.MULTILINE)]
    lines = "\n\n".join(blocks).splitlines()
    return "\n".join(line for line in lines if not any(f'# "{name}" lid' in line for name in names)) + "\n"


def renamed(text: str, name: str, other: str) -> str:
    return text.replace(f'"{name}"', f'"{other}"')


@pytest.mark.parametrize(
    ("gone", "nodes", "missing"),
    [
        ((), ("n1", "n8"), []),
        ((), ("N1", "n8.cluster.site"), []),
        (("n3 mlx5_0",), ("n1", "n2", "n4"), []),
        (("n3 mlx5_0",), ("n1", "n2", "n3"), ["n3"]),
        (("n3 mlx5_0", "n8 mlx5_0"), ("n1", "n3", "n8", "n3"), ["n3", "n8"]),
        ((), ("n1", "n9"), ["n9"]),
    ],
)
def test_a_node_that_the_map_lacks(gone: tuple[str, ...], nodes: tuple[str, ...], missing: list[str]) -> None:
    text = without(TREE, *gone) if gone else TREE
    assert check_map(parse_fabric(text)) == ()
    problems = check_map(parse_fabric(text), nodes)
    assert [(each.kind, each.verdict, each.subject.name) for each in problems] == [
        (FindingKind.NOT_IN_MAP, Verdict.MISCONFIGURED, name) for name in missing
    ]


@pytest.mark.parametrize(
    "text",
    [
        renamed(TREE, "n3 mlx5_0", "MT4129 ConnectX7   Mellanox Technologies"),
        renamed(TREE, "n3 mlx5_0", "localhost HCA-1"),
        without(TREE, "n3 mlx5_0") + "ibwarn: [7] mad_rpc: timed out\n",
    ],
)
def test_a_node_whose_adapter_may_be_there_without_its_name_is_not_accused(text: str) -> None:
    (problem,) = check_map(parse_fabric(text), ("n1", "n3"))
    assert (problem.kind, problem.verdict) == (FindingKind.NOT_IN_MAP, Verdict.INCONCLUSIVE)


def test_a_map_with_none_of_the_nodes_is_of_another_fabric() -> None:
    with pytest.raises(UsageError, match="has none of the nodes"):
        check_map(parse_fabric(TREE), ("gpu1", "gpu2"))


def test_the_command_compares_with_nodes(tmp_path: Path, seatrial: Seatrial) -> None:
    assert seatrial("fabric", "check", Text(without(TREE, "n3 mlx5_0"), "map"), code=0).out.startswith("PASS")
    ran = seatrial("fabric", "check", tmp_path / "map", "-w", "n[1-8]", code=1)
    assert ran.out.startswith("MISCONFIGURED  n3: is not in the map")
    (tmp_path / "map").write_text(renamed(TREE, "n3 mlx5_0", "localhost HCA-1"))
    ran = seatrial("fabric", "check", tmp_path / "map", "-w", "n[1-8]", code=2)
    assert ran.out.startswith("INCONCLUSIVE  n3: is not in the map; nothing is wrong with its 20 cables.")
    seatrial("fabric", "check", tmp_path / "map", "-w", "x[1-8]", code=64)


RAILS = ("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3")
FOUR_RAILS = fabrics.fat_tree(2, 4, 2, cables=2, rails=RAILS)


@pytest.mark.parametrize(
    ("text", "gone", "named"),
    [
        (FOUR_RAILS, (), {}),
        (FOUR_RAILS, ("n3 mlx5_2",), {"n3": Verdict.MISCONFIGURED}),
        (FOUR_RAILS, ("n3 mlx5_2", "n8 mlx5_0"), {"n3": Verdict.MISCONFIGURED, "n8": Verdict.MISCONFIGURED}),
        (FOUR_RAILS, ("n3 mlx5_2", "n8 mlx5_2"), {"n3": Verdict.NOTE, "n8": Verdict.NOTE}),
        (FOUR_RAILS, ("n3 mlx5_2", "n3 mlx5_3"), {"n3": Verdict.NOTE}),
        (FOUR_RAILS, ("n3 mlx5_1", "n3 mlx5_2", "n3 mlx5_3"), {}),  # a node of another kind
        (FOUR_RAILS, tuple(f"n{node} mlx5_{rail}" for node in (1, 2) for rail in (2, 3)), {}),
        (FOUR_RAILS, tuple(f"n{node} mlx5_3" for node in (1, 2, 3, 4, 5)), {}),  # most nodes have three
        (fabrics.fat_tree(2, 4, 2, rails=RAILS[:2]), ("n6 mlx5_1",), {"n6": Verdict.NOTE}),
        (renamed(FOUR_RAILS, "n3 mlx5_2", "n3 ib0"), (), {}),
        (renamed(FOUR_RAILS, "n3 mlx5_2", "n3 mlx5_1"), (), {}),
        (fabrics.fat_tree(1, 3, 1, rails=RAILS), ("n3 mlx5_2",), {}),  # two others are too few
        (fabrics.fat_tree(1, 4, 1, rails=RAILS), ("n3 mlx5_2",), {"n3": Verdict.MISCONFIGURED}),
    ],
)
def test_a_node_that_lacks_an_adapter(text: str, gone: tuple[str, ...], named: dict[str, Verdict]) -> None:
    problems = check_map(parse_fabric(without(text, *gone) if gone else text))
    assert {each.subject.name: each.verdict for each in problems} == named
    assert all(each.kind is FindingKind.NOT_IN_MAP for each in problems)
    if gone == ("n3 mlx5_2",) and text == FOUR_RAILS:
        assert problems[0].statement == ("n3 has 3 of the 4 ports that 7 nodes have in the map, and lacks mlx5_2.")


def rails_map(*changed: tuple[str, str], nodes: int = 8, mixed: bool = False) -> FabricMap:
    """Four rails of each node, each to a switch of its own, or all to one. `changed`: adapter -> its switch instead."""
    homes = {
        f"n{node} mlx5_{rail}": "leaf1" if mixed else f"leaf{rail + 1}" for node in range(nodes) for rail in range(4)
    }
    homes |= dict(changed)
    ports: Counter[str] = Counter()
    links = []
    for adapter, leaf in homes.items():
        ports[leaf] += 1
        ends = End(device=f"H-{adapter}", port=1), End(device=f"S-{leaf}", port=ports[leaf])
        links.append(FabricLink(one=ends[0], other=ends[1], width=4, speed="NDR", other_width=4, other_speed="NDR"))
    keys = sorted({end.device for link in links for end in (link.one, link.other)})
    devices = tuple(FabricDevice(key=key, kind=kind_of(key, ""), name=key[2:]) for key in keys)
    return FabricMap(devices=devices, links=tuple(links), sections=tuple(keys))


@pytest.mark.parametrize(
    ("fabric", "named"),
    [
        (rails_map(), {}),
        (rails_map(mixed=True), {}),
        (rails_map(("st1 mlx5_0", "leaf3"), ("st1 mlx5_7", "leaf4")), {}),  # a node of another kind
        (rails_map(*((f"n{node} mlx5_{rail}", "leaf9") for node in (6, 7) for rail in range(4))), {}),
        (rails_map(nodes=2), {}),
        (rails_map(("n3 mlx5_1", "leaf3"), ("n3 mlx5_2", "leaf2")), dict.fromkeys((1, 2), Verdict.MISCONFIGURED)),
        (rails_map(("n3 mlx5_1", "leaf3")), {1: Verdict.MISCONFIGURED}),
        (rails_map(("n3 mlx5_0", "leaf4"), ("n5 mlx5_3", "leaf1")), dict.fromkeys((0, 3), Verdict.MISCONFIGURED)),
        (rails_map(("n3 mlx5_1", "leaf3"), ("n4 mlx5_1", "leaf3")), {1: Verdict.NOTE}),
        (rails_map(*((f"n{node} mlx5_1", "leaf3") for node in range(4))), {1: Verdict.NOTE}),  # two thirds are others
        (rails_map(*((f"n{node} mlx5_1", "leaf3") for node in range(5))), {}),
    ],
)
def test_an_adapter_at_the_switch_of_another_rail(fabric: FabricMap, named: dict[int, Verdict]) -> None:
    found = [problem for problem in check_map(fabric) if problem.kind is FindingKind.LINK_MISPLACED]
    assert {int(problem.subject.name.partition("mlx5_")[2][0]): problem.verdict for problem in found} == named
