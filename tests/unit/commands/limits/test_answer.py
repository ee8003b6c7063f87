"""The first line of `seatrial limits`."""

import pytest
from msgspec.structs import replace

from seatrial.commands.limits.answer import answer_of, answer_of_pair
from seatrial.commands.limits.paths import limits_between, limits_inside
from seatrial.commands.limits.view import limits_report
from seatrial.limits.path import path_limit
from seatrial.model.facts import NodeFacts
from seatrial.model.limit import NoLimit
from tests.support.limits_examples import device, hca, intel, port


def fdr_node(name: str, clock: str = "2.10") -> NodeFacts:
    return intel(name, f"Intel(R) Xeon(R) CPU E5-2683 v4 @ {clock}GHz", 79, cores=32, sockets=2,
                 hcas=(hca(port("FDR")),), pci=(device(payload=256),))  # fmt: skip


def answer(*nodes: NodeFacts) -> str:
    facts = {node.hostname: node for node in nodes}
    return answer_of(facts, [*limits_inside(facts), *limits_between(facts)])


def test_what_a_node_can_do_at_most() -> None:
    assert answer(fdr_node("n1")) == "n1 at most: 153.6 GB/s memory, 1.08 Tflop/s, 6.78 GB/s network"
    alike = answer(fdr_node("n1"), fdr_node("n2"))
    assert alike == "2 nodes at most: 153.6 GB/s memory, 1.08 Tflop/s, 6.78 GB/s network"


def test_of_unequal_nodes_the_best_counts() -> None:
    poor = replace(fdr_node("n2"), hcas=(), pci=())
    assert answer(fdr_node("n1"), poor).startswith("2 nodes up to: 153.6 GB/s memory, ")
    assert answer(fdr_node("n1"), poor).endswith(", 6.78 GB/s network")


def test_limits_that_are_not_known_are_counted() -> None:
    facts = {"n1": fdr_node("n1")}
    unknown = [NoLimit(path=f"n1 gpu{number} > root", reason="?") for number in range(3)]
    assert answer_of(facts, unknown).endswith("6.78 GB/s network; 3 limits unknown")
    assert answer_of(facts, unknown[:1]).endswith("6.78 GB/s network; 1 limit unknown")
    bare = NodeFacts(hostname="n1", complete=True)
    assert answer(bare) == "n1: the limits of memory, flop/s and network are not known"


@pytest.mark.parametrize("name", ["n1", "compute-rack12-chassis3-node17.cluster.example.org", "x" * 200])
def test_the_line_fits_into_a_terminal(name: str) -> None:
    facts = {name: fdr_node(name)}
    unknown = [NoLimit(path="n1 gpu > root", reason="?")] * 1234
    assert len(answer_of(facts, unknown)) <= 80
    assert "153.6 GB/s memory" in answer_of(facts, unknown)
    assert len(answer(NodeFacts(hostname=name, complete=True))) <= 80
    one, two = fdr_node(name), fdr_node(f"{name}b")
    assert len(answer_of_pair(path_limit(one, two), path_limit(two, one))) <= 80


def test_a_pair() -> None:
    there = path_limit(fdr_node("n1"), fdr_node("n2"))
    assert answer_of_pair(there, replace(there, path="n2>n1")) == "n1>n2 and back: at most 6.78 GB/s"
    slower = replace(there, limit_bytes_per_s=1e9)
    assert answer_of_pair(there, slower) == "n1>n2: at most 6.78 GB/s, back at most 1.00 GB/s"
    assert answer_of_pair(there, NoLimit(path="n2>n1", reason="?")) == "n1>n2: at most 6.78 GB/s, back not known"


def test_it_is_the_headline_and_no_verdict() -> None:
    report = limits_report([], answer="n1 at most: 1 GB/s")
    assert (report.headline, report.word) == ("n1 at most: 1 GB/s", "")
