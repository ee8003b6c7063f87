"""Why a job failed, by what it printed."""

import time

import pytest

from seatrial.failures.job_output import explain_output

TRACE = 'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n    import foo\nImportError: no foo\n'
ENDED = "srun: error: n1: task 0: Exited with exit code 1\n"
ABORTED = "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
CUT = "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-11-26T00:00:00 DUE TO TIME LIMIT ***\n"


@pytest.mark.parametrize(
    ("text", "meaning", "remedy"),
    [
        (
            "slurmstepd: error: execve(): hello: No such file or directory\n" + ENDED,
            "hello does not exist on the nodes, on PATH",
            "./NAME",
        ),
        ("slurmstepd: error: execve(): /opt/app: No such file or directory\n", "/opt/app does not exist", "Install"),
        (
            f"srun: error: n3: task 2: Segmentation fault\n{ABORTED}",
            "rank 2 on n3 was ended by signal 11 (SIGSEGV)",
            "",
        ),
        (CUT, "the job reached its time limit", "--time"),
        (CUT.replace(" DUE TO TIME LIMIT", ""), "the job was cancelled", "scancel"),
        ("srun: error: n2: task 1: Out Of Memory\n", "memory ran out on n2", "--mem"),
        ("srun: error: Node failure on n4\n", "n4 failed while the job ran", "seatrial check"),
        ("/var/spool/job4711/slurm_script: line 3: mpirun: command not found\n", "mpirun: command not found", "module"),
        (TRACE + ENDED, "it says: ImportError: no foo", "doctor"),
        ("forrtl: severe (174): SIGSEGV, segmentation fault occurred\n", "forrtl: severe (174)", ""),
        (ENDED, "rank 0 on n1 ended with exit code 1", ""),
        ("result 1\n" * 100_000 + TRACE, "it says: ImportError: no foo", ""),
    ],
)
def test_the_cause_is_named_with_what_to_do(text: str, meaning: str, remedy: str) -> None:
    failure = explain_output(text)
    assert failure is not None
    assert meaning in failure.meaning
    assert remedy in failure.remedy
    assert failure.meaning.endswith(".")


@pytest.mark.parametrize("text", ["", "the residual error is 1e-9\nno failures, 0 errors\n", "\x00\xff" * 1000])
def test_an_output_without_a_complaint_explains_nothing(text: str) -> None:
    assert explain_output(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "srun: error: n1: task 0: Exited with exit code {digits}",
        "srun: error: n1: task {digits}: Killed",
        "srun: error: n1: tasks {digits}-{digits}: Killed",
        "mpirun noticed that process rank {digits} with PID 3 on node n1 exited on signal {digits}",
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK {digits} PID {digits} RUNNING AT n1\n"
        "=   KILLED BY SIGNAL: {digits} (Killed)",
        "[n1:{digits}] Signal: Segmentation fault (11)",
        "[n1:{digits}:0:{digits}] Caught signal {digits} (Segmentation fault)",
    ],
)
def test_numbers_without_end_are_no_numbers(text: str) -> None:
    """Python refuses to convert more than 4,300 digits."""
    explain_output(text.format(digits="9" * 2900) + "\n")
    explain_output(text.format(digits="9" * 5000) + "\n")


@pytest.mark.parametrize(
    "line",
    [
        "srun: error: n[0-65535,0-65535]: tasks 0-999999999: Killed\n",
        "srun: error: n[0-255][0-255]: task 0: Killed\n",
        "srun: error: n[0-255][0-255]: tasks 0-9: Killed\nslurmstepd-n1: error: Detected 1 oom_kill event\n",
        "srun: error: Node failure on n[0-255][0-255]\n",
    ],
)
def test_sets_of_nodes_and_ranks_have_a_limit_together(line: str) -> None:
    """A file of 60 MB, of which 200,000 characters are read, took minutes and 7 GB."""
    began = time.process_time()
    assert explain_output(line * 3000) is not None
    assert time.process_time() - began < 8
