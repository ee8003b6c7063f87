"""Facts of many nodes, left to the queue: a job for each, and what is said of them later."""

import hashlib
import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from seatrial.commands.facts import detached
from seatrial.commands.facts.detached import SCRIPT
from seatrial.driver.submitted import find_submitted
from seatrial.frame import command_line
from tests.support.command_line import Seatrial
from tests.support.json_objects import parsed
from tests.support.slurm_scripts import SlurmScripts


def submit(*options: str, nodes: str = "n[1-3]") -> int:
    code: int = command_line.run(["facts", nodes, "--detach", "--run", "later", *options])
    return code


def collect(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """What `runs collect --json` says, with its exit code."""
    capsys.readouterr()
    code = command_line.run(["runs", "collect", "later", "--json"])
    return {**parsed(capsys.readouterr().out), "code": code}


def batch(folder: Path) -> Path:
    """The copy of the batch script that Slurm keeps."""
    script = folder.parent / "slurm_script"
    script.write_text(SCRIPT)
    return script


def digest(folder: Path) -> str:
    """The SHA-256 of the collector that lies there."""
    return hashlib.sha256((folder / "collect.sh").read_bytes()).hexdigest()


def read_on(folder: Path, node: str, prefix: str = "", submitted: str = "") -> subprocess.CompletedProcess[str]:
    """Run the batch script as Slurm would on that node."""
    argv = ["sh", str(batch(folder)), str(folder), submitted or digest(folder)]
    command = ["sh", "-c", f'{prefix} exec "$@"', "sh", *argv] if prefix else argv
    alone = {**os.environ, "SLURMD_NODENAME": node, "SEATRIAL_FACTS": "quick"}
    return subprocess.run(command, env=alone, capture_output=True, text=True, check=False, timeout=60)


def test_each_node_gets_a_small_job_of_its_own(
    slurm: SlurmScripts, archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.says("sinfo", "n1|idle|p*|none\nn2|allocated|p*|none\nn3|drained|p*|broken\n")
    assert submit() == 0
    out = capsys.readouterr().out
    assert "2 jobs called seatrial-" in out
    assert "left out  n3: Slurm says drained (broken)" in out
    calls = slurm.all_asked("sbatch")
    assert [[word for word in call if word.startswith("--nodelist")] for call in calls] == [
        ["--nodelist=n1"],
        ["--nodelist=n2"],
    ]
    folder = archive / "later.submitted"
    assert calls[0][-2:] == [str(folder), digest(folder)]
    assert archive not in Path(calls[0][-3]).parents, "the script lies where others may be able to replace it"
    assert {"--ntasks=1", "--cpus-per-task=1", "--time=2", "--no-requeue"} <= set(calls[0])
    assert not [word for word in calls[0] if word.startswith(("--exclusive", "--mem", "--array", "--partition"))]
    assert len({word for call in calls for word in call if word.startswith("--job-name=seatrial-")}) == 1


def test_memory_is_asked_for_where_it_is_given_out(slurm: SlurmScripts) -> None:
    slurm.says("scontrol", "ClusterName = demo\nSelectTypeParameters = CR_CORE_MEMORY\n")
    assert submit("--partition", "normal") == 0
    assert {"--mem=200M", "--partition=normal"} <= set(slurm.asked("sbatch"))


def test_what_a_job_writes_is_a_recording(slurm: SlurmScripts, archive: Path, seatrial: Seatrial) -> None:
    submit()
    folder = archive / "later.submitted"
    assert read_on(folder, "n2").returncode == 0
    assert sorted(path.name for path in folder.iterdir() if path.suffix == ".facts") == ["n2.facts"]
    assert list((folder / "logs").iterdir()) == []
    assert list(seatrial("facts", "--from", folder, "--json").data["nodes"]) == ["n2"]


def test_what_was_read_can_be_gathered_without_its_names(
    slurm: SlurmScripts, archive: Path, tmp_path: Path, seatrial: Seatrial
) -> None:
    slurm.says("sinfo", "secret7|idle|normal*|none\nother8|drained|normal*|none\n")
    submit(nodes="secret7,other8")
    folder = archive / "later.submitted"
    assert read_on(folder, "secret7").returncode == 0
    target = tmp_path / "shared"
    ran = seatrial("facts", "--from", folder, "--scrub", "--output", str(target), code=2)
    assert "n1 gave no facts: Slurm says drained" in ran.err
    written = {path.name: path.read_text() for path in target.rglob("*") if path.is_file()}
    assert {"n2.facts", "gather.json", "sinfo.txt"} <= set(written)
    assert not [name for name, text in written.items() if "secret7" in text or "other8" in text]
    seatrial("facts", "--from", folder, "--node-hours", "1", "--output", tmp_path / "x", code=64)


def test_how_far_it_is(slurm: SlurmScripts, archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    submit()
    folder = archive / "later.submitted"
    (folder / "n1.facts").write_text("#seatrial")
    slurm.says("squeue", "42|RUNNING|n2|None\n43|PENDING|n3|Resources\n")
    found = collect(capsys)
    assert (found["code"], found["read"]) == (2, ["n1"])
    assert found["waiting"] == {"n2": "RUNNING", "n3": "PENDING: other jobs use the nodes (Resources)"}
    assert command_line.run(["runs", "collect", "later"]) == 2
    out = capsys.readouterr().out
    assert out.startswith("later: 1 of 3 nodes read.\n")
    _, submitted = find_submitted(archive, "later")
    assert f"scancel --user={os.geteuid()} --name={submitted.name}" in out
    assert f"seatrial facts --from {shlex.quote(str(folder))} --drift" in out
    for node in ("n2", "n3"):
        (folder / f"{node}.facts").write_text("#seatrial")
    assert collect(capsys)["code"] == 0
    assert json.loads((folder / "gather.json").read_text())["nodes"] == ["n1", "n2", "n3"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to own folders as two users")
def test_no_command_to_cancel_jobs_that_another_user_named(
    slurm: SlurmScripts, archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submit()
    os.chown(archive / "later.submitted", 65534, 65534)
    slurm.says("squeue", "42|RUNNING|n2|None\n")
    found = collect(capsys)
    assert (found["cancel"], found["waiting"]) == ("", {"n2": "RUNNING"})
    assert command_line.run(["runs", "collect", "later"]) == 2
    assert "scancel" not in capsys.readouterr().out


@pytest.mark.parametrize("changed", [{"name": "seatrial-a,mine"}, {"user": "root,1000"}, {"job": "1,2"}, {"name": "x"}])
def test_a_list_of_jobs_is_no_job(
    slurm: SlurmScripts, archive: Path, capsys: pytest.CaptureFixture[str], changed: dict[str, str]
) -> None:
    submit()
    path = archive / "later.submitted" / "job.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    asked = len(slurm.all_asked("squeue"))
    assert command_line.run(["runs", "collect", "later"]) == 2
    assert "which no job of seatrial's has" in capsys.readouterr().err
    assert len(slurm.all_asked("squeue")) == asked


def test_why_a_node_was_not_read(slurm: SlurmScripts, archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    submit()
    (archive / "later.submitted" / "logs" / "n1.txt").write_text("sh: printf: write error: No space left\n")
    slurm.says("squeue", "43|CANCELLED|n2|None\n44|FAILED|n3|NonZeroExitCode\n")
    found = collect(capsys)
    assert (found["code"], found["waiting"]) == (2, {})
    failed = found["failed"]
    assert isinstance(failed, dict)
    assert failed["n1"] == "sh: printf: write error: No space left"
    assert failed["n2"] == "its job was cancelled"
    assert "FAILED (NonZeroExitCode)" in failed["n3"]
    slurm.says("squeue", "")
    failed = collect(capsys)["failed"]
    assert isinstance(failed, dict)
    assert "it has no job and wrote nothing" in failed["n3"]


def test_while_slurm_does_not_answer_no_node_is_called_failed(slurm: SlurmScripts, seatrial: Seatrial) -> None:
    submit()
    slurm.says("squeue", "squeue: error: Unable to contact slurm controller (connect failure)\n", 1)
    assert "The state of the job is not known" in seatrial("runs", "collect", "later", code=2).err


@pytest.mark.parametrize("broken", ["exit 3", "printf 'half a stream'; exit 1"])
def test_a_stream_that_breaks_off_is_none(slurm: SlurmScripts, archive: Path, broken: str) -> None:
    submit()
    folder = archive / "later.submitted"
    (folder / "collect.sh").write_text(f"echo oh >&2; {broken}\n")
    assert read_on(folder, "n1").returncode == 1
    assert [path.name for path in folder.iterdir() if "n1" in path.name] == []
    assert (folder / "logs" / "n1.txt").read_text() == "oh\n"


def test_a_collector_that_somebody_has_changed_is_not_executed(slurm: SlurmScripts, archive: Path) -> None:
    submit()
    folder = archive / "later.submitted"
    submitted = slurm.asked("sbatch")[-1]
    (folder / "collect.sh").write_text(f"touch {archive}/pwned\n")
    assert read_on(folder, "n1", submitted=submitted).returncode == 1
    assert not (archive / "pwned").exists()
    assert "is not what was submitted, and was not executed" in (folder / "logs" / "n1.txt").read_text()


def test_a_disk_that_is_full_leaves_no_half_stream(slurm: SlurmScripts, archive: Path) -> None:
    submit()
    folder = archive / "later.submitted"
    assert read_on(folder, "n1", prefix="trap '' XFSZ; ulimit -f 8;").returncode == 1
    assert [path.name for path in folder.iterdir() if "n1" in path.name] == []


def test_a_folder_that_the_node_does_not_see_ends_the_job_at_once(slurm: SlurmScripts, archive: Path) -> None:
    submit()
    folder = archive / "later.submitted"
    script = ["sh", str(batch(folder)), str(archive / "nowhere"), digest(folder)]
    assert subprocess.run(script, check=False, capture_output=True, timeout=60).returncode == 1


def test_nodes_for_which_slurm_takes_no_job_are_named_and_do_not_stop_the_others(
    slurm: SlurmScripts, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.runs(
        "sbatch",
        "case \"$*\" in *nodelist=n2*) echo 'sbatch: error: Invalid node name specified' >&2; exit 1;; esac; echo 7",
    )
    assert submit("--json") == 0
    told = parsed(capsys.readouterr().out)
    assert told["nodes"] == ["n1", "n3"]
    assert "not in the partition" in told["left_out"]["n2"]


def test_a_job_that_slurm_took_without_saying_so_counts(
    slurm: SlurmScripts, archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.runs(
        "sbatch",
        "case \"$*\" in *nodelist=n2* | *nodelist=n3*) echo 'error: Socket timed out' >&2; exit 1;; esac; echo 7",
    )
    assert submit() == 0
    folder = archive / "later.submitted"
    for node in ("n1", "n2"):
        (folder / f"{node}.facts").write_text("#seatrial")
    slurm.says("squeue", "9|PENDING|n3|Priority\n")
    found = collect(capsys)
    assert (found["read"], found["left_out"]) == (["n1", "n2"], {})
    assert found["waiting"] == {"n3": "PENDING: jobs with a higher priority come first (Priority)"}


def test_where_slurm_takes_no_job_at_all_nothing_is_left_behind(
    slurm: SlurmScripts, archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.says("sinfo", "".join(f"n{place}|idle|normal*|none\n" for place in range(1, 21)))
    slurm.says("sbatch", "sbatch: error: Batch job submission failed: Invalid account\n", 1)
    assert submit(nodes="n[1-20]") == 2
    assert "Slurm accepts no job: Batch job submission failed: Invalid account." in capsys.readouterr().err
    assert list(archive.iterdir()) == []
    assert len(slurm.all_asked("sbatch")) == detached.MOST_REFUSED
    assert slurm.asked("scancel")[1].startswith("--name=seatrial-2")


def test_node_hours_leave_nodes_out(slurm: SlurmScripts, capsys: pytest.CaptureFixture[str]) -> None:
    assert submit("--node-hours", "0.07", "--json") == 0
    told = parsed(capsys.readouterr().out)
    assert told["nodes"] == ["n1", "n2"]
    assert told["left_out"] == {"n3": "left out to stay within --node-hours 0.07"}
    assert submit("--node-hours", "0.01", "--run", "other") == 64
    assert "Give at least 0.04." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--detach"], "Name NODES"),
        (["n1", "--detach", "--drift"], "--drift does not go with --detach, only with a report of the facts"),
        (["n1", "--detach", "--from", "x"], "--from does not go with --detach"),
        (["n1", "--detach", "--idle-only"], "Give only one of them"),
        (["n1", "--detach", "--run", "../up"], "'../up'"),
        (["n9", "--detach"], "'n9'"),
        (["--run", "x"], "--run does not go with a report of the facts, only with --detach"),
        (["--idle-only"], "--idle-only needs nodes"),
        (["--node-hours", "1"], "--node-hours needs nodes"),
    ],
)
def test_options_that_do_not_fit(
    slurm: SlurmScripts, archive: Path, seatrial: Seatrial, arguments: list[str], said: str
) -> None:
    assert said in seatrial("facts", *arguments, code=64).err
    assert not archive.exists()


def test_it_is_not_done_inside_a_job(
    slurm: SlurmScripts, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert submit() == 64
    assert "outside any job" in capsys.readouterr().err
