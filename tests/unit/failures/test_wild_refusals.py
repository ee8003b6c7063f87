"""What salloc, sbatch, squeue, sinfo and environments print on other machines than ours, and what becomes of it."""

import pytest

from seatrial.commands.doctor import node_states, partition, versions
from seatrial.failures.cause import why_pending
from seatrial.failures.start_failure import explain, why_not_entered
from seatrial.model.verdict import FindingKind
from seatrial.slurm.allocation import refused
from seatrial.slurm.text import complaint, config_value, default_type, parse_mpi_list, parse_sinfo, why_not
from tests.support.failure_texts import texts
from tests.support.processor_time import within

K = FindingKind

FAILED = "salloc: error: Job submit/allocate failed"


@pytest.mark.parametrize(("text", "meaning", "remedy"), texts("refusals"))
def test_a_refusal_on_other_machines_is_named_with_its_fix(text: str, meaning: str, remedy: str) -> None:
    error = refused(text, "No")
    assert error.what.startswith("No: ")
    assert meaning in error.what
    assert remedy in error.remedy


def test_a_sites_own_words_are_quoted_and_harmless_lines_are_not() -> None:
    text = (
        "salloc: error: spank: x11.so: Plugin file not found\nsalloc: lua: checking your job\n"
        "salloc: error: -----------------\n"
        f"salloc: error: You must name a project (--account). See our pages.\n{FAILED}: Unspecified error\n"
    )
    assert refused(text, "No").what == "No: You must name a project (--account). See our pages."
    assert complaint("salloc: error: spank: x11.so: Plugin file not found\n").startswith("spank")


@pytest.mark.parametrize(
    ("reason", "meaning", "hopeless"),
    [
        # every word of job_state_reason.c, Slurm 23.11 and 24.05, that stands for more than itself
        ("AssocGrpCPUMinutesLimit", "used up the hours", False), ("AssocGrpBillingMinutes", "used up the hours", False),
        ("QOSGrpWallLimit", "used up the hours", False), ("QOSUsageThreshold", "used up the hours", False),
        ("AssocGrpCPURunMinutesLimit", "leave too few hours", False),
        ("QOSGrpGRESRunMinutes", "leave too few hours", False),
        ("QOSMaxGRESPerUser", "at once", False), ("QOSMaxMemoryPerUser", "at once", False),
        ("AssocGrpGRES", "at once", False), ("MaxCpuPerAccount", "at once", False),
        ("MaxJobsPerAccount", "at once", False),
        ("AssociationJobLimit", "at once", False), ("QOSResourceLimit", "at once", False),
        ("QOSMaxGRESPerJob", "larger or longer", True), ("QOSMaxMemoryPerNode", "larger or longer", True),
        ("AssocMaxCpuMinutesPerJobLimit", "larger or longer", True), ("QOSMaxBillingPerJob", "larger or longer", True),
        ("MaxMemPerLimit", "larger or longer", True), ("QOSMinGRES", "smaller", True),
        ("QOSMinCpuNotSatisfied", "smaller", True), ("AccountingPolicy", "at once", False),
        ("PartitionConfig", "does not allow what is asked", True), ("JobHoldMaxRequeue", "holds it", True),
        ("launch failed requeued held", "holds it", True), ("job_requeued_in_held_state", "holds it", True),
        ("DependencyNeverSatisfied", "failed or is gone", True), ("Dependency", "another to end", False),
        ("ReservationDeleted", "the reservation is gone", True), ("Reservation", "reserved for others", False),
        ("DeadLine", "before its deadline", True), ("Constraints", "no node has", True),
        ("BadConstraints", "no node has", True),
        ("BeginTime", "start time", False), ("Prolog", "prolog is running", False), ("Cleaning", "cleaned up", False),
        ("Licenses", "licences", False), ("BurstBufferStageIn", "burst buffer", False),
        ("FrontEndDown", "out of service", False), ("PowerNotAvail", "no power left", False),
        ("Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
         "down, drained, or kept for jobs of a higher partition", False),
        ("Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions",
         "kept for jobs of a higher partition", False),
        ("ReqNodeNotAvail, Reserved for maintenance", "reserved for maintenance", False),
        ("ReqNodeNotAvail, May be reserved for other job", "reserved for others", False),
        ("ReqNodeNotAvail, UnavailableNodes:gpu-q-[2-47]", "gpu-q-[2-47] is out of service", False),
        ("ReqNodeNotAvail, UnavailableNodes:", "a node asked for is out of service", False),
        ("ReqNodeNotAvail(Unavailable:n2)", "n2 is out of service", False),  # Slurm 15.08
        ("MaxPoweredUpNodes", "powered up", False),  # Slurm 25.05
    ],
)  # fmt: skip
def test_every_reason_to_wait_says_what_it_means(reason: str, meaning: str, hopeless: bool) -> None:
    known = why_pending(reason)
    assert known is not None
    assert meaning in known.meaning
    assert known.hopeless == hopeless
    assert known.remedy or not hopeless


COLOURED = (
    "INFO:    Converting SIF file to temporary sandbox...\n\x1b[31mFATAL:  \x1b[0m while extracting x.sif: root "
    "filesystem extraction failed: extract command failed: ERROR  : Failed to create user namespace: not allowed to "
    "create user namespace: exit status 1"
)


@pytest.mark.parametrize(
    ("text", "meaning", "remedy"),
    [*texts("environments"), (COLOURED, "no namespaces of their own: Failed to create user namespace", "sysctl")],
)
def test_an_environment_of_another_machine_that_cannot_be_entered(text: str, meaning: str, remedy: str) -> None:
    for said in (text, "".join(f"{task}: {line}\r\n" for task in (0, 1) for line in text.split("\n"))):
        why, advice = why_not_entered(said) or ("", "")
        assert meaning in why
        assert remedy in advice


def test_what_mpi_says_is_not_taken_for_an_environments_word() -> None:
    assert why_not_entered("[n1:94018] PMIX ERROR: UNREACHABLE in file ptl.c at line 1") is None


@pytest.mark.parametrize(
    ("text", "types"),
    [
        # Slurm 14.03, 17.11, 21.08, 23.11
        ("srun: MPI types are...\nsrun: mpi/mpich1_p4\nsrun: mpi/lam\nsrun: mpi/none\nsrun: mpi/openmpi\nsrun: mpi/"
         "pmi2\n",
         ("none", "pmi2")),
        ("srun: MPI types are...\nsrun: openmpi\nsrun: none\nsrun: pmi2\n", ("none", "pmi2")),
        ("srun: MPI types are...  \nsrun: pmix_v3\nsrun: pmi2\nsrun: none\nsrun: pmix\nsrun: cray_shasta\n",
         ("pmix_v3", "pmi2", "none", "pmix")),
        ("MPI plugin types are...\n\tnone\n\tcray_shasta\n\tpmix\n\tpmi2\nspecific pmix plugin versions available: "
         "pmix_v3,pmix_v4\nsrun: error:  mpi/pmix_v5: init: (null) [0]: mpi_pmix.c:193: pmi/pmix: can not load PMIx "
         "library\n",
         ("none", "pmix", "pmi2")),
    ],
)  # fmt: skip
def test_lists_of_mpi_types_of_all_slurms(text: str, types: tuple[str, ...]) -> None:
    assert parse_mpi_list(text) == types


def test_values_of_a_configuration_that_are_not_set() -> None:
    text = "MpiDefault              = (null)\nMpiParams               =\nPluginDir               = /usr/lib64/slurm\n"
    assert default_type(text) == "none"
    assert default_type("MpiDefault              = pmix_v4\n") == "pmix_v4"
    assert config_value(text, "MpiParams") == ""


@pytest.mark.parametrize(
    ("text", "release"),
    [("slurm 23.11.6-bull", (23, 11)), ("slurm-wlm 22.05.8", (22, 5)), ("slurm 21.08.8-2", (21, 8)),
     ("slurm 25.05.0rc1", (25, 5)), ("24.11.5", (24, 11)), ("slurm 19.05.3-2.1", (19, 5)), ("slurm", None)],
)  # fmt: skip
def test_versions_as_sites_and_vendors_write_them(text: str, release: tuple[int, int] | None) -> None:
    assert versions.release_of(text) == release


@pytest.mark.parametrize(
    ("state", "obstacle"),
    [
        # node_state_string() of Slurm 19.05 to 24.05
        ("inval", K.NODE_DRAINED), ("drained@", K.NODE_DRAINED), ("draining$", K.NODE_DRAINED),
        ("drained~", K.NODE_DRAINED), ("down~", K.NODE_DOWN), ("down$", K.NODE_DOWN),
        ("failing*", K.NODE_DOWN), ("unknown*", K.NODE_DOWN), ("reboot*", K.NODE_DOWN),
        ("reboot^", K.NODE_OTHERWISE), ("reboot", K.NODE_OTHERWISE), ("future", K.NODE_OTHERWISE),
        ("perfctrs", K.NODE_OTHERWISE), ("maint", K.NODE_RESERVED), ("idle$", K.NODE_RESERVED),
        ("blocked", K.NO_ROOM), ("mixed-", K.NO_ROOM), ("allocated+", K.NO_ROOM),
        ("allocated#", K.NO_ROOM), ("mixed~", K.NO_ROOM), ("planned", K.NO_ROOM),
        ("completing%", K.NO_ROOM), ("idle~", K.NODE_SUSPENDED), ("idle!", K.NODE_SUSPENDED),
    ],
)  # fmt: skip
def test_states_of_nodes_of_all_slurms(state: str, obstacle: FindingKind) -> None:
    (line,) = parse_sinfo(f"n1|{state}|main*|Low RealMemory (reported:1 < 100.00% of configured:2)")
    kind = node_states.kind_of(line)
    assert kind is not None
    assert kind[0] is obstacle
    assert why_not(line).fault == (obstacle is FindingKind.NODE_DOWN)


def test_a_partition_that_denies_accounts_says_so() -> None:
    text = (
        "PartitionName=main AllowGroups=ALL DenyAccounts=phys,chem DenyQos=low MaxTime=1-00:00:00 State=UP TRES=cpu=4\n"
    )
    values = partition.parse_partitions(text)["main"]
    remarks = partition.judge_partition(values, nodes=2, minutes=10, user_id=1000, groups=())
    assert ["phys,chem (DenyAccounts)" in one.statement for one in remarks].count(True) == 1
    assert ["QOS low (DenyQos)" in one.statement for one in remarks].count(True) == 1


MANY = 300_000


@pytest.mark.parametrize(
    "piece", ["\n", " \n", "-" * 30 + "\nWARNING: x\n", "0: a\n", "\x1b]" + "a" * 190, "\r", "a", "1: ", "error: /"]
)
def test_a_large_text_of_anything_is_explained(piece: str) -> None:
    with within(20):
        assert explain(piece * (MANY // len(piece))).meaning
        assert why_not_entered(piece * (MANY // len(piece))) is None
