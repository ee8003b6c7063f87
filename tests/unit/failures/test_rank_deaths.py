"""Which rank died, from texts that launchers really wrote, and from what others are known to write."""

import msgspec
import pytest

from seatrial.failures.rank_deaths import Ranks, read_loss
from seatrial.model.loss import LossCause

FOUR = Ranks(places=("n1", "n2", "n3", "n4"), pids={("n1", 11): 0, ("n2", 12): 1, ("n3", 13): 2, ("n4", 14): 3})
BY_SLURM = """srun: launch/slurm: _step_signal: Terminating StepId=2.0
slurmstepd-n1: error: *** STEP 2.0 ON n1 CANCELLED AT 2026-11-22T15:43:18 ***
srun: error: n1: task 0: Terminated
srun: error: n2: task 1: Terminated
srun: error: n4: task 3: Terminated
srun: Force Terminated StepId=2.0
"""
"""What srun --kill-on-bad-exit=1 writes once a rank has died."""
DISCONNECTED = """--------------------------------------------------------------------------
An MPI communication peer process has unexpectedly disconnected.  This
usually indicates a failure in the peer process (e.g., a crash or
otherwise exiting without calling MPI_FINALIZE first).

  Local host: n4
  Local PID:  12425
  Peer host:  n3
--------------------------------------------------------------------------
"""
CANCELLED = """srun: Job step aborted: Waiting up to 4 seconds for job step to finish.
slurmstepd-n1: error: *** STEP 6.0 ON n1 CANCELLED AT 2026-11-22T15:47:07 ***
srun: error: n4: task 3: Killed
srun: launch/slurm: _step_signal: Terminating StepId=6.0
srun: error: n1: task 0: Killed
srun: error: n2: task 1: Killed
srun: error: n3: task 2: Killed
"""
HYDRA = """===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID {pid} RUNNING AT {host}
=   EXIT CODE: {code}
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
===================================================================================
"""
INTEL = """===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK {rank} PID {pid} RUNNING AT {host}
=   KILLED BY SIGNAL: {signal}
===================================================================================
"""


@pytest.mark.parametrize(
    ("words", "number", "code"),
    [
        ("Killed", 9, None),
        ("Segmentation fault", 11, None),
        ("Segmentation fault (core dumped)", 11, None),
        ("Bus error", 7, None),
        ("Aborted", 6, None),
        ("Terminated", 15, None),
        ("Exited with exit code 9", None, 9),
        ("Exited with exit code 137", 9, None),
        ("Exited with exit code 139", 11, None),
    ],
)
def test_what_srun_reports_first_is_the_death(words: str, number: int | None, code: int | None) -> None:
    loss = read_loss(f"{DISCONNECTED}srun: error: n3: task 2: {words}\n{BY_SLURM}", FOUR)
    assert loss.suspects == ("n3",)
    assert loss.cause is (LossCause.EXIT if code else LossCause.SIGNAL)
    first = [death for death in loss.deaths if death.first]
    assert [(one.node, one.rank, one.signal, one.exit_code) for one in first] == [("n3", 2, number, code)]
    assert {one.node for one in loss.deaths if not one.first} == {"n1", "n2", "n4"}


def test_ranks_that_slurm_ended_are_not_suspected_though_they_are_killed() -> None:
    text = f"srun: error: n3: task 2: Segmentation fault\n{BY_SLURM}".replace(
        "n1: task 0: Terminated", "n1: task 0: Killed"
    )
    assert read_loss(text, FOUR).suspects == ("n3",)


def test_abbreviated_node_sets_are_taken_apart() -> None:
    loss = read_loss(f"srun: error: n[2-3]: tasks 1-2: Killed\n{BY_SLURM}", FOUR)
    assert loss.suspects == ("n2", "n3")
    assert [(one.node, one.rank) for one in loss.deaths[:2]] == [("n2", 1), ("n3", 2)]


def test_several_ranks_of_one_node() -> None:
    places = tuple(f"n{node}:{place}" for node in (1, 2, 3, 4) for place in (0, 1))
    loss = read_loss("srun: error: n3: tasks 4-5: Killed\n", Ranks(places=places))
    assert loss.suspects == ("n3",)
    assert [one.rank for one in loss.deaths] == [4, 5]


def test_a_rank_that_aborts_before_the_killed_one_is_reported_does_not_take_the_blame_alone() -> None:
    """n4 lost its connection and exited; that n3 was killed arrived later than Slurm's own signals."""
    text = "srun: error: n4: task 3: Exited with exit code 1\n" + BY_SLURM.replace(
        "n4: task 3: Terminated", "n3: task 2: Killed"
    )
    loss = read_loss(text, FOUR)
    assert set(loss.suspects) == {"n3", "n4"}


def test_a_killed_rank_is_blamed_rather_than_one_that_exited_after_it() -> None:
    text = f"srun: error: n4: task 3: Exited with exit code 1\nsrun: error: n3: task 2: Killed\n{BY_SLURM}"
    assert read_loss(text, FOUR).suspects == ("n3",)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (CANCELLED, LossCause.CANCELLED),
        (CANCELLED.replace("15:47:07 ***", "15:47:07 DUE TO TIME LIMIT ***"), LossCause.TIME_LIMIT),
        (f"srun: error: n3: task 2: Terminated\n{CANCELLED}", LossCause.CANCELLED),
    ],
)
def test_a_step_that_was_ended_from_outside_is_nobodys_death(text: str, cause: LossCause) -> None:
    loss = read_loss(text, FOUR)
    assert (loss.cause, loss.suspects) == (cause, ())


@pytest.mark.parametrize(
    "text",
    [
        "srun: error: Node failure on n2\nsrun: error: Node failure on n2\n",
        "srun: error: Node failure on n2\n" + CANCELLED.replace("07 ***", "07 DUE TO NODE FAILURE, SEE ***"),
        "[2026-07-02T03:16:51.120] error: Nodes n2 not responding, setting DOWN\n",
        "[2026-07-02T03:16:51.121] Killing JobId=88121 on failed node n2\n",
        "ORTE has lost communication with a remote daemon.\n\n  HNP daemon   : [[5,0],0] on node n1\n"
        "  Remote daemon: [[5,0],2] on node n2\n",
    ],
)
def test_a_node_that_failed_is_named(text: str) -> None:
    loss = read_loss(text, FOUR, timed_out=True)
    assert (loss.cause, loss.suspects) == (LossCause.NODE_FAILURE, ("n2",))


@pytest.mark.parametrize(
    "text",
    [
        f"srun: error: n3: task 2: Out Of Memory\n{BY_SLURM}",
        f"slurmstepd-n3: error: Detected 1 oom_kill event in StepId=2.0. Some of the step tasks have been OOM Killed.\n"
        f"srun: error: n3: task 2: Killed\n{BY_SLURM}",
        f"slurmstepd: error: Detected 1 oom-kill event(s) in StepId=2.0.\nsrun: error: n3: task 2: Killed\n{BY_SLURM}",
    ],
)
def test_memory_that_ran_out(text: str) -> None:
    loss = read_loss(text, FOUR)
    assert (loss.cause, loss.suspects) == (LossCause.OUT_OF_MEMORY, ("n3",))


def test_open_mpis_mpirun_names_the_rank() -> None:
    local = Ranks(places=("vm:0", "vm:1", "vm:2"))
    text = "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed).\n"
    loss = read_loss(text, local)
    assert (loss.cause, loss.suspects, loss.deaths[0].signal) == (LossCause.SIGNAL, ("vm:1",), 9)
    text = "The first process to do so was:\n\n  Process name: [[23,1],2]\n  Exit code:    3\n"
    loss = read_loss(text, local)
    assert (loss.cause, loss.suspects, loss.deaths[0].exit_code) == (LossCause.EXIT, ("vm:2",), 3)


def test_hydra_names_the_process() -> None:
    said = HYDRA.format(pid=13, host="n3", code=9)
    said += "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n"
    loss = read_loss(said, FOUR)
    assert (loss.cause, loss.suspects) == (LossCause.SIGNAL, ("n3",))
    assert (loss.deaths[0].rank, loss.deaths[0].signal) == (2, 9)
    assert read_loss(HYDRA.format(pid=13, host="n3", code=3), FOUR).cause is LossCause.EXIT


@pytest.mark.parametrize("between", ["", '{"record": "sample", "times_ns": [1, 2\n', "3, 4]}\n" * 300, "[1, 2"])
def test_what_ranks_wrote_may_come_within_hydras_words(between: str) -> None:
    said = HYDRA.format(pid=13, host="n3", code=9) + between
    said += "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n"
    assert read_loss(said, FOUR).cause is LossCause.SIGNAL


def test_where_hydra_does_not_name_the_signal_ucx_does() -> None:
    caught = "[n3:13:0:13] Caught signal 11 (Segmentation fault: kill(2) or raise(3) at address 0x676a)\n"
    block = HYDRA.format(pid=13, host="n3", code=11)
    assert read_loss(caught + block, FOUR).cause is LossCause.SIGNAL
    assert read_loss(caught.replace("13", "14") + block, FOUR).cause is LossCause.EXIT


def test_of_intel_mpis_blocks_the_one_that_is_no_consequence_counts() -> None:
    crashed = INTEL.format(rank=2, pid=13, host="n3", signal="11 (Segmentation fault)")
    others = "".join(INTEL.format(rank=rank, pid=1, host=f"n{rank + 1}", signal="9 (Killed)") for rank in (0, 1, 3))
    assert read_loss(others + crashed, FOUR).suspects == ("n3",)
    killed = INTEL.format(rank=2, pid=13, host="n3", signal="9 (Killed)")
    assert set(read_loss(others + killed, FOUR).suspects) == {"n1", "n2", "n3", "n4"}


def test_a_crash_that_the_rank_itself_reports() -> None:
    text = (
        "[n3:13] *** Process received signal ***\n[n3:13] Signal: Segmentation fault (11)\n[n3:13] Signal code:  (-6)\n"
    )
    loss = read_loss(text, FOUR)
    assert (loss.suspects, loss.deaths[0].rank) == (("n3",), 2)


@pytest.mark.parametrize(
    "text", ["", "it said nothing\n", DISCONNECTED, "srun: error: : task x: \nsrun: error: n[9-: tasks 1-: Killed"]
)
def test_where_nothing_is_reported_nobody_is_suspected(text: str) -> None:
    assert read_loss(text, FOUR, timed_out=True).cause is LossCause.SILENT
    loss = read_loss(text, Ranks())
    assert (loss.cause, loss.suspects) == (LossCause.UNKNOWN, ())


def test_of_ranks_on_one_host_any_may_have_been_killed_where_hydra_names_one() -> None:
    here = Ranks(places=("n1:0", "n1:1", "n2:0"), pids={("n1", 11): 0, ("n1", 12): 1, ("n2", 13): 2})
    ended = "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: ended (signal {})\n"
    killed, crashed = ended.format(9), ended.format(11)
    assert read_loss(HYDRA.format(pid=11, host="n1", code=9) + killed, here).suspects == ("n1:0", "n1:1")
    assert read_loss(HYDRA.format(pid=13, host="n2", code=9) + killed, here).suspects == ("n2:0",)
    assert read_loss(HYDRA.format(pid=12, host="n1", code=11) + crashed, here).suspects == ("n1:0", "n1:1")
    assert read_loss(HYDRA.format(pid=13, host="n2", code=11) + crashed, here).suspects == ("n2:0",)
    assert read_loss(HYDRA.format(pid=12, host="n1", code=3), here).suspects == ("n1:1",)


def test_under_mpiexec_sruns_tasks_are_daemons_and_not_ranks() -> None:
    """A daemon that exits only reports what a rank did; one that is killed takes its ranks along."""
    daemons = msgspec.structs.replace(FOUR, by_daemons=True)
    exits = "srun: error: n1: task 0: Exited with exit code 7\nsrun: error: n4: task 3: Exited with exit code 7\n"
    loss = read_loss(exits + HYDRA.format(pid=13, host="n3", code=9), daemons)
    assert (loss.suspects, [death.rank for death in loss.deaths]) == (("n3",), [2])
    assert read_loss(exits, daemons).cause is LossCause.UNKNOWN
    killed = read_loss("srun: error: n3: task 2: Killed\n", daemons)
    assert (killed.cause, killed.suspects, killed.deaths[0].rank) == (LossCause.SIGNAL, ("n3",), None)


@pytest.mark.parametrize(
    "text",
    [
        "prterun noticed that process rank 2 with PID 13 on node n3 exited on\nsignal 11 (Segmentation fault).\n",
        "[n3:13:0:13] Caught signal 11 (Segmentation fault: kill(2) or raise(3) at address 0x6311)\n"
        'prterun has exited due to process rank 3 with PID 14 on node n4 calling\n"abort". This may have caused\n',
    ],
)
def test_open_mpi_5_breaks_its_lines_and_may_name_only_who_reacted(text: str) -> None:
    loss = read_loss(text, msgspec.structs.replace(FOUR, by_daemons=True))
    assert (loss.cause, loss.suspects, loss.deaths[0].signal) == (LossCause.SIGNAL, ("n3",), 11)


def test_mvapich_names_rank_and_signal_itself() -> None:
    loss = read_loss("[n2:mpi_rank_1][error_sighandler] Caught error: Segmentation fault (signal 11)\n", FOUR)
    assert [(death.node, death.rank, death.signal) for death in loss.deaths] == [("n2", 1, 11)]


@pytest.mark.parametrize(
    ("code", "signal", "exit_code"), [(139, 11, None), (134, 6, None), (255, None, 255), (1, None, 1)]
)
def test_hydra_reports_a_signal_as_the_shell_does(code: int, signal: int | None, exit_code: int | None) -> None:
    text = (
        f"=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 47 RUNNING AT n9\n=   EXIT CODE: {code}\n"
    )
    (death,) = read_loss(text, Ranks()).deaths
    assert (death.node, death.signal, death.exit_code) == ("n9", signal, exit_code)


@pytest.mark.parametrize(
    ("text", "suspects"),
    [
        ("n1: rank 0 died from signal 15\nn3: rank 2 died from signal 11\n", ("n3",)),
        ("n1: rank 0 died from signal 15\nn3: rank 2 died from signal 15\n", ("n1", "n3")),
        ("n1: rank 0 exited with code 3\nn3: rank 2 died from signal 15\n", ("n1",)),
        ("n1: rank 0 has died from signal 15\n", ()),
    ],
)
def test_ranks_that_pals_terminates_are_not_the_first(text: str, suspects: tuple[str, ...]) -> None:
    assert read_loss(text, FOUR).suspects == suspects


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("=>> PBS: job killed: walltime 61 exceeded limit 60\n", LossCause.TIME_LIMIT),
        ("It said =>> PBS: job killed: walltime 61 exceeded limit 60\n", LossCause.UNKNOWN),
        ("=>> PBS: job killed: vmem 9kb exceeded limit 8kb\n", LossCause.OUT_OF_MEMORY),
        ("=>> PBS: job killed: node 3 (n3) requested job die, code 15009\n", LossCause.UNKNOWN),
        ("TERM_RUNLIMIT: job killed after reaching LSF run time limit.\n", LossCause.TIME_LIMIT),
        ("TERM_OWNER: job killed by owner.\n", LossCause.UNKNOWN),
        ("[NID 00021] 2013-05-01 10:11:14 Apid 34: OOM killer terminated this process.\n", LossCause.OUT_OF_MEMORY),
        ("[NID 00021] 2013-05-01 10:11:14 Apid 34: initiated application termination\n", LossCause.UNKNOWN),
    ],
)
def test_limits_of_other_schedulers_are_those_of_the_job(text: str, cause: LossCause) -> None:
    assert read_loss(text, FOUR).cause is cause
