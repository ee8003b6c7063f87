"""A job whose variables are gone is found by the cgroup or by an ancestor; the processes are files here."""

from pathlib import Path

from seatrial.slurm.hidden_job import hidden_job, judge_hidden_job


def process(proc: Path, number: int, parent: int, environ: bytes = b"", cgroup: str = "0::/user.slice\n") -> None:
    folder = proc / str(number)
    folder.mkdir()
    (folder / "stat").write_text(f"{number} (a ) b) S {parent} 1 1")
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
    (finding,) = [judge_hidden_job("variables", "12", "", slurm=False)]
    assert finding.statement == "This shell is inside job 12, and its SLURM_ variables and Slurm's commands are gone."


def test_outside_of_any_job_there_is_none(tmp_path: Path) -> None:
    process(tmp_path, 9, 8, b"SLURM_JOB_ID=\0")
    process(tmp_path, 8, 1)
    assert hidden_job(tmp_path, 9) == ""
    assert hidden_job(tmp_path, 12345) == ""
