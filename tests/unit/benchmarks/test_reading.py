"""What all parsers read alike."""

import pytest

from seatrial.benchmarks.catalogue import BENCHMARKS, parse_as
from seatrial.benchmarks.reading import OutputLine, failures
from seatrial.model.verdict import FindingKind
from tests.support.benchmark_outputs import stream

FAILURES = (
    "***** Process received signal",
    "xhpl: Segmentation fault (core dumped)",
    "[n1:1] Caught signal 11 (address not mapped)",
    "MPI_ABORT was invoked on rank 3 in communicator",
    "Fatal error in PMPI_Init_thread: Other MPI error",
    "process rank 1 with PID 7 on node n1 exited on signal 9 (Killed).",
    "slurmstepd: error: *** JOB 42 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=42.0",
    "kernel: Out of memory: Killed process 7 (xhpl)",
    "srun: error: n1: task 3: Killed",
    "srun: error: n1: task 3: Exited with exit code 139",
    "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
    "srun: error: n1: task 1: Aborted",
    "srun: error: n2: tasks 0-3: Floating point exception (core dumped)",
    "srun: error: Node failure on n3",
    "application called MPI_Abort(MPI_COMM_WORLD, 1) - process 0",
    "[n2:1234] *** An error occurred in MPI_Recv",
    "Primary job  terminated normally, but 1 process returned",
    "/var/spool/slurmd/job1/slurm_script: line 5:  1234 Killed                  ./stream",
    "*** Error in `./xhpl': double free or corruption (!prev): 0x01 ***",
    "terminate called after throwing an instance of 'std::bad_alloc'",
    "forrtl: error (78): process killed (SIGTERM)",
    "[1700000000.1] [n1:12:0] ib_mlx5_log.c:177  UCX  ERROR Transport retry count exceeded on mlx5_0:1/IB",
)
"""As programs, launchers and Slurm write them."""
HARMLESS = ("srun: error: n1: Invalid option", "no segmentation faults", "exited on signal", "Caught signals: none")


@pytest.mark.parametrize("text", FAILURES)
def test_a_failure_that_a_program_or_its_launcher_reports_is_a_breach(text: str) -> None:
    output = parse_as(BENCHMARKS["stream"], f"{stream()}{text}\n")
    assert [(breach.kind, breach.text) for breach in output.breaches] == [(FindingKind.PROGRAM_FAILED, text)]


def test_failures_are_found_in_small_and_large_letters_and_nothing_else_is() -> None:
    texts = [change(text) for text in FAILURES for change in (str.lower, str.upper)]
    lines = [OutputLine(number, text) for number, text in enumerate([*texts, *HARMLESS], 1)]
    assert [line.text for line in failures(lines)] == texts
