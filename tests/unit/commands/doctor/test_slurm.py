"""What the doctor reads out of Slurm's answers, recorded in a lab of Slurm 22.05.8."""

from pathlib import Path

import pytest

from seatrial.commands.doctor import node_states, partition, versions
from seatrial.commands.doctor.run import without_itself
from seatrial.commands.doctor.versions import versions_of
from seatrial.commands.doctor.view import headline
from seatrial.model.launching import Examination, fine
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.slurm import job, text
from seatrial.slurm.text import parse_sinfo
from tests.support.command_line import Seatrial
from tests.support.paths import DATA
from tests.support.slurm_scripts import in_place_of_slurm

RECORDED = DATA / "launch"


def said(name: str) -> str:
    return (RECORDED / f"{name}.txt").read_text(encoding="utf-8")


def states(name: str, *wanted: str) -> list[Finding]:
    return node_states.judge_nodes(parse_sinfo(said(name)), "", wanted, jobs=2, resume_s="30 sec")


def only(remarks: list[Finding], obstacle: FindingKind) -> Finding:
    (one,) = [remark for remark in remarks if remark.kind is obstacle]
    return one


def test_a_drained_node_is_in_the_way_only_where_it_is_wanted() -> None:
    unasked = only(states("sinfo-states"), FindingKind.NODE_DRAINED)
    assert (unasked.verdict, "bad DIMM" in unasked.statement, "State=RESUME" in unasked.remedy) == (
        Verdict.NOTE,
        True,
        True,
    )
    assert only(states("sinfo-states", "n1", "n2", "n4"), FindingKind.NODE_DRAINED).verdict is Verdict.BLOCKED


def test_a_suspended_node_is_no_obstacle_and_is_said_to_be_woken() -> None:
    one = only(states("sinfo-states"), FindingKind.NODE_SUSPENDED)
    assert one.verdict is Verdict.NOTE
    for words in ("n3 is suspended", "powered down", "wakes it, within 30 sec", "keeps it awake"):
        assert words in one.statement
    came_up = fine("start", "2 ranks came up on 2 nodes.")
    first = headline(Examination(remarks=(one, came_up)))
    assert first.startswith("2 ranks came up on 2 nodes. n3 is suspended")
    assert "An allocation wakes it, within 30 sec" in first


def test_a_node_on_its_way_to_sleep_is_left_out_unless_named() -> None:
    lines = {line.node: line for line in parse_sinfo(said("sinfo-powering-down")) if line.default}
    assert (lines["n3"].falling_asleep, lines["n3"].suspended, lines["n3"].idle) == (True, False, False)
    assert only(states("sinfo-powering-down", "n1", "n3"), FindingKind.NODE_SUSPENDED).verdict is Verdict.NOTE


def test_a_down_node_is_in_the_way_only_where_it_is_wanted_or_too_few_are_left() -> None:
    one = only(states("sinfo-down", "n1", "n2", "n3", "n4"), FindingKind.NODE_DOWN)
    assert one.verdict is Verdict.BLOCKED
    lines = "n1|down|main*|why\nn2|idle|main*|none\n"
    several = [node_states.judge_nodes(parse_sinfo(lines + more), "", (), jobs=0) for more in ("", "n3|idle|main*|\n")]
    assert [only(found, FindingKind.NODE_DOWN).verdict for found in several] == [Verdict.BLOCKED, Verdict.NOTE]
    assert "disk failed" in one.statement
    assert "slurmd" in one.remedy


def test_reserved_nodes_and_those_in_use() -> None:
    assert only(states("sinfo-reserved"), FindingKind.NODE_RESERVED).verdict is Verdict.NOTE
    lines = parse_sinfo("n1|allocated|main*|none\nn2|idle|main*|none\nn3|idle|main*|none\n")
    remarks = node_states.judge_nodes(lines, "", (), jobs=1)
    assert only(remarks, FindingKind.NO_ROOM).statement == "1 of 3 nodes is in use (1 job runs on the cluster)."


def test_no_room_is_nobodys_fault() -> None:
    lines = parse_sinfo("n1|allocated|main*|none\nn2|mixed|main*|none\nn3|idle|main*|none\n")
    weights = [one.verdict for one in node_states.judge_nodes(lines, "", (), jobs=5)]
    assert weights == [Verdict.PASS, Verdict.NOTE]


def test_a_state_that_we_do_not_know_is_quoted() -> None:
    remarks = node_states.judge_nodes(parse_sinfo("n1|pondering|main*|why\n"), "", (), jobs=0)
    assert "pondering (why)" in only(remarks, FindingKind.NODE_OTHERWISE).statement


def judged(change: str = "", *, nodes: int = 4, minutes: int = 30, user_id: int = 1000) -> list[Finding]:
    """The recorded partition `main` with one value changed."""
    values = dict(partition.parse_partitions(said("partitions"))["main"])
    key, _, value = change.partition("=")
    values[key] = value
    return partition.judge_partition(values, nodes=nodes, minutes=minutes, user_id=user_id, groups=("users", "hpc"))


def test_the_recorded_partition_refuses_nobody() -> None:
    partitions = partition.parse_partitions(said("partitions"))
    assert partition.default_of(partitions) == "main"
    (one,) = judged()
    assert one.verdict is Verdict.PASS
    assert one.statement == "main is up, and allows any number of nodes for any time."


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ("State=DRAIN", "drained"),
        ("State=DOWN", "down"),
        ("State=INACTIVE", "inactive"),
        ("MaxNodes=1", "jobs of at most 1 node (MaxNodes)"),
        ("MinNodes=9", "fewer than 9"),
        ("MaxTime=00:10:00", "10 min"),
        ("AllowGroups=physics,chemistry", "physics,chemistry"),
        ("RootOnly=YES", "root only"),
        ("ReqResv=YES", "reservation"),
    ],
)
def test_a_partition_that_refuses_is_named_with_the_setting(change: str, word: str) -> None:
    (one,) = judged(change)
    assert (one.verdict, one.kind) == (Verdict.BLOCKED, FindingKind.PARTITION_REFUSES)
    assert word in one.statement
    assert one.remedy


def test_what_to_ask_for_within_a_limit_is_said() -> None:
    values = {
        "PartitionName": "main",
        "State": "UP",
        "MaxTime": "00:20:00",
        "MaxNodes": "3",
        "AllocNodes": "login[1-2]",
    }

    def remedies(host: str, budget_s: float) -> list[str]:
        remarks = partition.judge_partition(
            values, nodes=4, minutes=30, user_id=0, groups=(), host=host, budget_s=lambda minutes: budget_s * minutes
        )
        return [one.remedy for one in remarks]

    nodes, minutes = remedies("login2", 15)
    assert "Name at most 3 with --nodes" in nodes
    assert "--budget 300s or less" in minutes
    _, hopeless, elsewhere = remedies("desk", 0.1)
    assert "--budget" not in hopeless
    assert "Start it on login[1-2]" in elsewhere


def test_drained_nodes_are_in_the_way_where_nothing_else_is_left() -> None:
    def weight(*words: str) -> Verdict:
        lines = parse_sinfo("".join(f"n{number}|{word}|main*|none\n" for number, word in enumerate(words)))
        return only(node_states.judge_nodes(lines, "", (), jobs=0), FindingKind.NODE_DRAINED).verdict

    assert weight("drained", "drained", "idle") is Verdict.BLOCKED
    assert weight("drained", "idle", "idle") is weight("drained", "allocated", "idle~") is Verdict.NOTE


def test_limits_that_are_kept_refuse_nobody() -> None:
    for change in ("MaxNodes=4", "MinNodes=4", "MaxTime=1-00:00:00", "AllowGroups=hpc", "DisableRootJobs=YES"):
        (one,) = judged(change)
        assert one.verdict is Verdict.PASS, change
    assert judged("DisableRootJobs=YES", user_id=0)[0].verdict is Verdict.BLOCKED
    assert judged("AllowGroups=physics", user_id=0)[0].verdict is Verdict.PASS
    assert judged("AllowAccounts=abc")[0].verdict is Verdict.NOTE


@pytest.mark.parametrize(
    ("text", "minutes"), [("UNLIMITED", None), ("00:10:00", 10), ("2-01:30:00", 2970), ("30:00", 30), ("soon", None)]
)
def test_times_of_slurm(text: str, minutes: int | None) -> None:
    assert partition.minutes_of(text) == minutes


def test_equal_versions_are_fine() -> None:
    of_nodes = versions_of(said("nodes"))
    assert of_nodes == {"n1": "22.05.8", "n2": "22.05.8", "n3": "22.05.8", "n4": "22.05.8"}
    (one,) = versions.judge_versions("slurm-wlm 22.05.8\n", "22.05.8", of_nodes)
    assert one.verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("client", "controller", "word"),
    [
        ("slurm 20.11.9", "22.05.8", ""),
        ("slurm 20.02.7", "22.05.8", "3 major releases older"),
        ("slurm 23.02.1", "22.05.8", "newer than the controller's 22.05"),
        ("slurm 23.11.1", "24.11.5", ""),
        ("slurm 22.05.1", "24.11.5", "4 major releases older"),
        ("slurm 23.02.1", "24.05.5", ""),
        ("slurm 24.05.0", "25.11.2", ""),
        ("slurm 12.02.0", "22.05.8", ""),
        ("no version", "22.05.8", ""),
    ],
)
def test_the_window_of_versions(client: str, controller: str, word: str) -> None:
    remarks = versions.judge_versions(client, controller, {})
    assert [one.verdict for one in remarks] == [Verdict.BLOCKED if word else Verdict.PASS]
    assert word in remarks[0].statement


def test_a_sites_wrapper_around_srun_is_no_version() -> None:
    assert versions.version_line("*** Be nice. Upgrade on 27.05. ***\nslurm-wlm 22.05.8\n") == "slurm-wlm 22.05.8"
    assert versions.version_line("srun: command of another kind\n") == "srun: command of another kind"


def test_old_and_uneven_daemons_are_named() -> None:
    of_nodes = {"n1": "22.05.8", "n2": "19.05.1", "n3": "22.05.8", "n4": ""}
    (one,) = versions.judge_versions("slurm 22.05.8", "22.05.8", of_nodes)
    assert one.statement.startswith("slurmd on n2 is of Slurm 19.05, 4 major releases older")
    assert "n[1,3]: 22.05.8" in versions.judge_evenness(of_nodes)[0].statement
    assert versions.judge_evenness({"n1": "22.05.8", "n2": ""}) == []


@pytest.mark.parametrize(
    ("environ", "state", "weight", "word"),
    [
        ({}, "", Verdict.PASS, "Outside"),
        ({"SLURM_CONF": "/etc/slurm.conf"}, "", Verdict.PASS, "Outside"),
        ({"SLURM_JOB_ID": "7", **dict.fromkeys(job.OF_JOB, "1")}, "RUNNING", Verdict.PASS, "running"),
        ({"SLURM_JOB_ID": "7"}, "", Verdict.BLOCKED, "no such job any more"),
        ({"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "2"}, "RUNNING", Verdict.NOTE, "SLURM_JOB_NODELIST is lost"),
        ({"SLURM_JOB_NODELIST": "n1"}, "", Verdict.BLOCKED, "SLURM_JOB_ID is not"),
        ({"SLURM_JOB_ID": ""}, "", Verdict.BLOCKED, "set here and empty"),
        ({"SLURM_MPI_TYPE": "pmi2"}, "", Verdict.NOTE, "SLURM_MPI_TYPE=pmi2"),
    ],
)  # fmt: skip
def test_variables_of_this_shell(environ: dict[str, str], state: str, weight: Verdict, word: str) -> None:
    (one,) = job.judge_variables(environ, state)
    assert one.verdict is weight
    assert word in one.statement


def test_a_node_that_was_woken_in_vain_is_down_for_another_reason() -> None:
    lines = parse_sinfo("n1|down~|main*|ResumeTimeout reached\nn2|down*|main*|Not responding\n")
    remedies = [one.remedy for one in node_states.judge_nodes(lines, "", (), jobs=0)]
    assert ["ResumeProgram" in remedy for remedy in remedies] == [True, False]


def test_the_job_of_somebody_else_is_not_ours_to_use() -> None:
    (one,) = job.judge_variables({"SLURM_JOB_ID": "7"}, "RUNNING", "1001")
    assert (one.verdict, one.kind) == (Verdict.BLOCKED, FindingKind.JOB_VARIABLES)
    assert "user 1001's job" in one.statement


@pytest.mark.parametrize(("shares", "noted"), [("FORCE:4", True), ("FORCE", True), ("FORCE:1", False), ("NO", False)])
def test_a_partition_in_which_nothing_is_alone(shares: str, noted: bool) -> None:
    values = {"PartitionName": "p", "State": "UP", "OverSubscribe": shares}
    remarks = partition.judge_partition(values, nodes=2, minutes=5, user_id=1, groups=())
    assert [one.verdict for one in remarks] == [Verdict.PASS, *([Verdict.NOTE] if noted else [])]


def test_mpi_types_of_old_and_new_slurm() -> None:
    assert text.parse_mpi_list(said("mpi-list")) == ("pmix", "none", "pmi2")
    old = "srun: MPI types are...\nsrun: none\nsrun: openmpi\nsrun: pmi2\nsrun: pmix_v3\n"
    assert text.parse_mpi_list(old) == ("none", "pmi2", "pmix_v3")
    assert text.default_type("MpiDefault              = pmix\n") == "pmix"
    assert text.default_type("") == "none"


REFUSALS = {
    "Node failure on n3": ("sinfo", "Look at their consoles"),
    "Job allocation 42 has been revoked": ("salloc", "Slurmctld's log shows who cancelled it."),
    "Prolog failure on node n1": ("salloc", "Read slurmd's and slurmctld's log there."),
}


@pytest.mark.parametrize("text", REFUSALS)
def test_no_remedy_of_the_doctor_is_the_doctor(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial
) -> None:
    program, rest = REFUSALS[text]
    slurm = in_place_of_slurm(tmp_path / "bin", tmp_path / "archive", monkeypatch)
    slurm.says(program, f"{program}: error: {text}\n", code=1)
    remarks = seatrial("doctor", "--launcher", "slurm", "--json", code=1).object["data"]["remarks"]
    remedies = [remark["remedy"] for remark in remarks]
    assert not any("seatrial doctor" in remedy for remedy in remedies)
    assert any(remedy.startswith(rest) for remedy in remedies), remedies


@pytest.mark.parametrize(
    ("remedy", "left"),
    [
        ("`seatrial doctor` says why; name others by --nodes.", "Name others by --nodes."),
        ("`seatrial doctor` shows what is wrong with each.", ""),
        ("Choose another --mpi (`seatrial doctor` tries them).", "Choose another --mpi."),
        (
            "Choose another --mpi, as `seatrial doctor` tries them; or use an MPI that was built with Slurm's PMIx.",
            "Choose another --mpi; or use an MPI that was built with Slurm's PMIx.",
        ),
    ],
)
def test_what_is_left_of_a_remedy(remedy: str, left: str) -> None:
    assert without_itself(remedy) == left
