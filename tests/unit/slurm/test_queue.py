"""What squeue says of jobs that were left to it, and the jobs for single nodes."""

import pytest

from seatrial.model.errors import LaunchError
from seatrial.process.process import Completed
from seatrial.slurm import argv as slurm_argv
from seatrial.slurm import presence, queue

HOSTILE = "p; rm -rf / $(reboot) `x` 'y' \"z\" | & > <"
RECORDED = """\
1017|PENDING|n4|ReqNodeNotAvail, UnavailableNodes:n4
1018|PENDING|n3|Resources
1019|PENDING|n2|Priority
1020|COMPLETING|n1|None
1021|CANCELLED|n1|None
1007_2|FAILED||NonZeroExitCode
"""
"""squeue 22.05 on a lab where n4 is drained and n3 in use, and of an array's task."""


def test_lines_of_squeue() -> None:
    lines = queue.parse_queue(f"\n{RECORDED}slurm_load_jobs error: Socket timed out\n")
    assert [line.asked for line in lines] == ["n4", "n3", "n2", "n1", "n1", ""]
    assert [line.ended for line in lines] == [False, False, False, False, True, True]
    assert lines[0].why == (
        "PENDING: n4 is out of service: down, drained or powering down (ReqNodeNotAvail, UnavailableNodes:n4)"
    )
    assert lines[3].why == "COMPLETING"
    assert lines[5].why == "FAILED (NonZeroExitCode)"


def test_a_state_that_we_do_not_know_is_no_end() -> None:
    (line,) = queue.parse_queue("9|EXPEDITING|n1|None\n")
    assert (line.state, line.ended) == ("EXPEDITING", False)


@pytest.mark.parametrize(("said", "code"), [("slurm_load_jobs error: Invalid job id specified\n", 1), ("", 0)])
def test_a_job_that_slurm_knows_no_more(monkeypatch: pytest.MonkeyPatch, said: str, code: int) -> None:
    answer = Completed(argv=("squeue",), returncode=code, stdout="", stderr=said)
    monkeypatch.setattr(presence, "asked", lambda _: answer)
    assert queue.jobs_by_number("7") == ()


@pytest.mark.parametrize("timed_out", [False, True])
def test_no_answer_is_not_taken_for_the_end_of_a_job(monkeypatch: pytest.MonkeyPatch, timed_out: bool) -> None:
    said = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"
    answer = Completed(argv=("squeue",), returncode=1, stdout="", stderr=said, timed_out=timed_out)
    monkeypatch.setattr(presence, "asked", lambda _: answer)
    with pytest.raises(LaunchError, match="is not known"):
        queue.jobs_by_name("x", "0")


def test_a_job_for_one_node_asks_for_as_little_as_can_be() -> None:
    argv = slurm_argv.sbatch_alone("n1", HOSTILE, "seatrial-x", "/a b/batch.sh", ["/a b"], memory=True)
    assert argv == [
        "sbatch", "--parsable", "--nodes=1", "--ntasks=1", "--cpus-per-task=1", "--mem=200M", "--nodelist=n1",
        "--job-name=seatrial-x", "--time=2", f"--partition={HOSTILE}", "--no-requeue", "--chdir=/",
        "--output=/dev/null", "/a b/batch.sh", "/a b",
    ]  # fmt: skip
    assert not [word for word in slurm_argv.sbatch_alone("n1", "", "x", "s", [], memory=False) if "--mem" in word]


def test_asking_and_ending_by_name() -> None:
    assert slurm_argv.cancel_named("x", "1000") == ["scancel", "--user=1000", "--name=x"]
    assert slurm_argv.queue_of_name("x", "1000")[:5] == [
        "squeue", "--noheader", "--states=all", "--user=1000", "--name=x",
    ]  # fmt: skip
