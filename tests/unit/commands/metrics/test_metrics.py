"""Numbers for a monitor: what Slurm's commands print, how often they are asked, and that no name can forge a line."""

import os
import socket
import stat
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from seatrial.commands.metrics.figures import Figure, SlurmState, node_figures, slurm_figures
from seatrial.commands.metrics.run import (
    HOURLY_S,
    Kept,
    Undelivered,
    ask_slurm,
    deliver,
    exposition,
    keep,
    read_kept,
    too_soon,
)
from seatrial.model.errors import UsageError
from seatrial.model.monitoring import Ask, Condition, Fault, NodeStanding, OpenFault, Target, parse_target
from seatrial.model.verdict import Verdict
from seatrial.process.process import Completed
from seatrial.slurm import argv, census
from tests.support.second_user import OTHER, needs_root

SINFO = """\
n1   |idle      |main* |0/2/0/2 |1000 |0   |
n1   |idle      |debug |0/2/0/2 |1000 |0   |
n2   |mixed     |main* |1/1/0/2 |1000 |500 |
n3   |down+not_responding |main* |0/0/2/2 |1000 |0   |
n4   |IDLE+DRAIN+NOT_RESPONDING|main* |0/0/2/2 |1000+|0   |
"""
SQUEUE = """\
1|RUNNING|main|2|1|1795749000|ann|physics
2|PENDING|main,debug|4|2|1795749000|bob|physics
3_1|PENDING|main|1|1|1795748000|ann|(null)
4|RUNNING|main|1|1|1795749000|eve "x"|}\\nslurm_jobs 9
not a job
"""
SDIAG = """\
*******
sdiag output at Fri Nov 27 03:11:13 2026 (1795749073)
Server thread count:  3
DBD Agent queue size: 7

Jobs submitted: 12

Main schedule statistics (microseconds):
\tLast cycle:   11
\tMean cycle:   13
\tLast queue length: 2

Backfilling stats
\tTotal backfilled jobs (since last slurm start): 5
\tLast cycle when: N/A
\tMean cycle: 19

Remote Procedure Call statistics by message type
\tREQUEST_PING ( 1008) count:1 ave_time:56
"""
SSHARE = """\
root||7200|
physics||3600|cpu=600,mem=9
 physics|ann|1800|
"""
SAID = {"sinfo": SINFO, "squeue": SQUEUE, "sdiag": SDIAG, "sshare": SSHARE, "scontrol": "ClusterName = lab\n"}
NOW_S = 1795749060.0
NOTHING = Kept()


class Slurm:
    """Answers as the commands do, and counts them."""

    def __init__(self, said: dict[str, str] = SAID, silent: Sequence[str] = ()) -> None:
        self.said, self.silent, self.asked = said, silent, [""][1:]

    def __call__(self, words: Sequence[str]) -> Completed:
        self.asked.append(words[0])
        ok = words[0] not in self.silent
        return Completed(
            argv=tuple(words), returncode=0 if ok else 1, stdout=self.said[words[0]] if ok else "", stderr=""
        )


def series(figures: Sequence[Figure]) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """What Prometheus reads, by name and labels."""
    families = text_string_to_metric_families(exposition(figures).decode())
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for each in families for one in each.samples}


def asked(slurm: Slurm, kept: Kept = NOTHING, ask: Ask = Ask.AUTO, now_s: float = NOW_S) -> tuple[Any, Kept]:
    state, after = ask_slurm(kept, ask, now_s, slurm)
    return (None if state is None else series([*slurm_figures(state, 2, now_s)])), after


def test_the_numbers_are_those_of_slurms_commands() -> None:
    found, _ = asked(Slurm())
    wanted = {
        ("slurm_nodes", ()): 4,
        ("slurm_nodes_idle", ()): 2,
        ("slurm_nodes_mixed", ()): 1,
        ("slurm_nodes_down", ()): 1,
        ("slurm_nodes_drained", ()): 1,
        ("slurm_nodes_draining", ()): 0,
        ("slurm_nodes_alloc", ()): 0,
        ("slurm_nodes_noresp", ()): 2,
        ("slurm_node_cpus_alloc", (("node", "n2"),)): 1,
        ("slurm_node_memory_bytes", (("node", "n4"),)): 1000 << 20,
        ("slurm_node_memory_alloc_bytes", (("node", "n2"),)): 500 << 20,
        ("slurm_partition_nodes", (("partition", "main"),)): 4,
        ("slurm_partition_nodes_idle", (("partition", "debug"),)): 1,
        ("slurm_jobs", ()): 4,
        ("slurm_jobs_running", ()): 2,
        ("slurm_jobs_pending", ()): 2,
        ("slurm_jobs_cpus_alloc", ()): 3,
        ("slurm_partition_jobs_pending", (("partition", "debug"),)): 1,
        ("slurm_partition_jobs_pending", (("partition", "main"),)): 2,
        ("seatrial_pending_longest_seconds", (("partition", "main"),)): 1060,
        ("seatrial_pending_median_seconds", (("partition", "main"),)): 560,
        ("slurm_server_thread_cnt", ()): 3,
        ("slurm_slurmdbd_queue_size", ()): 7,
        ("slurm_sched_mean_cycle", ()): 13,
        ("slurm_bf_mean_cycle", ()): 19,
        ("slurm_schedule_queue_len", ()): 2,
        ("slurm_backfilled_jobs", ()): 5,
        ("seatrial_account_used_hours", (("account", "physics"),)): 1,
        ("seatrial_account_limit_hours", (("account", "physics"),)): 10,
        ("seatrial_slurm_lines_unread", (("command", "squeue"),)): 1,
    }
    assert {key: found[key] for key in wanted} == wanted
    assert ("seatrial_account_limit_hours", (("account", "root"),)) not in found


def test_the_largest_users_have_numbers_of_their_own_and_the_others_one_together() -> None:
    found, _ = asked(Slurm())
    users = {labels[0][1]: value for (name, labels), value in found.items() if name == "slurm_user_jobs_pending"}
    assert users == {"bob": 1, "ann": 1, "other": 0}
    assert found["slurm_user_jobs_running", (("username", "other"),)] == 1
    assert found["seatrial_users_in_other", ()] == 1


def test_no_name_forges_a_line_or_a_label() -> None:
    hostile = SQUEUE + "".join(f"{5 + i}|RUNNING|main|900|1|1795749000|{name}|a\n" for i, name in enumerate(
        ('x"} 1', "back\\slash", "tab\tand \x1b[31m", "\udcff", "{a=b}", "ü")))  # fmt: skip
    jobs, unread = census.parse_jobs(hostile)
    text = exposition([*slurm_figures(SlurmState(jobs=jobs), 50, NOW_S)])
    lines = text.decode().splitlines()
    assert all(line.startswith(("#", "slurm_", "seatrial_")) for line in lines)
    assert sum(line.startswith("slurm_jobs ") for line in lines) == 1
    assert unread == 1
    users = {labels[0][1] for name, labels in series([*slurm_figures(SlurmState(jobs=jobs), 50, NOW_S)])
             if name == "slurm_user_jobs_running"}  # fmt: skip
    assert {'x"} 1', "back\\slash", 'eve "x"', "ü"} <= users


def test_a_series_is_there_once_whatever_names_look_alike() -> None:
    jobs, _ = census.parse_jobs(
        "".join(f"{i}|RUNNING|main|1|1|0|{name}|a\n" for i, name in enumerate(("a\x01", "a\x02")))
    )
    text = exposition([*slurm_figures(SlurmState(jobs=jobs), 50, NOW_S)]).decode()
    lines = [line.partition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(lines) == len(set(lines))


def test_slurm_is_asked_once_and_the_slow_questions_once_an_hour() -> None:
    slurm = Slurm()
    _, kept = asked(slurm)
    assert sorted(slurm.asked) == ["scontrol", "sdiag", "sinfo", "squeue", "sshare"]
    slurm.asked.clear()
    found, kept = asked(slurm, kept, now_s=NOW_S + 60)
    assert sorted(slurm.asked) == ["sdiag", "sinfo", "squeue"]
    assert ("seatrial_account_used_hours", (("account", "physics"),)) in found
    slurm.asked.clear()
    asked(slurm, kept, now_s=NOW_S + HOURLY_S)
    assert "sshare" in slurm.asked


def test_nothing_is_asked_where_slurmctld_exports_its_own_metrics() -> None:
    native = Slurm({**SAID, "scontrol": "MetricsType             = metrics/openmetrics\n"})
    found, kept = asked(native)
    assert (found, native.asked) == (None, ["scontrol", "sshare"])
    native.asked.clear()
    assert asked(native, kept, now_s=NOW_S + 60)[0] is None
    assert native.asked == []
    assert asked(native, kept, Ask.ALWAYS, NOW_S + 60)[0] is not None
    assert asked(Slurm(), ask=Ask.NEVER)[0] is None


def test_a_command_that_does_not_answer_makes_its_numbers_unknown_and_no_others() -> None:
    found, _ = asked(Slurm(silent=["squeue"]))
    assert found["seatrial_slurm_command_answered", (("command", "squeue"),)] == 0
    assert ("slurm_jobs", ()) not in found
    assert found["slurm_nodes", ()] == 4
    none, kept = asked(Slurm(silent=list(SAID)))
    assert not [name for name, _ in none if name.startswith("slurm_")]
    assert kept.hourly_s == 0


def test_nodes_have_their_verdict_its_age_and_their_open_findings() -> None:
    fault = Fault(kind="slow-link", verdict=Verdict.SLOW, text="link at 60 %")
    nodes = {
        "n1": NodeStanding(
            node="n1", verdict=Verdict.SLOW, run="b", judged="2026-11-27T03:00:00Z", of_limit=0.6,
            faults=(OpenFault(fault=fault, run="b", since="2026-11-26T03:00:00Z"),),
        ),
        "n2": NodeStanding(
            node="n2", verdict=Verdict.PASS, run="b", judged="2026-11-27T03:00:00Z",
            condition=Condition(read="2026-11-27T02:00:00Z", clocks_hz=(1e9, 2e9, 3e9), throttle_events=7),
        ),
    }  # fmt: skip
    found = series([*node_figures(nodes, 2, 0, datetime(2026, 11, 27, 4, tzinfo=UTC))])
    assert found["seatrial_nodes", (("verdict", "SLOW"),)] == 1
    assert found["seatrial_nodes", (("verdict", "DOWN"),)] == 0
    assert found["seatrial_node_good", (("node", "n1"), ("verdict", "SLOW"))] == 0
    assert found["seatrial_node_good", (("node", "n2"), ("verdict", "PASS"))] == 1
    assert found["seatrial_node_verdict_age_seconds", (("node", "n1"),)] == 3600
    assert found["seatrial_node_finding_age_seconds", (("kind", "slow-link"), ("node", "n1"))] == 90000
    assert found["seatrial_node_limit_ratio", (("node", "n1"),)] == 0.6
    assert ("seatrial_node_limit_ratio", (("node", "n2"),)) not in found
    assert found["seatrial_node_clock_hertz", (("node", "n2"), ("of", "lowest"))] == 1e9
    assert found["seatrial_node_throttle_events", (("node", "n2"),)] == 7
    assert found["seatrial_node_facts_age_seconds", (("node", "n2"),)] == 7200
    assert not {name for name, labels in found if "celsius" in name or "watts" in name}


def test_a_call_too_soon_does_nothing_and_a_clock_set_back_is_no_reason() -> None:
    kept = Kept(called_s=NOW_S)
    assert too_soon(kept, 15, NOW_S + 10)
    assert not too_soon(kept, 15, NOW_S + 15)
    assert not too_soon(kept, 15, NOW_S - 10)


def test_what_is_remembered_is_read_back_and_garbage_is_not(tmp_path: Path) -> None:
    kept = Kept(called_s=1.0, hourly_s=2.0, native=True, shares="x")
    keep(tmp_path, kept)
    assert read_kept(tmp_path) == kept
    (tmp_path / "state.json").write_text("{")
    assert read_kept(tmp_path) == Kept()
    assert read_kept(None) == Kept()


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("-", Target()),
        ("textfile:/a/b.prom", Target(textfile=Path("/a/b.prom"))),
        ("graphite:host", Target(graphite=("host", 2003))),
        ("graphite:host:99", Target(graphite=("host", 99))),
        ("graphite:[::1]:99", Target(graphite=("::1", 99))),
        ("graphite:h:65535", Target(graphite=("h", 65535))),
        (f"graphite:{'h' * 63}.b:1", Target(graphite=(f"{'h' * 63}.b", 1))),
    ],
)
def test_places(text: str, target: Target) -> None:
    assert parse_target(text, "--to") == target


@pytest.mark.parametrize(
    "text",
    [
        *("", "file", "textfile:", "graphite:", "graphite:h:0", "graphite:h:x", "graphite:h:65536", "graphite:h:080"),
        *(f"graphite:h:{'9' * 5000}", f"graphite:{'h' * 64}:1", "graphite:a..b:1", "graphite:.:1"),
    ],
)
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a place for metrics"):
        parse_target(text, "--to")


def test_a_file_is_written_whole_where_its_name_leads(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "folder" / "a.prom").symlink_to("b.prom")
    deliver([*slurm_figures(SlurmState(), 1, NOW_S)], Target(textfile=tmp_path / "link" / "a.prom"))
    assert (tmp_path / "folder" / "a.prom").is_symlink()
    assert [path.name for path in sorted((tmp_path / "folder").iterdir())] == ["a.prom", "b.prom"]
    assert b"slurm_" in (tmp_path / "folder" / "b.prom").read_bytes()
    with pytest.raises(Undelivered, match="cannot be written"):
        deliver([], Target(textfile=tmp_path / "missing" / "a.prom"))


@needs_root
def test_no_file_takes_the_place_of_a_device_or_pipe_and_no_link_of_others_is_followed(tmp_path: Path) -> None:
    """`textfile:/dev/null` of root left a file in place of the device."""
    os.mknod(tmp_path / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    deliver([*slurm_figures(SlurmState(), 1, NOW_S)], Target(textfile=tmp_path / "null"))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("victim")
    (tmp_path / "victim").write_text("private")
    os.chown(tmp_path / "link", OTHER, OTHER, follow_symlinks=False)
    for name in ("pipe", "link"):
        with pytest.raises(Undelivered, match="cannot be written"):
            deliver([], Target(textfile=tmp_path / name))
    kinds = {path.name: stat.S_IFMT(path.lstat().st_mode) for path in tmp_path.iterdir()}
    assert kinds == {"null": stat.S_IFCHR, "pipe": stat.S_IFIFO, "link": stat.S_IFLNK, "victim": stat.S_IFREG}
    assert (tmp_path / "victim").read_text() == "private"


def test_graphite_that_does_not_listen_is_one_sentence() -> None:
    with pytest.raises(Undelivered, match="takes nothing"):
        deliver([], Target(graphite=("127.0.0.1", 1)))


def test_graphite_gets_a_line_for_each_number() -> None:
    """A listener in place of carbon: its plaintext protocol is a path, a number and a time."""
    jobs, _ = census.parse_jobs('1|RUNNING|main|2|1|0|eve.x "y"|a\n')
    with socket.create_server(("127.0.0.1", 0)) as server:
        deliver([*slurm_figures(SlurmState(jobs=jobs), 5, NOW_S)], Target(graphite=server.getsockname()))
        connection, _ = server.accept()
        with connection, connection.makefile() as stream:
            lines = [line.split(" ") for line in stream.read().splitlines()]
    assert all(len(line) == 3 and float(line[1]) >= 0 and int(line[2]) > 0 for line in lines)
    assert {line[0]: line[1] for line in lines}["slurm_user_jobs_running.username.eve_x__y_"] == "1.0"


def test_the_commands_are_those_of_the_documentation() -> None:
    assert argv.CONFIG[0] == "scontrol"
    assert [words[0] for words in (census.NODES, census.JOBS, census.SCHEDULER, census.SHARES)] == [
        "sinfo", "squeue", "sdiag", "sshare",
    ]  # fmt: skip
