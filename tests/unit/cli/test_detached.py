"""A check left to the queue, and collected: with scripts in Slurm's place that say what Slurm would."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from seatrial.archive import recovery
from seatrial.archive.reader import run_folders
from seatrial.archive.recovery import Recovered, recover
from seatrial.archive.writer import ArchiveError, RunWriter
from seatrial.driver import detached
from seatrial.driver.detached import SCRIPT, settings_within
from seatrial.driver.submitted import read_settings, write_settings
from seatrial.frame import command_line
from seatrial.model.errors import SeatrialError
from seatrial.model.run import Ending
from seatrial.model.settings import CheckSettings
from tests.lab.waiting import eventually
from tests.support.builders import Cluster, abandoned, fill, info_of, names, record, sail, slow_part
from tests.support.command_line import Seatrial
from tests.support.json_objects import frame
from tests.support.slurm_scripts import SlurmScripts

CLUSTER = Cluster(nodes=names(3), parts=slow_part("node", "n2", 0.6))


def submit(*options: str) -> int:
    code: int = command_line.run(["check", "--detach", "--run", "later", "--probe", "/bin/true", *options])
    return code


def submitted_settings(archive: Path) -> Path:
    """The file with the settings of the job."""
    (file,) = (archive / "later.submitted").glob("settings-*.json")
    return file


def slurm_script(archive: Path) -> Path:
    """The copy of the batch script that Slurm keeps, which it executes."""
    script = archive.parent / "slurm_script"
    script.write_text(SCRIPT)
    script.chmod(0o755)
    return script


def test_what_is_handed_to_the_queue(slurm: SlurmScripts, archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert submit("--budget", "2m", "--seed", "7") == 0
    assert "Submitted job 42; `seatrial runs collect later`" in capsys.readouterr().out
    asked = slurm.asked("sbatch")
    assert "--nodelist=n[1-3]" in asked
    (script,) = (at for at, word in enumerate(asked) if word.endswith("/batch.sh"))
    assert archive not in Path(asked[script]).parents, "the script lies where others may be able to replace it"
    assert asked[script + 1] == str(archive / "later" / "run.json")
    assert asked[script + 2 : script + 7] == [sys.executable, "-P", "-m", "seatrial", "check"]
    assert asked[script + 7 :] == ["--settings", str(submitted_settings(archive))]
    settings = read_settings(Path(asked[-1]))
    assert (settings.archive, settings.probe) == (archive, Path("/bin/true"))
    assert (settings.run, settings.budget_s, settings.seed, settings.launcher) == ("later", 120.0, 7, "slurm")


def test_a_job_takes_every_setting_but_those_that_the_job_decides(tmp_path: Path) -> None:
    changed = CheckSettings(
        archive=tmp_path, nodes=("n1", "n2"), partition="main", idle_only=True, node_hours=2.0, design="sparse",
        pairs_at_once=3, loaded=False, ranks=4, wait_s=7.0, round_timeout_s=8.0, mpi="pmix", mpicc="cc", effect=0.02,
        latency_effect=0.2, probe=tmp_path / "probe", probe_dir=tmp_path, environment="module:x", wrap="inside", seed=9,
        fabric="live", routes="live", device="mlx5_1", budget_s=77.0, command=("check", "--detach"),
    )  # fmt: skip
    given = read_settings(write_settings(tmp_path, settings_within(changed, "later")))
    decided = {"run": "later", "launcher": "slurm", "nodes": (), "partition": "", "idle_only": False, "node_hours": 0.0}
    assert given == replace(changed, **decided)


def test_a_check_starts_with_the_settings_of_a_file(
    slurm: SlurmScripts, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[CheckSettings] = []

    def run_check(settings: CheckSettings, progress: object) -> None:
        seen.append(settings)
        raise SeatrialError("far enough")

    monkeypatch.setattr("seatrial.commands.check.run.run_check", run_check)
    submit("--effect", "2%", "--design", "sparse")
    file = submitted_settings(archive)
    assert command_line.run(["check", "--settings", str(file)]) == 2
    assert (seen[0].effect, seen[0].design, seen[0].run) == (0.02, "sparse", "later")
    good = file.read_bytes()
    for changed in (b"{", good.replace(b'"/bin/true"', b'"/bin/evil"')):
        file.write_bytes(changed)
        assert command_line.run(["check", "--settings", str(file)]) == 2
    aside = file.rename(file.with_name("settings.json"))
    aside.write_bytes(good)
    assert command_line.run(["check", "--settings", str(aside)]) == 2
    assert len(seen) == 1, "settings that were not submitted say what is executed"


@pytest.mark.parametrize(
    ("ending", "child", "code"),
    [
        (Ending.COMPLETE, "exit 0", 0),
        (Ending.COMPLETE, "exit 1", 0),
        (Ending.COMPLETE, "exit 2", 0),
        (Ending.FAILED, "exit 2", 2),
        (Ending.INTERRUPTED, "exit 2", 2),
        (None, "exit 1", 1),
        (None, "exit 2", 2),
        (None, "exit 64", 64),
        (Ending.COMPLETE, "exit 70", 70),
        (Ending.COMPLETE, "kill -9 $$", 137),
    ],
)
def test_only_a_check_that_did_not_work_is_a_failed_job(
    slurm: SlurmScripts, archive: Path, ending: Ending | None, child: str, code: int
) -> None:
    submit()
    if ending is not None:
        record(CLUSTER, archive, "later", ending=ending)
    batch = slurm_script(archive)
    run_file = archive / "later" / "run.json"
    assert subprocess.run([batch, run_file, "sh", "-c", child], timeout=60, check=False).returncode == code


def test_a_job_that_is_ended_lets_the_check_close_its_run(slurm: SlurmScripts, archive: Path, tmp_path: Path) -> None:
    """Slurm sends SIGTERM to every process of the job, and ends what is left when the script is over."""
    submit()
    child = f"trap 'sleep 0.3; : >{tmp_path}/closed; exit 2' TERM; : >{tmp_path}/begun; while :; do sleep 0.05; done"
    batch = slurm_script(archive)
    with subprocess.Popen([batch, "/no/run.json", "sh", "-c", child], start_new_session=True) as job:
        assert eventually((tmp_path / "begun").exists)
        os.killpg(job.pid, signal.SIGTERM)
        assert job.wait(60) == 2
    assert (tmp_path / "closed").exists()


def test_while_it_waits_its_state_is_said_and_the_exit_code_is_2(slurm: SlurmScripts, seatrial: Seatrial) -> None:
    submit()
    ran = seatrial("runs", "collect", code=2)
    said = "later: job 42 is PENDING: other jobs use the nodes (Resources)."
    assert ran.out == f"{said}\n"
    told = seatrial("runs", "collect", "later", "--json", code=2).object
    assert (told["kind"], told["run"], told["exit_code"], told["data"]) == ("runs collect", "later", 2, {"state": said})
    (name,) = [word for word in slurm.asked("sbatch") if word.startswith("--job-name=seatrial-")]
    assert name.replace("--job-name", "--name") in slurm.asked("squeue")


def test_a_job_that_will_never_start_is_told_with_what_to_do(
    slurm: SlurmScripts, archive: Path, seatrial: Seatrial
) -> None:
    submit()
    slurm.says("squeue", "42|PENDING|n[1-3]|PartitionTimeLimit\n")
    told = seatrial("runs", "collect", "later", code=2).out
    assert "(PartitionTimeLimit). This job can never start. Give a shorter --budget" in told
    assert told.endswith("To cancel it: scancel 42\n")
    if os.geteuid() == 0:
        os.chown(archive / "later.submitted", 65534, 65534)
        told = seatrial("runs", "collect", "later", code=2).out
        assert "scancel" not in told, "another user may have named a job of this one's"


def test_what_was_submitted_as_json(slurm: SlurmScripts, capsys: pytest.CaptureFixture[str]) -> None:
    assert submit("--json") == 0
    told = frame(capsys.readouterr().out)
    assert (told["kind"], told["run"], told["data"]) == ("submitted", "later", {"job": "42", "cut": ""})


def test_while_slurm_does_not_answer_a_run_that_may_go_on_is_left_alone(
    slurm: SlurmScripts, archive: Path, seatrial: Seatrial
) -> None:
    submit()
    fill(RunWriter(archive, info_of(CLUSTER, run="later", ending=Ending.RUNNING)), CLUSTER, sail(CLUSTER))
    slurm.says("squeue", "squeue: error: Unable to contact slurm controller (connect failure)\n", 1)
    assert "The state of the job is not known" in seatrial("runs", "collect", "later", code=2).err
    assert (archive / "later.partial").is_dir()


def test_what_was_handed_in_under_a_name_is_not_overwritten(
    slurm: SlurmScripts, archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submit()
    assert submit() == 64
    assert "There is a run 'later' already" in capsys.readouterr().err
    record(CLUSTER, archive, "direct")
    assert submit("--run", "direct") == 64
    assert len(slurm.all_asked("sbatch")) == 1


def test_a_job_that_cannot_be_written_down_is_taken_back(
    slurm: SlurmScripts, archive: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial
) -> None:
    def full(*_: object) -> None:
        raise ArchiveError("No space left")

    monkeypatch.setattr(detached, "write_submitted", full)
    assert submit() == 2
    assert_called_off(slurm)
    assert list(archive.iterdir()) == []


def assert_called_off(slurm: SlurmScripts) -> None:
    """By the name that it was handed in under, whether its number is known or not."""
    (name,) = [word for word in slurm.asked("sbatch") if word.startswith("--job-name=")]
    assert slurm.asked("scancel")[-1] == name.replace("--job-name", "--name")


def test_a_job_that_slurm_took_without_saying_so_is_taken_back(slurm: SlurmScripts) -> None:
    slurm.says("sbatch", "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n", 1)
    assert submit() == 2
    assert_called_off(slurm)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("42|FAILED|n[1-3]|NonZeroExitCode", "ended without results"),
        ("42|CANCELLED|n[1-3]|None", "without results: it was cancelled"),
        ("42|PREEMPTED|n[1-3]|None", "without results: it wrote no output (PREEMPTED); its nodes may not see"),
        ("42|FAILED|n[1-3]|RaisedSignal:53", "it wrote no output (FAILED (RaisedSignal:53)); its nodes may not see"),
        ("42|FAILED|n[1-3]|JobLaunchFailure", "it wrote no output (FAILED (JobLaunchFailure)); its nodes may not see"),
        ("", "it wrote no output; its nodes may not see this folder (--archive names a shared one)"),
    ],
)
def test_how_a_job_ended_that_wrote_nothing(line: str, said: str, slurm: SlurmScripts, seatrial: Seatrial) -> None:
    submit()
    slurm.says("squeue", f"{line}\n")
    assert said in seatrial("runs", "collect", "later", code=2).out


def test_a_run_that_is_still_written_is_not_closed(slurm: SlurmScripts, archive: Path, seatrial: Seatrial) -> None:
    submit()
    writer = RunWriter(archive, info_of(CLUSTER, run="later", ending=Ending.RUNNING))
    fill(writer, CLUSTER, sail(CLUSTER))
    slurm.says("squeue", "")
    ran = seatrial("runs", "collect", "later", code=2)
    assert "job 42 is not in the queue, but its run is still being written on " in ran.out
    abandoned(writer)
    seatrial("runs", "collect", "later", code=1)


@pytest.mark.parametrize("quicker", [True, False])
def test_who_collects_second_reports_what_the_first_has_closed(
    slurm: SlurmScripts, archive: Path, monkeypatch: pytest.MonkeyPatch, seatrial: Seatrial, quicker: bool
) -> None:
    submit()
    fill(abandoned(RunWriter(archive, info_of(CLUSTER, run="later"))), CLUSTER, sail(CLUSTER))
    slurm.says("squeue", "")

    def both(folder: Path) -> Recovered:
        if quicker:
            recover(folder)
        else:
            folder.rename(folder.with_name("later.01234567-1-1-89abcdef.closing"))
        return recover(folder)

    monkeypatch.setattr(recovery, "recover", both)
    ran = seatrial("runs", "collect", "later", code=1 if quicker else 2)
    assert ("another process is closing its run" in ran.out) is not quicker


def test_a_damaged_job_file_is_a_sentence(slurm: SlurmScripts, archive: Path, seatrial: Seatrial) -> None:
    submit()
    (archive / "later.submitted" / "job.json").write_text("{")
    assert "job.json cannot be read" in seatrial("runs", "collect", code=2).err


def test_a_whole_name_is_found_beside_one_that_begins_so(slurm: SlurmScripts, seatrial: Seatrial) -> None:
    submit()
    submit("--run", "later2")
    assert seatrial("runs", "collect", "later", code=2).out.startswith("later: job 42")
    assert "could be 2 runs: later, later2" in seatrial("runs", "collect", "lat", code=64).err


def test_once_it_is_over_it_is_reported_and_exits_as_it_did(
    slurm: SlurmScripts, archive: Path, seatrial: Seatrial
) -> None:
    submit()
    record(CLUSTER, archive, "later")
    slurm.says("squeue", "")
    assert "n2" in seatrial("runs", "collect", "la", code=1).out


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to own runs as two users")
def test_a_result_is_found_although_others_took_its_name(
    slurm: SlurmScripts, archive: Path, seatrial: Seatrial
) -> None:
    submit()
    record(CLUSTER, archive, "later")
    os.chown(archive / "later", 65534, 65534)
    slurm.says("squeue", "")
    record(CLUSTER, archive, "later-closed", job="7")
    assert "ended without results" in seatrial("runs", "collect", "later", code=2).out, "it is of another job"
    record(CLUSTER, archive, "later-closed-0123abcd", job="42")
    assert "n2" in seatrial("runs", "collect", "later", code=1).out


def test_a_job_that_is_gone_in_mid_work_is_recovered(slurm: SlurmScripts, archive: Path, seatrial: Seatrial) -> None:
    submit()
    fill(abandoned(RunWriter(archive, info_of(CLUSTER, run="later"))), CLUSTER, sail(CLUSTER))
    slurm.says("squeue", "slurm_load_jobs error: Invalid job id specified\n", 1)
    seatrial("runs", "collect", "later", code=1)
    assert [folder.name for folder in run_folders(archive)] == ["later"]


def test_a_job_that_is_gone_without_a_trace_leaves_its_last_word(
    slurm: SlurmScripts, archive: Path, seatrial: Seatrial
) -> None:
    submit()
    slurm.says("squeue", "")
    (archive / "later.submitted" / "output.txt").write_text("first\nslurmstepd: error: \x1b[31mKilled\n")
    ran = seatrial("runs", "collect", "later", code=2)
    assert ran.out == "later: job 42 ended without results: slurmstepd: error: Killed\n"


def test_a_job_that_slurm_does_not_take_leaves_nothing_behind(
    slurm: SlurmScripts, archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.says("sbatch", "sbatch: error: Batch job submission failed: Invalid account\n", 1)
    assert submit() == 2
    assert "Slurm accepts no job: Batch job submission failed: Invalid account." in capsys.readouterr().err
    assert list(archive.iterdir()) == []


def test_without_slurm_nothing_can_be_left_to_it(slurm: SlurmScripts, capsys: pytest.CaptureFixture[str]) -> None:
    slurm.runs("sinfo", "exit 127")
    assert submit() == 64
    assert "--detach needs Slurm" in capsys.readouterr().err


def test_a_partition_or_node_that_does_not_exist_is_shown(
    slurm: SlurmScripts, capsys: pytest.CaptureFixture[str]
) -> None:
    assert submit("--partition", "p; reboot") == 64
    assert "'p; reboot'" in capsys.readouterr().err
    assert submit("--nodes", "n[1-2],n9") == 64
    assert "'n9'" in capsys.readouterr().err


def test_a_run_that_was_not_submitted_is_refused(slurm: SlurmScripts, archive: Path, seatrial: Seatrial) -> None:
    record(CLUSTER, archive, "direct")
    assert "'direct' was not submitted by --detach" in seatrial("runs", "collect", "direct", code=64).err
