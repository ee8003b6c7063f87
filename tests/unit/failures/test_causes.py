"""Every known way to fail is recognised from what Slurm 22.05.8, Open MPI 4.1.4 and MPICH 4.0.2 said in a lab.

Texts that no lab can produce here (munge's clocks, other sites' limits) are quoted from Slurm's own sources.
"""

import pytest

from seatrial.failures.cause import why_pending
from seatrial.failures.start_failure import explain
from seatrial.model.errors import SeatrialError
from seatrial.model.settings import SlurmRequest
from seatrial.slurm.allocation import refused, with_request
from tests.support.paths import DATA

SALLOC = "salloc: error: Job submit/allocate failed"
POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
RECORDED = DATA


def said(name: str) -> str:
    return (RECORDED / "launch" / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "meaning", "remedy"),
    [
        ("openmpi-pmi2", "do not know each other (OMPI was not built with SLURM's PMI", "seatrial doctor"),
        ("openmpi-none", "this Open MPI do not know each other", "--mpi"),
        ("mpi-unknown", "no MPI type 'pmi9'", "srun --mpi=list"),
        ("binary-missing-on-one", "the program /shared/bin/hello.ompi does not exist on n2.", "all nodes share"),
        ("noexec-on-one", "the program /shared/bin/hello.ompi may not be run on n2.", "noexec"),
        ("library-cut-off-on-one", "libmpi.so.40 is truncated on n2.", "again"),
        ("library-missing-on-one", "the library libown.so.1 is missing on n2.", "module"),
        ("old-job", "job 4711 has ended", "unset SLURM_JOB_ID"),
        ("munge-off", "munged, which authenticates users to Slurm, does not answer (Failed to access", "start munge"),
        ("munge-other", "in the middle of a message (Zero Bytes were transmitted or received)", "munge.key"),
        ("controller-gone", "controller does not answer (connect failure)", "scontrol ping"),
        ("no-configuration", "does not know where Slurm's controller is", "SLURM_CONF"),
    ],
)
def test_a_recorded_failure_is_named_with_its_fix(name: str, meaning: str, remedy: str) -> None:
    failure = explain(said(name))
    found, advice = failure.meaning, failure.remedy
    assert meaning in found
    assert remedy in advice


@pytest.mark.parametrize(
    ("nodes", "meaning"),
    [
        (("n1",), "n1 has no huge pages"),
        (("n1", "n2"), "n1, n2 have no huge pages"),
        (("",), "the nodes have no huge pages"),
    ],
)
def test_the_verb_agrees_with_the_nodes(nodes: tuple[str, ...], meaning: str) -> None:
    text = "".join(f"libhugetlbfs [{node}:7]: ERROR: no pages are left\n" for node in nodes)
    assert meaning in explain(text).meaning


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (
            "srun: error: Task launch for StepId=1.0 failed on node n2: Communication connection failure",
            "slurmd on n2 cannot be reached",
        ),
        ("srun: error: Task launch for 47.0 failed on node c-1: Invalid job credential", "Invalid job credential"),
        ("srun: error: Task launch for 14.0 failed on node c0: Job credential expired", "on c0: clocks differ"),
        ("error: Munge decode failed: Rewound credential\nerror: Check for out of sync clocks", "clocks differ"),
        ("sinfo: error: Unauthorized credential for client UID=1000 GID=1000", "rejects the user's credential"),
        ("slurm_load_partitions: Insane message length", "closed the connection in the middle of a message"),
        (
            "srun: error: Unable to allocate resources: Incompatible versions of client and server code",
            "incompatible versions",
        ),
        ("srun: error: n3: task 2: Illegal instruction (core dumped)", "the processors of n3 do not have"),
        ("slurmstepd-n3: error: execve(): /x/seatrial-probe: Exec format error", "a program for the processors of n3"),
        ("/x/p: /lib/libc.so.6: version `GLIBC_2.38' not found (required by /x/p)", "newer C library"),
        ("/x/p: symbol lookup error: /x/p: undefined symbol: MPI_Session_init", "it lacks MPI_Session_init"),
        ("MPI startup(): PMI server not found. Please set I_MPI_PMI_LIBRARY variable", "Intel MPI"),
        ("srun: error: n4: task 3: Out Of Memory", "killed it on n4"),
        (
            "sinfo: error: s_p_parse_file: cannot stat file /x/slurm.conf: No such file or directory, retrying in 1sec",
            "their configuration (/x/slurm.conf: No such file or directory)",
        ),
        ('sinfo: error: Parse error in file /x/slurm.conf line 1: "this is"', "cannot read their configuration"),
        (
            "slurm_load_partitions: Socket timed out on send/recv operation",
            "controller accepts connections but does not",
        ),
        (
            "srun: error: Task launch for StepId=54.0 failed on node n2: Socket timed out on send/recv operation",
            "slurmd on n2 accepts connections but does not answer",
        ),
        ("srun: error: Task launch for StepId=172.2 failed on node n2: Unspecified error", "slurmd on n2 could not"),
        ('srun: error: Invalid numeric value "" for --jobid.', "variables of another job"),
        ("srun: error: Only allocated 2 nodes asked for 4", "variables of another job"),
        ('srun: error: unrecognized --cpu-bind argument "x"', 'this shell (unrecognized --cpu-bind argument "x")'),
        ("sinfo: error: Problem talking to database", "SLURM_CLUSTERS names a cluster"),
        ("It looks like orte_init failed\n[n2:07] [[1,0],0] ORTE_ERROR_LOG", "set itself up on n2 (orte_init failed)"),
        ("An ORTE daemon has unexpectedly failed after launch", "mpirun's own daemon"),
        (
            "ORTE has lost communication with a remote daemon.\n  Remote daemon: [[1,0],1] on node n1",
            "mpirun lost the connection to its own daemon on n1",
        ),
        ("srun: error: task 1 launch failed: Unspecified error", "could not begin task 1, and"),
    ],
)
def test_other_texts(text: str, meaning: str) -> None:
    failure = explain(text)
    found, advice = failure.meaning, failure.remedy
    assert meaning in found
    assert advice


def test_a_task_is_named_by_its_node_where_that_is_known() -> None:
    failure = explain("srun: error: task 1 launch failed: Unspecified error", ("n1", "n2"))
    found = failure.meaning
    assert "could not begin task 1 (on n2)" in found
    assert (
        explain("[n1:26041] PMIX ERROR: ERROR in file ../gds_ds12_lock_pthread.c at line 169").meaning
        == "it said nothing"
    )


def test_the_probe_is_called_by_its_name_and_the_node_too() -> None:
    text = said("binary-missing-on-one").replace("/shared/bin/hello.ompi", "/home/x/1a/seatrial-probe")
    assert explain(text).meaning.startswith("the probe /home/x/1a/seatrial-probe does not exist on n2. It says: ")


def test_words_of_another_program_end_before_a_sentence_of_ours() -> None:
    """A remedy followed the quoted line of Open MPI without a full stop between them."""
    error = refused("salloc: error: Job submit/allocate failed: Invalid qos specification", "No nodes")
    asked = with_request(error, SlurmRequest(qos="short"))
    assert " Invalid qos specification. The job was asked for with --qos=short. " in str(asked)
    for what, text in (
        ("pml cm, but peer selected ob1", "pml cm, but peer selected ob1. Give one."),
        ("It failed.", "It failed. Give one."),
        ("It ended (with 2).", "It ended (with 2). Give one."),
        ('It said "no."', 'It said "no." Give one.'),
    ):
        assert str(SeatrialError(what, "Give one.")) == text
    assert str(SeatrialError("no such thing")) == "no such thing"


def test_several_nodes_are_all_named_once() -> None:
    lines = [f"slurmstepd-{node}: error: execve(): /p: No such file or directory" for node in ("n1", "n3", "n1")]
    assert explain("\n".join(lines)).meaning.startswith(
        "the program /p does not exist on n1, n3. It says: slurmstepd-n1: "
    )


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("salloc-partition-drained", "inactive or drained"),
        ("salloc-group", "your group may not use"),
        ("salloc-root", "DisableRootJobs"),
        ("salloc-denied", "AllocNodes"),
        ("salloc-immediate", "busy now"),
        ("salloc-memory", "more memory"),
        ("salloc-not-woken", "ResumeTimeout"),
        ("srun-test-drained", "out of service"),
        ("srun-bad-node", "not in the partition"),
    ],
)
def test_a_refusal_of_slurm_is_named_with_its_fix(name: str, meaning: str) -> None:
    error = refused(said(name), "Slurm grants no allocation")
    assert error.what.startswith("Slurm grants no allocation: ")
    assert meaning in error.what
    assert error.remedy


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (f"{SALLOC}: Invalid account or account/partition combination specified", "account"),
        (f"{SALLOC}: Invalid qos specification", "QOS"),
        (
            "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's "
            "size and/or time limits)",
            "limit of your account or QOS",
        ),
        (
            f"{SALLOC}: Requested time limit is invalid (missing or exceeds some limit)",
            "longer than the partition allows",
        ),
        (f"{SALLOC}: Node count specification invalid", "more nodes or processors"),
        (f"{SALLOC}: Requested reservation is invalid", "reservation"),
        (f"{SALLOC}: Unable to contact slurm controller (connect failure)", "controller"),
    ],
)  # fmt: skip
def test_refusals_of_other_sites(text: str, meaning: str) -> None:
    assert meaning in refused(text, "Slurm accepts no job").what


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (
            f"salloc: error: AssocMaxSubmitJobLimit\n{SALLOC}: {POLICY}",
            "jobs in the queue as your account or QOS allows",
        ),
        (f"salloc: error: QOSMaxNodePerJobLimit\n{SALLOC}: {POLICY}", "forbids such a job (QOSMaxNodePerJobLimit)"),
        (f"{SALLOC}: Invalid account or account/partition combination specified", "is not yours"),
        (f"{SALLOC}: Access denied to requested reservation", "reservation"),
        (f"{SALLOC}: Invalid feature specification", "asks for a feature that"),
        (f"{SALLOC}: Invalid license specification", "asks for a license that"),
        ("salloc: error: Invalid generic resource (gres) specification", "asks for a generic resource (gres) that"),
    ],
)
def test_refusals_recorded_with_accounts_and_limits(text: str, meaning: str) -> None:
    """Of a slurmdbd with MariaDB, raised by hand once; no test needs one."""
    error = refused(text, "Slurm accepts no job")
    assert meaning in error.what
    assert error.remedy


def test_an_unknown_refusal_is_quoted() -> None:
    assert refused("salloc: error: The moon is full", "No").what == "No: The moon is full."


@pytest.mark.parametrize("line", said("pending-reasons").splitlines())
def test_recorded_reasons_to_wait_are_known_and_told_apart(line: str) -> None:
    name, _, reason = line.partition("=")
    known = why_pending(reason)
    assert known is not None
    assert known.hopeless == (name in {"down", "maxnodes", "maxtime", "accounts"})
    assert "\\" not in known.meaning


def test_the_node_that_is_waited_for_is_named() -> None:
    known = why_pending("ReqNodeNotAvail, UnavailableNodes:n2")
    assert known is not None
    assert known.meaning.startswith("n2 is out of service")
    assert why_pending("SomethingNew") is None


def test_a_passing_limit_is_waited_for_and_one_of_the_job_itself_is_not() -> None:
    for reason, hopeless in (
        ("QOSMaxJobsPerUserLimit", False),
        ("AssocGrpNodeLimit", False),
        ("AssocMaxNodePerJobLimit", True),
        ("QOSMaxWallDurationPerJobLimit", True),
        ("AssocMaxWallDurationPerJobLimit", True),
        ("QOSMaxNodePerJobLimit", True),
        ("QOSMinNode", True),
        ("QOSMaxNodePerUserLimit", False),
        ("QOSGrpNodeLimit", False),
        ("AssocMaxJobsLimit", False),
        ("Job's account not permitted to use this partition (main denies phys including phys)", True),
        ("Job's QOS not permitted to use this partition (main allows high not normal)", True),
    ):
        known = why_pending(reason)
        assert known is not None
        assert known.hopeless == hopeless, reason
