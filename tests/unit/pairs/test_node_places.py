"""Which ranks of a node measure, and how large their arrays are, and the order of their turns."""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from seatrial.model.facts import Cache, Core, NodeFacts, Topology
from seatrial.pairs.node_places import (
    LEAST_ARRAY_BYTES,
    LINE_BYTES,
    MOST_ARRAY_BYTES,
    ODD_LINES,
    array_bytes,
    in_turn,
    places_of,
    ranks_needed,
)

MIB = 1 << 20
GIB = 1 << 30


def facts(
    *cores: tuple[tuple[int, ...], int], caches: tuple[Cache, ...] = (), memory_bytes: int = 64 * GIB
) -> NodeFacts:
    """Cores by their processors and NUMA node."""
    topology = Topology(
        cores=tuple(Core(processors=processors, numa_node=numa) for processors, numa in cores), caches=caches
    )
    return NodeFacts(
        hostname="n1", complete=True, topology=topology, memory_bytes=memory_bytes, cores=len(cores),
        processors=sum(len(processors) for processors, _ in cores),
    )  # fmt: skip


PLAIN = facts(((0,), 0), ((1,), 0), ((2,), 1), ((3,), 1))
SPREAD = facts(((0, 4), 0), ((1, 5), 0), ((2, 6), 1), ((3, 7), 1))
ADJACENT = facts(((0, 1), 0), ((2, 3), 0), ((4, 5), 1), ((6, 7), 1))


def ranks(*processors: int) -> list[dict[str, Any]]:
    return [{"own_cpu": number} for number in processors]


def test_one_rank_for_each_core_and_more_where_siblings_are_neighbours() -> None:
    assert ranks_needed({"n1": PLAIN}) == 4
    assert ranks_needed({"n1": SPREAD}) == 4
    assert ranks_needed({"n1": ADJACENT}) == 8
    assert ranks_needed({"n1": PLAIN, "n2": facts(((0,), 0))}) == 1
    assert ranks_needed({}) == 1
    assert ranks_needed({"n1": NodeFacts(hostname="n1", complete=True)}) == 1


def test_ranks_that_share_a_core_are_left_out() -> None:
    names = [f"n1:{rank}" for rank in range(8)]
    (node,) = places_of(names, ranks(*range(8)), {"n1": ADJACENT})
    assert node.cores == ("n1:0", "n1:2", "n1:4", "n1:6")
    assert node.numa == (("n1:0", "n1:2"), ("n1:4", "n1:6"))
    assert node.left_out == 4


def test_nodes_are_parted_by_the_names_of_their_places() -> None:
    first, second = places_of(["a:0", "b:0", "a:1", "b:1"], ranks(0, 0, 1, 1), {"a": PLAIN})
    assert (first.node, first.cores, first.numa) == ("a", ("a:0", "a:1"), ())
    assert (second.node, second.cores, second.left_out) == ("b", ("b:0", "b:1"), 0)


def test_ranks_without_a_processor_of_their_own_all_measure() -> None:
    (node,) = places_of(["vm:0", "vm:1"], [{}, {"own_cpu": -1}], {"vm:0": PLAIN})
    assert (node.cores, node.numa) == (("vm:0", "vm:1"), ())


def test_ranks_on_one_processor_are_one() -> None:
    (node,) = places_of(["vm:0", "vm:1"], ranks(3, 3), {})
    assert (node.cores, node.left_out) == (("vm:0",), 1)


def test_arrays_exceed_the_last_level_caches_and_fit_into_memory() -> None:
    cache = Cache(level=3, kind="unified", size_bytes=32 * MIB, shared_by=4, count=2)
    small = Cache(level=2, kind="unified", size_bytes=1 * MIB, shared_by=1, count=8)
    odd = ODD_LINES * LINE_BYTES
    node = facts(((0,), 0), caches=(small, cache))
    assert array_bytes(node, 8) == 4 * 2 * 32 * MIB // 8 + odd
    assert array_bytes(node, 1) == 4 * 32 * MIB + odd, "one core has one of the caches"
    assert array_bytes(node, 100) == LEAST_ARRAY_BYTES + odd
    assert array_bytes(facts(caches=(cache,), memory_bytes=GIB), 8) <= GIB // 4 // 24 + odd
    huge = Cache(level=3, kind="unified", size_bytes=1024 * MIB, shared_by=4, count=2)
    assert array_bytes(facts(caches=(huge,)), 2) == MOST_ARRAY_BYTES + odd
    assert array_bytes(None, 2) == 128 * MIB + odd
    assert all(array_bytes(node, number) % LINE_BYTES == 0 for number in range(1, 50))
    assert array_bytes(node, 8) % 4096, "arrays do not begin at the same place in their pages"


# The order in which nodes take turns.


def test_the_first_repetitions_of_four() -> None:
    orders = ["".join(in_turn("abcd", repetition)) for repetition in range(8)]
    assert orders == ["abcd", "dcba", "cdab", "badc", "bcda", "adcb", "dabc", "cbad"]


@pytest.mark.parametrize("parts", range(2, 17))
@pytest.mark.parametrize("repetitions", [6, 9])
def test_no_part_is_last_much_more_often_than_others(parts: int, repetitions: int) -> None:
    last = Counter(in_turn(range(parts), repetition)[-1] for repetition in range(repetitions))
    assert max(last.values()) <= -(-repetitions // parts) + 1


@pytest.mark.parametrize("parts", range(3, 17))
def test_no_part_always_comes_after_the_same(parts: int) -> None:
    orders = [in_turn(range(parts), repetition) for repetition in range(6)]
    after = Counter(pair for order in orders for pair in pairwise(order))
    assert max(after.values()) <= 3


@pytest.mark.parametrize("parts", [(), ("n1",)])
def test_none_or_one(parts: tuple[str, ...]) -> None:
    assert in_turn(parts, 5) == [*parts]
