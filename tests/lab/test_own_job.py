"""A check inside a user's own job on a real Slurm: nothing is requested, the job's own steps are seen and judged."""

import sys
from pathlib import Path
from typing import Any

import pytest

from seatrial.archive.reader import find_run, read_info
from seatrial.lab.cluster.host_argv import as_user
from seatrial.lab.cluster.plan import LabPlan
from seatrial.process.process import Completed, run
from tests.support.json_objects import parsed

pytestmark = pytest.mark.lab
SEATRIAL = (sys.executable, "-m", "seatrial")
BESIDE = r"""
mkdir "$0"
srun --job-name=sleep --overlap -n4 --ntasks-per-node=2 --cpu-bind=map_cpu:0,0 \
    sh -c ': >"$0/$SLURM_PROCID"; exec sleep 600' "$0" &
until [ "$(ls "$0" | wc -l)" = 4 ]; do sleep 0.2; done
"$@"
code=$?
kill $!
squeue --noheader --format=%i
exit $code
"""


def in_job(lab: LabPlan, *words: str, environment: tuple[str, ...] = ()) -> Completed:
    # The same nodes each time: of others, the baseline of the first job says nothing, and it may still hold its own.
    job = ["salloc", "--quiet", "--nodelist=n[1-2]", "-n4", "--ntasks-per-node=2", "--exclusive"]
    return run(as_user(lab, [*job, "env", *environment, *words]), timeout_s=180)


def check(archive: Path) -> tuple[str, ...]:
    return (*SEATRIAL, "check", "--no-nodes", "--archive", str(archive), "--json")


def test_the_program_that_runs_is_judged_and_nothing_is_requested(lab4: LabPlan, tmp_path: Path) -> None:
    done = in_job(lab4, "sh", "-c", BESIDE, str(tmp_path / "started"), *check(tmp_path))
    text, _, jobs = done.stdout.rpartition("}")
    found: dict[str, Any] = parsed(text + "}")
    own = found["own_job"]
    assert len(jobs.split()) == 1, "a check in a job makes no job of its own"
    assert jobs.split() == [own["job"]]
    assert len(found["nodes"]) == 2
    assert [one["kind"] for one in found["findings"] if one["subject"] == f"job:{own['job']}"] == ["ranks-share-core"]
    assert (own["ranks_of"].partition(" on ")[0], len(own["ranks"])) == ("step 0 (sleep)", 4)
    assert done.returncode == 1
    info = read_info(find_run(tmp_path, "last"))
    assert info.own_job is not None
    assert info.settings is not None
    assert info.settings.site.budget_s <= 600


def test_a_job_without_a_program_is_judged_as_srun_would_start_it(lab4: LabPlan, tmp_path: Path) -> None:
    given = ("OMPI_MCA_btl=tcp,self", "OMP_PROC_BIND=master", "OMP_NUM_THREADS=2")
    first = parsed(in_job(lab4, *check(tmp_path), "--budget", "4s").stdout)
    assert first["own_job"]["steps"] == []
    assert first["past"] is None
    baseline = [*SEATRIAL, "baseline", "set", "good", first["run"], "--archive", str(tmp_path)]
    kept = run(as_user(lab4, baseline), timeout_s=60)
    assert kept.ok, kept.stderr
    words = (*check(tmp_path), "--budget", "4s", "--baseline", "good")
    found = parsed(in_job(lab4, *words, environment=given).stdout)
    assert (found["past"]["name"], found["past"]["runs"]) == ("good", [first["run"]])
    assert found["past"]["facts_run"] == first["run"]
    assert {one["node"] for one in found["past"]["nodes"]} <= {one["node"] for one in found["nodes"]}
    own = found["own_job"]
    assert (own["ranks_of"], len(own["ranks"])) == ("srun without options", 4)
    kinds = {one["kind"] for one in found["findings"] if one["subject"].startswith("job:")}
    kinds.discard("threads-share-core")  # as many cores as this machine has
    assert kinds == {"ranks-unbound", "job-transport", "job-binding"}
    assert own["variables"]["OMPI_MCA_btl"] == "tcp,self"
    assert any(line.startswith(f"Job {own['job']} on {lab4.name}") for line in own["ticket"])
