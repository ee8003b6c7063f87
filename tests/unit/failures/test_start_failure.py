"""Why a program did not start, from recorded standard error."""

import pytest

from seatrial.failures.start_failure import explain

OPEN_MPI = """[n1:17681] OPAL ERROR: Unreachable in file ext3x_client.c at line 112
--------------------------------------------------------------------------
The application appears to have been direct launched using "srun",
but OMPI was not built with SLURM's PMI support and therefore cannot
execute.
--------------------------------------------------------------------------
*** An error occurred in MPI_Init
srun: error: n4: task 3: Terminated
"""
CRASH = """[n3:4749 :0:4749] Caught signal 11 (Segmentation fault: address not mapped to object at address (nil))
==== backtrace (tid:   4749) ====
srun: error: n3: task 2: Segmentation fault
srun: error: n2: task 1: Terminated
srun: Force Terminated StepId=1.1
"""


@pytest.mark.parametrize(
    ("text", "meaning", "remedy"),
    [
        (OPEN_MPI, "do not know each other", "--mpi"),
        ("srun: error: Invalid MPI type 'pmi9', --mpi=list for acceptable types", "'pmi9'", "--mpi=list"),
        ("slurmstepd-n1: error: execve(): /x/y/seatrial-probe: No such file or directory", "/x/y", "--probe-dir"),
        ("slurmstepd-n1: error: execve(): /x/p: Permission denied", "/x/p", "noexec"),
        ("/x/p: error while loading shared libraries: libmpi.so.40: cannot open", "libmpi.so.40", "module"),
        (CRASH, "Segmentation fault", ""),
        ("srun: error: n2: task 1: Terminated\n", "it said nothing", ""),
        ("", "it said nothing", ""),
    ],
)
def test_what_it_means_and_what_to_do(text: str, meaning: str, remedy: str) -> None:
    failure = explain(text)
    said, advice = failure.meaning, failure.remedy
    assert meaning in said
    assert remedy in advice
    assert bool(advice) == bool(remedy)
    assert "Terminated" not in said
