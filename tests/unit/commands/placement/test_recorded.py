"""What is advised on recorded machines and invented ones: cores of the job, none twice, the nearest first."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.commands.placement.advice import advise, wanted_each
from seatrial.commands.placement.judge import placement_findings
from seatrial.model.facts import Core, NodeFacts, NumaNode, Topology
from seatrial.model.measurement import RankPlace
from seatrial.model.verdict import FindingKind
from seatrial.node.node import parse_facts
from seatrial.node.rank_places import Distance, adapters_of, distance, good_order, usable_processors
from tests.support.collecting import collected_text, write
from tests.support.facts_examples import hca, port, processor, server
from tests.support.machine_forms import facts_of
from tests.support.machines import machine as generated
from tests.support.machines import sysfs_tree
from tests.support.properties import examples
from tests.support.rule_cases import ranks_on

SHAPES = {
    "two sockets": (2, 1, 8, 1),
    "two sockets, two threads a core": (2, 1, 8, 2),
    "two sockets of four NUMA nodes": (2, 4, 4, 2),
    "one socket, four threads a core": (1, 4, 4, 4),
}
"""Sockets, NUMA nodes of each, cores of each, threads of each; siblings are far apart, as the kernel numbers them."""


def machine(shape: str, adapter_on: int) -> NodeFacts:
    """A node of that shape with its adapter on a NUMA node."""
    sockets, numa_nodes, each, threads = SHAPES[shape]
    many = sockets * numa_nodes * each
    cores = tuple(
        Core(
            processors=tuple(number + many * thread for thread in range(threads)),
            package=number // (numa_nodes * each),
            numa_node=number // each,
        )
        for number in range(many)
    )
    count = sockets * numa_nodes

    def hops(one: int, other: int) -> int:
        return 10 if one == other else 12 + abs(one - other) if one // numa_nodes == other // numa_nodes else 32

    nodes = tuple(
        NumaNode(index=one, distances=tuple(hops(one, other) for other in range(count))) for one in range(count)
    )
    card = msgspec.structs.replace(hca("mlx5_0", port()), numa_node=adapter_on)
    return server(
        topology=Topology(cores=cores, numa_nodes=nodes, source="sysfs"),
        hcas=(card,),
        processor=processor(allowed=tuple(range(many * threads))),
    )


@st.composite
def nodes(draw: st.DrawFn) -> NodeFacts:
    shape = draw(st.sampled_from(sorted(SHAPES)))
    facts = machine(shape, draw(st.integers(0, SHAPES[shape][0] * SHAPES[shape][1] - 1)))
    some = draw(st.sets(st.sampled_from(facts.processor.allowed), min_size=1))
    allowed = facts.processor.allowed if draw(st.booleans()) else tuple(sorted(some))
    return msgspec.structs.replace(facts, processor=processor(allowed=allowed))


@st.composite
def placements(draw: st.DrawFn) -> tuple[NodeFacts, tuple[RankPlace, ...]]:
    facts = draw(nodes())
    mask = st.sets(st.sampled_from(facts.processor.allowed), min_size=1).map(sorted).map(tuple)
    everywhere = st.just(facts.processor.allowed)
    masks = draw(st.lists(st.one_of(mask, everywhere), min_size=1, max_size=12))
    return facts, ranks_on("n1", *masks)


def check_order(facts: NodeFacts, ranks: tuple[RankPlace, ...], each: int, *, threads: bool) -> None:
    """No processor twice, none that the job has not; single cores from near to far."""
    order = good_order(facts, ranks, each, threads=threads)
    if order is None:
        return
    given_out = [number for group in order for number in group]
    assert len(set(given_out)) == len(given_out)
    assert set(given_out) <= usable_processors(facts, ranks)
    core_of = {number: core for core in facts.topology.cores for number in core.processors}
    assert all(len({core_of[number] for number in group}) == each for group in order)
    adapters = adapters_of(facts)
    classes = [list(Distance).index(distance(core_of[group[0]], adapters)) for group in order]
    if each == 1:
        assert classes == sorted(classes)
        free = usable_processors(facts, ranks) - set(given_out)
        taken = {core_of[number] for number in given_out}
        left = [list(Distance).index(distance(core_of[one], adapters)) for one in free if core_of[one] not in taken]
        assert not left or min(left) >= max(classes)


@settings(max_examples=examples(60), deadline=None)
@given(placements(), st.integers(1, 4), st.booleans())
def test_advised_cores_are_the_jobs_own_and_the_nearest(
    case: tuple[NodeFacts, tuple[RankPlace, ...]], each: int, threads: bool
) -> None:
    check_order(*case, each, threads=threads)


def from_mask(word: str) -> tuple[int, ...]:
    """0x9: processors 0 and 3."""
    return tuple(place for place, bit in enumerate(reversed(f"{int(word, 16):b}")) if bit == "1")


@settings(max_examples=examples(60), deadline=None)
@given(placements(), st.integers(1, 3), st.booleans())
def test_all_launchers_are_told_the_same(
    case: tuple[NodeFacts, tuple[RankPlace, ...]], each: int, threads: bool
) -> None:
    """srun's and Hydra's words by a rank's place on the node, the rankfile by the numbers that hwloc gives cores."""
    facts, ranks = case
    order = tuple(core.processors[0] for core in facts.topology.cores[::-1])  # any order will do
    facts = msgspec.structs.replace(facts, topology=msgspec.structs.replace(facts.topology, order=order))
    advice = advise({"n1": facts}, {"n1": ranks}, None if threads else each, 2 * each if threads else None)
    if advice is None:
        return
    wanted = [advice.cpus[rank.rank] for rank in ranks]
    (word,) = advice.srun
    kind, _, listed = word.removeprefix("--cpu-bind=").partition(":")
    told = [(int(one),) if kind == "map_cpu" else from_mask(one) for one in listed.split(",")]
    assert [set(one) for one in told] == [set(one) for one in wanted]
    by_hydra = advice.hydra[1].removeprefix("user:").split(",")
    assert [set(map(int, one.split("+"))) for one in by_hydra] == [set(one) for one in wanted]
    ours = [core for core in facts.topology.cores[::-1] if usable_processors(facts, ranks) & set(core.processors)]
    for line, cpus in zip(advice.rankfile.splitlines(), wanted, strict=True):
        cores = [ours[int(number)] for number in line.rpartition("slot=")[2].split(",")]
        assert {core for core in ours if set(cpus) & set(core.processors)} == set(cores)


@settings(max_examples=examples(60), deadline=None)
@given(placements())
def test_ranks_placed_as_advised_have_no_finding(case: tuple[NodeFacts, tuple[RankPlace, ...]]) -> None:
    facts, ranks = case
    advice = advise({"n1": facts}, {"n1": ranks}, 1)
    if advice is None:
        return
    there = tuple(msgspec.structs.replace(rank, cpus=advice.cpus[rank.rank]) for rank in ranks)
    assert placement_findings({"n1": facts}, {"n1": there}) == []


def test_numa_nodes_of_the_adapters_socket_come_before_those_of_the_other() -> None:
    facts = machine("two sockets of four NUMA nodes", 5)
    order = good_order(facts, ranks_on("n1", *[(0,)] * 32))
    assert order is not None
    by_numa = [group[0] // 4 for group in order]
    assert list(dict.fromkeys(by_numa)) == [5, 4, 6, 7, 0, 1, 2, 3]


def test_ranks_of_four_threads_a_core_are_told_apart_from_ranks_of_a_core_each() -> None:
    facts = machine("one socket, four threads a core", 0)
    siblings = ranks_on("n1", (0,), (16,), (32,), (48,))
    (finding,) = placement_findings({"n1": facts}, {"n1": siblings})
    assert finding.kind is FindingKind.SMT_SIBLINGS_USED
    assert "ranks 0-3 share the threads 0,16,32,48 of one core" in finding.statement
    advice = advise({"n1": facts}, {"n1": siblings})
    assert advice is not None
    assert advice.srun == ("--cpu-bind=map_cpu:0,1,2,3",)


def test_a_rank_of_several_processors_gets_whole_cores_and_no_more_than_there_are() -> None:
    facts = machine("two sockets, two threads a core", 1)
    ranks = ranks_on("n1", *[facts.processor.allowed] * 16)
    advice = advise({"n1": facts}, {"n1": ranks}, processors_each=2)
    assert advice is not None
    assert (advice.cpus[0], advice.cpus[15]) == ((8, 24), (7, 23))
    assert wanted_each(facts, ranks, 4, None) == (1, False)
    assert wanted_each(facts, ranks[:2], 4, None) == (4, False)


def test_a_rank_lies_across_sockets_only_where_it_must() -> None:
    facts = machine("two sockets of four NUMA nodes", 0)
    order = good_order(facts, ranks_on("n1", *[(0,)] * 10), 3)
    assert order is not None
    across = [group for group in order if group[0] // 16 != group[-1] // 16]
    assert across == []


def check_near_cores_first(facts: NodeFacts) -> None:
    cores = facts.topology.cores
    for many in (1, 2, len(cores) // 2, len(cores)):
        ranks = ranks_on("n1", *[(cores[0].processors[0],)] * many)
        assert good_order(facts, ranks) is not None
        for each in (1, 2, 3):
            check_order(facts, ranks, each, threads=True)


GENERATED = (
    "4 sockets x 10 cores, HCA qib0 4xQDR gen3 x4 on socket 1",
    "2 sockets x 8 cores x 2 threads, HCA mlx5_0 4xEDR gen3 x16 on socket 1",
    "2 sockets x 16 cores x 2 threads, 8 NUMA nodes, HCA mlx5_0 4xHDR gen4 x16 on socket 0",
    "1 socket x 6 cores x 4 threads",
)


@pytest.mark.parametrize("text", GENERATED)
def test_generated_machines_are_advised_their_near_cores_first(text: str, tmp_path: Path) -> None:
    check_near_cores_first(facts_of(generated(text), tmp_path))


def test_a_server_of_four_sockets(tmp_path: Path) -> None:
    facts = facts_of(generated(GENERATED[0]), tmp_path)
    first = {package: core for core in reversed(facts.topology.cores) if (package := core.package) is not None}
    ranks = ranks_on("n1", *[first[package].processors for package in (0, 1, 2)])
    (finding,) = placement_findings({"n1": facts}, {"n1": ranks})
    assert finding.kind is FindingKind.NIC_FAR_FROM_RANKS
    assert "ranks 0,2 may run on sockets 0,2 only, and qib0 on socket 1, where 9 cores are free" in finding.statement
    order = good_order(facts, ranks_on("n1", *[(0,)] * 11))
    assert order is not None
    package_of = {number: core.package for core in facts.topology.cores for number in core.processors}
    assert [package_of[group[0]] for group in order[:10]] == [1] * 10
    assert package_of[order[10][0]] != 1


def test_small_cores_of_a_generated_machine_come_last(tmp_path: Path) -> None:
    """Four cores of 3.0 GHz and four of 2.0 in turns of two."""
    tree = sysfs_tree(generated("1 socket x 8 cores"), tmp_path)
    for number in (0, 1, 4, 5):
        write(tree, f"/sys/devices/system/cpu/cpu{number}/cpufreq/cpuinfo_max_freq", "2000000\n")
    order = good_order(parse_facts(collected_text(str(tree))), ranks_on("n1", *[(0,)] * 6))
    assert order is not None
    assert [group[0] for group in order] == [2, 3, 6, 7, 0, 1]
