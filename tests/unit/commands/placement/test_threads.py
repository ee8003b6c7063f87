"""Threads of ranks against the processors that these may use; what a job has of a node against what it uses."""

from pathlib import Path

import msgspec
import pytest

from seatrial.commands.placement.advice import advise
from seatrial.commands.placement.gain import Fix
from seatrial.commands.placement.judge import (
    advice_of,
    judge_placement,
    memory_findings,
    placement_findings,
    shown_by_messages,
    threads_each,
)
from seatrial.launch.line_parser import Dialect, parse_line
from seatrial.model.facts import Core, NodeFacts, NumaNode, Topology
from seatrial.model.verdict import FindingKind, Verdict
from seatrial.node.processor import read_processor
from seatrial.node.rank_places import Distance, adapters_of, distance, good_order
from seatrial.node.topology_sysfs import logical_order
from seatrial.rules.ranks import threads_findings
from tests.support.collecting import SHELLS, collect, write
from tests.support.facts_examples import hca, port, processor, server
from tests.support.rule_cases import ranks_on
from tests.unit.commands.placement.test_judge import run_of

BY_THREADS = ("mpirun", "-np", "4", "-x", "OMP_NUM_THREADS=4", "./app")


def facts_of(*, sockets: int = 2, each: int = 4, numa_nodes: int = 2, allowed: tuple[int, ...] = ()) -> NodeFacts:
    """Cores of one thread, socket after socket; the adapter on the last NUMA node."""
    many = sockets * each
    cores = tuple(
        Core(processors=(number,), package=number // each, numa_node=number * numa_nodes // many)
        for number in range(many)
    )
    nodes = tuple(
        NumaNode(index=one, distances=tuple(10 if one == other else 21 for other in range(numa_nodes)))
        for one in range(numa_nodes)
    )
    return server(
        topology=Topology(cores=cores, numa_nodes=nodes, source="sysfs", order=tuple(range(many))),
        hcas=(msgspec.structs.replace(hca("mlx5_0", port()), numa_node=numa_nodes - 1),),
        processor=processor(allowed=allowed or tuple(range(many))),
    )


@pytest.mark.parametrize(
    ("words", "masks", "says"),
    [
        (BY_THREADS, ((4,), (5,)), "ranks 0-1 are to start 4 threads each and may use only 2 processors (4-5)"),
        (BY_THREADS, ((4, 5, 6, 7), (4, 5, 6, 7)), "4 threads each and may use only 4 processors (4-7) between them"),
        (BY_THREADS, ((0, 1, 2, 3), (4,)), "rank 1 is to start 4 threads and may use only 1 processor (4)"),
        (BY_THREADS, ((0, 1, 2, 3), (4, 5, 6, 7)), ""),
        (BY_THREADS, ((4,), (4,)), ""),  # these share a core themselves, which another rule says
        (("mpirun", "-np", "2", "./app"), ((4,), (5,)), ""),
    ],
)
def test_more_threads_than_processors_are_named_once(
    words: tuple[str, ...], masks: tuple[tuple[int, ...], ...], says: str
) -> None:
    facts, ranks = {"n1": facts_of()}, {"n1": ranks_on("n1", *masks)}
    found = threads_findings(facts, ranks, threads_each(parse_line(words, Dialect.OPEN_MPI)))
    assert [finding.kind for finding in found] == ([FindingKind.THREADS_SHARE_CORE] if says else [])
    assert all(says in finding.statement for finding in found)


def test_a_rank_of_a_core_each_and_eight_threads_is_advised_more_cores_without_a_measurement() -> None:
    facts, ranks = {"n1": facts_of()}, {"n1": ranks_on("n1", (4,), (5,))}
    line = parse_line(BY_THREADS, Dialect.OPEN_MPI)
    assert not shown_by_messages(facts, ranks)
    advice = advice_of(facts, ranks, line)
    assert advice is not None and advice.rankfile == "rank 0=n1 slot=4,5,6,7\nrank 1=n1 slot=0,1,2,3\n"


def test_what_is_said_of_threads_stands_whatever_messages_show() -> None:
    line = ("srun", "-N2", "-n4", "env", "OMP_NUM_THREADS=4", "./app")
    found = judge_placement(run_of(((8,), (9,)), starts=0, line=line))
    assert [finding.kind for finding in found.findings] == [FindingKind.THREADS_SHARE_CORE]
    assert (found.fix, found.verdict, found.exit_code) == (Fix.UNDECIDED, Verdict.MISCONFIGURED, 1)
    slower = judge_placement(run_of(((0,), (0,)), ((8, 9, 10, 11), (12, 13, 14, 15)), speed=0.5, line=line))
    assert FindingKind.THREADS_SHARE_CORE not in {finding.kind for finding in slower.findings}


@pytest.mark.parametrize(
    ("option", "masks", "named"),
    [
        ("-m 1", ((0,), (1,)), True),
        ("-m1", ((0,), (4,)), True),
        ("--membind=1", ((0,), (4,)), True),
        ("--preferred 1", ((4,), (5,)), False),
        ("-m 0,1", ((0,), (4,)), False),
        ("-m 7", ((0,), (4,)), False),  # memory alone, as far as the cores tell
        ("-m netdev:ib0", ((0,), (4,)), False),
        ("--localalloc", ((0,), (4,)), False),
    ],
)
def test_memory_that_numactl_puts_far_from_the_ranks_is_named(
    option: str, masks: tuple[tuple[int, ...], ...], named: bool
) -> None:
    line = parse_line(f"mpirun -np 2 numactl {option} ./app".split(), Dialect.OPEN_MPI)
    found = memory_findings({"n1": facts_of()}, {"n1": ranks_on("n1", *masks)}, line)
    assert [one.kind for one in found] == ([FindingKind.MEMORY_FAR_FROM_RANKS] if named else [])


def test_advised_cores_far_from_the_lines_own_memory_are_told() -> None:
    line = ("srun", "-N2", "-n4", "numactl", "-m", "0", "./app")
    found = judge_placement(run_of(((0,), (0,)), line=line))
    assert found.advised_line[-4:] == ("numactl", "-m", "0", "./app")
    assert any("keeps memory on NUMA node 0, and advised cores are on another" in note for note in found.notes)


def test_ranks_unbound_within_the_part_of_a_node_that_the_job_has_are_named() -> None:
    facts = {"n1": facts_of(allowed=(4, 5, 6, 7))}
    (finding,) = placement_findings(facts, {"n1": ranks_on("n1", (4, 5, 6, 7), (4, 5, 6, 7))})
    assert finding.kind is FindingKind.RANKS_UNBOUND and "any of 4 cores" in finding.statement


def test_a_rank_lies_across_sockets_by_fault_only_where_the_jobs_cores_would_do() -> None:
    across = ranks_on("n1", (0, 1, 2), (3, 4, 5))
    (finding,) = [
        one for one in placement_findings({"n1": facts_of()}, {"n1": across})
        if one.kind is FindingKind.RANK_ACROSS_SOCKETS
    ]  # fmt: skip
    assert "rank 1 may run on cores of several sockets" in finding.statement
    few = placement_findings({"n1": facts_of(allowed=(0, 1, 2, 3, 4, 5))}, {"n1": across})
    assert FindingKind.RANK_ACROSS_SOCKETS not in {one.kind for one in few}


def test_a_free_near_core_is_of_no_use_to_a_rank_of_two() -> None:
    near, far = (4, 5), (0, 1)
    facts = {"n1": facts_of(allowed=(0, 1, 2, 4, 5, 6))}
    assert placement_findings(facts, {"n1": ranks_on("n1", near, far)}) == []
    (finding,) = placement_findings(facts, {"n1": ranks_on("n1", near, far[:1])})
    assert finding.kind is FindingKind.NIC_FAR_FROM_RANKS and "where 1 core is free" in finding.statement


def test_several_sockets_of_one_numa_node() -> None:
    facts = facts_of(sockets=4, each=4, numa_nodes=2)
    adapters = adapters_of(facts)
    assert (adapters.numa_nodes, adapters.packages) == ({"mlx5_0": 1}, {})
    assert [distance(core, adapters) for core in facts.topology.cores] == [Distance.OTHER] * 8 + [Distance.NEAR] * 8
    order = good_order(facts, ranks_on("n1", *[(0,)] * 4), 3)
    assert order == ((8, 9, 10), (12, 13, 14), (0, 1, 2), (4, 5, 6))
    (finding,) = placement_findings({"n1": facts}, {"n1": ranks_on("n1", (0,), (8,))})
    assert "rank 0 may run on socket 0 only, and mlx5_0 on NUMA node 1, where 7 cores are free" in finding.statement


def test_cores_are_numbered_as_hwloc_does_where_a_cache_joins_distant_ones() -> None:
    """A Xeon of 2006: processors 0 and 4 share a cache, and so on. PRRTE 3 takes slot=1 there for processor 4."""
    cores = tuple(Core(processors=(number,), package=number % 2, numa_node=0) for number in range(8))
    order = logical_order(cores, (NumaNode(index=0, processors=tuple(range(8))),), [(n, n + 4) for n in range(4)])
    assert order == (0, 4, 2, 6, 1, 5, 3, 7)
    facts = server(topology=Topology(cores=cores, order=order), processor=processor(allowed=tuple(range(8))), hcas=())
    advice = advise({"n1": facts}, {"n1": ranks_on("n1", (0,), (0,), (0,))})
    assert advice is not None and advice.srun == ("--cpu-bind=map_cpu:0,2,4",)
    assert advice.rankfile == "rank 0=n1 slot=0\nrank 1=n1 slot=2\nrank 2=n1 slot=1\n"


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("cgroup", "file"),
    [
        ("3:cpuset:/slurm_n1/uid_0/job_4/step_1\n0::/\n", "cpuset/slurm_n1/uid_0/job_4/cpuset.cpus"),
        (
            "0::/system.slice/slurmstepd.scope/job_77/step_0/user/task_0\n",
            "system.slice/slurmstepd.scope/job_77/cpuset.cpus.effective",
        ),
    ],
)
def test_the_jobs_cpuset_counts_where_its_step_has_less(shell: str, cgroup: str, file: str, tmp_path: Path) -> None:
    """Both as Slurm 22.05 makes them, with ConstrainCores."""
    write(tmp_path, "/proc/self/cgroup", cgroup)
    write(tmp_path, "/proc/self/status", "Cpus_allowed_list:\t2\n")
    assert read_processor(collect(str(tmp_path), shell))[0].allowed == (2,)
    write(tmp_path, f"/sys/fs/cgroup/{file}", "0-3\n")
    assert read_processor(collect(str(tmp_path), shell))[0].allowed == (0, 1, 2, 3)
