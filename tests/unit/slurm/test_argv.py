"""Slurm's commands: exact lists, in which no character means anything to a shell."""

import subprocess
import time

import pytest
from ClusterShell.NodeSet import NodeSet

from seatrial.model.node_list import expand, node_list
from seatrial.slurm import argv as slurm_argv
from seatrial.slurm import text as slurm_text

HOSTILE = "p; rm -rf / $(reboot) `x` 'y' \"z\" | & > <"


def test_salloc() -> None:
    assert slurm_argv.salloc(["n1", "n2", "n3"], 90, "", "seatrial-1") == [
        "salloc", "--wait-all-nodes=1", "--nodes=3", "--ntasks=3", "--ntasks-per-node=1",
        "--nodelist=n[1-3]",
        "--exclusive", "--no-kill", "--job-name=seatrial-1", "--time=7",
        *slurm_argv.HOLDER,
    ]  # fmt: skip
    assert "--immediate=10" in slurm_argv.salloc(["n1"], 90, "", "", at_once=True)


def test_what_salloc_runs_says_its_job_and_lasts_as_long_as_its_input() -> None:
    argv = ["env", "SLURM_JOB_ID=7", *slurm_argv.HOLDER]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None and holder.stdout is not None
        assert slurm_text.held_job(holder.stdout.readline().decode()) == "7"
        assert holder.poll() is None
        holder.stdin.close()
        assert holder.wait(20) == 0


def test_sbatch_hands_the_programs_arguments_on_untouched() -> None:
    argv = slurm_argv.sbatch(["n1"], 60, "debug", "seatrial-1", "/a b/out.txt", "/a b/batch.sh", ["check", HOSTILE])
    assert argv[:2] == ["sbatch", "--parsable"]
    assert argv[-7:-3] == ["--partition=debug", "--output=/a b/out.txt", "--no-requeue", "--export=ALL"]
    assert argv[-3:] == ["/a b/batch.sh", "check", HOSTILE]
    assert "--job-name=seatrial-1" in argv
    assert "--time=6" in argv


def test_the_facts_step_starts_no_mpi_and_labels_its_lines() -> None:
    assert slurm_argv.facts_step("7", ["n1", "n2"]) == [
        "srun", "--jobid=7", "--job-name=seatrial", "--overlap", "--no-kill", "--nodes=2", "--ntasks=2",
        "--ntasks-per-node=1", "--nodelist=n[1-2]", "--mem=0", "--wait=0", "--export=ALL", "--mpi=none",
        "--cpu-bind=none", "--kill-on-bad-exit=0", "--label", "sh", "-s",
    ]  # fmt: skip


@pytest.mark.parametrize("mpi", ["", "pmix"])
def test_the_probe_step_sends_input_to_rank_0_alone(mpi: str) -> None:
    argv = slurm_argv.probe_step("7", ["n1", "n2"], mpi, "/home/a b/probe")
    assert argv[12:] == [*([f"--mpi={mpi}"] if mpi else []), "--kill-on-bad-exit=1", "--input=0", "/home/a b/probe"]
    assert argv[:11] == slurm_argv.facts_step("7", ["n1", "n2"])[:11]


def test_a_hostile_partition_stays_one_argument() -> None:
    assert slurm_argv.allocation(["n1"], 1, HOSTILE, "")[-1] == f"--partition={HOSTILE}"
    assert slurm_argv.allocation(["n1"], 1, "--uid=0", "")[-1] == "--partition=--uid=0"


@pytest.mark.parametrize(
    "argv",
    [
        slurm_argv.salloc(["n1"], 60, "", "seatrial-1f"),
        slurm_argv.sbatch(["n1"], 60, "", "seatrial-1f", "out", "script", []),
        slurm_argv.sbatch_alone("n1", "", "seatrial-1f", "script", [], memory=False),
    ],
    ids=["salloc", "sbatch", "alone"],
)
def test_who_asked_for_a_job_is_found_by_an_argument(argv: list[str]) -> None:
    assert slurm_argv.named("seatrial-1f") in argv


def test_asking_and_ending() -> None:
    assert slurm_argv.cancel("7") == ["scancel", "7"]
    assert slurm_argv.job_about("7") == ["squeue", "--noheader", "--jobs=7", "--format=%A|%T|%U|%N"]


@pytest.mark.parametrize(
    ("nodes", "text"),
    [(["n1", "n2", "n3", "n7"], "n[1-3,7]"), (["a", "b"], "a,b"), (["n09", "n10"], "n[09-10]"), (["x"], "x")],
)
def test_lists_of_nodes_fold_and_unfold(nodes: list[str], text: str) -> None:
    assert node_list(nodes) == text
    assert list(expand(text)) == nodes


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (("n[1-", "n[3-1]", "n[a-b]", "n]1["), "."),
        (
            ("n[1-65537]", "n[1-1000000]", "a[1-2000]b[1-2000]", "n[1-2],m[0-999999999999]", f"n[1-{'9' * 17}]"),
            "more than 65,536 nodes",
        ),
        (("n1[8-12]", "n1[8,10]", "m1,r9[9-10]n[1-2]", "n99999[9-10]"), "follow a digit"),
    ],
)
def test_what_is_no_list_of_nodes_is_refused_at_once(texts: tuple[str, ...], why: str) -> None:
    """ClusterShell expands n1[8-12] to the 95 nodes from n18 to n112, Slurm to 5."""
    for text in texts:
        with pytest.raises(ValueError, match=why):
            expand(text)


@pytest.mark.parametrize(("seconds", "minutes"), [(0, 5), (1, 6), (60, 6), (61, 7), (3600, 65)])
def test_minutes_are_rounded_up_and_spared(seconds: float, minutes: int) -> None:
    assert f"--time={minutes}" in slurm_argv.allocation(["n1"], seconds, "", "x")


@pytest.mark.parametrize(("limit", "seconds"), [(8, 180), (5, 0), (3, 0)])
def test_an_allocation_no_longer_than_a_limit(limit: int, seconds: float) -> None:
    assert slurm_argv.longest_s(limit) == seconds
    assert slurm_argv.minutes(seconds) == max(limit, slurm_argv.SPARE_MINUTES)
    assert slurm_argv.longest_s(None) == float("inf")


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        (["n1.site", "n2.site"], "n1.site,n2.site"),
        (["n1-ib", "n2-ib", "m1", "m2"], "m[1-2],n1-ib,n2-ib"),
        (["r1n1", "r1n2", "r2n1", "r2n2"], "r[1-2]n[1-2]"),
        (["r1n1b", "r2n1b"], "r1n1b,r2n1b"),
        (["x1", "x2", "x05"], "x[1-2,05]"),
    ],
)
def test_what_slurm_cannot_unfold_is_not_folded(nodes: list[str], text: str) -> None:
    """`scontrol show hostnames` of 22.05 says "Invalid hostlist" of n[1-2].site, and reads the others."""
    assert node_list(nodes) == text
    assert sorted(expand(text)) == sorted(nodes)


def test_many_nodes_are_no_trouble() -> None:
    assert len(expand("a[1-20000],b[1-20000]")) == 40_000
    assert len(expand("n[1-4/2]")) == 2
    assert len(expand("n[1-65536]")) == 65_536


@pytest.mark.parametrize(
    "text",
    ["n[1-12]", "n0[0-3]", "n1[08-12]", "n[5-5]", "n-[9-11]", "r1.n[0-2]", "[1-3]", "n[01-12]", "n[1-3,5]", "n[1-3]b"],
)
def test_one_plain_range_expands_as_every_node_set_does(text: str) -> None:
    assert expand(text) == tuple(NodeSet(text))


def test_the_time_to_count_and_fold_grows_with_the_text_and_no_faster() -> None:
    """Commas once cost the rest of the text each: 130 kB, the longest argument that Linux passes, took 5 s."""

    def seconds(names: list[str]) -> float:
        began = time.process_time()
        with pytest.raises(ValueError, match="more than"):
            expand(",".join([*names, "n[1-99999]"]))
        return time.process_time() - began

    few, many = (min(seconds([f"n{i}" for i in range(number)]) for _ in range(3)) for number in (2_000, 20_000))
    assert many < 40 * few


def test_a_users_program_is_a_step_in_its_folder_without_standard_input() -> None:
    argv = slurm_argv.program_step(
        "7", ["n1", "n2"], "pmix", ["/opt/a b", "x"], ranks_per_node=3, folder="/scratch/r 1"
    )
    assert argv[argv.index("--mpi=pmix") :] == [
        "--mpi=pmix", "--kill-on-bad-exit=1", "--input=none", "--chdir=/scratch/r 1", "/opt/a b", "x"
    ]  # fmt: skip
    assert {"--ntasks=6", "--ntasks-per-node=3", "--jobid=7", "--nodelist=n[1-2]"} <= set(argv)


def test_the_ranks_of_a_program_are_in_the_order_of_the_nodes_if_that_matters() -> None:
    once = slurm_argv.program_step("7", ["n1"], "pmix", ["x"], ranks_per_node=0, folder="/s")
    assert "--ntasks=1" in once
    assert once[-6:] == ["--mpi=none", "--cpu-bind=none", "--kill-on-bad-exit=1", "--input=none", "--chdir=/s", "x"]
    argv = slurm_argv.program_step("7", ["n2", "n1"], "", ["x"], ranks_per_node=1, folder="/s", in_order=True)
    last = [word for word in argv if word.startswith("--nodelist=")][-1]
    assert (last, "--distribution=arbitrary" in argv) == ("--nodelist=n2,n1", True)
