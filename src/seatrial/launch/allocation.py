"""Gets hold of nodes through salloc, and says why that does not work."""

from collections.abc import Sequence

from seatrial.launch import slurm_argv, slurm_text
from seatrial.launch.causes.cause import first_cause
from seatrial.launch.causes.pending import why_pending
from seatrial.launch.causes.reason import Pending
from seatrial.launch.causes.refusals import REFUSALS
from seatrial.launch.contract import LaunchError
from seatrial.launch.process import run, run_watched
from seatrial.launch.slurm_presence import COMMAND_TIMEOUT_S
from seatrial.launch.start_failure import CAUSES
from seatrial.model.run import NodeState

WAIT_LONGER = "Wait longer with --wait, take fewer nodes with --nodes, or leave it to the queue with --detach."


class Waiting:
    """Whether it is worth while to go on standing in the queue, by what squeue says of the job."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self.reason = ""
        self.known: Pending | None = None
        self.lost: tuple[NodeState, ...] = ()
        """Nodes that were granted and are out of service since."""
        self._nodes = nodes

    def hopeless(self, said: str) -> bool:
        """`said`: salloc's standard error so far. One hopeless answer may be from before the queue was looked at."""
        job = slurm_text.pending_job(said)
        if slurm_text.granted_job(said):
            twice = bool(self.lost)
            return self.lost_any() and twice
        if not job:
            return False
        before = self.reason
        self.reason = run(slurm_argv.job_reason(job), timeout_s=COMMAND_TIMEOUT_S).stdout.strip()
        self.known = why_pending(self.reason)
        return self.known is not None and self.known.hopeless and self.reason == before

    def lost_any(self) -> bool:
        """Whether a granted node is out of service: all the others would wait for it in vain."""
        sinfo = run(slurm_argv.state_of(self._nodes), timeout_s=COMMAND_TIMEOUT_S).stdout
        states = {line.node: slurm_text.why_not(line) for line in slurm_text.parse_sinfo(sinfo) if line.out_of_service}
        self.lost = tuple(states.values())
        return bool(self.lost)


def obtain(argv: Sequence[str], nodes: Sequence[str], wait_s: float) -> str:
    """The job that `argv` (salloc) is granted for the nodes; all of them are up then.

    A reason to wait that no waiting removes ends it before `wait_s`. Raises LaunchError.
    """
    waiting = Waiting(nodes)
    done = run_watched(argv, timeout_s=wait_s, give_up=waiting.hopeless, interrupted=_give_back)
    job = slurm_text.granted_job(done.stderr)
    if job and done.ok:
        return job
    _give_back(done.stderr)
    what = slurm_argv.node_list(nodes)
    if job and waiting.lost_any():
        if all(slurm_text.RESUME_TIMEOUT in state.reason for state in waiting.lost):
            asleep = slurm_argv.node_list([state.node for state in waiting.lost])
            raise LaunchError(
                f"Slurm granted {what}, and {asleep} did not wake up in time ({slurm_text.RESUME_TIMEOUT}).",
                "Look into the log of the site's ResumeProgram, and whether ResumeTimeout is long enough for a boot; "
                f"then scontrol update NodeName={asleep} State=RESUME. Or name others by --nodes.",
            )
        why = "; ".join(f"{state.node}: {state.reason}" for state in waiting.lost[:4])
        raise LaunchError(
            f"Slurm granted {what}, and took nodes out of service as the job began ({why}).",
            "Look into slurmd's log there, and into the site's prolog (ResumeProgram where they were suspended); name "
            "others by --nodes.",
        )
    if not done.timed_out:
        raise refused(done.stderr, "Slurm grants no allocation")
    known = waiting.known
    if known is not None and known.hopeless:
        raise LaunchError(f"Slurm will not grant {what}: {known.meaning} ({waiting.reason}).", known.remedy)
    woken = " (granted, but not all nodes came up)" if job else ""
    why = f": {known.meaning} ({waiting.reason})" if known else f": {waiting.reason}" if waiting.reason else woken
    remedy = known.remedy if known and known.remedy else WAIT_LONGER
    raise LaunchError(f"Slurm did not grant {what} within {wait_s:.0f} s{why}.", remedy)


def _give_back(said: str) -> None:
    """Cancel the job of which salloc spoke, granted or not."""
    job = slurm_text.granted_job(said) or slurm_text.pending_job(said)
    if job:
        run(slurm_argv.cancel(job), timeout_s=COMMAND_TIMEOUT_S)


def refused(said: str, what: str) -> LaunchError:
    """The error for a refusal of salloc or sbatch, by what it wrote to standard error."""
    known = first_cause((*REFUSALS, *CAUSES), said)
    if known is None:
        return LaunchError(f"{what}: {slurm_text.complaint(said).rstrip('.')}.")
    meaning, remedy = known
    return LaunchError(f"{what}: {meaning}", remedy)
