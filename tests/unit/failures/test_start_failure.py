"""Why a program did not start, from recorded standard error."""

import msgspec
import pytest

from seatrial.failures import start_failure
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
MISSING_ON_ONE = """slurmstepd-n1: error:  mpi/pmix_v4: pmixp_p2p_send: n1 [0]: pmixp_utils.c:469: \
send failed, rc=1001, exceeded the retry limit
slurmstepd-n2: error: execve(): /x/seatrial-probe: No such file or directory
srun: error: n2: task 1: Exited with exit code 2
"""
CRASH = """[n3:4749 :0:4749] Caught signal 11 (Segmentation fault: address not mapped to object at address (nil))
==== backtrace (tid:   4749) ====
srun: error: n3: task 2: Segmentation fault
srun: error: n2: task 1: Terminated
srun: Force Terminated StepId=1.1
"""
CRASH_AND_CONNECT = """[n1:29902:0:29902] Caught signal 11 (Segmentation fault: address not mapped to object at (nil))
[n1:29902] *** Process received signal ***
[n1:29902] Signal: Segmentation fault (11)
srun: error: n1: task 0: Segmentation fault
WARNING: Open MPI failed to TCP connect to a peer MPI process.  This
should not happen.

  Local host: n3
  PID:        29894
  Message:    connect() to 10.77.1.1:1033 failed
  Error:      Operation now in progress (115)
srun: error: n2: task 1: Terminated
"""


@pytest.mark.parametrize(
    ("text", "meaning", "remedy"),
    [
        (CRASH_AND_CONNECT, "a rank crashed on n1 while MPI started", "Run the command again"),
        (OPEN_MPI, "do not know each other", "--mpi"),
        ("srun: error: Invalid MPI type 'pmi9', --mpi=list for acceptable types", "'pmi9'", "--mpi=list"),
        ("slurmstepd-n1: error: execve(): /x/y/seatrial-probe: No such file or directory", "/x/y", "--probe-dir"),
        ("slurmstepd-n1: error: execve(): /x/p: Permission denied", "/x/p", "noexec"),
        ("/x/p: error while loading shared libraries: libmpi.so.40: cannot open", "libmpi.so.40", "module"),
        (MISSING_ON_ONE, "the probe /x/seatrial-probe does not exist on n2.", "--probe-dir"),
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


@pytest.mark.parametrize(
    ("text", "transient", "other_mpi_type"),
    [
        (OPEN_MPI, False, True),
        ("srun: error: task 0: Bus error\n", True, False),
        ("[n1:1] PMIX ERROR: UNREACHABLE in file ptl_tcp.c at line 1790\n", True, True),
        ("[1.0] [n1:7] parser.c UCX network device 'mlx5_9:1' is not available\n", False, False),
        ("slurmstepd-n1: error: execve(): /x/p: Permission denied", False, False),
        (CRASH, True, False),
    ],
)
def test_whether_another_start_or_type_helps_depends_on_no_text(
    text: str, transient: bool, other_mpi_type: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = explain(text)
    assert (failure.transient, failure.other_mpi_type) == (transient, other_mpi_type)
    mute = tuple(msgspec.structs.replace(cause, meaning="x", remedy="y") for cause in start_failure.known_causes())
    monkeypatch.setattr(start_failure, "known_causes", lambda: mute)
    assert explain(text).remedy in ("y", "")
    assert msgspec.structs.replace(explain(text), meaning="", remedy="") == msgspec.structs.replace(
        failure, meaning="", remedy=""
    )


def test_noise_alone_is_silence() -> None:
    assert explain("srun: error: n2: task 1: Terminated\n").silent
    assert not explain("The moon is full\n").silent
