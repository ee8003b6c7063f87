"""Cables that switches lack, in trees of which a row has the cables of one leaf switch to each spine."""

from collections import Counter
from collections.abc import Sequence

import pytest

from seatrial.fabric.map_check import check_map, tiers
from seatrial.fabric.map_lines import kind_of
from seatrial.model.fabric import End, FabricDevice, FabricLink, FabricMap
from seatrial.model.verdict import FindingKind, Verdict
from tests.support import fabrics
from tests.support.command_line import Seatrial, Text

Rows = list[list[int]]


def tree_of(cables: Rows, hosts: Sequence[int] = (), others: Sequence[tuple[str, str]] = ()) -> FabricMap:
    """Leaf switches with two adapters each, or as many as `hosts` has; and cables between `others`."""
    used: Counter[str] = Counter()

    def link(*devices: str) -> FabricLink:
        used.update(devices)
        first, second = (End(device=f"{'H' if name[0] == 'n' else 'S'}-{name}", port=used[name]) for name in devices)
        return FabricLink(one=first, other=second, width=4, speed="NDR", other_width=4, other_speed="NDR")

    leaves = [f"leaf{number}" for number in range(1, len(cables) + 1)]
    below = hosts or [2] * len(leaves)
    pairs = [(f"n{number}-{leaf}", leaf) for leaf, count in zip(leaves, below, strict=True) for number in range(count)]
    for leaf, row in zip(leaves, cables, strict=True):
        pairs += [(leaf, f"spine{number}") for number, count in enumerate(row, 1) for _ in range(count)]
    links = tuple(link(*pair) for pair in (*pairs, *others))
    keys = sorted({end.device for each in links for end in (each.one, each.other)})
    devices = tuple(FabricDevice(key=key, kind=kind_of(key, ""), name=key[2:]) for key in keys)
    return FabricMap(devices=devices, links=links, sections=tuple(keys))


@pytest.mark.parametrize(
    ("cables", "pair"),
    [
        ([[1, 3], [2, 2], [2, 2], [2, 2]], "leaf1 and spine1"),
        ([[1, 3], [2, 2], [2, 2]], "leaf1 and spine1"),
        ([*[[2, 2]] * 5, [3, 1], *[[2, 2]] * 4], "leaf6 and spine2"),
        ([[4, 4], [4, 4], [4, 4], [5, 3]], "leaf4 and spine2"),
        ([[1, 2, 3], [2, 2, 2], [2, 2, 2], [2, 2, 2]], "leaf1 and spine1"),
        ([[2, 2, 2, 1], [2, 2, 2, 3]], "leaf1 and spine4"),
        ([[2, 2, 1, 2], [3, 3, 3, 3], [3, 3, 3, 3]], "leaf1 and spine3"),
        ([*[[3, 2], [2, 3]] * 3, [4, 1]], "leaf7"),
    ],
)
def test_a_cable_that_leads_to_the_wrong_switch(cables: Rows, pair: str) -> None:
    (problem,) = check_map(tree_of(cables))
    assert (problem.kind, problem.verdict, problem.subject.name) == (
        FindingKind.CABLES_MISSING,
        Verdict.MISCONFIGURED,
        pair,
    )


@pytest.mark.parametrize(
    "cables",
    [
        [[2, 2]] * 4,
        [[1, 3]] * 4,
        [[3, 1], [1, 3]] * 3,
        [[2, 2], [2, 2], [4, 4], [4, 4], [3, 3]],
        [[4, 4], [4, 4], [3, 3], [3, 3]],
        [[2, 1, 1], [1, 2, 1], [1, 1, 2]] * 2,
        [*[[2, 2]] * 8, [1, 0], [1, 0]],  # two switches that are alike
        [*[[2, 2]] * 6, *[[4, 4]] * 2],
        [*[[5, 5, 0]] * 6, *[[2, 2, 2]] * 3],  # the fabric grew: new leaves, with one more spine
        [*[[5, 5, 0]] * 2, *[[2, 2, 2]] * 6],
        [*[[5, 5, 0]] * 6, *[[3, 2, 2]] * 2],
        [*[[4, 4, 0, 0]] * 5, *[[2, 2, 1, 1]] * 2],
        [[3, 3]] * 3 + [[4, 2]] * 3,
        [[8], [8], [8], [9]],
        [[4], [4]],
    ],
)
def test_cables_that_are_distributed_otherwise_are_not_missing(cables: Rows) -> None:
    assert check_map(tree_of(cables)) == ()


@pytest.mark.parametrize(
    "cables",
    [
        [[3, 2], [2, 3]] * 3,
        [*[[2, 1]] * 5, [1, 2]],
        [*[[4, 3]] * 3, [3, 4]],
        [*[[4, 3]] * 6, *[[3, 4]] * 2],
        [*[[2, 2, 1]] * 6, [2, 1, 2]],
        [*[[1, 1, 1, 0]] * 5, [0, 1, 1, 1]],
        [[2, 2, 2, 1], [2, 2, 1, 2]],
        [[2, 1], [1, 2]],
    ],
)
def test_an_odd_number_of_uplinks_is_shared_as_evenly_as_possible(cables: Rows) -> None:
    """A cable fewer is found at that switch, or at the pair if most switches distribute alike."""
    assert check_map(tree_of(cables)) == ()
    last = [*cables[-1][:-1], cables[-1][-1] - 1]
    names = [problem.subject.name for problem in check_map(tree_of([*cables[:-1], last]))]
    assert len(names) == 1 and f"leaf{len(cables)}" in names[0]


@pytest.mark.parametrize(
    ("cables", "hosts", "subject"),
    [
        ([[4], [4], [3]], (), "leaf3 and spine1"),
        ([[4], [4], [3], [4]], (), "leaf3 and spine1"),
        ([[2], [1], [2]], (), "leaf2 and spine1"),
        ([[4], [4], [3]], (16, 12, 16), "leaf3 and spine1"),
        ([[4], [4], [3]], (16, 8, 12), "leaf3 and spine1"),  # leaf2 has 4 for fewer adapters
        ([[4], [4], [3]], (16, 14, 13), "leaf3 and spine1"),  # 3 for 13 are fewer than 4 for 16
        ([[2, 2], [2, 1]], (), "leaf2 and spine2"),
        ([[1, 1], [1, 0]], (), "leaf2 and spine2"),
        ([*[[4, 2]] * 6, [3, 2]], (), "leaf7 and spine1"),
        ([*[[2, 1], [1, 2]] * 3, [1, 1]], (), "leaf7"),
        ([*[[3, 2], [2, 3]] * 3, [3, 1]], (), "leaf7"),
        ([*[[8, 8]] * 5, [8, 7]], (32, 32, 32, 32, 32, 30), "leaf6 and spine2"),
        ([[4, 4], [4, 4], [4, 0]], (), "leaf3 and spine2"),  # no cable to one spine
        ([[9, 9], [0, 9], [9, 9], [9, 9]], (), "leaf2 and spine1"),
        ([[4, 3], [3, 4], [4, 3], [0, 3]], (), "leaf4 and spine1"),
        ([[5, 5, 5, 5]] * 6 + [[5, 5, 0, 0]], (), "leaf7"),
        ([[5, 5, 0]] * 6 + [[4, 3, 3]] * 2 + [[3, 3, 3]], (), "leaf9"),
    ],
)
def test_a_switch_lacks_uplinks_that_most_of_its_few_peers_have(
    cables: Rows, hosts: Sequence[int], subject: str
) -> None:
    (problem,) = check_map(tree_of(cables, hosts))
    assert (problem.verdict, problem.subject.name) == (Verdict.MISCONFIGURED, subject)


@pytest.mark.parametrize(
    ("cables", "hosts", "noted"),
    [
        ([[4], [3]], (), ["leaf2"]),
        ([[4], [3]], (8, 6), ["leaf2"]),
        ([[2, 2], [1, 3]], (), ["leaf2"]),
        ([*[[2, 2, 2]] * 4, [3, 3, 0], [3, 3, 0]], (), ["leaf5", "leaf6"]),
        ([*[[2, 2]] * 5, [1, 3], [1, 3]], (), ["leaf6", "leaf7"]),
        ([[8], [8], [7], [7]], (), ["leaf3", "leaf4"]),
        ([[4], [4], [4], [2]], (), ["leaf4"]),
        ([[4], [4], [3]], (16, 16, 12), ["leaf3"]),  # in proportion to its adapters
        ([[4], [4], [3]], (16, 13, 12), ["leaf3"]),
        ([[8, 8], [8, 8], [7, 7]], (), ["leaf3"]),
        ([*[[2, 2]] * 8, [2, 0]], (4,) * 8 + (2,), ["leaf9"]),
        ([*[[2, 2]] * 8, [1, 0]], (), ["leaf9"]),
        ([*[[1] * 16] * 8, [1] * 12 + [0] * 4], (16,) * 8 + (12,), ["leaf9"]),  # in proportion, and no single cable
        ([*[[4, 4]] * 8, [2, 1]], (), ["leaf9"]),
        ([*[[2, 2, 2]] * 8, [1, 1, 0]], (), ["leaf9"]),
        ([*[[2, 2]] * 6, [1, 1]], (), ["leaf7"]),  # with as many adapters
        ([*[[5, 5]] * 6, [2, 2]], (8, 9, 8, 8, 8, 8, 7), ["leaf7"]),
        ([*[[1] * 8] * 6, [1] * 3 + [0] * 5], (), ["leaf7"]),
        ([*[[4, 4, 4]] * 6, [4, 0, 0]], (), ["leaf7"]),
        ([*[[5, 5, 5, 5]] * 6, [2, 2, 0, 0]], (8,) * 6 + (3,), ["leaf7"]),  # a leaf of servers
        ([*[[5, 5, 5, 5]] * 6, [1, 0, 1, 0]], (8,) * 6 + (3,), ["leaf7"]),
        ([*[[5, 5, 5, 5]] * 6, [4, 0, 0, 0]], (8,) * 6 + (3,), ["leaf7"]),
        ([*[[5, 5, 5, 5]] * 6, [2, 2, 1, 0]], (8,) * 6 + (3,), ["leaf7"]),
        ([*[[4, 4]] * 2, [4, 0]], (8, 8, 7), ["leaf3"]),
        ([*[[5, 5, 0]] * 6, [3, 2, 2]], (), ["leaf7"]),  # one new leaf
        ([*[[5, 5, 0]] * 6, *[[3, 3, 3]] * 2, [3, 3, 2]], (), ["leaf9"]),
        ([*[[4, 4, 0, 0]] * 5, [2, 2, 2, 1]], (), ["leaf6"]),
    ],
)
def test_fewer_uplinks_that_may_be_planned_are_a_note(cables: Rows, hosts: Sequence[int], noted: list[str]) -> None:
    problems = check_map(tree_of(cables, hosts))
    assert [(problem.verdict, problem.subject.name) for problem in problems] == [(Verdict.NOTE, n) for n in noted]
    assert all("or it was planned so" in problem.statement for problem in problems)


def test_a_note_is_a_pass_that_does_not_say_that_no_cable_is_missing(seatrial: Seatrial) -> None:
    whole = fabrics.fabric_text("2 leaves x 4 hosts, 1 spines, 4 cables, 4xNDR")
    ran = seatrial("fabric", "check", Text(fabrics.without_cable(whole, "leaf2", "spine1"), "map"), code=0)
    assert ran.out.startswith("NOTE  15 cables, each as fast as its peers, leaf2 may lack cables.")
    assert "leaf2 lacks 1 cable, or it was planned so" in ran.out.replace("\n   ", " ")


SERVICE = {
    "a manager": [("n-sm", "spine1")],
    "two managers": [("n-sm1", "spine1"), ("n-sm2", "spine2")],
    "gateways": [(f"n-gw{number}", f"spine{spine}") for number in (1, 2) for spine in (1, 2)],
    "a storage server on each": [("n-st1", "spine1"), ("n-st2", "spine2"), ("n-st1", "spine2"), ("n-st2", "spine1")],
}


@pytest.mark.parametrize("others", SERVICE.values(), ids=SERVICE)
@pytest.mark.parametrize("spine", [0, 1])
def test_a_spine_with_some_adapters_is_no_leaf(others: list[tuple[str, str]], spine: int) -> None:
    hosts = (6,) * 5
    assert check_map(tree_of([[2, 2]] * 5, hosts, others)) == ()
    row = [2, 2]
    row[spine] -= 1
    (problem,) = check_map(tree_of([*[[2, 2]] * 4, row], hosts, others))
    assert (problem.kind, problem.subject.name) == (FindingKind.CABLES_MISSING, f"leaf5 and spine{spine + 1}")


@pytest.mark.parametrize(("on_the_spine", "is_leaf"), [(3, False), (4, True)])
def test_leaves_have_twice_the_adapters_of_a_spine(on_the_spine: int, *, is_leaf: bool) -> None:
    fabric = tree_of([[2, 2]] * 5, (6,) * 5, [(f"n-st{number}", "spine1") for number in range(on_the_spine)])
    assert (tiers(fabric)["S-spine1"] == 0) == is_leaf


@pytest.mark.parametrize("leaves", [2, 3, 9])
def test_more_spines_than_leaves(leaves: int) -> None:
    fabric = tree_of([[1] * 6] * leaves, (8,) * leaves, [("n-sm", "spine1")])
    assert tiers(fabric)["S-spine1"] == 1
    assert check_map(fabric) == ()


def test_leaves_with_few_adapters_are_leaves() -> None:
    hosts = (16, 16, 16, 16, 3)
    assert check_map(tree_of([[2, 2]] * 5, hosts)) == ()
    (problem,) = check_map(tree_of([*[[2, 2]] * 4, [2, 1]], hosts))
    assert problem.subject.name == "leaf5 and spine2"


@pytest.mark.parametrize(
    ("cables", "verdict"),
    [
        ([[2, 2, 1, 2]] * 6 + [[2, 2, 2, 2]] * 6, Verdict.MISCONFIGURED),
        ([[2, 2, 0, 2]] * 5 + [[2, 2, 2, 2]] * 7, Verdict.MISCONFIGURED),
        ([[1, 1, 0]] * 4 + [[1, 1, 1]] * 5, Verdict.MISCONFIGURED),
        ([[2, 2, 0, 2]] * 6 + [[2, 2, 2, 2]] * 6, Verdict.NOTE),  # half of its cables
        ([[2, 2, 0, 2]] * 8 + [[2, 2, 2, 2]] * 4, None),  # few of its leaves are those of others
        ([[2, 2, 1]] * 8, None),  # a smaller spine
        ([[2, 2, 0, 2]] * 6 + [[4, 4, 4, 4]] * 6, None),
        ([[2, 2, 1]] * 4 + [[2, 2, 2]] * 1 + [[1, 1, 1]] * 4, None),
    ],
)
def test_a_spine_that_lacks_cables_to_many_leaves(cables: Rows, verdict: Verdict | None) -> None:
    found = [(problem.verdict, problem.subject.name) for problem in check_map(tree_of(cables))]
    assert found == ([(verdict, "spine3")] if verdict else [])


def pods(number: int, leaves: int = 3, *, planes: bool = False) -> tuple[Rows, list[tuple[str, str]]]:
    """Leaves with two cables to each of three switches above them, which have three cables to those above them."""
    rows = [[2 * (column // 3 == pod) for column in range(3 * number)] for pod in range(number) for _ in range(leaves)]
    cores = [(3 * (spine % 3) if planes else 0) for spine in range(3 * number)]
    others = [(f"spine{spine}", f"core{core + up}") for spine, core in enumerate(cores, 1) for up in range(3)]
    return rows, others


@pytest.mark.parametrize("planes", [False, True])
@pytest.mark.parametrize(
    ("left", "verdict"), [(3, None), (2, Verdict.MISCONFIGURED), (1, Verdict.NOTE), (0, Verdict.MISCONFIGURED)]
)
def test_a_switch_of_a_pod_that_lost_cables_to_the_core(left: int, verdict: Verdict | None, *, planes: bool) -> None:
    rows, others = pods(4, planes=planes)
    of_it = [pair for pair in others if pair[0] == "spine5"]
    problems = check_map(tree_of(rows, (), [pair for pair in others if pair not in of_it[left:]]))
    assert {problem.verdict for problem in problems} == ({verdict} if verdict else set())
    assert all("spine5" in problem.subject.name for problem in problems)


@pytest.mark.parametrize("joined", [(1, 2, 3), (1, 2), (1,)])
def test_spines_without_a_cable_to_a_switch_beside_are_not_at_fault(joined: tuple[int, ...]) -> None:
    gateway = [(f"spine{number}", "gateway") for number in joined for _ in range(2)]
    problems = check_map(tree_of([[2, 2, 2, 2]] * 5, (), gateway))
    assert {problem.verdict for problem in problems} <= {Verdict.NOTE}


@pytest.mark.parametrize(
    ("number", "hosts", "is_noted"),
    [
        (3, {}, True),
        (4, {}, True),
        (6, {1: 3, 5: 3}, True),  # nodes that are down
        (4, dict.fromkeys((3, 4, 5), 3), False),  # a pod of servers
        (2, {}, False),
    ],
)
def test_a_pod_without_one_of_its_switches_is_noted(number: int, hosts: dict[int, int], *, is_noted: bool) -> None:
    rows, others = pods(number)
    below = [hosts.get(leaf, 4) for leaf in range(len(rows))]
    assert check_map(tree_of(rows, below, others)) == ()
    for row in rows[3:6]:
        row[5] = 0
    problems = check_map(tree_of(rows, below, [pair for pair in others if pair[0] != "spine6"]))
    noted = [(problem.verdict, problem.subject.name) for problem in problems]
    assert noted == ([(Verdict.NOTE, "leaf4 and 2 more")] if is_noted else [])


@pytest.mark.parametrize("planes", [3, 5])
def test_fabrics_that_are_not_joined_are_not_compared(planes: int) -> None:
    rows, _ = pods(planes)
    for row in rows[:3]:
        row[0] = 0
    assert check_map(tree_of(rows)) == ()


def mesh(switches: int, cables: int, *cut: tuple[int, int, int]) -> FabricMap:
    """Each two switches are joined by `cables`; `cut`: of two switches some cables less."""
    less = {(one, other): number for one, other, number in cut}
    pairs = [(one, other) for one in range(1, switches + 1) for other in range(one + 1, switches + 1)]
    others = [(f"leaf{a}", f"leaf{b}") for a, b in pairs for _ in range(cables - less.get((a, b), 0))]
    return tree_of([[]] * switches, (8,) * switches, others)


@pytest.mark.parametrize(
    ("fabric", "named"),
    [
        (mesh(3, 4), []),
        (mesh(5, 2), []),
        (mesh(2, 4), []),
        (mesh(3, 4, (1, 2, 1)), ["leaf1 and leaf2"]),
        (mesh(4, 4, (2, 4, 3)), ["leaf2 and leaf4"]),
        (mesh(5, 1, (2, 4, 1)), ["leaf2 and leaf4"]),
        (mesh(3, 4, (1, 3, 4)), []),  # a chain
        (mesh(4, 4, (1, 3, 4), (2, 4, 4)), []),  # a ring
        (mesh(3, 4, (1, 2, 2), (1, 3, 2)), []),  # one switch joined by less
    ],
)
def test_switches_that_are_all_joined_to_each_other(fabric: FabricMap, named: list[str]) -> None:
    assert [problem.subject.name for problem in check_map(fabric)] == named
