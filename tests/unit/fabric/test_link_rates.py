"""Cables of hosts and of leaf switches that are slower than others: some are faults, and some were planned."""

import re
from collections.abc import Sequence

import pytest

from seatrial.commands.fabric.view import problems_report
from seatrial.fabric.ibnetdiscover import parse_fabric
from seatrial.fabric.map_check import check_map
from seatrial.model.verdict import FindingKind, Verdict
from tests.support import fabrics

TREE = fabrics.fabric_text("4 leaves x 8 hosts, 2 spines, 4 cables, 4xHDR")
HALF = {8 * leaf + number: "2xHDR" for leaf in range(4) for number in (1, 2, 3, 4)}
ALL = dict.fromkeys(range(1, 33), "2xHDR")
EACH_LEAF = tuple(8 * leaf for leaf in range(4))


def with_hosts(text: str, rates: dict[int, str]) -> str:
    """Number of a node -> rate of its cable."""
    for number, rate in rates.items():
        text = re.sub(rf'^(.*"n{number} mlx5_0" lid .*) \S+$', rf"\1 {rate}", text, flags=re.MULTILINE)
        text = re.sub(rf'("n{number} mlx5_0"\n.*) \S+\n', rf"\1 {rate}\n", text)
    return text


def with_model(text: str, model: str, *names: str) -> str:
    """The line that ibnetdiscover prints before the head of a device, for all adapters and for those named."""
    text = re.sub(r"^Ca ", "devid=0x101b\nCa ", text, flags=re.MULTILINE)
    for name in names:
        text = re.sub(rf'devid=0x101b\n(Ca .*"{name}")', rf"devid={model}\n\1", text)
    return text


@pytest.mark.parametrize(
    ("text", "rates", "named"),
    [
        (TREE, {3: "2xHDR"}, [3]),
        (TREE, {3: "4xEDR"}, [3]),
        (TREE, {3: "2xHDR", 5: "4xEDR"}, [3, 5]),
        (TREE, {1: "4xEDR", 2: "4xEDR"}, [1, 2]),
        (TREE, ALL | {7: "4xFDR"}, [7]),
        (TREE, HALF | {8: "4xFDR"}, [8]),  # neither rate has a majority at its leaf
        (with_model(TREE, "0x101b"), {3: "4xEDR"}, [3]),
        (fabrics.fabric_text("8 leaves x 2 hosts, 2 spines, 1 cables, 4xHDR"), {1: "4xEDR"}, [1]),
        (fabrics.fabric_text("2 leaves x 2 hosts, 1 spines, 2 cables, 4xHDR"), {4: "4xEDR"}, [4]),
        (TREE, dict.fromkeys(range(1, 8), "4xEDR"), []),  # seven of one leaf: those of a leaf of another kind
        (TREE, HALF, []),
        (TREE, ALL, []),
        (TREE, dict.fromkeys(range(1, 17), "2xHDR"), []),
        (TREE, dict.fromkeys(range(1, 9), "4xEDR"), []),
        (with_model(TREE, "0x1017", "n3 mlx5_0"), {3: "4xEDR"}, []),  # of a type that others are not
        (with_model(TREE, "0x1017", "n3 mlx5_0", "n9 mlx5_0"), {3: "4xEDR", 9: "4xEDR"}, []),
        (fabrics.fabric_text("8 leaves x 2 hosts, 2 spines, 1 cables, 4xHDR"), {1: "4xEDR", 2: "4xEDR"}, []),
    ],
)
def test_a_host_of_a_minority_is_named_and_a_planned_mixture_is_not(
    text: str, rates: dict[int, str], named: list[int]
) -> None:
    problems = check_map(parse_fabric(with_hosts(text, rates)))
    assert [(each.kind, each.verdict) for each in problems] == [
        (FindingKind.LINK_BELOW_PEERS, Verdict.MISCONFIGURED)
    ] * len(named)
    for number, each in zip(named, problems, strict=True):
        assert each.subject.name.startswith(f"n{number} mlx5_0[1]")


@pytest.mark.parametrize(
    ("slow", "is_note"),
    [
        ([leaf + number for leaf in EACH_LEAF for number in (1, 2, 3)], True),
        ([leaf + number for leaf in EACH_LEAF for number in (1, 2)], True),  # a quarter of all
        ([leaf + number for leaf in EACH_LEAF for number in (1, 2)][1:], False),
        ([leaf + 1 for leaf in EACH_LEAF], False),
    ],
)
def test_many_slower_hosts_are_one_note(slow: list[int], *, is_note: bool) -> None:
    fabric = parse_fabric(with_hosts(TREE, dict.fromkeys(slow, "2xHDR")))
    problems = check_map(fabric)
    assert {each.verdict for each in problems} == {Verdict.NOTE if is_note else Verdict.MISCONFIGURED}
    assert len(problems) == (1 if is_note else len(slow))
    if is_note:
        assert "planned so: the map does not decide" in problems[0].statement
        assert problems_report(fabric, problems).sentence == "64 cables, some slower than others, none missing."


@pytest.mark.parametrize(("slow", "is_note"), [((1, 2), False), ((1, 2, 3), True)])
def test_two_slower_hosts_of_a_small_fabric_are_faults(slow: tuple[int, ...], *, is_note: bool) -> None:
    text = fabrics.fabric_text("1 leaves x 7 hosts, 1 spines, 2 cables, 4xHDR")
    problems = check_map(parse_fabric(with_hosts(text, dict.fromkeys(slow, "2xHDR"))))
    assert {each.verdict for each in problems} == {Verdict.NOTE if is_note else Verdict.MISCONFIGURED}


@pytest.mark.parametrize(("leaves", "verdict"), [((3,), Verdict.MISCONFIGURED), ((1, 2, 3, 4), Verdict.NOTE)])
def test_slower_uplinks_of_several_leaves_may_be_those_of_older_switches(
    leaves: tuple[int, ...], verdict: Verdict
) -> None:
    text = fabrics.fabric_text("12 leaves x 4 hosts, 4 spines, 2 cables, 4xNDR")
    names = {f"leaf{number}" for number in leaves}
    text = fabrics.with_rate(text, lambda one, other: bool(names & {one, other}), "4xHDR")
    (problem,) = check_map(parse_fabric(text))
    assert (problem.verdict, len(problem.pairs)) == (verdict, 8 * len(leaves))


def test_older_switches_are_known_by_their_type() -> None:
    text = fabrics.fabric_text("12 leaves x 4 hosts, 4 spines, 2 cables, 4xNDR")
    old = fabrics.with_rate(text, lambda one, other: bool({"leaf3", "leaf4"} & {one, other}), "4xHDR")
    assert check_map(parse_fabric(old)) != ()
    old = re.sub(r"^Switch ", "devid=0xd2f2\nSwitch ", old, flags=re.MULTILINE)
    assert check_map(parse_fabric(old)) != ()
    for name in ("leaf3", "leaf4"):
        old = re.sub(rf'devid=0xd2f2\n(Switch .*"{name}" enhanced)', r"devid=0xd2f0\n\1", old)
    assert check_map(parse_fabric(old)) == ()


@pytest.mark.parametrize(
    ("slow", "rate", "models", "is_note"),
    [
        (range(1, 9), "2xHDR", True, True),  # all hosts of a leaf
        (range(9, 17), "4xEDR", True, True),
        (range(1, 9), "4xEDR", False, False),
        (range(1, 33), "2xHDR", True, False),
        (range(1, 17), "2xHDR", True, False),  # no rate is that of most
        ((), "", True, False),
    ],
)
def test_a_leaf_of_slower_hosts_is_a_note_if_its_type_and_theirs_are_those_of_others(
    slow: Sequence[int], rate: str, *, models: bool, is_note: bool
) -> None:
    text = with_hosts(TREE, dict.fromkeys(slow, rate))
    if models:
        text = re.sub(r"^Switch ", "devid=0xd2f0\nSwitch ", with_model(text, "0x101b"), flags=re.MULTILINE)
    fabric = parse_fabric(text)
    problems = check_map(fabric)
    assert [each.verdict for each in problems] == ([Verdict.NOTE] if is_note else [])
    assert ("each as fast as its peers" in problems_report(fabric, problems).sentence) is not is_note
