"""The matrix behind both heat maps."""

import msgspec

from seatrial.commands.check.heatmap import NO_LEAF, heat_map
from seatrial.commands.check.tables import pairs_worst_first, unexplained
from seatrial.model.fabric import NO_FABRIC, Fabric
from seatrial.model.verdict import Verdict
from tests.support.report_examples import HEALTHY, SICK, big, judgement, node, pair, slow_node, troubled


def test_by_leaf_then_natural_name() -> None:
    names = ["n10", "n2", "n1", "n9"]
    fabric = Fabric(leaf_of={"n10": "leaf2", "n2": "leaf10", "n1": "leaf2"}, source="test")
    pairs = tuple(pair(names[i], names[i - 1]) for i in range(4))
    heat = heat_map(judgement(pairs=pairs, nodes=()), fabric)
    assert heat.labels == ("n1", "n10", "n2", "n9")
    assert heat.leaves == ("leaf2", "leaf2", "leaf10", "")
    assert heat.boundaries == (2, 3)


def test_rows_send_and_columns_receive() -> None:
    one_way = pair("n1", "n2", SICK, Verdict.SLOW)
    heat = heat_map(judgement(pairs=(one_way,)), NO_FABRIC)
    assert list(heat.cells) == [(0, 1)]
    assert heat.cells[0, 1].verdict is Verdict.SLOW
    assert heat.cells[0, 1].share == one_way.of_limit


def test_share_is_of_the_peers_where_no_limit_is_known() -> None:
    lone = msgspec.structs.replace(pair("n1", "n2", SICK), limit=None)
    heat = heat_map(judgement(pairs=(lone,)), NO_FABRIC)
    assert heat.cells[0, 1].share == SICK / HEALTHY


def test_many_nodes_become_leaves_and_the_least_number_stays() -> None:
    judged = big(300, 20, 3)
    heat = heat_map(judged, NO_FABRIC)
    assert heat.by_leaf
    assert heat.labels[:3] == ("leaf0", "leaf1", "leaf2")
    assert len(heat.labels) == 15
    bad = heat.cells[0, 0]
    assert bad.bandwidth_bytes_per_s is not None
    assert (bad.verdict, bad.pairs, round(bad.share or 0, 3)) == (Verdict.SLOW, 54, 0.5)
    assert "node7" in (bad.slowest.source, bad.slowest.target)
    assert sum(cell.pairs for cell in heat.cells.values()) == len(judged.pairs)
    assert heat.cells[1, 1].verdict is Verdict.PASS


def test_64_nodes_are_drawn_one_by_one() -> None:
    assert not heat_map(big(64, 16, 1), NO_FABRIC).by_leaf
    assert heat_map(big(65, 16, 1), NO_FABRIC).by_leaf


def test_of_too_many_leaves_the_worst_stay() -> None:
    heat = heat_map(big(100, 2, 2), NO_FABRIC, most=10)
    assert (len(heat.labels), heat.left_out) == (10, 40)
    assert "leaf3" in heat.labels


def test_worst_pairs_come_first_and_unexplained_ones_are_found() -> None:
    _, judged = troubled()
    ordered = pairs_worst_first(judged)
    assert [p.verdict for p in ordered[:2]] == [Verdict.INVALID, Verdict.SLOW]
    assert {(p.source, p.target) for p in unexplained(judged, ordered)} == {("n1", "n2"), ("n4", "n3")}
    assert unexplained(slow_node(), pairs_worst_first(slow_node())) == []


def test_beyond_64_nodes_leaves_stand_worst_first_and_a_number_is_the_median() -> None:
    heat = heat_map(big(100, 10, 5), NO_FABRIC, most_nodes=64)
    assert heat.by_leaf
    assert heat.labels[:2] == ("leaf0", "leaf1")
    bad = heat.cells[0, 0]
    assert (round(bad.share or 0, 2), round(bad.median_share or 0, 2)) == (0.5, 1.0)
    later = heat_map(judgement(pairs=big(100, 10, 5).pairs[50:], nodes=big(100, 10, 5).nodes), NO_FABRIC, most_nodes=64)
    assert not [cell for cell in later.cells.values() if cell.verdict is Verdict.SLOW]
    assert later.labels == tuple(f"leaf{i}" for i in range(10))


def test_the_worst_leaf_comes_first_wherever_it_stands() -> None:
    judged = big(100, 10, 2)
    turned = tuple(msgspec.structs.replace(node, leaf=f"leaf{9 - int(node.leaf[4:])}") for node in judged.nodes)
    heat = heat_map(msgspec.structs.replace(judged, nodes=turned), NO_FABRIC, most_nodes=64)
    assert heat.labels[0] == "leaf9"


def test_a_culprits_leaf_comes_before_those_of_its_partners() -> None:
    pairs = [pair("a1", "b1"), pair("a1", "c1", SICK - 1, Verdict.SLOW), pair("b1", "c1", SICK, Verdict.SLOW)]
    nodes = tuple(msgspec.structs.replace(node(name), leaf=f"leaf-{name[0]}") for name in ("a1", "b1", "c1"))
    heat = heat_map(judgement(pairs=tuple(pairs), nodes=nodes), NO_FABRIC, most_nodes=2)
    assert heat.labels == ("leaf-c", "leaf-a", "leaf-b")


def test_what_was_not_measured_is_counted_as_blank() -> None:
    assert heat_map(big(16, 4, 15), NO_FABRIC).blank == 0
    assert heat_map(big(16, 4, 1), NO_FABRIC).blank == 16 * 14


def test_of_many_nodes_of_unknown_leaf_the_worst_are_drawn() -> None:
    judged = big(300, 20, 1)
    nodes = tuple(msgspec.structs.replace(node, leaf="") for node in judged.nodes)
    heat = heat_map(judgement(pairs=judged.pairs, nodes=nodes), NO_FABRIC)
    assert not heat.by_leaf
    assert (len(heat.labels), heat.left_out) == (64, 236)
    assert heat.labels[0] == "node7"
    assert set(heat.labels[1:3]) == {"node6", "node8"}


def test_nodes_without_a_leaf_are_one_row_where_others_have_one() -> None:
    judged = big(100, 50, 1)
    nodes = tuple(msgspec.structs.replace(node, leaf=node.leaf.replace("leaf1", "")) for node in judged.nodes)
    assert set(heat_map(judgement(pairs=judged.pairs, nodes=nodes), NO_FABRIC).labels) == {"leaf0", NO_LEAF}
