"""What Slurm prints: known words, unknown words, words out of place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.run import NodeCause
from seatrial.slurm.text import (
    base_and_flags,
    complaint,
    config_value,
    controllers,
    granted_job,
    launch_failures,
    parse_features,
    parse_sinfo,
    partition_lines,
    pending_job,
    reservation_nodes,
    submitted_job,
    unknown_names,
    unlabelled,
    why_not,
)

SINFO = """\
n1|idle|normal*|none
n2|idle*|normal*|Not responding
n3|down*|normal*|Node unexpectedly rebooted
n4|drained|normal*|memory | upgrade
n5|mixed|normal*|none
n6|allocated#|normal*|(null)
n1|idle|debug|none
n7|idle~|debug|
"""


def test_features_of_nodes() -> None:
    text = "n1|knl,flat,quad\nn1|knl,flat,quad\nn2|(null)\nodd line\nn3|\n"
    assert parse_features(text) == {"n1": ("knl", "flat", "quad")}


def test_lines_of_sinfo() -> None:
    lines = parse_sinfo(SINFO)
    assert [line.node for line in lines] == ["n1", "n2", "n3", "n4", "n5", "n6", "n1", "n7"]
    assert [(line.state, line.flags) for line in lines[:3]] == [("idle", ""), ("idle", "*"), ("down", "*")]
    assert [line.node for line in lines if line.idle] == ["n1", "n1"]
    assert [line.node for line in lines if line.busy] == ["n5", "n6"]
    assert lines[3].reason == "memory | upgrade"
    assert {line.reason for line in (lines[0], lines[5], lines[7])} == {""}


def test_the_partition_by_name_by_default_and_the_first() -> None:
    lines = parse_sinfo(SINFO)
    assert {line.partition for line in partition_lines(lines, "")} == {"normal"}
    assert [line.node for line in partition_lines(lines, "debug")] == ["n1", "n7"]
    assert [line.node for line in partition_lines(parse_sinfo("a|idle|one|none\nb|idle|two|none\n"), "")] == ["a"]
    assert partition_lines((), "") == ()


@pytest.mark.parametrize(
    ("state", "idle", "busy", "fault"),
    [
        ("idle", True, False, False), ("idle+", True, False, False), ("idle*", False, False, True),
        ("idle~", False, False, False), ("idle$", False, False, False), ("idle-", False, False, False),
        ("mixed", False, True, False), ("mixed-", False, True, False), ("allocated", False, True, False),
        ("allocated*", False, False, True), ("completing", False, True, False), ("planned", False, True, False),
        ("down", False, False, True), ("down*", False, False, True), ("fail", False, False, True),
        ("drained", False, False, False), ("draining", False, False, False), ("drained*", False, False, True),
        ("maint", False, False, False), ("reserved", False, False, False), ("unknown", False, False, True),
        ("error", False, False, True), ("no_respond", False, False, True), ("perfctrs", False, False, False),
        ("idle%", False, False, False), ("idle@", False, False, False), ("IDLE", True, False, False),
        ("", False, False, False), ("*", False, False, True),
    ],
)  # fmt: skip
def test_states_and_flags(state: str, idle: bool, busy: bool, fault: bool) -> None:
    (line,) = parse_sinfo(f"n1|{state}|p*|none")
    assert (line.idle, line.busy, why_not(line).fault) == (idle, busy, fault)


def test_why_not_says_slurms_word_its_flags_and_the_reason() -> None:
    reasons = {line.node: why_not(line).reason for line in parse_sinfo(SINFO)}
    assert reasons["n3"] == "Slurm says down, not responding (Node unexpectedly rebooted)"
    assert reasons["n4"] == "Slurm says drained (memory | upgrade)"
    assert reasons["n7"] == "Slurm says idle, powered down"


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("mixed|main*|none", NodeCause.BUSY),
        ("idle-|main*|none", NodeCause.BUSY),
        ("drained|main*|was allocated too long", NodeCause.UNAVAILABLE),
        ("down*|main*|Not responding", NodeCause.UNAVAILABLE),
        ("down~|main*|ResumeTimeout reached", NodeCause.RESUME_TIMEOUT),
    ],
)
def test_a_node_that_is_left_out_has_a_cause(line: str, cause: NodeCause) -> None:
    (node,) = parse_sinfo(f"n1|{line}")
    assert why_not(node).cause is cause


def test_a_word_of_tomorrow_stays_what_it_is() -> None:
    (line,) = parse_sinfo("n1|hibernating|p|none")
    assert why_not(line).reason == "Slurm says hibernating"


@pytest.mark.parametrize(
    "text",
    ["", "sinfo: error: no answer", "a|b\n", "|idle|p|none", "\n\n",
     "{", "{}", '{"nodes": 3, "sinfo": {"a": 1}}', '{"nodes": [{"name": ["n1"]}]}'],
)  # fmt: skip
def test_what_is_no_node_is_passed_over(text: str) -> None:
    assert parse_sinfo(text) == ()


SITE = {"allocated": 40, "down": 1, "down*": 9, "drained": 3, "drained*": 2, "draining": 2, "fail*": 1, "idle": 60,
        "mixed": 7}  # fmt: skip
"""State -> nodes of a site with as many states as a real one."""


def test_a_site_of_many_nodes() -> None:
    states = [state for state, count in SITE.items() for _ in range(count)]
    lines = parse_sinfo("".join(f"cn{number:04d}|{state}|main*|none\n" for number, state in enumerate(states)))
    for state, line in zip(states, lines, strict=True):
        assert line.state + line.flags == state
        assert line.idle == (state == "idle")
        assert why_not(line).fault == (state.endswith("*") or state == "down")
        assert line.state.isalpha()


GRANTED = (
    "salloc: Granted job allocation 4711\nsalloc: Waiting for resource configuration\nsalloc: Nodes n[1-4] are ready\n"
)
PENDING = (
    "salloc: Pending job allocation 17\nsalloc: job 17 queued and waiting for resources\n"
    "salloc: Job allocation 17 has been revoked.\n"
)
WRONG = (
    "salloc: error: invalid partition specified: nosuch\n"
    "salloc: error: Job submit/allocate failed: Invalid partition name specified\n"
)


def test_salloc_grants() -> None:
    assert (granted_job(GRANTED), pending_job(GRANTED)) == ("4711", "")


def test_salloc_waits_and_its_job_can_be_cancelled() -> None:
    assert (granted_job(PENDING), pending_job(PENDING)) == ("", "17")
    assert pending_job("salloc: job 18 queued and waiting for resources\n") == "18"


def test_salloc_waited_and_was_granted_in_the_end() -> None:
    assert granted_job(PENDING.replace("Job allocation 17 has been revoked.", "Granted job allocation 17")) == "17"


def test_salloc_refuses() -> None:
    assert (granted_job(WRONG), pending_job(WRONG)) == ("", "")
    assert complaint(WRONG) == "invalid partition specified: nosuch"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it said nothing"),
        ("\n  \n", "it said nothing"),
        ("sinfo: fatal: Could not establish a configuration source\n", "Could not establish a configuration source"),
        ("hello\nsrun: error: Unable to confirm allocation for job 9: Invalid job id specified\n",
         "Unable to confirm allocation for job 9: Invalid job id specified"),
        ("sbatch: job denied\n", "job denied"),
        ("salloc: No such file or directory", "No such file or directory"),
    ],
)  # fmt: skip
def test_the_telling_line(text: str, said: str) -> None:
    assert complaint(text) == said


@pytest.mark.parametrize(
    ("text", "job"),
    [("123\n", "123"), ("123;east\n", "123"), ("sbatch: Warning: be quick\n124\n", "124"), ("", ""), ("\n", ""),
     ("sbatch: error: no\n", ""), ("²\n", "")],
)  # fmt: skip
def test_sbatch_parsable(text: str, job: str) -> None:
    assert submitted_job(text) == job


def test_labels_of_srun_are_taken_off_and_tasks_kept_apart() -> None:
    text = " 2: #two\n10: #ten\n 2: |a: b\n10:\n 2:   indented\n"
    assert unlabelled(text) == ("#two\n|a: b\n  indented\n", "#ten\n\n")


@pytest.mark.parametrize("text", ["", "no label\n", "²: power\n", "x: y\n", "srun: job 3 queued\n"])
def test_lines_without_a_label_belong_to_nobody(text: str) -> None:
    assert unlabelled(text) == ()


def test_what_a_task_prolog_says_before_a_task_is_left_out() -> None:
    text = "1: Welcome to n2\n0: Welcome to n1\n0: #begin n1\n1: #begin n2\n0: Welcome again\n2: Welcome\n"
    assert unlabelled(text, "#begin") == ("#begin n1\nWelcome again\n", "#begin n2\n")


@given(
    tasks=st.lists(
        st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"])), min_size=1),
        min_size=1, max_size=12,
    )
)  # fmt: skip
def test_whatever_the_tasks_say_comes_back(tasks: list[list[str]]) -> None:
    labelled = "".join(f"{task:2d}: {line}\n" for task, lines in enumerate(tasks) for line in lines)
    assert unlabelled(labelled) == tuple("".join(f"{line}\n" for line in lines) for lines in tasks)


def test_nodes_that_srun_could_not_reach() -> None:
    text = (
        "srun: error: Task launch for StepId=3.0 failed on node n3: Communication connection failure\n"
        "srun: error: Task launch for step 3.0 failed on node n4: Invalid job credential\n"
        "srun: error: Application launch failed: Communication connection failure\n"
    )
    assert launch_failures(text) == {"n3": "Communication connection failure", "n4": "Invalid job credential"}


def test_one_value_of_the_configuration() -> None:
    text = "Configuration data as of now\nClusterName        = demo lab\nFooClusterName = no\nEmpty            = \n"
    assert config_value(text, "ClusterName") == "demo lab"
    assert config_value(text, "Empty") == ""
    assert config_value(text, "Nothing") == ""
    assert config_value(text, "C.*e") == ""


def test_controllers_are_their_hosts_without_domain_and_address() -> None:
    text = "SlurmctldAddr = 10.0.0.9\nSlurmctldHost[0]        = ctl-1(10.0.0.1)\nSlurmctldHost[1] = ctl2.site.edu\n"
    assert controllers(text) == ("ctl-1", "ctl2")
    assert controllers("SlurmctldHost = x\n") == ()


def test_unknown_names_in_their_order() -> None:
    assert unknown_names(["n9", "n1", "n8"], ["n1", "n2"]) == ["n9", "n8"]


def test_reserved_nodes_are_told_from_broken_ones() -> None:
    lines = {line.node: line for line in parse_sinfo("a|reserved|m|x\nb|reserved*|m|x\nc|idle$|m|x\nd|drained|m|x\n")}
    assert [node for node, line in lines.items() if line.reserved] == ["a"]
    assert [node for node, line in lines.items() if line.out_of_service] == ["b", "d"]
    assert reservation_nodes("ReservationName=r1 StartTime=x Nodes=n[2-3] NodeCnt=2 CoreCnt=4\n") == "n[2-3]"
    assert reservation_nodes("ReservationName=r1 Nodes=(null)\n") == reservation_nodes("") == ""


@pytest.mark.parametrize(
    ("words", "state", "flags"),
    [
        ("idle", "idle", ""), ("idle*", "idle", "*"), ("mixed+", "mixed", "+"), ("IDLE+DRAIN", "drained", ""),
        ("idle+drain", "drained", ""), ("mixed+drain", "draining", ""), ("down+drain", "down", ""),
        ("down+not_responding", "down", "*"), ("idle+powering_up", "idle", "#"),
        ("IDLE+CLOUD+POWERED_DOWN", "idle", "~"),
        ("idle+planned", "idle", "-"), ("allocated+completing", "completing", ""), ("idle+invalid_reg", "inval", ""),
        ("IDLE+DYNAMIC_NORM", "idle", ""), ("idle+maintenance", "idle", "$"), ("down*", "down", "*"),
        (["IDLE", "DRAIN"], "drained", ""), (["DOWN", "NOT_RESPONDING"], "down", "*"), (["ALLOCATED"], "allocated", ""),
        (["IDLE", "RESERVED"], "reserved", ""), (["IDLE", "NEW_WORD"], "idle", ""),
    ],
)  # fmt: skip
def test_compound_states(words: str | list[str], state: str, flags: str) -> None:
    """scontrol and --json join words with +; newer JSON has a list of them. sinfo appends marks."""
    assert base_and_flags(words) == (state, flags)


NODE_JSON = [
    {"nodes": [{"name": "n1", "state": "idle", "state_flags": ["DRAIN"], "partitions": ["main"], "reason": "disk"}]},
    {"nodes": [{"name": "n1", "state": "idle+drain", "partitions": ["main"], "reason": "disk"}]},
    {"meta": {}, "nodes": [{"name": "n1", "state": ["IDLE", "DRAIN"], "partitions": ["main"], "reason": "disk"}]},
    {
        "sinfo": [
            {
                "node": {"state": ["IDLE", "DRAIN"]},
                "nodes": {"allocated": 0, "nodes": ["n1"]},
                "partition": {"name": "main"},
                "reason": {"description": "disk"},
            }
        ]
    },
]


@pytest.mark.parametrize("document", NODE_JSON)
def test_the_json_of_sinfo_and_scontrol(document: dict[str, object]) -> None:
    (line,) = parse_sinfo(json.dumps(document, indent=1))
    assert (line.node, line.state, line.partition) == ("n1", "drained", "main")
    assert line.out_of_service
    assert why_not(line).reason == "Slurm says drained (disk)"


def test_states_of_json_that_say_more_than_one_thing() -> None:
    states: tuple[object, ...] = (
        ["DOWN", "NOT_RESPONDING"],
        ["IDLE", "CLOUD", "POWERING_UP"],
        "down+not_responding",
        ["MIXED"],
        [],
        7,
    )
    nodes = [{"name": f"n{i}", "state": state, "partitions": ["a", "b"]} for i, state in enumerate(states)]
    lines = parse_sinfo(json.dumps({"nodes": [*nodes, "x", {"state": "idle"}]}))
    assert [(line.node, line.state, line.flags) for line in lines if line.partition == "b"] == [
        ("n0", "down", "*"),
        ("n1", "idle", "#"),
        ("n2", "down", "*"),
        ("n3", "mixed", ""),
    ]
    assert lines[2].suspended


def test_a_label_of_thousands_of_digits_is_no_task() -> None:
    assert unlabelled(f"{'9' * 4400}: a\n0: b\n") == ("b\n",)
