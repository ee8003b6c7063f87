"""What kind of cause a program's own complaint states, whatever the program, and when a complaint is none."""

import pytest

from seatrial.failures.cause import cause_of_complaint
from seatrial.failures.job_output import explain_output
from tests.support.failure_texts import explained

MEMORY, FULL, LICENCE, PART = "got no more memory", "cannot be written", "no licence", "lacks a package"
VERSIONS, DAMAGED, RANKS, UNSTABLE = "two versions", "ends too early", "number of ranks", "became unstable"
SLOW, RIGHTS, FILE, PEER = "did not converge", "may not read", "does not find", "a connection to another"
INPUT, STACK, FAULT = "refuses its input", "a stack that is too small", "a fault of its code"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("ERROR: out of memory in eri_driver, increase maxcore", MEMORY),
        ("Error: allocation failed for array rho", MEMORY),
        ("cannot attach shared memory segment, not enough memory", ""),
        ("ERROR: node allocation failed, no resources", ""),
        ("write failed: disk full", FULL),
        ("ERROR: disk index 3 unsorted", ""),
        ("License checkout failed for feature acfd", LICENCE),
        ("This program is free software under the GPL license", ""),
        ("ERROR: solver MUMPS not compiled in", PART),
        ("package tables: 3 of 4 rows used", ""),
        ("restart file version 5 is newer than 4 of this program", VERSIONS),
        ("this version solves 3 problems", ""),
        ("unexpected end of file in mesh.msh", DAMAGED),
        ("at the end of the time loop", ""),
        ("FATAL: number of MPI ranks must be a multiple of 12", RANKS),
        ("The grid cannot be divided among 7 processors", RANKS),
        ("number of elements per node must be 8", INPUT),
        ("distributed process group is not initialised", ""),
        ("matrix is not positive definite", UNSTABLE),
        ("ERROR: temperature is NaN in cell 3", UNSTABLE),
        ("CFL limit exceeded at i=3", UNSTABLE),
        ("infinite recursion in macro expand", ""),
        ("SINGULARITY_BIND is set", ""),
        ("SCF did not converge after 100 iterations", SLOW),
        ("maximum number of iterations exceeded", SLOW),
        ("100 iterations were done", ""),
        ("open(/p/x): Permission denied", RIGHTS),
        ("cannot open file /p/mesh.h5", FILE),
        ("potential file Cu.eam does not exist", FILE),
        ("cannot open a window", ""),
        ("could not connect to server 10.0.0.1:33", PEER),
        ("a connected component has 3 cells", ""),
        ("unknown keyword 'encutt' in section SYSTEM", INPUT),
        ("value of parameter dt must be positive", INPUT),
        ("write: Invalid argument", ""),
        ("CUDA error: invalid argument", ""),
        ("forrtl: severe (174): SIGSEGV, segmentation fault occurred", STACK),
        ("forrtl: severe (24): something", ""),
        ("TypeError: unsupported operand", FAULT),
        ("Assertion `n > 0' failed", FAULT),
        ("Assertion failed in file src/mpid/ch4/x.c at line 3", ""),
        ("an index of all cells", ""),
    ],
)
def test_the_kind_of_a_complaint(line: str, kind: str) -> None:
    cause = cause_of_complaint(line)
    assert (kind in cause.meaning) if kind and cause else (cause is None and not kind)


ENDED = "srun: error: n1: task 3: Exited with exit code 1\n"
CRASHED = "srun: error: n1: task 3: Segmentation fault (core dumped)\n"
SHOT = "srun: error: n1: task 3: Killed\n"
STEPS = "".join(f"step {number} dt 0.1 energy -3.{number}\n" for number in range(1, 7))
LOST = "ERROR: lost particles in cell 9\n"
NO_FILE = "ERROR: cannot open file a.dat\n"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"{STEPS}{LOST}{ENDED}", UNSTABLE),
        (f"{STEPS}{LOST}{NO_FILE}{ENDED}", UNSTABLE),
        (f"{NO_FILE}{LOST}{ENDED}", FILE),
        (f"{LOST}{STEPS}{ENDED}", ""),
        (f"{STEPS}{LOST}{CRASHED}", UNSTABLE),
        (f"{STEPS}{NO_FILE}{CRASHED}", ""),
        (f"{STEPS}{LOST}{SHOT}", ""),
        (f"{STEPS}srun: error: n1: task 3: Floating point exception\n", UNSTABLE),
        (f"{STEPS}step 7 dt 0.1 energy NaN\nstep 8 dt 0.1 energy NaN\n{CRASHED}", UNSTABLE),
        (f"{STEPS}step 7 dt 0.1 energy NaN\nstep 8 dt 0.1 energy -3.8\n{CRASHED}", ""),
        (f"{STEPS.replace('-3.', 'nan ')}{CRASHED}", ""),
        (f"{STEPS}error: solver stops\nA division by zero came up\n{ENDED}", UNSTABLE),
        (f"{STEPS}error: solver stops\n\nA division by zero came up\n{ENDED}", ""),
        (f"{STEPS}{LOST}forrtl: severe (174): SIGSEGV, segmentation fault occurred\n{ENDED}", UNSTABLE),
        (f"{STEPS}{NO_FILE}forrtl: severe (174): SIGSEGV, segmentation fault occurred\n{ENDED}", STACK),
    ],
)
def test_the_kind_comes_from_the_first_complaint_that_may_have_ended_the_rank(text: str, kind: str) -> None:
    meaning = explained(text).meaning
    assert meaning.partition(":")[0].find(kind) >= 0
    assert bool(kind) == (": rank 3" in meaning or ": it says" in meaning)


@pytest.mark.parametrize(
    ("text", "overcome"),
    [
        (f"{STEPS}{LOST}", False),
        (f"{STEPS} ***{LOST}", False),
        (f"{STEPS}{LOST}Exiting prematurely.\nwall time 3 s\nmemory 4 MB\nbye\n", False),
        (f"{STEPS}{LOST}wall time 3 s\nmemory 4 MB\nbye\n", True),
        (f"{STEPS}{LOST}Simulation completed.\n", None),
        (f"{STEPS}{LOST}Simulation not completed.\n", False),
        (f"{LOST}{STEPS}", None),
        (f"{STEPS}ERROR: 1.2e-3\n", None),
        (f"{STEPS}Error: mean of all cells\n", None),
        (f"{STEPS}the lost particles are 3\n", None),
        (f"{STEPS}Warning: zero pivot\n", None),
    ],
)
def test_an_error_without_a_report_of_an_end_counts_unless_the_program_went_on(
    text: str, overcome: bool | None
) -> None:
    failure = explain_output(text)
    assert (failure.overcome if failure else None) is overcome


@pytest.mark.parametrize(
    ("printed", "quote"),
    [
        ("* [ABORT]     *\n*          the matrix is singular or  *\n*    |     ill-conditioned.   *\n",
         "[ABORT] the matrix is singular or ill-conditioned."),
        ("ERROR: the box of\natoms is too small\n", "ERROR: the box of atoms is too small"),
        ("ERROR: the box is too small\n\natoms\n", "ERROR: the box is too small"),
        ("ERROR: bad box 3\natoms\n", "ERROR: bad box 3"),
        ("WARNING: unknown key\nERROR: bad box 3\nstopping\n", "ERROR: bad box 3"),
    ],
)  # fmt: skip
def test_a_complaint_goes_on_in_the_next_line_only_if_that_continues_it(printed: str, quote: str) -> None:
    assert explained(f"{printed}{ENDED}").quote == quote


NUMBERED = "write of chunk 7 failed, errno = 28\n"


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (f"{NUMBERED}{ENDED}", "a file cannot be written on n1"),
        (f"{NUMBERED.replace('28', '122')}{ENDED}", "a file cannot be written on n1"),
        (f"{NUMBERED.replace('28', '29')}{ENDED}", "rank 3 on n1 ended with exit code 1"),
        (f"pwrite(out.3, 1048576) = -1 EDQUOT\n{ENDED}", "a file cannot be written on n1"),
        (f"pwrite(out.3, 1048576) = -1 EDOM\n{ENDED}", "rank 3 on n1 ended with exit code 1"),
        (f"pwrite: no ENOSPC\n{ENDED}", "rank 3 on n1 ended with exit code 1"),
        ("MPT ERROR: Rank 36(g:36) is aborting with error code 9.\n", "rank 36 called MPI_Abort with code 9"),
        (f"{NUMBERED.replace('errno', 'chunk')}{ENDED}", "rank 3 on n1 ended with exit code 1"),
        ("PRTE has lost communication with a remote daemon.\n  Remote daemon: [p@0,5] on node c6\n", "lost the conn"),
        ("A daemon failed to report back after being spawned\n  target node:  c6\n", "does not come up on c6"),
        (f"slurmstepd: error: pyxis:     [ERROR] no JSON\nslurmstepd: error: pyxis:     curl: (22) The requested URL "
         f"returned error: 429\n{ENDED}", "the registry gives n1 no more images"),
        (f"slurmstepd: error: pyxis:     [ERROR] no JSON\n{ENDED}", "the container does not start on n1"),
        (f"FATAL:   while extracting a.sif: extract command failed: WARNING: could not mount: fuse\n{ENDED}",
         "the container does not start on n1"),
        (f"At line 2 of file a.f (unit = 3, file = '/s/r')\nFortran runtime error: No space left on device\n{ENDED}",
         "is full (At line 2 of file a.f (unit = 3, file = '/s/r') Fortran runtime error: No space"),
    ],
)  # fmt: skip
def test_the_words_around_a_known_cause_may_differ(text: str, meaning: str) -> None:
    assert meaning in explained(text).meaning


PEER_LEFT = "[n2:7] PMIX ERROR: {} in file client.c at line 9\n"
ABORTED = "application called MPI_Abort(MPI_COMM_WORLD, 1) - process 3\n"
READ_ONLY = "cat: /p/x: Read-only file system\n"


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (f"{LOST}{PEER_LEFT.format('PMIX_ERR_LOST_CONNECTION')}{ABORTED}", UNSTABLE),
        (f"{LOST}{PEER_LEFT.format('UNREACHABLE')}{ABORTED}", UNSTABLE),
        (f"{PEER_LEFT.format('UNREACHABLE')}{LOST}{ABORTED}", "do not fit together"),
        (f"ERROR: bad luck\n{PEER_LEFT.format('UNREACHABLE')}{ABORTED}", "do not fit together"),
        (f"{LOST}{READ_ONLY}{ENDED}", UNSTABLE),
        (f"{READ_ONLY}{LOST}{ENDED}", "mounted read-only"),
        (f"slurmstepd: error: no connection to server\n{READ_ONLY}{ENDED}", "mounted read-only"),
        ("Out-of-memory error in routine X-1.\nError termination at noon.\nJob cpu time: 3\nfiles: 4\n", MEMORY),
        ("Out-of-memory error in routine X-1.\nJob cpu time: 3\nfiles: 4\n", ""),
        (f"***********\n*  ERROR  *\n*  SCF NOT CONVERGED  *\n***********\n{ENDED}", SLOW),
        (f"--- !ERROR\nfile: x.F90\nline: 4\nrank: 3\nmessage: |\n matrix is singular\n{ENDED}", UNSTABLE),
        (f"* Unknown keyword 'dtt'\n*** Aborting the run.\n{ENDED}", INPUT),
        (f"* Unknown keyword 'dtt'\n\n*** Aborting the run.\n{ENDED}", "rank 3 on n1 ended with exit code 1"),
        (f"*** Error 40509 (SOL+509)\n NaN detected on processor 3\n{ENDED}", UNSTABLE),
        (f"(PID 12) *** ERROR *** CHECK: obcs is not supported in this configuration\n{ENDED}", INPUT),
        ("ERROR failed to send mail: connection refused\nINFO finished, 3 s\n", ""),
        ("ERROR failed to send mail: connection refused\nSTOP 1\n", PEER),
        (f"--- !ERROR\nfile: x.F90\n\nmatrix is singular\n{ENDED}", "rank 3 on n1 ended with exit code 1"),
    ],
)
def test_an_error_that_states_its_kind_goes_before_later_guesses(text: str, meaning: str) -> None:
    failure = explain_output(text)
    assert (meaning in failure.meaning) if failure and meaning else (failure is None and not meaning)
