"""From violations to findings: nodes, the cluster, places of one host, and what it costs."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.model.facts import NodeFacts
from seatrial.model.subject import CLUSTER, node
from seatrial.model.verdict import Finding, FindingKind
from seatrial.rules.base import Readings, named
from seatrial.rules.catalogue import RULES, fact_findings
from tests.support.fact_places import SCALARS, values
from tests.support.facts_examples import all_alike, cluster, odd, processor, server
from tests.support.facts_examples import settings as kernel_settings
from tests.support.processor_time import within
from tests.support.properties import examples

POWERSAVE = processor(governors={"powersave": 16})


def fact_text(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(one.kind, one.subject.text) for one in findings]


def test_what_befalls_all_nodes_is_one_finding_of_the_cluster() -> None:
    (finding,) = fact_findings(all_alike(64, processor=POWERSAVE))
    assert (finding.kind, finding.subject) == (FindingKind.GOVERNOR, CLUSTER)
    assert finding.statement.startswith("All 64 nodes (n1, n2, n3 and 61 more): governor powersave on 16 of 16")


def test_a_few_who_are_spared_or_silent_do_not_make_a_thousand_findings() -> None:
    facts = cluster(20, every={"processor": POWERSAVE})
    facts["n7"] = server("n7")
    facts["n8"] = server("n8", processor=processor(governors={}))
    (finding,) = fact_findings(Readings(facts=facts))
    assert finding.subject == CLUSTER
    assert finding.statement.startswith("18 of 19 nodes that report it (n1, n2, n3 and 15 more)")


def test_below_nine_tenths_each_node_is_named() -> None:
    facts = cluster(10) | {f"n{number}": server(f"n{number}", processor=POWERSAVE) for number in range(1, 9)}
    assert fact_text(fact_findings(Readings(facts=facts))) == [
        (FindingKind.GOVERNOR, f"node:n{number}") for number in range(1, 9)
    ]


def test_a_node_alone_is_a_node() -> None:
    (finding,) = fact_findings(all_alike(1, processor=POWERSAVE))
    assert finding.subject == node("n1")


def test_one_finding_of_a_kind_for_each_node() -> None:
    names = [f"net.core.{letter}" for letter in "abcdef"]
    facts = cluster(5, every={"settings": kernel_settings(sysctls=dict.fromkeys(names, "1"))})
    facts["n2"] = server("n2", settings=kernel_settings(sysctls=dict.fromkeys(names, "2")))
    (finding,) = fact_findings(Readings(facts=facts))
    assert finding.statement == (
        "Node n2: net.core.a is 2, where most of its peers have 1; net.core.b is 2, where most of its peers have 1; "
        "net.core.c is 2, where most of its peers have 1; net.core.d is 2, where most of its peers have 1; "
        "and 2 more of this kind."
    )


def test_half_and_half_is_one_finding_that_names_both() -> None:
    facts = cluster(64, every={"kernel": "6.1"})
    facts |= {f"n{number}": server(f"n{number}", kernel="6.8") for number in range(1, 33)}
    (finding,) = fact_findings(Readings(facts=facts))
    assert (finding.kind, finding.subject) == (FindingKind.KERNEL_DIFFERS, CLUSTER)
    assert "6.8 on 32 nodes (" in finding.statement
    assert "6.1 on 32 (" in finding.statement


def test_two_that_differ_are_both_named() -> None:
    (finding,) = fact_findings(odd(2, kernel="6.8"))
    assert finding.subject == CLUSTER
    assert finding.statement == ("The nodes differ: the kernel is 5.14.0-427.el9 on 1 node (n1) and 6.8 on 1 (n2).")


def test_two_that_differ_where_only_less_is_wrong() -> None:
    for gib in (64, 256):
        (finding,) = fact_findings(odd(2, memory_bytes=gib << 30))
        assert (finding.kind, finding.subject) == (FindingKind.MEMORY_DIFFERS, CLUSTER)


def test_mtu_names_every_node_where_none_is_usual() -> None:
    interfaces = tuple(msgspec.structs.replace(each, mtu_bytes=1500) for each in server().interfaces)
    found = fact_text(fact_findings(odd(2, interfaces=interfaces)))
    assert found == [(FindingKind.MTU_DIFFERS, "node:n1"), (FindingKind.MTU_DIFFERS, "node:n2")]


def test_other_hardware_is_no_peer() -> None:
    facts = cluster(4) | {f"g{number}": server(f"g{number}", cpu_model="GPU node", cores=64) for number in range(4)}
    assert fact_findings(Readings(facts=facts)) == []


def test_places_of_one_host_are_looked_at_once() -> None:
    facts = {f"box:{rank}": server("box", processor=POWERSAVE) for rank in range(4)}
    assert fact_text(fact_findings(Readings(facts=facts, after=facts))) == [(FindingKind.GOVERNOR, "node:box:0")]


def test_nodes_on_one_kernel_are_nodes_nevertheless() -> None:
    facts = {name: msgspec.structs.replace(known, boot_id="one") for name, known in cluster(4).items()}
    facts["n3"] = server("n3", boot_id="one", processor=POWERSAVE)
    assert fact_text(fact_findings(Readings(facts=facts))) == [(FindingKind.GOVERNOR, "node:n3")]


def test_the_order_is_the_catalogues() -> None:
    both = odd(4, kernel="6.8", processor=POWERSAVE)
    order = [rule.kind for rule in RULES]
    kinds = [one.kind for one in fact_findings(both)]
    assert kinds == sorted(kinds, key=order.index)
    assert kinds[:2] == [FindingKind.GOVERNOR, FindingKind.KERNEL_DIFFERS]


def test_names_and_clauses_are_counted_where_they_are_many() -> None:
    assert named(["n1", "n2"]) == "n1, n2"
    assert named(["n1", "n2", "n3", "n4"]) == "n1, n2, n3, n4"
    assert named(["n1", "n2", "n3", "n4", "n5"]) == "n1, n2, n3 and 2 more"


def test_a_thousand_nodes_cost_less_than_a_second() -> None:
    modules = {f"module{number}": "1" for number in range(150)}
    sysctls = {f"net.core.s{number}": "1" for number in range(40)}
    tuned = kernel_settings(modules=modules, sysctls=sysctls)
    facts = cluster(1000, every={"settings": tuned})
    facts["n500"] = server("n500", settings=kernel_settings(modules={"module1": "2"}, sysctls={}))
    with within(1):  # 0.3 s on an idle machine
        found = fact_findings(Readings(facts=facts, after=facts))
    assert fact_text(found) == [(FindingKind.MODULE_VERSION_DIFFERS, "node:n500")]


words = st.sampled_from(["", "a", "b", "half", "up", "powersave", "performance", "SMT x; SMT y", "/", "/run/", "1.2.3"])
nodes: st.SearchStrategy[NodeFacts] = values(
    NodeFacts, {**SCALARS, str: words, int: st.integers(0, 3), float: st.sampled_from([0.0, 1e9, 8e9, 16e9, 25e9])}
)


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(nodes, max_size=4), st.lists(nodes, max_size=4), st.lists(words, max_size=3))
def test_no_rule_is_upset_by_what_it_does_not_know(
    before: list[NodeFacts], after: list[NodeFacts], features: list[str]
) -> None:
    facts = {f"n{number}": known for number, known in enumerate(before)}
    later = {f"n{number}": known for number, known in enumerate(after)}
    readings = Readings(facts=facts, after=later, features={"n0": tuple(features)})
    for finding in fact_findings(readings):
        assert finding.subject == CLUSTER or finding.subject.name in facts
        assert finding.statement.endswith(".")
        assert finding.remedy


@settings(max_examples=examples(25), deadline=None)
@given(nodes, st.integers(2, 5))
def test_nodes_that_are_alike_never_differ(one: NodeFacts, count: int) -> None:
    facts = {f"n{number}": msgspec.structs.replace(one, hostname=f"n{number}") for number in range(count)}
    for finding in fact_findings(Readings(facts=facts, after=facts)):
        if finding.kind is FindingKind.SUBNET_SHARED:
            continue  # a LID belongs to one port: nodes with the same LIDs are not alike, they are in conflict
        assert finding.subject == CLUSTER
        assert "differ:" not in finding.statement
        assert "peers" not in finding.statement
