"""Each rule fires where it should, on the right node, and nowhere else."""

from collections.abc import Iterator

import msgspec
import pytest

from seatrial.model.facts import NodeFacts
from seatrial.model.subject import node
from seatrial.model.verdict import FindingKind, Verdict
from seatrial.rules.base import Readings, Rule, Violation, findings_of
from seatrial.rules.catalogue import RULES, fact_findings
from tests.support.facts_examples import all_alike
from tests.support.rule_cases import FIRING, SILENT

KINDS = [rule.kind for rule in RULES]

ALSO: dict[str, set[str]] = {
    FindingKind.DEVICE_MISSING: set(),
    FindingKind.PCIE_LINK_DEGRADED: {FindingKind.DEVICE_MISSING.value},
}
"""What a case brings with it beyond its own kind: its path leaves the GPU out."""


def test_each_kind_has_one_rule_and_both_cases() -> None:
    assert len(KINDS) == len(set(KINDS)) >= 24
    assert set(FIRING) == set(SILENT) == set(KINDS)
    assert len({rule.order for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_named_on_the_right_node_and_nothing_else_is(kind: str) -> None:
    found = fact_findings(FIRING[kind])
    assert {one.kind for one in found} - ALSO.get(kind, set()) == {kind}
    (finding,) = (one for one in found if one.kind is kind)
    assert finding.subject == node("n2")
    assert finding.verdict is Verdict.MISCONFIGURED
    assert finding.statement.startswith("Node n2: ")
    assert finding.statement.endswith(".")
    assert finding.remedy


@pytest.mark.parametrize("kind", KINDS)
def test_it_keeps_silent_where_nothing_is_wrong(kind: str) -> None:
    assert [one for one in fact_findings(SILENT[kind]) if one.kind is kind] == []


def test_sixteen_nodes_that_are_alike_have_no_finding() -> None:
    assert fact_findings(all_alike(16)) == []
    assert fact_findings(all_alike(2)) == []
    assert fact_findings(all_alike(1)) == []


def test_nodes_that_tell_nothing_have_no_finding() -> None:
    nothing = all_alike(16)
    bare = {name: NodeFacts(hostname=name, complete=True) for name in nothing.facts}
    replaced = type(nothing)(facts=bare, after=bare)
    assert fact_findings(replaced) == []


def without_words(rule: Rule) -> Rule:
    """The same rule, all of whose texts are alike."""

    def look(readings: Readings) -> Iterator[Violation]:
        for violation in rule.look(readings):
            yield msgspec.structs.replace(violation, clause="x", remedy="y")

    return msgspec.structs.replace(rule, look=look, remedy="y")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kind)
def test_no_text_decides_what_is_one_problem_and_whose(rule: Rule) -> None:
    everywhere = FIRING[rule.kind].facts["n2"]
    for readings in (
        FIRING[rule.kind],
        msgspec.structs.replace(FIRING[rule.kind], facts=dict.fromkeys(("n1", "n2", "n3"), everywhere)),
    ):
        found, mute = findings_of(rule, readings), findings_of(without_words(rule), readings)
        assert [(one.subject, one.verdict) for one in mute] == [(one.subject, one.verdict) for one in found]
        assert [one.statement.partition(":")[0] for one in mute] == [one.statement.partition(":")[0] for one in found]


def test_violations_of_one_node_are_told_apart_by_their_values() -> None:
    def look(_readings: Readings) -> Iterator[Violation]:
        for number in (1, 1, 2):
            yield Violation(node="n1", clause=f"clause {number}", key="same", details=number)

    rule = Rule(kind=FindingKind.GOVERNOR, order=1, look=look, remedy="Do it.")
    (finding,) = findings_of(rule, all_alike(4))
    assert (finding.kind, finding.statement) == (FindingKind.GOVERNOR, "Node n1: clause 1; clause 2.")
    (mute,) = findings_of(without_words(rule), all_alike(4))
    assert mute.statement == "Node n1: x; x."
