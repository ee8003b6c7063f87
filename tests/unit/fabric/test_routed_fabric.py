"""What pairs of nodes cross, by a fabric's real cables and routes."""

import itertools

import msgspec
import pytest

from seatrial.fabric.forwarding import parse_tables
from seatrial.fabric.ibnetdiscover import parse_fabric
from seatrial.fabric.routed_fabric import RoutedFabric, Routing, make_routing
from seatrial.model.errors import UsageError
from seatrial.model.fabric import NO_FABRIC, Component, Fabric
from seatrial.model.subject import Direction
from tests.support.builders import names
from tests.support.fabrics import fat_tree, tables_of

ALL = list(itertools.permutations(names(16), 2))


def routed(
    text: str, nodes: tuple[str, ...], known: Fabric = NO_FABRIC, *, shift: int = 0, device: str = ""
) -> RoutedFabric:
    fabric = parse_fabric(text)
    tables = parse_tables(tables_of(text, shift=shift), fabric)
    return RoutedFabric(make_routing(fabric, tables, nodes, known, device=device, source="fabric.txt"))


def words(fabric: RoutedFabric, source: str, target: str) -> list[str]:
    return [f"{part.kind} {part.name} {part.direction}" for part in fabric.path(source, target)]


def test_each_cable_is_a_part_in_its_direction() -> None:
    fabric = routed(fat_tree(4, 4, 4), names(16))
    assert words(fabric, "n1", "n2") == ["node n1 out", "node n2 in"]
    assert words(fabric, "n1", "n6") == [
        "node n1 out",
        "link leaf1[6]-spine2[1] out",
        "link leaf2[6]-spine2[2] in",
        "node n6 in",
    ]
    assert words(fabric, "n6", "n1")[1:3] == ["link leaf2[5]-spine1[2] out", "link leaf1[5]-spine1[1] in"]
    assert fabric.leaf_of["n16"] == "leaf4"


def test_the_tables_decide_which_cables() -> None:
    text = fat_tree(4, 4, 4)
    assert words(routed(text, names(16), shift=1), "n1", "n6")[1] == "link leaf1[7]-spine3[1] out"


def test_bundles_count_once_enough_of_their_cables_are_crossed() -> None:
    fabric = routed(fat_tree(4, 4, 4), names(16))
    few = fabric.measured([("n1", "n5"), ("n1", "n6")])
    assert not any(part.kind in ("uplink", "spine") for part in few.path("n1", "n5"))
    everything = fabric.measured(ALL)
    assert words(everything, "n1", "n5")[3:] == [
        "spine spine1 both",
        "uplink leaf1 out",
        "uplink leaf2 in",
        "node n5 in",
    ]
    assert words(fabric, "n1", "n5") == words(few, "n1", "n5")


def test_pairs_across_a_cable() -> None:
    fabric = routed(fat_tree(4, 4, 4), names(16)).measured(ALL)
    for part in set(fabric.path("n1", "n6")):
        pairs = fabric.across(part, 6, 1)
        assert all(part in fabric.path(*pair) for pair in pairs)
        assert len(pairs) == (0 if part.kind == "node" else 6)
    unseen = Component(kind="link", name="no such", direction=Direction.OUT)
    assert fabric.across(unseen, 6, 1) == []


def test_the_first_rail_counts_unless_told() -> None:
    text = fat_tree(2, 2, 2, rails=("mlx5_10", "mlx5_2"))
    nodes = ("N1.cluster", "n2", "n3", "n4")  # a domain and capitals do not matter
    fabric = routed(text, nodes)
    names_of = {device.key: device.rail for device in fabric.routing.fabric.devices}
    assert [names_of[fabric.routing.adapter_of[node]] for node in nodes] == ["mlx5_2"] * 4
    told = routed(text, nodes, device="MLX5_10")
    assert [names_of[told.routing.adapter_of[node]] for node in nodes] == ["mlx5_10"] * 4
    with pytest.raises(UsageError, match="mlx5_7"):
        routed(text, nodes, device="mlx5_7")


def test_nodes_that_the_map_lacks_keep_their_leaf() -> None:
    known = Fabric(leaf_of={"n1": "switch-a", "x1": "switch-a", "x2": "switch-b", "n3": "switch-c"}, source="Slurm")
    fabric = routed(fat_tree(2, 2, 2), ("n1", "n3", "x1", "x2", "x3"), known)
    assert fabric.leaf_of == {"n1": "leaf1", "n3": "leaf2", "x1": "leaf1", "x2": "switch-b"}
    assert words(fabric, "x1", "n3") == ["node x1 out", "uplink leaf1 out", "uplink leaf2 in", "node n3 in"]
    assert words(fabric, "n1", "x1") == ["node n1 out", "node x1 in"]
    assert words(fabric, "n1", "x3") == ["node n1 out", "node x3 in"]
    (note,) = fabric.notes
    assert "3 of 5 nodes" in note
    assert "x1, x2, x3" in note
    with pytest.raises(UsageError, match="n1 mlx5_0"):
        routed(fat_tree(2, 2, 2), ("a", "b"))


def test_routes_that_are_only_supposed_are_said_to_be() -> None:
    fabric = RoutedFabric(make_routing(parse_fabric(fat_tree(2, 2, 2)), None, names(4), NO_FABRIC))
    assert "supposed" in fabric.source
    assert "--routes" in fabric.notes[0]


def test_cables_that_no_pair_crossed_are_counted() -> None:
    fabric = routed(fat_tree(4, 4, 4), names(16))
    assert fabric.notes == ()
    (note,) = fabric.measured([("n1", "n5"), ("n1", "n6")]).notes
    assert "crossed 4 of 32 directions" in note
    assert fabric.measured(ALL).notes == ()


def test_switches_of_one_name_are_kept_apart() -> None:
    fabric = routed(fat_tree(2, 2, 2).replace('"spine2"', '"spine1"'), names(4))
    cables = {
        part.name for part in itertools.chain(fabric.path("n1", "n3"), fabric.path("n1", "n4")) if part.kind == "link"
    }
    assert len(cables) == 4


def test_a_routing_survives_the_archive() -> None:
    fabric = routed(fat_tree(4, 4, 4), (*names(16), "x"), shift=2)
    again = RoutedFabric(msgspec.json.decode(msgspec.json.encode(fabric.routing), type=Routing))
    assert again == fabric
    assert again != routed(fat_tree(4, 4, 4), names(16))
    assert [list(again.path(*pair)) for pair in ALL] == [list(fabric.path(*pair)) for pair in ALL]


def test_only_the_tables_of_our_adapters_are_kept() -> None:
    fabric = routed(fat_tree(4, 4, 4), names(3))
    assert fabric.routing.tables is not None
    assert len(fabric.routing.tables.adapters) == 3
