"""Facts that changed: groups, order, and whether the nodes that changed are the slower ones."""

import msgspec

from seatrial.judgement.comparison.records import Suspect
from seatrial.judgement.comparison.verdicts import find_suspects, new_problems
from seatrial.model.facts import NodeFacts
from tests.support.facts_examples import server

NODES = tuple(f"n{number}" for number in range(1, 9))


def with_sysctl(facts: NodeFacts, name: str, value: str) -> NodeFacts:
    sysctls = {**facts.settings.sysctls, name: value}
    return msgspec.structs.replace(facts, settings=msgspec.structs.replace(facts.settings, sysctls=sysctls))


def cluster(kernel_of: dict[str, str] | None = None) -> dict[str, NodeFacts]:
    return {node: msgspec.structs.replace(server(node), kernel=(kernel_of or {}).get(node, "6.1")) for node in NODES}


def suspects(after: dict[str, NodeFacts], slower: set[str], *, everything: bool = False) -> tuple[Suspect, ...]:
    losses = {node: 0.1 if node in slower else 0.001 * place for place, node in enumerate(NODES)}
    return find_suspects(cluster(), after, losses, slower, all_slower=everything)


def test_the_fact_that_changed_on_the_slow_node_comes_before_a_heavier_one_elsewhere() -> None:
    after = cluster({"n5": "6.9"})
    after["n3"] = with_sysctl(after["n3"], "vm.swappiness", "100")
    found = suspects(after, {"n3"})
    assert [each.facts[0].fact for each in found] == ["settings.sysctls.vm.swappiness", "kernel"]
    assert (found[0].slower_nodes, found[0].all_slower, found[0].nodes) == (1, 1, ("n3",))
    assert found[0].mechanism and found[0].weight < found[1].weight


def test_facts_that_change_on_the_same_nodes_are_one_group() -> None:
    newer = cluster(dict.fromkeys(NODES, "6.9"))
    after = {node: with_sysctl(facts, "vm.swappiness", "100") for node, facts in newer.items()}
    (group,) = suspects(after, set(), everything=True)
    assert [each.fact for each in group.facts] == ["kernel", "settings.sysctls.vm.swappiness"]
    assert group.p_value is None


def test_association_is_an_exact_permutation_test() -> None:
    """The two slowest of eight nodes: 1 of 28 ways to choose two."""
    found = suspects(cluster({"n7": "6.9", "n8": "6.9"}), {"n7", "n8"})
    assert found[0].p_value is not None and abs(found[0].p_value - 1 / 28) < 1e-9
    assert found[0].adjusted_p == found[0].p_value


def test_known_problems_that_were_there_before_are_not_repeated() -> None:
    assert new_problems(cluster({"n3": "6.9"}), cluster({"n3": "6.9"})) == ()
    assert any("kernel-differs" in line for line in new_problems(cluster(), cluster({"n3": "6.9"})))
