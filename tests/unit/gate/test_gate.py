"""The gate lets a node pass unless a sound verdict on it is bad, and drains it only as far as the policy allows."""

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from tests.support.gate_cluster import GateCluster
from tests.support.second_user import OTHER, needs_root


@pytest.fixture
def cluster(tmp_path: Path) -> GateCluster:
    return GateCluster(tmp_path)


def test_the_last_verdict_decides(cluster: GateCluster) -> None:
    cluster.leave("good", "n01")
    cluster.leave("bad", "n02")
    cluster.leave("unknown", "n03", text="INCONCLUSIVE")
    assert cluster.ask("n01", "report") == "good n01: run r1"
    assert cluster.ask("n02", "report") == "bad n02: link at 60 % of its limit, run r1"
    assert cluster.ask("n03", "report").startswith("unknown n03: INCONCLUSIVE")
    assert cluster.ask("n04", "report") == "unknown n04: no verdict"
    assert not (cluster.slurm / "asked").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"bad", b"bad 1 r1 cut short", b"\xff\xfe\x00\n", b"bad x r1 y\n", b"worse 1 r1 y\n", b"bad 010 r1 y\n",
     b"bad 99999999999999999999 r1 y\n", b"bad 1 r1 $(touch /tmp/x) `id`\n", b"bad 1 ../r y\n", b"-n -e\n", b"\n\n\n"],
)  # fmt: skip
def test_garbage_is_an_error_of_the_gate_and_the_node_passes(cluster: GateCluster, content: bytes) -> None:
    (cluster.folder / "nodes" / "n01").write_bytes(content)
    assert cluster.ask("n01").startswith("error n01: ")
    assert cluster.counts("n01") == {"good": 0, "bad": 0, "unknown": 0, "error": 1}
    assert not (cluster.slurm / "asked").exists()


def test_what_is_missing_old_or_of_the_future_lets_the_node_pass(cluster: GateCluster) -> None:
    cluster.leave("bad", "n01", ago_s=3700)
    assert cluster.ask("n01") == "unknown n01: the verdict is older than 1 h"
    cluster.leave("bad", "n01", ago_s=-400)
    assert "a clock is wrong" in cluster.ask("n01")
    cluster.leave("bad", "n02")
    for damage in (b"", b"x y z\n", b"3600 500\n", b"3600 500 2"):
        (cluster.folder / "policy").write_bytes(damage)
        assert "policy cannot be read" in cluster.ask("n02")
    (cluster.folder / "policy").unlink()
    assert "policy cannot be read" in cluster.ask("n02")
    assert cluster.counts("n02")["error"] == 5
    cluster.folder.rename(cluster.folder.with_name("gone"))
    assert cluster.ask("n02").startswith("error n02: no folder")
    assert not (cluster.slurm / "asked").exists()


@needs_root
def test_the_files_of_another_user_say_nothing(cluster: GateCluster, tmp_path: Path) -> None:
    cluster.leave("bad", "n01", "n02", "n03")
    os.chown(cluster.folder / "nodes" / "n01", OTHER, OTHER)
    assert cluster.ask("n01").startswith("error n01: ")
    (tmp_path / "line").write_text((cluster.folder / "nodes" / "n02").read_text())
    (cluster.folder / "nodes" / "n02").unlink()
    (cluster.folder / "nodes" / "n02").symlink_to(tmp_path / "line")
    assert cluster.ask("n02").startswith("error n02: ")
    os.chown(cluster.folder, OTHER, OTHER)
    assert "is of another user" in cluster.ask("n03")
    assert not (cluster.slurm / "asked").exists()


def test_nothing_is_written_through_a_link(cluster: GateCluster, tmp_path: Path) -> None:
    cluster.leave("good", "n01")
    (cluster.folder / "answers" / "n01").symlink_to(tmp_path / "target")
    assert cluster.ask("n01", "report") == "good n01: run r1"
    (cluster.folder / "answers" / "n01").unlink()
    (cluster.folder / "answers").rmdir()
    (cluster.folder / "answers").symlink_to(tmp_path)
    assert cluster.ask("n01", "report") == "good n01: run r1"
    assert sorted(place.name for place in tmp_path.iterdir()) == ["gate", "slurm"]


def test_answers_are_counted_and_damaged_counts_begin_again(cluster: GateCluster) -> None:
    cluster.leave("good", "n01")
    for _ in range(3):
        cluster.ask("n01", "report")
    assert cluster.counts("n01") == {"good": 3, "bad": 0, "unknown": 0, "error": 0}
    (cluster.folder / "answers" / "n01").write_text("good 08 x")
    cluster.ask("n01", "report")
    assert cluster.counts("n01") == {"good": 1, "bad": 0, "unknown": 0, "error": 1}


def test_a_pipe_is_not_waited_for(cluster: GateCluster) -> None:
    cluster.leave("bad", "n02", "n03")
    for place in ("nodes/n01", "answers/n02", "nodes/n00"):
        os.mkfifo(cluster.folder / place)
    assert cluster.ask("n01").startswith("error n01: ")
    assert cluster.ask("n02", "report").startswith("bad n02: ")
    assert cluster.ask("n03").endswith("; drained")
    (cluster.folder / "policy").unlink()
    os.mkfifo(cluster.folder / "policy")
    assert cluster.ask("n03").startswith("error n03: ")


def test_what_is_not_counted_is_logged(cluster: GateCluster) -> None:
    cluster.replace("logger", 'echo "$*" >>"$CLUSTER/log"\n')
    cluster.leave("good", "n01", "n02")
    (cluster.folder / "answers" / "n01").write_text("good 08 x")
    (cluster.folder / "answers" / "n02").symlink_to("n01")
    for node in ("n01", "n02"):
        cluster.ask(node, "report")
    log = (cluster.slurm / "log").read_text()
    assert "answers/n01 is damaged" in log
    assert "answers/n02 is of another user" in log


def test_no_reader_sees_answers_without_their_line(cluster: GateCluster) -> None:
    """Prolog and HealthCheckProgram call the gate of a node at the same moment."""
    cluster.leave("good", "n01")
    cluster.ask("n01", "report")
    for process in [cluster.start("n01", "report") for _ in range(40)]:
        process.communicate(timeout=60)
    counts = cluster.counts("n01")
    assert counts["error"] == 0
    assert counts["good"] > 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_who_ends_it_sees_no_failure(cluster: GateCluster, number: signal.Signals) -> None:
    cluster.replace("scontrol", 'touch "$CLUSTER/asked"\nsleep 1\nexit 1\n')
    cluster.leave("bad", "n01")
    process = cluster.start("n01", "comment")
    while not (cluster.slurm / "asked").exists():
        time.sleep(0.01)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_a_bad_node_is_drained_with_its_finding_and_its_run(cluster: GateCluster) -> None:
    cluster.leave("bad", "n02")
    assert cluster.ask("n02").endswith("run r1; drained")
    assert cluster.reason("n02") == "seatrial: link at 60 % of its limit, run r1"
    assert [cluster.reason(node) for node in ("n01", "n03", "n04")] == ["", "", ""]
    asked = (cluster.slurm / "asked").read_text()
    assert cluster.ask("n02").endswith("; drained")
    assert (cluster.slurm / "asked").read_text() == asked, "once"


def test_a_good_verdict_ends_a_drain_of_the_gate_and_of_nobody_else(cluster: GateCluster) -> None:
    cluster.leave("bad", "n01")
    cluster.ask("n01")
    cluster.state("n02", "drained", "fan broken")
    cluster.leave("good", "n01", "n02")
    assert cluster.ask("n01") == "good n01: run r1; resumed"
    assert cluster.ask("n02") == "good n02: run r1"
    assert (cluster.reason("n01"), cluster.reason("n02")) == ("", "fan broken")


@pytest.mark.parametrize("word", ["good", "bad"])
def test_who_drains_the_node_at_the_same_moment_is_heard(cluster: GateCluster, word: str) -> None:
    cluster.leave("bad", "n01")
    if word == "good":
        cluster.ask("n01")
    (cluster.slurm / "meanwhile").write_text("fan | broken")
    cluster.leave(word, "n01")
    assert cluster.ask("n01").endswith("drained by others meanwhile")
    assert cluster.reason("n01") == "fan | broken"


@pytest.mark.parametrize("state", ["allocated", "completing", "down", "drained", "idle*"])
def test_only_idle_nodes_are_drained(cluster: GateCluster, state: str) -> None:
    cluster.leave("bad", "n01")
    cluster.state("n01", state, "of the administrator")
    assert cluster.ask("n01").startswith("bad n01: ")
    assert "State=" not in (cluster.slurm / "asked").read_text()


def test_a_kill_file_stops_it_at_once(cluster: GateCluster) -> None:
    cluster.leave("bad", "n01", "n02")
    cluster.ask("n02")
    (cluster.folder / "stop").touch()
    assert "not drained, since" in cluster.ask("n01")
    cluster.leave("good", "n02")
    assert "not resumed, since" in cluster.ask("n02")
    assert (cluster.reason("n01"), bool(cluster.reason("n02"))) == ("", True)


def test_a_folder_that_others_can_write_drains_nobody(cluster: GateCluster) -> None:
    cluster.leave("bad", "n01")
    for place in (cluster.folder, cluster.folder / "nodes"):
        for mode in (0o775, 0o757):
            place.chmod(mode)
            assert "can be written by others" in cluster.ask("n01")
        place.chmod(0o755)
    cluster.replace("stat", "exit 1\n")
    assert cluster.ask("n01").startswith("error n01: ")
    assert not cluster.reason("n01")


def test_the_folder_may_be_named_by_a_link(cluster: GateCluster) -> None:
    """The folder that it reads without an option is in /etc, and the verdicts are on a shared file system."""
    real = cluster.folder.with_name("shared")
    cluster.folder.rename(real)
    cluster.folder.symlink_to(real)
    cluster.leave("bad", "n01")
    assert cluster.ask("n01").endswith("; drained")


def test_a_comment_is_written_and_removed_unless_it_is_somebody_elses(cluster: GateCluster) -> None:
    cluster.leave("bad", "n01", "n02")
    (cluster.slurm / "comment" / "n02").write_text(" Comment=spare board")
    for node in ("n01", "n02"):
        assert cluster.ask(node, "comment").startswith("bad ")
    comments = cluster.slurm / "comment"
    assert (comments / "n01").read_text() == " Comment=seatrial: link at 60 % of its limit, run r1"
    cluster.leave("good", "n01", "n02")
    for node in ("n01", "n02"):
        cluster.ask(node, "comment")
    assert not (comments / "n01").exists()
    assert (comments / "n02").read_text() == " Comment=spare board"
    assert not cluster.reason("n01")


def test_what_a_report_of_a_good_node_leaves_is_removed_later(cluster: GateCluster) -> None:
    """Epilog calls it with --report, HealthCheckProgram with --drain."""
    cluster.leave("bad", "n01")
    assert cluster.ask("n01").endswith("; drained")
    cluster.leave("good", "n01")
    assert cluster.ask("n01", "report") == "good n01: run r1"
    assert cluster.ask("n01", "comment") == "good n01: run r1"
    assert not (cluster.slurm / "comment" / "n01").exists()
    assert cluster.ask("n01") == "good n01: run r1; resumed"


@pytest.mark.parametrize("counted", [True, False])
def test_a_gate_that_is_killed_knows_afterwards_what_it_may_have_done(cluster: GateCluster, counted: bool) -> None:
    cluster.leave("good", "n01")
    cluster.ask("n01")
    scontrol = (cluster.slurm / "bin" / "scontrol").read_text()
    cluster.replace("scontrol", scontrol + '[ -z "$state" ] || kill -KILL "$(cat "$CLUSTER/gate")"\n')
    cluster.leave("bad", "n01")
    process = cluster.start("n01")
    (cluster.slurm / "gate").write_text(str(process.pid))
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert cluster.reason("n01")
    cluster.replace("scontrol", scontrol)
    if counted:
        assert cluster.ask("n01").endswith("; drained")
    cluster.leave("good", "n01")
    assert cluster.ask("n01") == "good n01: run r1; resumed"


def test_what_cannot_be_kept_is_not_done(cluster: GateCluster) -> None:
    cluster.leave("good", "n01")
    cluster.ask("n01")
    cluster.leave("bad", "n01")
    answers = str(cluster.folder / "answers")
    script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    read_only = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, answers)
    process = cluster.start("n01", before=read_only)
    out, _ = process.communicate(timeout=60)
    assert out.startswith("error n01: "), out
    assert not cluster.reason("n01")
    assert not (cluster.slurm / "comment" / "n01").exists()


def test_a_comment_that_quotes_ours_is_somebody_elses(cluster: GateCluster) -> None:
    comment = cluster.slurm / "comment" / "n01"
    comment.write_text(" Comment=spare board, had Comment=seatrial: link at 60 % of its limit")
    before = comment.read_text()
    cluster.leave("bad", "n01")
    assert cluster.ask("n01", "comment").startswith("bad ")
    assert comment.read_text() == before


def test_another_run_is_in_the_comment_soon(cluster: GateCluster) -> None:
    comment = cluster.slurm / "comment" / "n01"
    comment.write_text(" Comment=seatrial: link at 60 % of its limit, run r10")
    cluster.leave("bad", "n01")
    cluster.ask("n01", "comment")
    assert comment.read_text().endswith("run r1")


@pytest.mark.parametrize(
    ("program", "code"),
    [("sinfo", 1), ("sinfo", 127), ("scontrol", 1), ("scontrol", 126), ("sacctmgr", 1), ("sacctmgr", 127)],
)
def test_a_part_that_does_not_work_is_an_error_of_the_gate(cluster: GateCluster, program: str, code: int) -> None:
    cluster.replace(program, f"exit {code}\n")
    cluster.leave("bad", "n01")
    answer = cluster.ask("n01")
    if program == "sacctmgr":
        assert answer.endswith("; drained")  # sites without slurmdbd
        return
    assert answer.startswith("error n01: ")
    assert not cluster.reason("n01")
    assert cluster.counts("n01")["error"] == 1


def test_a_silent_slurm_is_waited_for_ten_seconds(cluster: GateCluster) -> None:
    """A second passes instead of the ten."""
    timeout = f'[ "$1 $2 $3" = "-s KILL 10" ] && shift 3 && exec {shutil.which("timeout")} -s KILL 1 "$@"\n'
    cluster.replace("timeout", timeout)
    cluster.replace("scontrol", "sleep 60\n")
    cluster.leave("bad", "n01")
    began = time.monotonic()
    assert cluster.ask("n01", "comment").startswith("error n01: ")
    assert 1 <= time.monotonic() - began < 30


def test_any_argument_passes(cluster: GateCluster) -> None:
    for node in ("../../etc/passwd", "n01\nn02", "-x", "", "a b"):
        assert cluster.ask(node).startswith(("error ?: ", "unknown "))


def test_a_new_good_verdict_ends_a_drain_that_a_requalification_made_ours(cluster: GateCluster) -> None:
    cluster.leave("good", "n01")
    assert cluster.ask("n01") == "good n01: run r1"
    cluster.state("n01", "drained", "seatrial: requalified")
    assert cluster.ask("n01") == "good n01: run r1", "the verdict is older than the drain"
    cluster.leave("good", "n01", ago_s=-1)
    assert cluster.ask("n01") == "good n01: run r1; resumed"
    assert cluster.reason("n01") == ""


@pytest.mark.parametrize(("blocks", "answer"), [(0, "error n01: "), (1, "bad n01: ")])
def test_a_limit_on_the_size_of_files_ends_no_gate(cluster: GateCluster, blocks: int, answer: str) -> None:
    """The system ends by a signal what writes beyond `ulimit -f`, and a Prolog that ends so drains its node."""
    cluster.leave("bad", "n01")
    process = cluster.start("n01", before=("sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh"))
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out.startswith(answer), out.count("\n")) == (0, True, 1)
    assert bool(cluster.reason("n01")) is (blocks > 0)
