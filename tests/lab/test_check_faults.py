"""What goes wrong on a real cluster while a check runs, and what is left of the run."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seatrial.archive.export import samples_file
from seatrial.archive.journal import Delivered, of_type
from seatrial.archive.layout import JOURNAL_FILE, PARTIAL
from seatrial.archive.reader import read_entries, read_run
from seatrial.archive.recovery import Recovery, recover_runs
from seatrial.archive.samples import query_samples
from seatrial.lab.cluster import planting
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.lab.faults.base import Parameters
from seatrial.model.run import Ending
from seatrial.process.process import run
from tests.lab.waiting import LONG_S, decided, eventually, wait_until_idle
from tests.support.json_objects import parsed

pytestmark = pytest.mark.lab
SEATRIAL = (sys.executable, "-m", "seatrial")


@pytest.fixture
def lab(lab4: LabPlan) -> LabPlan:
    return lab4


@pytest.fixture
def started(lab: LabPlan, tmp_path: Path) -> "Iterator[Callable[..., subprocess.Popen[str]]]":
    processes: list[subprocess.Popen[str]] = []

    def start(*more: str) -> "subprocess.Popen[str]":
        options = ["--no-nodes", "--no-loaded", "--json", "--round-timeout", "8s", "--archive", str(tmp_path)]
        argv = as_user(lab, [*SEATRIAL, "check", *options, *more])
        argv = ["env", "--default-signal=INT", *argv]  # tests that run in the background inherit it as ignored
        pipe = subprocess.PIPE
        processes.append(subprocess.Popen(argv, stdout=pipe, stderr=pipe, text=True, start_new_session=True))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait(60)


def wait_for_measurements(archive: Path, count: int) -> Path:
    """The journal of the run under way, once it holds so many measurements."""
    deadline = time.monotonic() + LONG_S
    while time.monotonic() < deadline:
        for journal in archive.glob(f"*{PARTIAL}/{JOURNAL_FILE}"):
            if journal.read_bytes().count(b'"entry":"measurement"') >= count:
                return journal
        time.sleep(0.05)
    raise AssertionError("the check never measured so much")


def test_killing_the_driver_loses_no_delivered_sample(
    lab: LabPlan, started: "Callable[..., subprocess.Popen[str]]", tmp_path: Path
) -> None:
    process = started()
    journal = wait_for_measurements(tmp_path, 20)
    os.kill(process.pid, signal.SIGKILL)  # nsenter and env replaced themselves by the driver
    process.communicate(timeout=LONG_S)
    whole, _, _ = journal.read_bytes().rpartition(b"\n")  # the kill may have cut the last line
    delivered = whole.count(b'"entry":"measurement"')
    found = parsed(run([*SEATRIAL, "runs", "recover", "--archive", str(tmp_path), "--json"], timeout_s=60).stdout)
    (recovered,) = found["recovered"]
    assert recovered["measurements"] >= delivered >= 20
    folder = Path(recovered["folder"])
    times = sum(len(one.measurement.times_s) for one in of_type(read_entries(folder), Delivered))
    assert query_samples([samples_file(folder)], "SELECT count(*) FROM samples WHERE NOT warm") == [(times,)]
    report = run([*SEATRIAL, "report", "--archive", str(tmp_path), "--json"], timeout_s=60)
    judged = parsed(report.stdout)
    assert judged["complete"] is False
    assert report.returncode == (1 if judged["findings"] else 2)  # there is one where others took the cores
    queued = as_user(lab, ["squeue", "-h", "-t", "PD,R"])
    assert eventually(lambda: run(queued, timeout_s=60).stdout == ""), "nobody gave its allocation back"


def recover(archive: Path, *options: str, elsewhere: bool = False) -> dict[str, list[dict[str, object]]]:
    """What `runs recover` prints; `elsewhere`: where it sees no process of the driver's, as on another host."""
    apart = ["unshare", "--pid", "--fork", "--mount-proc"] if elsewhere else []
    argv = [*apart, *SEATRIAL, "runs", "recover", "--archive", str(archive), "--json", *options]
    done = run(argv, timeout_s=90)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[dict[str, object]]] = parsed(done.stdout)
    return found


def test_a_check_under_way_is_not_recovered(started: "Callable[..., subprocess.Popen[str]]", tmp_path: Path) -> None:
    process = started("--budget", "10s")
    wait_for_measurements(tmp_path, 5)
    for _ in range(10):  # on an idle machine the check is over in less than three seconds
        left = recover_runs(tmp_path)
        assert (left.recovered, left.damaged) == ((), ())
        assert [one.pid for one in left.running] == [process.pid]
        time.sleep(0.1)
    found = recover(tmp_path, elsewhere=True)
    assert (found["recovered"], found["damaged"]) == ([], [])
    stdout, stderr = process.communicate(timeout=150)
    name = parsed(stdout)["run"]
    assert process.returncode in (0, 1, 2), stderr  # 2: pairs that a busy machine leaves undecided
    (folder,) = tmp_path.iterdir()
    whole = read_run(folder)
    assert (folder.name, whole.info.ending, whole.damage) == (name, Ending.COMPLETE, ())
    assert recover_runs(tmp_path) == Recovery()


def test_a_check_that_is_closed_by_force_keeps_all_it_measured(
    started: "Callable[..., subprocess.Popen[str]]", tmp_path: Path
) -> None:
    process = started()
    wait_for_measurements(tmp_path, 8)  # on an idle machine the rest takes little longer than the other command
    (recovered,) = recover(tmp_path, "--force")["recovered"]
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode in (1, 2), stderr
    assert "Traceback" not in stderr
    assert parsed(stdout)["complete"] is False
    whole = of_type(read_entries(tmp_path / f"{recovered['run']}-rescued"), Delivered)
    early = of_type(read_entries(Path(str(recovered["folder"]))), Delivered)
    assert whole[: len(early)] == early
    assert len(early) >= 8


def test_ctrl_c_keeps_what_was_measured(
    lab: LabPlan, started: "Callable[..., subprocess.Popen[str]]", tmp_path: Path
) -> None:
    process = started()
    wait_for_measurements(tmp_path, 20)
    os.kill(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=120)
    assert stdout, stderr
    judged = parsed(stdout)
    assert process.returncode == (1 if judged["findings"] else 2), stderr
    assert judged["complete"] is False
    assert "Interrupted" in " ".join(judged["notes"])
    assert not list(tmp_path.glob(f"*{PARTIAL}"))
    assert run(as_user(lab, ["squeue", "-h", "-t", "R"]), timeout_s=60).stdout == ""


@pytest.mark.parametrize(
    ("kind", "in_mid_run"),
    [
        ("slurmd-killed", True),
        pytest.param("node-down", True, marks=pytest.mark.series),
        pytest.param("slurmd-stopped", False, marks=pytest.mark.series),
    ],
)
def test_a_node_that_fails_is_named_and_the_others_are_measured(
    lab: LabPlan, started: "Callable[..., subprocess.Popen[str]]", tmp_path: Path, kind: str, in_mid_run: bool
) -> None:
    passed: set[tuple[str, str]] = set()

    def attempt() -> set[tuple[str, str]]:
        planting.clear(lab.name)
        wait_until_idle(lab)
        process = started() if in_mid_run else None
        if process:
            wait_for_measurements(tmp_path, 6)
        planting.plant(lab.name, kind, "n2", Parameters())
        process = process or started()
        stdout, stderr = process.communicate(timeout=240)
        assert process.returncode == 1, stderr
        judged = parsed(stdout)
        found = judged["findings"]
        assert [(one["kind"], one["subject"]) for one in found] == [("node-down", "node:n2")], (found, judged["pairs"])
        others = {(one["source"], one["target"]): one["verdict"] for one in judged["pairs"]}
        others = {pair: verdict for pair, verdict in others.items() if "n2" not in pair}
        assert len(others) == 6
        assert set(others.values()) <= {"PASS", "INCONCLUSIVE"}
        passed.update(pair for pair, verdict in others.items() if verdict == "PASS")
        return passed

    assert len(decided(attempt, lambda found: len(found) < 6)) == 6
