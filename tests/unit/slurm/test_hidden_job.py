"""A job whose variables are gone is found by the cgroup or by an ancestor; the processes are files here."""

from pathlib import Path

import pytest

from seatrial.slurm.job import hidden_job, job_of_session, judge_hidden_job, salloc_session
from tests.support.slurm_scripts import in_place_of_slurm


def process(
    proc: Path, number: int, parent: int, environ: bytes = b"", cgroup: str = "0::/user.slice\n", name: str = "a ) b"
) -> None:
    folder = proc / str(number)
    folder.mkdir()
    (folder / "stat").write_text(f"{number} ({name}) S {parent} 1 33")
    (folder / "environ").write_bytes(environ)
    (folder / "cgroup").write_text(cgroup)


def test_an_ancestor_within_salloc_names_the_job(tmp_path: Path) -> None:
    process(tmp_path, 9, 8, b"PATH=/bin\0")
    process(tmp_path, 8, 7, b"MY_SLURM_JOB_ID=5\0HOME=/\0")
    process(tmp_path, 7, 1, b"HOME=/\0SLURM_JOB_ID=4711\0SLURM_NNODES=2\0")
    assert hidden_job(tmp_path, 9) == "4711"


def test_the_cgroup_names_it_where_ancestors_are_not_seen(tmp_path: Path) -> None:
    process(tmp_path, 9, 0, cgroup="0::/../../slurmstepd.scope/job_12/step_0/user\n")
    assert hidden_job(tmp_path, 9) == "12"
    (finding,) = [judge_hidden_job("variables", "12", "", "Slurm's commands")]
    assert finding.statement == "This shell is inside job 12, and its SLURM_ variables and Slurm's commands are gone."


def test_salloc_itself_names_the_session_by_which_slurm_knows_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process(tmp_path, 9, 8)
    process(tmp_path, 8, 7, b"HOME=/\0", name="salloc")
    process(tmp_path, 7, 1)
    assert hidden_job(tmp_path, 9) == ""
    assert salloc_session(tmp_path, 9) == "33"
    assert salloc_session(tmp_path, 7) == ""
    slurm = in_place_of_slurm(tmp_path / "slurm", tmp_path / "runs", monkeypatch)
    lines = ("5 login 33 COMPLETED", "6 login2 33 RUNNING", "7 login.site 33 RUNNING", "8 login 34 RUNNING")
    slurm.says("squeue", "".join(f"{line}\n" for line in lines))
    assert job_of_session("33", "login") == "7"
    assert job_of_session("35", "login") == ""
    slurm.says("squeue", "7 login 33 RUNNING\n9 login 33 RUNNING\n")
    assert job_of_session("33", "login") == "", "two jobs of one shell: either may be the one"
    finding = judge_hidden_job("variables", "", "", "Slurm's commands")
    assert finding.statement.startswith("This shell is inside a job of salloc, and its SLURM_ variables")


def test_outside_of_any_job_there_is_none(tmp_path: Path) -> None:
    process(tmp_path, 9, 8, b"SLURM_JOB_ID=\0")
    process(tmp_path, 8, 1)
    assert hidden_job(tmp_path, 9) == ""
    assert hidden_job(tmp_path, 12345) == ""
