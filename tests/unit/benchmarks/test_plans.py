"""What is planned for a benchmark, from nodes, memory and parameters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.benchmarks.catalogue import BENCHMARKS
from seatrial.benchmarks.declaration import Launch, completed
from seatrial.benchmarks.generic import generic_benchmark
from seatrial.benchmarks.hpl import grid, order_of
from seatrial.model.benchmark import BenchmarkPlan, BenchmarkRequest
from seatrial.model.errors import UsageError

GB = 10**9


def launch_of(name: str) -> Launch:
    launch = BENCHMARKS[name].launch
    assert launch is not None
    return launch


def plan(
    name: str,
    *,
    nodes: int = 2,
    each: int = 4,
    memory: int = 64 * GB,
    free: int = 0,
    given: dict[str, str] | None = None,
) -> BenchmarkPlan:
    launch = launch_of(name)
    request = BenchmarkRequest(
        program=launch.programs[0],
        nodes=nodes,
        ranks_per_node=each,
        memory_bytes=memory,
        free_bytes=free,
        parameters=completed(given or {}, launch.parameters),
    )
    return launch.plan(request)


@given(st.integers(1, 100_000))
def test_the_grid_holds_all_ranks_and_is_as_square_as_they_permit(ranks: int) -> None:
    p, q = grid(ranks)
    assert p * q == ranks
    assert p <= q
    assert not any(ranks % other == 0 for other in range(p + 1, int(ranks**0.5) + 1))


@given(st.integers(10**6, 10**14), st.integers(1, 1024))
def test_the_matrix_is_the_largest_that_fits(memory: int, block: int) -> None:
    order = order_of(memory, block)
    assert order % block == 0
    assert 8 * order**2 <= memory < 8 * (order + block) ** 2


def test_hpl_takes_the_share_of_the_memory_of_all_nodes() -> None:
    made = plan("hpl")
    lines = made.files["HPL.dat"].splitlines()
    order = int(lines[5].split()[0])
    assert 0.79 * 128 * GB < 8 * order**2 <= 0.8 * 128 * GB
    assert order % 192 == 0
    assert [lines[place].split()[0] for place in (3, 4, 7, 10, 11)] == ["6", "1", "192", "2", "4"]
    assert len(lines) == 31
    assert made.expected == {"ranks": "8", "order": str(order), "tests": "1"}


def hpl_in(
    budget_s: float, nodes: int, *, largest: int = 0, peak: float = 0.0, sharing: int = 1
) -> tuple[int, BenchmarkPlan]:
    launch = launch_of("hpl")
    request = BenchmarkRequest(
        program="xhpl", nodes=nodes, ranks_per_node=4, memory_bytes=64 * GB, budget_s=budget_s, largest_nodes=largest,
        peak_flops_per_s=peak, sharing=sharing, parameters=completed({}, launch.parameters),
    )  # fmt: skip
    made = launch.plan(request)
    return int(made.expected["order"]), made


def test_an_order_that_would_not_end_in_time_is_planned_smaller() -> None:
    order, made = hpl_in(60.0, 2)
    assert 0.9 * 0.6 * 60 < 2 / 3 * order**3 / (8 * 2e9) <= 0.6 * 60
    assert "would probably not end within 60.0 s: give a longer --budget" in made.notes[1]
    fast, _ = hpl_in(60.0, 2, peak=2e12)
    assert fast > 4 * order
    whole, plenty = hpl_in(1e6, 2, peak=2e12)
    assert 0.79 * 128 * GB < 8 * whole**2 <= 0.8 * 128 * GB and len(plenty.notes) == 1
    assert hpl_in(60.0, 2, sharing=2)[0] < order
    assert hpl_in(0.001, 2)[0] == 192


def test_points_of_weak_scaling_keep_the_memory_with_which_the_largest_ends_in_time() -> None:
    orders = [hpl_in(60.0, nodes, largest=8)[0] for nodes in (1, 2, 4, 8)]
    assert 2 / 3 * orders[-1] ** 3 / (32 * 2e9) <= 0.6 * 60
    memory = [order**2 / nodes for order, nodes in zip(orders, (1, 2, 4, 8), strict=True)]
    assert min(memory) > 0.9 * max(memory)


def test_hpcc_reads_the_same_lines_and_those_of_ptrans() -> None:
    made = plan("hpcc", given={"order": "1000", "block": "80"})
    text = made.files["hpccinf.txt"].splitlines()
    assert text[5].split()[0] == "1000"
    assert text[31].startswith("##### This line (no. 32) is ignored")
    assert len(text) == 36
    assert made.steps[0].output == "hpccoutf.txt"


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("hpl", {"order": "200000"}, "its matrix takes 320.0 GB, and the nodes have 128.0 GB"),
        ("hpl", {"order": "many"}, "--set order=many: it must be a whole number"),
        ("hpl", {"block": "0"}, "--set block=0"),
        ("hpl", {"memory": "120%"}, "--set memory=120% is not a share"),
        ("hpl", {"size": "1"}, "there is no parameter 'size'"),
        ("netpipe", {}, "runs on two ranks, and 8 were requested"),
        ("fio", {"mode": "erase"}, "--set mode=erase is not a valid mode"),
        ("fio", {"size": "all"}, "--set size=all is not a size"),
        ("fio", {"size": "2GiB"}, "do not fit: the scratch folder has 2.0 GB free"),
    ],
)
def test_what_is_not_possible_is_refused_with_the_value(name: str, given: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError) as refused:
        plan(name, free=2 * GB, given=given)
    assert says in str(refused.value)


def test_hpl_without_known_memory_needs_an_order() -> None:
    with pytest.raises(UsageError, match="memory of the nodes is not known"):
        plan("hpl", memory=0)
    assert "Order 640" in plan("hpl", memory=0, given={"order": "640"}).notes[0]


def test_fio_through_the_page_cache_takes_twice_the_memory() -> None:
    words = plan("fio", nodes=1, each=1, free=500 * GB, given={"direct": "0"}).steps[0].argv
    assert f"--size={128 * GB}" in words
    assert "--direct=0" in words
    direct = plan("fio", nodes=1, each=1, free=500 * GB)
    assert f"--size={4 << 30}" in direct.steps[0].argv
    assert not direct.steps[0].mpi
    small = plan("fio", nodes=1, each=1, free=500 * GB, given={"direct": "0", "size": "1GiB"})
    assert "the page cache may serve it" in small.notes[0]


def test_netpipe_must_reach_the_largest_message() -> None:
    made = plan("netpipe", each=1, given={"largest": "64KiB", "times": "5"})
    assert made.largest_bytes == 65536
    assert made.steps[0].argv[1:] == ("-o", "np.out", "-u", "65536", "-n", "5")


OWN = """
name = "heat"
[metrics.time_s]
pattern = '(\\S+) s'
[run]
command = ["heat", "--grid", "{ranks}x{nodes}", "; rm -rf"]
"""


def test_a_command_of_the_sites_own_is_words_and_numbers() -> None:
    launch = generic_benchmark(OWN, "heat.toml").launch
    assert launch is not None
    step = launch.plan(BenchmarkRequest(program="/opt/heat", nodes=2, ranks_per_node=3)).steps[0]
    assert step.argv == ("/opt/heat", "--grid", "6x2", "; rm -rf")
    for broken, says in (
        ('command = ["heat", ""]', "an empty one"),
        ('command = ["heat"]\noutput = "../x"', "not a file in the folder"),
        ('command = ["heat"]\nnodes = 0', "must be from 1"),
    ):
        with pytest.raises(UsageError, match=says):
            generic_benchmark(OWN.partition("command")[0] + broken, "heat.toml")


CASE = {
    "system/controlDict": "application     simpleFoam;\nstopAt endTime;\nendTime         500;\n",
    "system/blockMeshDict": "",
    "system/snappyHexMeshDict.gz": "",
    "0.orig/U": "",
}


def foam(case: dict[str, str], changed: dict[str, str] | None = None, ranks: int = 4) -> BenchmarkPlan:
    launch = launch_of("openfoam")
    parameters = completed(changed or {}, launch.parameters)
    return launch.plan(
        BenchmarkRequest(program="blockMesh", nodes=1, ranks_per_node=ranks, parameters=parameters, case=case)
    )


def test_a_case_is_meshed_checked_decomposed_and_solved() -> None:
    made = foam(CASE, {"end": "20"})
    assert [step.name for step in made.steps] == [
        "blockMesh", "snappyHexMesh", "checkMesh", "fields", "decomposePar", "simpleFoam"
    ]  # fmt: skip
    assert [step.mpi for step in made.steps] == [False] * 5 + [True]
    assert made.steps[-1].argv == ("simpleFoam", "-parallel")
    assert "n (2 2 1);" in made.files["system/decomposeParDict"]
    assert made.files["system/controlDict"].splitlines()[1:] == ["stopAt endTime;", "endTime         20;"]
    assert made.expected == {"ranks": "4", "subdomains": "4"}


def test_a_case_with_a_mesh_is_not_meshed_again_and_one_rank_needs_no_decomposition() -> None:
    made = foam({**CASE, "constant/polyMesh/points": "", "0/U": ""}, ranks=1)
    assert [step.name for step in made.steps] == ["checkMesh", "simpleFoam"]
    assert made.steps[-1].argv == ("simpleFoam",)
    assert not made.files


@pytest.mark.parametrize(
    ("case", "changed", "says"),
    [
        ({}, {}, "names no application"),
        (CASE, {"method": "magic"}, "--set method=magic is not a valid method"),
        ({"system/controlDict": "application x;"}, {"end": "5"}, "has no endTime"),
    ],
)
def test_what_is_no_case_is_refused(case: dict[str, str], changed: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        foam(case, changed)


def test_a_melt_of_lammps_must_show_its_atoms_and_steps() -> None:
    made = plan("lammps", given={"cells": "8", "steps": "100"})
    assert made.expected == {"ranks": "8", "steps": "100", "atoms": "2048"}
    assert "region box block 0 8 0 8 0 8" in made.files["in.melt"]


def test_a_box_of_water_is_made_on_one_rank_and_simulated_on_all() -> None:
    made = plan("gromacs", given={"edge": "10", "copies": "2", "steps": "500"})
    assert [(step.name, step.single, step.judged) for step in made.steps] == [
        ("genconf", True, False), ("grompp", True, False), ("mdrun", False, True)
    ]  # fmt: skip
    assert made.expected == {"ranks": "8", "steps": "500", "atoms": "6000"}
    assert made.files["topol.top"].endswith("SOL 2000\n")
    assert "nsteps = 500" in made.files["water.mdp"]


def test_silicon_gets_its_pseudopotential_from_the_program_beside_pw() -> None:
    launch = launch_of("espresso")
    parameters = completed({"cells": "2", "cutoff": "20"}, launch.parameters)
    made = launch.plan(BenchmarkRequest(program="/opt/qe/bin/pw.x", nodes=1, ranks_per_node=4, parameters=parameters))
    assert made.steps[0].argv[-3:] == ("/opt/qe/bin/ld1.x", "-in", "ld1.in")
    assert made.expected == {"ranks": "4", "atoms": "64", "cutoff_ry": "20"}
    assert made.files["pw.in"].count(" Si 0.") == 64
    assert "celldm(1) = 20.5200, nat = 64" in made.files["pw.in"]
