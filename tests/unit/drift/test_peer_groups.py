"""Nodes with the same hardware: one way of grouping, for drift, rules and reports alike."""

import random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from seatrial.drift.comparison import drift
from seatrial.drift.peer_groups import comparable, groups, hardware_groups, lone_machines
from seatrial.model.facts import NodeFacts
from seatrial.model.run import with_kinds
from seatrial.model.system import Firmware, SystemFacts
from seatrial.model.verdict import FindingKind
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import fact_findings
from tests.support.facts_examples import cluster, hca


def of_make(node: str, vendor: str, product: str, processor: str) -> NodeFacts:
    firmware = Firmware(vendor=vendor, product=product)
    return NodeFacts(hostname=node, complete=True, cpu_model=processor, system=SystemFacts(firmware=firmware))


def test_a_make_is_vendor_product_and_processor_and_nothing_that_can_break() -> None:
    facts = {f"n{number}": of_make(f"n{number}", "V", "P", "X") for number in range(3)}
    facts["n1"] = msgspec.structs.replace(facts["n1"], processors=1, memory_bytes=1)
    facts |= {
        "o1": of_make("o1", "V", "Q", "X"),
        "o2": of_make("o2", "V", "Q", "X"),
        "p1": of_make("p1", "V", "P", "Y"),
    }
    assert hardware_groups(facts) == (("n0", "n1", "n2"), ("o1", "o2"), ("p1",))
    assert [group.name for group in groups(facts)] == ["V P, X", "V Q, X", "V P, Y"]


def test_what_was_told_in_part_is_joined_where_it_fits_one_make_only() -> None:
    facts = {"a1": of_make("a1", "A", "P", "X"), "a2": of_make("a2", "A", "", ""), "b1": of_make("b1", "B", "P", "X")}
    assert set(hardware_groups(facts)) == {("a1", "a2"), ("b1",)}
    assert set(hardware_groups(facts | {"u1": of_make("u1", "", "", "X")})) == {("a1", "a2"), ("b1",), ("u1",)}
    partly = {"a1": of_make("a1", "A", "", "X"), "a2": of_make("a2", "", "", "")}
    assert hardware_groups(partly) == (("a1", "a2"),)


def test_rules_hold_a_node_of_untold_make_against_its_peers_as_drift_does() -> None:
    facts = cluster(4)
    told = facts["n2"].system
    untold = msgspec.structs.replace(told, firmware=msgspec.structs.replace(told.firmware, vendor="", product=""))
    facts["n2"] = msgspec.structs.replace(facts["n2"], kernel="odd", system=untold)
    assert [each.odd for each in drift(facts) if each.fact == "kernel"] == [("n2",)]
    found = [one for one in fact_findings(Readings(facts=facts)) if one.kind is FindingKind.KERNEL_DIFFERS]
    assert [one.subject.text for one in found] == ["node:n2"]


def test_nodes_of_a_declared_kind_are_peers_whatever_their_model_and_links_are() -> None:
    slow = hca("mlx5_0", msgspec.structs.replace(hca().ports[0], data_bits_per_s=50e9))
    facts = {f"n{number}": of_make(f"n{number}", "V", "P" if number < 4 else "Q", "X") for number in range(1, 9)}
    facts |= {node: msgspec.structs.replace(facts[node], hcas=(slow,)) for node in ("n1", "n2")}
    assert [group.nodes for group in comparable(facts)] == [("n4", "n5", "n6", "n7", "n8"), ("n1", "n2", "n3")]
    declared = with_kinds(facts, dict.fromkeys(("n1", "n2", "n4", "n5"), ("hdr", "kind=thin")))
    assert [(group.name, group.nodes) for group in comparable(declared)] == [
        ("kind thin", ("n1", "n2", "n4", "n5")),
        ("V Q, X", ("n6", "n7", "n8")),
        ("V P, X", ("n3",)),
    ]


def test_a_node_alone_in_its_declared_kind_is_there_by_design() -> None:
    facts = {name: of_make(name, "V", "P" if name != "n4" else "Q", "X") for name in ("n1", "n2", "n3", "n4")}
    assert [lone.node for lone in lone_machines(facts)] == ["n4"]
    assert lone_machines(with_kinds(facts, {"n4": ("kind=login",)})) == ()


words = st.sampled_from(("", "A", "B"))


@given(st.lists(st.tuples(words, words, words), max_size=12), st.randoms(use_true_random=False))
def test_every_node_is_in_one_group_whatever_the_order_of_reading(
    makes: list[tuple[str, str, str]], draw: random.Random
) -> None:
    facts = {f"n{number}": of_make(f"n{number}", *make) for number, make in enumerate(makes)}
    found = hardware_groups(facts)
    assert sorted(node for group in found for node in group) == sorted(facts)
    shuffled = list(facts.items())
    draw.shuffle(shuffled)
    assert hardware_groups(dict(shuffled)) == found
    for group in found:
        whole = {make for node in group if "" not in (make := makes[int(node[1:])])}
        assert len(whole) <= 1


def machines(**counts: int) -> dict[str, NodeFacts]:
    """So many nodes of each processor model."""
    return {
        f"{model}{number}": of_make(f"{model}{number}", "V", "P", model)
        for model, count in counts.items()
        for number in range(count)
    }


def test_a_single_other_machine_among_many() -> None:
    (lone,) = lone_machines(machines(a=55, b=1))
    assert (lone.node, lone.peers, lone.of) == ("b0", 55, 56)
    assert [each.node for each in lone_machines(machines(a=54, b=1, c=1))] == ["b0", "c0"]
    assert [each.node for each in lone_machines(machines(a=3, b=1))] == ["b0"]


def test_groups_and_small_sets_are_not_other_machines() -> None:
    for counts in ({"a": 54, "b": 2}, {"a": 2, "b": 2}, {"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 4, "b": 3, "c": 1}):
        assert lone_machines(machines(**counts)) == ()
    assert lone_machines({}) == ()


def test_a_machine_of_unknown_model_is_not_another() -> None:
    facts = machines(a=5) | {"o1": of_make("o1", "V", "Q", "a"), "o2": of_make("o2", "V", "Q", "a")}
    assert lone_machines(facts | {"u": of_make("u", "V", "", "a")}) == ()
    assert lone_machines(facts | {"u": of_make("u", "", "", "")}) == ()
    assert [each.node for each in lone_machines(facts | {"u": of_make("u", "W", "", "")})] == ["u"]


def test_drift_shows_what_makes_a_lone_machine_another() -> None:
    facts = machines(a=55, b=1)
    facts = {name: msgspec.structs.replace(known, cores=2 if name == "b0" else 56) for name, known in facts.items()}
    found = {each.fact: (each.group, each.odd) for each in drift(facts)}
    assert found == {"cpu_model": ("all nodes", ("b0",)), "cores": ("all nodes", ("b0",))}
    (finding,) = fact_findings(Readings(facts=facts))
    assert finding.kind is FindingKind.MACHINE_DIFFERS
    assert (
        finding.statement == "Node b0: 1 of 56 is a different machine: V P, b, 2 cores, where 55 have V P, a, 56 cores."
    )
    assert drift(machines(a=54, b=2)) == ()
