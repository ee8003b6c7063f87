"""Which nodes a cause names: where ranks ended by themselves, and not where the launcher ended them."""

import pytest

from tests.support.failure_texts import explained

ECC = "CUDA error: uncorrectable ECC error encountered\n"
QUOTA = "cp: error writing '/scratch/x/f': Disk quota exceeded\n"
OOM = "slurmstepd: error: Detected 1 oom_kill event in StepId=5.0. Some of the step tasks have been OOM Killed.\n"
DOORBELL = "mlx5dv_devx_alloc_uar(device=mlx5_0) failed: Cannot allocate memory\n"
ERRNO = "OSError: [Errno 5] Input/output error: '/tmp/x.bin'\n"
STOPPED = "slurmstepd: error: *** STEP 5.0 ON h1 CANCELLED AT 2026-11-03T12:00:00 ***\n"
FAILED = "srun: error: h2: task 2: Exited with exit code 1\n"
CRASHED = "srun: error: h2: task 2: Aborted (core dumped)\n"
SHOT = "srun: error: h1: tasks 0-1: Terminated\nsrun: error: h[4-5]: tasks 6-9: Killed\n"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"{ECC}{CRASHED}{STOPPED}{SHOT}", "a GPU of h2 reports"),
        (f"{ECC}{CRASHED}srun: error: h1: tasks 0-1: Terminated\n", "a GPU of h2 reports"),
        (f"{ECC}srun: Job step aborted: Waiting\n{SHOT}{CRASHED}", "a GPU of h2 reports"),
        (f"{QUOTA}{FAILED}{STOPPED}{SHOT}", "written on h2:"),
        (f"{ERRNO}{FAILED}{STOPPED}{SHOT}", "disk of h2 reports"),
        (f"{ERRNO}{FAILED}{STOPPED}srun: error: h1: task 0: Exited with exit code 143\n", "disk of h2 reports"),
        (f"{ERRNO}{STOPPED}srun: error: h1: tasks 0-1: Terminated\n", "disk of the nodes reports"),
        (f"{ECC}{CRASHED}srun: error: h[4-5]: tasks 6-9: Killed\n", "a GPU of h2 reports"),
        (f"{ECC}srun: error: h4: task 6: Killed\n{CRASHED}", "a GPU of h4, h2 reports"),
        (f"{QUOTA}{FAILED}srun: error: h4: task 6: Killed\n", "written on h2:"),
        (f"{QUOTA}{OOM}{FAILED}srun: error: h4: task 6: Killed\n", "memory ran out on h4"),
        (f"{DOORBELL}{FAILED}{STOPPED}{SHOT}", "adapter mlx5_0 of h2 has"),
        (f"{ERRNO}srun: error: h[2-3]: tasks 2-5: Exited with exit code 1\n{STOPPED}{SHOT}", "disk of h[2-3] reports"),
    ],
)
def test_a_node_whose_ranks_the_launcher_ended_is_not_named(text: str, names: str) -> None:
    assert names in explained(text).meaning


BOTH = f"{FAILED}srun: error: h5: task 5: Aborted (core dumped)\n"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"[rank5]: wait\n[rank2]: {ERRNO}{BOTH}", "disk of h2 reports"),
        (f"5: wait\n2: {ERRNO}{BOTH}", "disk of h2 reports"),
        (f"[1,5]<stderr>:{ERRNO}{BOTH}", "disk of h5 reports"),
        (f"2: {ERRNO}5: {ERRNO}{BOTH}", "disk of h2, h5 reports"),
        (f"9: {ERRNO}{BOTH}", "disk of h2, h5 reports"),
        (f"{ERRNO}{BOTH}", "disk of h2, h5 reports"),
        (f"torchrun --nnodes 4 x.py\n[rank2]: {ERRNO}{BOTH}", "disk of h2, h5 reports"),
    ],
)
def test_the_node_of_the_rank_that_says_it_is_named(text: str, names: str) -> None:
    assert names in explained(text).meaning
