"""The steps and ranks of a user's own job, from what squeue and the tasks print."""

import os
from pathlib import Path

from seatrial.model.past import JobStep, OwnJob
from seatrial.process.process import run
from seatrial.slurm.held_nodes import RUNNING, STARTED, parse_ranks, parse_steps, running_ranks, started_ranks
from tests.support.collecting import program


def test_steps_of_the_user_are_told_from_those_of_slurm_and_our_own() -> None:
    """Step 4 read the facts: it has ended, and Slurm may list it for some time."""
    text = "7.batch|n1|batch\n7.extern|n[1-2]|extern\n7.0|n[1-2]|my|app\n7.3|n1|bash\n7.4|n[1-2]|seatrial\nnonsense\n"
    assert parse_steps(text, own="3") == (JobStep(number="0", nodes="n[1-2]", name="my|app"),)


def test_the_program_is_the_step_on_the_most_nodes_and_the_newest() -> None:
    steps = [
        JobStep(number=number, name="x", nodes=nodes)
        for number, nodes in (("9", "n1"), ("2", "n[1-3]"), ("10", "n[2-4]"))
    ]
    program = OwnJob(job="7", steps=tuple(steps)).program
    assert program is not None and program.number == "10"
    assert OwnJob(job="7").line == "srun without options"


def test_ranks_are_read_by_step_and_bad_lines_left_out() -> None:
    text = "rank|n1|0|1|22|0-1|app|x\nrank|n1|0|0|21|2|app\nrank|n2|5|0|9||sh\n"
    text += "rank|n1|0|x|1|0|app\nsrun: hello\nrank|n1|0\n"
    found = parse_ranks(text)
    assert [(one.rank, one.node, one.cpus, one.pid) for one in found["0"]] == [
        (0, "n1", (2,), 21),
        (1, "n1", (0, 1), 22),
    ]
    assert found["5"][0].cpus == ()


def script(text: str, folder: Path, **variables: str) -> str:
    own = {"PATH": f"{folder}:{os.environ['PATH']}", "SLURMD_NODENAME": "n1", "SLURM_JOB_ID": "7", **variables}
    return run(["sh", "-c", text], timeout_s=60, extra_environment=own).stdout


def test_the_script_prints_the_mask_of_each_task_of_other_steps(tmp_path: Path) -> None:
    own = os.getpid()
    rows = f"PID JOBID STEPID LOCALID GLOBALID\n{own} 7 0 0 4\n{own} 7 9 0 0\n{own} 7 batch - -\n999999 7 0 1 5\n"
    program(tmp_path, "scontrol", f"cat <<END\n{rows}END")
    (rank,) = parse_ranks(script(RUNNING, tmp_path, SLURM_STEP_ID="9"))["0"]
    assert (rank.rank, rank.node, rank.pid, rank.cpus) == (4, "n1", own, tuple(sorted(os.sched_getaffinity(0))))


def test_the_script_of_a_started_task_prints_its_own_mask(tmp_path: Path) -> None:
    (rank,) = parse_ranks(script(STARTED, tmp_path, SLURM_STEP_ID="3", SLURM_PROCID="2"))["3"]
    assert (rank.rank, rank.cpus) == (2, tuple(sorted(os.sched_getaffinity(0))))


def test_steps_overlap_with_the_program_and_a_started_one_is_placed_by_the_jobs_own_variables() -> None:
    running = running_ranks("7", ["n1", "n2"])
    assert {"--overlap", "--jobid=7", "--nodelist=n[1-2]", "--cpu-bind=none", "--job-name=seatrial"} <= set(running)
    started = started_ranks("7", ["--comment=x"])
    assert {"--overlap", "--jobid=7", "--comment=x", "--job-name=seatrial"} <= set(started)
    assert not [word for word in started if word.startswith(("--nodes", "--ntasks", "--nodelist", "--cpu-bind"))]
