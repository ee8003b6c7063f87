"""Facts that separate slow nodes from good ones: what is proved, what is not, and how often chance is named."""

import random

import msgspec
import pytest

from seatrial.judgement.peer_suspects import (
    LEAST_WEIGHT,
    PeerFact,
    PeerSuspect,
    fact_groups,
    find_peer_suspects,
    rank_groups,
    suspects_text,
    with_suspects,
)
from seatrial.model.facts import NodeFacts
from seatrial.model.subject import node
from seatrial.model.verdict import Finding, FindingKind, Verdict
from tests.support.builders import names
from tests.support.facts_examples import processor, server

SIXTY = frozenset(names(60))
HEALTHY = {name: server(name) for name in names(60)}


def with_sysctl(facts: NodeFacts, **values: str) -> NodeFacts:
    sysctls = {**facts.settings.sysctls, **values}
    return msgspec.structs.replace(facts, settings=msgspec.structs.replace(facts.settings, sysctls=sysctls))


def with_governor(facts: NodeFacts) -> NodeFacts:
    return msgspec.structs.replace(facts, processor=processor(governors={"powersave": 16}))


def planted(*slow: str, count: int = 60) -> dict[str, NodeFacts]:
    facts = {name: HEALTHY[name] for name in names(count)}
    return {name: with_governor(known) if name in slow else known for name, known in facts.items()}


def finding(name: str, kind: FindingKind = FindingKind.SLOW_LINK) -> Finding:
    return Finding(kind=kind, subject=node(name), verdict=Verdict.SLOW, statement="It is slow.", remedy="")


def first(suspects: tuple[PeerSuspect, ...]) -> str:
    return suspects[0].facts[0].fact


def test_the_fact_of_the_slow_nodes_alone_is_named_first() -> None:
    facts = planted("n3", "n7")
    facts["n3"] = with_sysctl(facts["n3"], **{"vm.swappiness": "100"})
    facts |= {name: with_sysctl(facts[name], **{"vm.dirty_ratio": "9"}) for name in ("n20", "n30")}
    suspects = find_peer_suspects(facts, {"n3", "n7"}, SIXTY)
    assert (first(suspects), suspects[0].nodes, suspects[0].proved) == ("processor.governors", ("n3", "n7"), True)
    assert suspects[0].p_value == pytest.approx(1 / 1770), "1 of 1,770 ways to choose 2 of 60 nodes"
    assert not any(each.proved for each in suspects[1:])
    text = suspects_text(suspects, "n7")
    assert text.startswith(
        "n3 and n7, and no other of 60 nodes, have frequency governor powersave × 16 (usually performance × 16; p = 0.0"
    )


def test_facts_of_the_same_nodes_are_one_suspect() -> None:
    facts = planted("n3", "n7")
    facts |= {name: with_sysctl(facts[name], **{"vm.swappiness": "100"}) for name in ("n3", "n7")}
    (group,) = find_peer_suspects(facts, {"n3", "n7"}, SIXTY)
    assert [each.fact for each in group.facts] == ["processor.governors", "settings.sysctls.vm.swappiness"]
    assert "and differ together with it in sysctl vm.swappiness" in suspects_text((group,))


def test_a_fact_that_good_nodes_have_too_is_named_with_their_number() -> None:
    facts = planted("n3", "n7", "n9", "n50")
    (group,) = find_peer_suspects(facts, {"n3", "n7", "n9"}, SIXTY)
    assert group.proved and group.slow == ("n3", "n7", "n9")
    assert suspects_text((group,)).startswith("n3, n7 and n9 and 1 node that is not slow have frequency governor")


def test_one_slow_node_differs_and_proves_nothing() -> None:
    suspects = find_peer_suspects(planted("n3", count=8), {"n3"}, frozenset(names(8)))
    assert not suspects[0].proved
    assert suspects_text(suspects, "n3") == (
        "n3, and no other of 8 nodes, has frequency governor powersave × 16 (usually performance × 16). "
        "One slow node of 8 cannot prove that this is the cause."
    )
    (of_sixty,) = find_peer_suspects(planted("n3"), {"n3"}, SIXTY)
    assert not of_sixty.proved, "whatever one node alone has is found on it"


def test_two_slow_nodes_of_four_prove_nothing() -> None:
    suspects = find_peer_suspects(planted("n3", "n4", count=4), {"n3", "n4"}, frozenset(names(4)))
    assert suspects_text(suspects).endswith("2 slow nodes of 4 cannot prove that this is the cause.")


def test_a_fact_without_known_effect_is_named_only_if_it_is_proved() -> None:
    odd = (PeerFact(fact="shoe.size", value=43, usual=42),)
    (alone,) = rank_groups({("n3",): odd}, {"n3"}, SIXTY)
    assert alone.weight < LEAST_WEIGHT and suspects_text((alone,)) == ""
    both = rank_groups({("n3", "n7"): odd}, {"n3", "n7"}, SIXTY)
    assert suspects_text(both) == (
        "n3 and n7, and no other of 60 nodes, have shoe.size 43 (usually 42; p = 0.0006). "
        "No effect of it on speed is known."
    )


def test_a_fact_with_a_known_effect_comes_before_one_without() -> None:
    odd = (PeerFact(fact="shoe.size", value=43, usual=42),)
    known = (PeerFact(fact="kernel", value="6.9", usual="6.1"),)
    groups = {("n3", "n7"): odd, ("n3", "n7", "n9"): known}
    suspects = rank_groups(groups, {"n3", "n7"}, SIXTY)
    assert [each.facts[0].fact for each in suspects] == ["kernel", "shoe.size"]
    assert all(each.proved for each in suspects)


def test_a_fact_that_could_not_be_read_is_no_suspect() -> None:
    unread = msgspec.structs.replace(
        HEALTHY["n3"], processor=processor(governors={}), absent={"processor.governors": "not permitted"}
    )
    facts = {**HEALTHY, "n3": unread}
    assert not any(each.facts[0].fact == "processor.governors" for each in find_peer_suspects(facts, {"n3"}, SIXTY))


def test_nodes_of_one_kind_of_finding_are_compared_with_those_that_none_names() -> None:
    findings = [finding("n3"), finding("n7"), finding("n9", FindingKind.HIGH_LATENCY)]
    explained = with_suspects(findings, SIXTY, planted("n3", "n7", "n9"), "Nothing differs.")
    assert [one.statement.startswith("It is slow. n3 and n7, and no other of 59 nodes") for one in explained] == [
        True, True, False,
    ]  # fmt: skip
    assert "n9, and no other of 58 nodes, has" in explained[2].statement
    (alike,) = with_suspects([finding("n3")], SIXTY, HEALTHY, "Nothing differs.")
    assert alike.statement == "It is slow. Nothing differs."


def test_without_facts_nothing_is_said() -> None:
    assert with_suspects([finding("n3")], SIXTY, {}, "Nothing differs.") == (finding("n3"),)


@pytest.mark.parametrize("slow_nodes", [2, 4])
def test_facts_that_have_nothing_to_do_with_it_are_seldom_proved(slow_nodes: int) -> None:
    """Short form of bench/peer_suspects.py: at most 5 % of draws, and 200 draws of 5 % exceed 9 % once in 100 times."""
    chance = random.Random(slow_nodes)
    facts = {}
    nodes = names(24)
    for name in nodes:
        kernel = chance.choice(["6.1", "6.1", "6.1", "6.9"])
        values = {f"vm.setting{number}": str(int(chance.random() < 0.15)) for number in range(8)}
        facts[name] = with_sysctl(server(name, kernel=kernel), **values)
    groups, wrong = fact_groups(facts), 0
    assert len(groups) > 5
    for _ in range(200):
        slow = set(chance.sample(nodes, slow_nodes))
        wrong += any(each.proved for each in rank_groups(groups, slow, frozenset(nodes)))
    assert wrong <= 18
