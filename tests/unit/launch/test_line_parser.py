"""Launch lines taken apart and put together with another binding."""

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.commands.placement.advice import (
    Advice,
    advise,
    advised_line,
    already,
    hydra_words,
    intel_words,
    rankfile_options,
    srun_words,
)
from seatrial.launch.line_parser import Dialect, parse_line
from seatrial.model.errors import UsageError
from tests.support.facts_examples import cluster, processor, server
from tests.support.rule_cases import ranks_on, smt

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
    asked = parse_line(shlex.split("srun -c 2 app"), Dialect.SRUN)
    assert (asked.cores_each, asked.processors_each) == (None, 2)
    asked = parse_line(shlex.split("srun --cpus-per-task=6 --hint=nomultithread app"), Dialect.SRUN)
    assert (asked.cores_each, asked.processors_each) == (6, None)
    assert parse_line(shlex.split("mpiexec -bind-to core:2 app"), Dialect.HYDRA).cores_each == 2
    assert parse_line(shlex.split("mpirun --map-by socket:PE=3 app"), Dialect.OPEN_MPI).cores_each == 3
    assert parse_line(shlex.split("srun app"), Dialect.SRUN).cores_each is None


THREADS = (
    (Dialect.OPEN_MPI, "env OMP_NUM_THREADS=4 mpirun app", 4),
    (Dialect.OPEN_MPI, "mpirun -x OMP_NUM_THREADS=4 app", 4),
    (Dialect.HYDRA, "mpiexec -genv OMP_NUM_THREADS 4 app", 4),
    (Dialect.SRUN, "srun --export=ALL,OMP_NUM_THREADS=4,2 app", 4),
    (Dialect.SRUN, "OMP_NUM_THREADS=4 srun app", 4),
    (Dialect.SRUN, "OMP_NUM_THREADS=4 srun -c 2 --threads-per-core=1 app", 2),
    (Dialect.SRUN, "srun app OMP_NUM_THREADS=4", None),
    (Dialect.SRUN, "OMP_NUM_THREADS=all srun app", None),
)


@pytest.mark.parametrize(("dialect", "line", "cores"), THREADS)
def test_a_line_that_sets_its_threads_asks_for_as_many_cores(dialect: Dialect, line: str, cores: int | None) -> None:
    assert parse_line(line.split(), dialect).cores_each == cores
    assert parse_line(line.split(), dialect, cores=3).cores_each == 3


WRAPPED = (
    ("srun -n2 taskset -c 0 ./app -c 1", "./app -c 1", "srun -n2 taskset -c 0 P", "srun -n2 P"),
    ("srun numactl -N0 -m 0 -- ./app", "./app", "srun numactl -N0 -m 0 -- P", "srun P"),
    (
        "srun numactl --interleave all ./app",
        "./app",
        "srun numactl --interleave all P",
        "srun numactl --interleave all P",
    ),
    ("srun env -u B A=1 nice -n 5 ./app", "./app", "srun env -u B A=1 nice -n 5 P", "srun env -u B A=1 nice -n 5 P"),
    ("taskset 0x1 srun ./app", "./app", "taskset 0x1 srun P", "srun P"),
    ("salloc -N 2 --time 5 srun ./app", "./app", "salloc -N 2 --time 5 srun P", "salloc -N 2 --time 5 srun P"),
    ("A=1 srun ./app", "./app", "env A=1 srun P", "env A=1 srun P"),
    ("time -p timeout -k 5 60 srun app", "app", "time -p timeout -k 5 60 srun P", "time -p timeout -k 5 60 srun P"),
    ("srun hwloc-bind core:0 pu:1 app", "app", "srun hwloc-bind core:0 pu:1 P", "srun P"),
    ("srun strace -f app", "strace -f app", "srun P", "srun P"),
)


@pytest.mark.parametrize(("line", "program", "asked", "advised"), WRAPPED)
def test_what_stands_around_the_program_stays_and_goes_where_it_binds(
    line: str, program: str, asked: str, advised: str
) -> None:
    parsed = parse_line(line.split(), Dialect.SRUN)
    assert parsed.program == tuple(program.split())
    assert parsed.argv(["P"]) == asked.split()
    assert parsed.argv(["P"], bound=False) == advised.split()


@settings(deadline=None)
@given(st.lists(st.sampled_from(["env", "A=1", "taskset", "-c", "0", "--", "numactl", "-N0", "srun", "app", "", "-n"])))
def test_any_words_are_taken_apart_or_refused(words: list[str]) -> None:
    try:
        line = parse_line(words, Dialect.SRUN)
    except UsageError:
        return
    kept = [word for word in words if word != "--"]
    assert [word for word in line.argv(line.program) if word != "--"] in (kept, ["env", *kept])


def test_a_script_that_binds_is_kept_where_the_program_is_named() -> None:
    line = parse_line(shlex.split("mpirun --bind-to none ./bind.sh ./app -x"), Dialect.OPEN_MPI, "./app")
    assert line.program == ("./app", "-x")
    assert line.argv(["P"], add=("--rankfile", "f"), bound=False) == shlex.split("mpirun --rankfile f ./bind.sh P")
    line = parse_line(shlex.split("srun --odd 7 taskset -c 0 ./app"), Dialect.SRUN, "./app")
    assert line.argv(["P"], bound=False) == ["srun", "--odd", "7", "P"]


def test_an_option_that_nobody_knows_is_told_apart_by_naming_the_program() -> None:
    words = shlex.split("srun --site-thing 7 ./app")
    assert parse_line(words, Dialect.SRUN).program == ("7", "./app")
    assert parse_line(words, Dialect.SRUN, "./app").program == ("./app",)
    with pytest.raises(UsageError, match="--program 'x' is not a word"):
        parse_line(words, Dialect.SRUN, "x")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("./app", "not a launch line"),
        ("srun -n 4", "has no program"),
        ("srun --multi-prog file", "several programs"),
        ("mpirun -n 1 a : -n 1 b", "several programs"),
        ("", "not a launch line"),
        ("sbatch job.sh", "script or one word for a shell"),
        ("env A=/opt/mpirun ./app", "not a launch line"),
        ("srun taskset -c 0", "has no program"),
    ],
)
def test_what_is_no_line_of_one_program_is_refused(line: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_line(line.split(), Dialect.SRUN)


@pytest.mark.parametrize("words", [["mpirun.openmpi -np 2 ./app"], ["/bin/sh", "-c", "mpirun -np 2 ./app"]])
def test_a_whole_line_in_quotes_is_told_to_be_written_in_words(words: list[str]) -> None:
    with pytest.raises(UsageError, match="one word for a shell") as refused:
        parse_line(words, Dialect.OPEN_MPI)
    assert "word by word" in refused.value.remedy


def test_what_would_take_our_pipes_is_left_out_and_so_is_the_lines_own_binding() -> None:
    line = parse_line(shlex.split("srun -n 4 -l -o out --cpu-bind=none --hint nomultithread -p main app"), Dialect.SRUN)
    assert line.argv(["probe"], piped=False, bound=False, add=("--x",)) == shlex.split("srun -n 4 -p main --x probe")


def test_the_words_for_each_launcher() -> None:
    assert srun_words(((8,), (9,))) == ("--cpu-bind=map_cpu:8,9",)
    assert srun_words(((0, 1), (2, 3))) == ("--cpu-bind=mask_cpu:0x3,0xc",)
    assert hydra_words(((0, 1), (2, 3))) == ("-bind-to", "user:0+1,2+3")
    assert intel_words(((1,), (2, 3)))[-1] == "[0x2,0xc]"
    advice = Advice(cpus={}, hydra=hydra_words(((1,),)), intel=intel_words(((1,),)))
    line = parse_line(["mpiexec", "./app"], Dialect.HYDRA)
    assert advice.options(line, "f", "MPICH Version: 4.1")[0] == "-bind-to"
    assert advice.options(line, "f", "Intel(R) MPI Library 2021.18.1 for Linux* OS") == advice.intel
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
