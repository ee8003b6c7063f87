"""Gets hold of nodes through salloc, and says why that does not work."""

from collections.abc import Sequence

from seatrial.launch import slurm_argv, slurm_text
from seatrial.launch.causes.cause import first_cause
from seatrial.launch.causes.pending import Pending, why_pending
from seatrial.launch.causes.refusals import REFUSALS
from seatrial.launch.contract import LaunchError
from seatrial.launch.process import run, run_watched
from seatrial.launch.start_failure import CAUSES

COMMAND_TIMEOUT_S = 30.0
WAIT_LONGER = "Wait longer with --wait, take fewer nodes with --nodes, or leave it to the queue with --detach."


class Waiting:
    """Whether it is worth while to go on standing in the queue, by what squeue says of the job."""

    def __init__(self) -> None:
        self.reason = ""
        self.known: Pending | None = None

    def hopeless(self, said: str) -> bool:
        """`said`: salloc's standard error so far. One hopeless answer may be from before the queue was looked at."""
        job = slurm_text.pending_job(said)
        if not job or slurm_text.granted_job(said):
            return False
        before = self.reason
        self.reason = run(slurm_argv.job_reason(job), timeout_s=COMMAND_TIMEOUT_S).stdout.strip()
        self.known = why_pending(self.reason)
        return self.known is not None and self.known.hopeless and self.reason == before


def obtain(argv: Sequence[str], nodes: Sequence[str], wait_s: float) -> str:
    """The job that `argv` (salloc) is granted for the nodes; all of them are up then.

    A reason to wait that no waiting removes ends it before `wait_s`. Raises LaunchError.
    """
    waiting = Waiting()
    done = run_watched(argv, timeout_s=wait_s, give_up=waiting.hopeless)
    job = slurm_text.granted_job(done.stderr)
    if job and done.ok:
        return job
    left = job or slurm_text.pending_job(done.stderr)
    if left:
        run(slurm_argv.cancel(left), timeout_s=COMMAND_TIMEOUT_S)
    if not done.timed_out:
        raise refused(done.stderr, "Slurm grants no allocation")
    what = slurm_argv.node_list(nodes)
    known = waiting.known
    if known is not None and known.hopeless:
        raise LaunchError(f"Slurm will not grant {what}: {known.meaning} ({waiting.reason}).", known.remedy)
    woken = " (granted, but not all nodes came up)" if job else ""
    why = f": {known.meaning} ({waiting.reason})" if known else f": {waiting.reason}" if waiting.reason else woken
    remedy = known.remedy if known and known.remedy else WAIT_LONGER
    raise LaunchError(f"Slurm did not grant {what} within {wait_s:.0f} s{why}.", remedy)


def refused(said: str, what: str) -> LaunchError:
    """The error for a refusal of salloc or sbatch, by what it wrote to standard error."""
    known = first_cause((*REFUSALS, *CAUSES), said)
    if known is None:
        return LaunchError(f"{what}: {slurm_text.complaint(said)}.")
    meaning, remedy = known
    return LaunchError(f"{what}: {meaning}", remedy)
