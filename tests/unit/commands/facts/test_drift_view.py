"""Differences as text and as JSON."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.commands.facts.drift_view import MOST_DIFFERENCES
from seatrial.drift.changes import changes
from seatrial.drift.comparison import against, drift
from seatrial.model import subject
from seatrial.model.facts import NodeFacts
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.render.text import as_text
from tests.support.fact_places import values
from tests.support.golden import check_page
from tests.support.json_objects import frame, parsed
from tests.support.properties import examples
from tests.support.reports import Facts, as_json_text, drift_of
from tests.unit.drift.test_comparison import cluster, node

FINDING = Finding(
    kind=FindingKind.MTU_DIFFERS,
    subject=subject.node("n7"),
    verdict=Verdict.MISCONFIGURED,
    statement="The MTU of n7 is not that of its peers.",
    remedy="Set it to 9000.",
)


def clusters() -> dict[str, tuple[Facts, tuple[Finding, ...]]]:
    """Name of a page -> nodes and findings."""
    others = {name: node(name, cpu_model="EPYC", processors=7 if name == "f1" else 8) for name in ("f1", "f2", "f3")}
    return {
        "two-odd-nodes": (cluster(64, n7=node("n7", kernel="5.14.0-162"), n9=node("n9", hcas=())), ()),
        "no-majority": (cluster(2, n2=node("n2", kernel="5.14.0-162")), ()),
        "finding-first": (cluster(4, n2=node("n2", kernel="odd")), (FINDING,)),
        "two-groups": (cluster(3, n2=node("n2", kernel="odd")) | others, ()),
    }


@pytest.mark.parametrize("page", clusters())
def test_differences(page: str) -> None:
    facts, findings = clusters()[page]
    check_page(f"drift-{page}", as_text(drift_of(facts, drift(facts), (), (), findings)))


def test_changes_and_the_login_node_have_their_own_parts() -> None:
    before = cluster(64)
    after = {name: node(name, kernel="5.14.0-162" if name != "n9" else "5.14.0-70") for name in before}
    login = node("login", kernel="4.18", mpi_versions=("MPICH 4.0",))
    check_page("drift-changes", as_text(drift_of(after, (), changes(before, after), against(login, after), ())))


@pytest.mark.parametrize(
    ("others", "ending"),
    [
        ((), "no fact differs among 12 nodes that should be alike"),
        (("n2",), "1 more finding: n2; "),
        (("n7",), "1 more finding: n7; "),
        (("n9", "n2", "n3", "n9"), "4 more findings: n[2-3,9]; "),
    ],
)
def test_the_first_of_several_findings_is_told_with_its_value(others: tuple[str, ...], ending: str) -> None:
    first = msgspec.structs.replace(FINDING, brief="MTU 1500 on eth0, its peers 9000")
    rest = tuple(msgspec.structs.replace(FINDING, subject=subject.node(name)) for name in others)
    sentence = drift_of(cluster(12), (), (), (), (first, *rest)).sentence
    assert sentence.startswith(f"n7: MTU 1500 on eth0, its peers 9000; {ending}")


def test_nothing_that_differs_is_said_too() -> None:
    facts = cluster(4)
    assert as_text(drift_of(facts, (), (), (), ())) == "PASS  no fact differs among 4 nodes that should be alike\n"


def test_a_single_node_is_compared_with_no_other() -> None:
    said = as_text(drift_of(cluster(1), (), (), (), ()))
    assert said == "PASS  nothing known to be bad; 1 node, compared with no other node\n"
    named = as_text(drift_of(cluster(1), (), (), (), (FINDING,)))
    assert named.startswith("MISCONFIGURED  n7: MTU differs; 1 node, compared with no other node\n")


def test_many_differences_are_cut_and_many_values_too() -> None:
    facts = {f"n{number}": node(f"n{number}", kernel=f"k{number}") for number in range(20)}
    text = as_text(drift_of(facts, drift(facts), (), (), ()))
    assert "no majority value among 20 nodes: kernel" in text
    assert "14 more values" in text
    many = drift(cluster(3, n1=node("n1", kernel="odd"))) * (MOST_DIFFERENCES + 2)
    assert "and 2 more differences in the JSON report" in as_text(drift_of(facts, many, (), (), ()))


def test_the_json_has_all_of_it_in_base_units() -> None:
    facts = cluster(4, n2=node("n2", memory_bytes=2**30))
    whole = frame(as_json_text(drift_of(facts, drift(facts), findings=(FINDING,))))
    value = whole["data"]
    assert value.keys() == {"groups", "differences", "changes", "not_compared", "against"}
    assert whole["exit_code"] == 1
    assert value["groups"] == [{"name": "Made Up MU-1, Xeon", "nodes": ["n1", "n2", "n3", "n4"]}]
    (difference,) = value["differences"]
    usual = difference.pop("usual")
    assert 512 * 2**30 < usual < 513 * 2**30
    assert difference == {
        "fact": "memory_bytes",
        "group": "Made Up MU-1, Xeon",
        "values": [[2**30, ["n2"]], [usual, ["n1", "n3", "n4"]]],
        "odd": ["n2"],
        "weight": 75,
        "along_with": [],
    }
    assert whole["findings"][0]["kind"] == "mtu-differs"


def test_the_json_of_changes_and_of_groups_that_were_not_given() -> None:
    before, after = cluster(3), cluster(3, n2=node("n2", kernel="odd"))
    value = parsed(as_json_text(drift_of(after, drift(after), changes(before, after), against(before["n1"], after))))
    assert value["changes"] == [
        {
            "fact": "kernel",
            "before": "5.14.0-70",
            "after": "odd",
            "nodes": ["n2"],
            "of": 3,
            "weight": 70,
            "along_with": [],
        }
    ]
    assert value["groups"] == [{"name": "Made Up MU-1, Xeon", "nodes": ["n1", "n2", "n3"]}]
    assert value["against"] == []


@settings(max_examples=examples(10), deadline=None)
@given(st.lists(values(NodeFacts), max_size=4), values(NodeFacts))
def test_any_differences_are_found_and_shown(several: list[NodeFacts], login: NodeFacts) -> None:
    facts = {f"n{number}": each for number, each in enumerate(several)}
    then = {f"n{number}": each for number, each in enumerate(reversed(several), start=len(several) % 2)}
    differences, changed, apart = drift(facts), changes(facts, then), against(login, facts)
    assert as_text(drift_of(facts, differences, changed, apart, ()), width=60)
    assert as_json_text(drift_of(facts, differences, changed, apart)).isascii()
