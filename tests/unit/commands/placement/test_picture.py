"""Nodes drawn with the ranks on their cores, in letters and on a page."""

import html

import pytest

from seatrial.commands.placement.judge import judge_placement
from seatrial.commands.placement.picture import NodePicture, pictures
from seatrial.commands.placement.view import legend, map_lines
from seatrial.model.facts import NodeFacts
from tests.support.facts_examples import cluster, processor, server
from tests.support.reports import placement_page, placement_text
from tests.support.rule_cases import EVERYWHERE, ranks_on, smt
from tests.unit.commands.placement.test_judge import run_of
from tests.unit.commands.placement.test_recorded import machine


def drawn(facts: NodeFacts | None, *masks: tuple[int, ...], width: int = 100) -> list[str]:
    (picture,) = pictures({"n1": facts} if facts else {}, {"n1": ranks_on("n1", *masks)}, None)
    return list(map_lines(picture, width))


def test_ranks_stand_on_their_cores_and_the_adapter_at_its_numa_node() -> None:
    assert drawn(server(), (8,), (8,), (9,), (9,), (9,), (15, 14)) == [
        "n1",
        "  socket 0, NUMA 0: cores 0-7, no rank bound",
        "  socket 1, NUMA 1: mlx5_0",
        "  core       8   9  10  11  12  13  14  15",
        "  now      0,1  x3   .   .   .   .   5   5",
    ]


def test_ranks_that_wander_have_no_place() -> None:
    lines = drawn(server(), EVERYWHERE, EVERYWHERE, (3,))
    assert lines[1] == "  now      ranks 0-1 on any of cores 0-15, which they may share"
    assert "  now       .  .  .  2  .  .  .  ." in lines


def test_siblings_share_a_cell_and_cores_of_others_are_marked() -> None:
    facts = server(topology=smt(), processor=processor(allowed=(0, 16, 1, 17)))
    assert drawn(facts, (0,), (16,))[3] == "  now      0,1   .   -   -   -   -   -   -"
    assert drawn(None, (3,), (5,)) == ["n1", "  sockets not known", "  core     3 5", "  now      0 1"]


def test_nodes_alike_are_drawn_once_whatever_their_ranks_numbers() -> None:
    facts = cluster(4)
    masks = {"n1": ((8,), (9,)), "n2": ((8,), (9,)), "n3": ((8,), (10,)), "n4": ((8,), (9,))}
    ranks = {node: ranks_on(node, *each, first=2 * place) for place, (node, each) in enumerate(masks.items())}
    first, second = pictures(facts, ranks, None)
    assert (first.nodes, second.nodes) == (("n1", "n2", "n4"), ("n3",))
    assert next(map_lines(first, 80)) == "n[1-2,4], alike: the ranks of n1 are drawn"
    assert [core.now for core in second.boxes[1].cores[:3]] == [(4,), (), (5,)]


@pytest.mark.parametrize("width", [40, 60, 100])
def test_a_large_node_fits_into_a_narrow_terminal(width: int) -> None:
    facts = machine("two sockets of four NUMA nodes", 5)
    lines = drawn(facts, *[(number,) for number in range(0, 16)], width=width)
    assert max(map(len, lines)) <= max(width, *(len(line) for line in lines if "no rank bound" in line))
    assert all(line.isascii() for line in lines)
    assert "  socket 1, NUMA 4: cores 16-19, no rank bound" in lines
    assert "  socket 1, NUMA 6-7: cores 24-31, no rank bound" in lines


def test_signs_are_explained_only_where_they_are_drawn() -> None:
    (shared,) = pictures({}, {"n1": ranks_on("n1", (0,), (0,))}, None)
    assert legend([shared]) == "0,1 two ranks on one core"
    none: list[NodePicture] = []
    assert legend(none) == ""


def test_the_line_to_copy_is_never_broken() -> None:
    line = ("srun", "-N2", "-n4", "--cpu-bind=none", "./app", "a b", "x" * 90)
    text = placement_text(judge_placement(run_of(((0,), (0,)), line=line)), width=40)
    assert f"\nsrun -N2 -n4 --cpu-bind=map_cpu:8,9 ./app 'a b' {'x' * 90}\n" in text
    mpi = ("mpirun", "-np", "4", "--bind-to", "none", "./app")
    text = placement_text(judge_placement(run_of(((0,), (0,)), line=mpi, launcher="Open MPI")), width=40)
    assert "\ncat > rankfile.txt <<END\nrank 0=n1 slot=8\n" in text
    assert "\nEND\nmpirun -np 4 --rankfile rankfile.txt ./app\n" in text


def test_what_was_withdrawn_was_tried() -> None:
    text = placement_text(judge_placement(run_of(((0,), (1,)), speed=1.0)))
    assert "  tried " in text
    assert "  advised " not in text
    assert "Recommended launch line" not in text


def test_the_page_shows_both_placements() -> None:
    recorded = run_of(((0,), (0,)), line=("srun", "-N2", "-n4", "--cpu-bind=none", "<b>"))
    page = placement_page(recorded.info, judge_placement(recorded))
    assert "srun -N2 -n4 --cpu-bind=map_cpu:8,9 '<b>'" in html.unescape(page)
    assert page.count('class="core shared" title="core 0: ranks 0-1"') == 1
    assert page.count('class="core one" title="core 9: rank 1"') == 1
    assert "bandwidth +20 % [+20 % to +20 %]: better" in page
    assert "default-src 'none'" in page


def test_a_page_of_masks_that_were_not_read_is_a_page() -> None:
    recorded = run_of(((), ()), starts=0)
    page = placement_page(recorded.info, judge_placement(recorded))
    assert "could not be read" in page
