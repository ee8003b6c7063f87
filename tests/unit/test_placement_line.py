"""Launch lines taken apart and put together with another binding."""

import shlex

import pytest

from seatrial.diagnosis.placement.advice import (
    Advice,
    advise,
    advised_line,
    already,
    hydra_words,
    rankfile_options,
    srun_words,
)
from seatrial.diagnosis.placement.line import parse_line
from seatrial.diagnosis.placement.line_options import Dialect
from seatrial.model.errors import UsageError
from tests.unit.facts_examples import cluster, processor, server
from tests.unit.rule_cases import ranks_on, smt

LINES = (
    (Dialect.SRUN, "srun -n 4 --cpu-bind=none ./app -x 1", "./app -x 1", 4),
    (Dialect.SRUN, "srun -N2 -n8 -lu --mpi pmix -c 2 app", "app", 8),
    (Dialect.SRUN, "/opt/slurm/bin/srun --exclusive --ntasks=3 -- -odd", "-odd", 3),
    (Dialect.SRUN, "env A=1 srun app", "app", None),
    (Dialect.OPEN_MPI, "mpirun -np 4 --mca pml ob1 -x PATH --bind-to none ./app", "./app", 4),
    (Dialect.OPEN_MPI, "mpirun.openmpi --map-by ppr:2:node:PE=3 -mca btl tcp,self app", "app", None),
    (Dialect.HYDRA, "mpiexec.hydra -genv A 1 -n 2 -bind-to user:0,0 app -n 9", "app -n 9", 2),
)


@pytest.mark.parametrize(("dialect", "line", "program", "ranks"), LINES)
def test_the_program_is_the_first_word_that_no_option_takes(
    dialect: Dialect, line: str, program: str, ranks: int | None
) -> None:
    parsed = parse_line(line.split(), dialect)
    assert " ".join(parsed.program) == program
    assert parsed.ranks == ranks
    assert parsed.argv(parsed.program) == [word for word in line.split() if word != "--"]


def test_cores_for_each_rank_are_read_where_the_line_asks_for_them() -> None:
    assert parse_line(shlex.split("srun -c 2 app"), Dialect.SRUN).cores_each == 2
    assert parse_line(shlex.split("srun --cpus-per-task=6 app"), Dialect.SRUN).cores_each == 6
    assert parse_line(shlex.split("mpirun --map-by socket:PE=3 app"), Dialect.OPEN_MPI).cores_each == 3
    assert parse_line(shlex.split("srun app"), Dialect.SRUN).cores_each is None


def test_an_option_that_nobody_knows_is_told_apart_by_naming_the_program() -> None:
    words = shlex.split("srun --site-thing 7 ./app")
    assert parse_line(words, Dialect.SRUN).program == ("7", "./app")
    assert parse_line(words, Dialect.SRUN, "./app").program == ("./app",)
    with pytest.raises(UsageError, match="--program 'x' is no word"):
        parse_line(words, Dialect.SRUN, "x")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("./app", "no launch line"),
        ("srun -n 4", "has no program"),
        ("srun --multi-prog file", "several programs"),
        ("mpirun -n 1 a : -n 1 b", "several programs"),
        ("", "no launch line"),
    ],
)
def test_what_is_no_line_of_one_program_is_refused(line: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_line(line.split(), Dialect.SRUN)


def test_what_would_take_our_pipes_is_left_out_and_so_is_the_lines_own_binding() -> None:
    line = parse_line(shlex.split("srun -n 4 -l -o out --cpu-bind=none --hint nomultithread -p main app"), Dialect.SRUN)
    assert line.argv(["probe"], piped=False, bound=False, add=("--x",)) == shlex.split("srun -n 4 -p main --x probe")


def test_the_words_for_each_launcher() -> None:
    assert srun_words(((8,), (9,))) == ("--cpu-bind=map_cpu:8,9",)
    assert srun_words(((0, 1), (2, 3))) == ("--cpu-bind=mask_cpu:0x3,0xc",)
    assert hydra_words(((0, 1), (2, 3))) == ("-bind-to", "user:0+1,2+3")
    assert rankfile_options("f", "Open MPI v4.1.4, ...") == ("--rankfile", "f")
    assert rankfile_options("f", "Open MPI v5.0.3, ...") == ("--map-by", "rankfile:file=f")


def test_advice_puts_ranks_near_the_adapter() -> None:
    facts = cluster(2)
    ranks = {"n1": ranks_on("n1", (0,), (0,)), "n2": ranks_on("n2", (0,), (0,), first=2)}
    advice = advise(facts, ranks)
    assert advice is not None
    assert advice.srun == ("--cpu-bind=map_cpu:8,9",)
    assert advice.rankfile == "rank 0=n1 slot=8\nrank 1=n1 slot=9\nrank 2=n2 slot=8\nrank 3=n2 slot=9\n"
    assert not already(facts, ranks, advice)
    there = {node: ranks_on(node, (8,), (9,), first=2 * place) for place, node in enumerate(facts)}
    assert already(facts, there, advice)


def test_logical_numbers_follow_sockets_where_the_kernels_do_not() -> None:
    plain = server().topology
    mixed = type(plain)(
        cores=tuple(
            type(core)(processors=(number,), package=number % 2, numa_node=number % 2)
            for number, core in enumerate(plain.cores)
        ),
        numa_nodes=plain.numa_nodes,
        source="sysfs",
    )
    advice = advise({"n1": server(topology=mixed)}, {"n1": ranks_on("n1", (0,), (0,))})
    assert advice is not None
    assert advice.srun == ("--cpu-bind=map_cpu:1,3",)
    assert advice.rankfile == "rank 0=n1 slot=8\nrank 1=n1 slot=9\n"


def test_a_rank_of_several_cores_keeps_as_many() -> None:
    facts = {"n1": server(topology=smt(), processor=processor(allowed=tuple(range(32))))}
    advice = advise(facts, {"n1": ranks_on("n1", (6, 22, 7, 8), (0, 1, 2))})
    assert advice is not None
    assert advice.cpus == {0: (8, 9, 10), 1: (11, 12, 13)}
    wide = advise(facts, {"n1": ranks_on("n1", (0,), (0,))}, cores_each=4)
    assert wide is not None
    assert wide.srun == ("--cpu-bind=mask_cpu:0xf00,0xf000",)


def test_nodes_that_differ_can_be_told_by_a_rankfile_alone() -> None:
    facts = {"n1": server("n1"), "n2": server("n2", hcas=(), interfaces=())}
    advice = advise(facts, {"n1": ranks_on("n1", (0,)), "n2": ranks_on("n2", (1,), first=1)})
    assert advice is not None
    assert (advice.srun, advice.hydra) == ((), ())
    assert advice.rankfile == "rank 0=n1 slot=8\nrank 1=n2 slot=0\n"
    line = parse_line(shlex.split("srun app"), Dialect.SRUN)
    assert advised_line(line, advice, ("app",), "f", "") == []
    line = parse_line(shlex.split("mpirun --bind-to none app"), Dialect.OPEN_MPI)
    assert advised_line(line, advice, ("app",), "f", "") == shlex.split("mpirun -np 2 --rankfile f app")


def test_too_few_cores_and_unread_masks_have_no_advice() -> None:
    facts = cluster(1)
    assert advise(facts, {"n1": ranks_on("n1", *[(0,)] * 17)}) is None
    assert advise(facts, {"n1": ranks_on("n1", (0,), ())}) is None
    assert advise({}, {}) == Advice(cpus={})
