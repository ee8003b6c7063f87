"""Allocates nodes through salloc, gives them back, and explains why an allocation failed."""

import shlex
import time
from collections.abc import Callable, Sequence

from seatrial.failures.cause import Pending, why_pending
from seatrial.failures.start_failure import why_refused
from seatrial.model.errors import LaunchError, sentence
from seatrial.model.node_list import node_list
from seatrial.model.run import NodeCause, NodeState
from seatrial.model.settings import SlurmRequest
from seatrial.process.pipe import HolderStart, Holding
from seatrial.process.process import run
from seatrial.slurm import argv as slurm_argv
from seatrial.slurm import text
from seatrial.slurm.presence import COMMAND_TIMEOUT_S

SHORTEST_PAUSE_S = 2.0
LONGEST_PAUSE_S = 30.0
"""Between two questions about a job in the queue: 23 of them in 10 minutes."""
LONGEST_PAUSE_GRANTED_S = 10.0
"""Once it is granted, and nodes boot: one of them that fails is noticed within this time."""
END_S = 10.0
"""Seconds for salloc to return the allocation: within this time Slurm's commands expect an answer (MessageTimeout)."""
GONE = "Slurm does not list it any more"
WAIT_LONGER = "Wait longer with --wait, take fewer nodes with --nodes, or submit it as a job with --detach."


class NodesLost(LaunchError):
    """Nodes went out of service after they had been selected; the others can still be asked for."""

    def __init__(self, what: str, remedy: str, lost: Sequence[NodeState]) -> None:
        super().__init__(what, remedy)
        self.lost = tuple(lost)


class Pauses:
    """When to ask the controller again: soon after something changed, then ever more rarely."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.restart()

    def restart(self) -> None:
        """Something changed."""
        self._pause_s = SHORTEST_PAUSE_S
        self._next_s = self._clock() + self._pause_s

    def over(self, longest_s: float) -> bool:
        """Whether it is time to ask; a yes begins the next pause, twice as long, up to `longest_s`."""
        now_s = self._clock()
        if now_s < self._next_s:
            return False
        self._pause_s = min(2 * self._pause_s, longest_s)
        self._next_s = now_s + self._pause_s
        return True


class Waiting:
    """Whether it makes sense to wait for a job any longer, by what squeue and sinfo say."""

    def __init__(self, nodes: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self.reason = ""
        self.known: Pending | None = None
        self.lost: tuple[NodeState, ...] = ()
        """Nodes that went out of service after they had been selected."""
        self._nodes = nodes
        self._pauses = Pauses(clock)
        self._granted = False

    def hopeless(self, output: str) -> bool:
        """`output`: salloc's standard error so far. May be called as often as one likes: Slurm is asked now and then.

        A hopeless answer counts when it is given twice, since the first may be from before the job was looked at.
        """
        job = text.pending_job(output)
        granted = bool(text.granted_job(output))
        if granted != self._granted:
            self._granted = granted
            self._pauses.restart()
        if not (job or granted) or not self._pauses.over(LONGEST_PAUSE_GRANTED_S if granted else LONGEST_PAUSE_S):
            return False
        if granted:
            before = bool(self.lost)
            return self._twice(self.lost_any(), before=before)
        reason = self.reason
        self.reason = run(slurm_argv.job_reason(job), timeout_s=COMMAND_TIMEOUT_S).stdout.strip()
        self.known = why_pending(self.reason)
        out = self.known is not None and self.known.nodes_out and self.lost_any(vanished=True)
        return self._twice(out or (self.known is not None and self.known.hopeless), before=self.reason == reason)

    def never(self, what: str) -> LaunchError | None:
        """The error for a job that cannot start until somebody changes something; None for any other."""
        pending = self.known
        if pending is None or not pending.hopeless:
            return None
        return LaunchError(f"Slurm will not grant {what}: {pending.meaning} ({self.reason}).", pending.remedy)

    def _twice(self, refused_now: bool, *, before: bool) -> bool:
        if refused_now and not before:
            self._pauses.restart()
        return refused_now and before

    def lost_any(self, *, vanished: bool = False) -> bool:
        """Whether a node is out of service (or `vanished` from the list): the others would wait for it without end.

        Nothing is asked where the nodes are not known.
        """
        if not self._nodes:
            return False
        lines = text.parse_sinfo(run(slurm_argv.state_of(self._nodes), timeout_s=COMMAND_TIMEOUT_S).stdout)
        states = {line.node: text.why_not(line) for line in lines if line.out_of_service}
        gone = set(self._nodes).difference(line.node for line in lines) if lines and vanished else set()
        states |= {node: NodeState(node=node, reason=GONE, fault=True, cause=NodeCause.UNAVAILABLE) for node in gone}
        self.lost = tuple(states[node] for node in self._nodes if node in states)
        return bool(self.lost)


class Allocation:
    """Nodes that are ours until we give them back."""

    def __init__(self, job: str, salloc: Holding) -> None:
        self.job = job
        self._salloc = salloc

    def give_back(self) -> bool:
        """Let the job end by itself, so that it counts as COMPLETED; cancel it where that does not work.

        Whether Slurm heard of it.
        """
        ended = self._salloc.release(END_S) and text.given_back(self._salloc.said())
        self._salloc.kill()
        return ended or cancel(self.job)


def obtain(
    argv: Sequence[str], nodes: Sequence[str], wait_s: float, *, unheard: Callable[[], None] = lambda: None
) -> Allocation:
    """What `argv` (salloc) is granted for the nodes; all of them are up then.

    A reason to wait that never goes away ends the waiting before `wait_s`. `unheard` is called where a job that is
    not wanted any more could not be cancelled. Raises LaunchError.
    """
    waiting = Waiting(nodes)
    salloc = Holding(argv)
    try:
        start = salloc.until(slurm_argv.HOLDS.encode(), wait_s, waiting.hopeless)
        job = text.held_job(salloc.output.decode("ascii", errors="replace"))
        if start is HolderStart.READY and job:
            return Allocation(job, salloc)
    except BaseException:
        salloc.kill()
        _give_back(salloc.said())
        raise
    by = salloc.killed_by
    salloc.kill()
    output = salloc.said()
    if not _give_back(output):
        unheard()
    if start is HolderStart.ENDED and by:
        raise LaunchError(f"salloc was killed by signal {by} before it got the nodes.", "Run the command again.")
    raise _not_granted(output, waiting, nodes, wait_s, timed_out=start is HolderStart.GIVEN_UP)


def _not_granted(output: str, waiting: Waiting, nodes: Sequence[str], wait_s: float, *, timed_out: bool) -> LaunchError:
    """The error for a job that did not begin."""
    job = text.granted_job(output)
    what = node_list(nodes)
    if job and waiting.lost_any():
        return _lost(what, waiting.lost)
    if not job and waiting.lost_any(vanished=True):
        return _lost_before(what, waiting.lost)
    if not timed_out:
        return refused(output, "Slurm grants no allocation")
    if never := waiting.never(what):
        return never
    pending = waiting.known
    woken = " (granted, but not all nodes came up)" if job else ""
    why = f": {pending.meaning} ({waiting.reason})" if pending else f": {waiting.reason}" if waiting.reason else woken
    remedy = pending.remedy if pending and pending.remedy else WAIT_LONGER
    return LaunchError(f"Slurm did not grant {what} within {wait_s:.0f} s{why}.", remedy)


def _lost_before(what: str, lost: Sequence[NodeState]) -> NodesLost:
    """The error for nodes that went out of service before anything was granted."""
    why = "; ".join(f"{state.node}: {state.reason}" for state in lost[:4])
    return NodesLost(
        f"Slurm did not grant {what}: nodes went out of service in the meantime ({why}).",
        "`seatrial doctor` says why; name others by --nodes.",
        lost,
    )


def _lost(what: str, lost: Sequence[NodeState]) -> LaunchError:
    """The error for nodes that were granted, and taken out of service before the job began."""
    if all(state.cause is NodeCause.RESUME_TIMEOUT for state in lost):
        asleep = node_list([state.node for state in lost])
        return LaunchError(
            f"Slurm granted {what}, and {asleep} did not wake up in time ({text.RESUME_TIMEOUT}).",
            "Check the log of the site's ResumeProgram, and whether ResumeTimeout is long enough for a boot; "
            f"then scontrol update NodeName={asleep} State=RESUME. Or name others by --nodes.",
        )
    why = "; ".join(f"{state.node}: {state.reason}" for state in lost[:4])
    return LaunchError(
        f"Slurm granted {what}, and took nodes out of service as the job began ({why}).",
        "Check slurmd's log there, and the site's prolog (ResumeProgram where they were suspended); name "
        "others by --nodes.",
    )


def cancel(job: str) -> bool:
    """End a job; whether Slurm heard of it."""
    return run(slurm_argv.cancel(job), timeout_s=COMMAND_TIMEOUT_S).ok


def _give_back(output: str) -> bool:
    """Cancel the job that salloc named, granted or not; False where Slurm did not hear of it."""
    job = text.granted_job(output) or text.pending_job(output)
    return not job or cancel(job)


def with_request(error: LaunchError, request: SlurmRequest) -> LaunchError:
    """The error, with the options that a site's rules need and that were asked for."""
    words = shlex.join(slurm_argv.request_words(request))
    if not words:
        return error
    return LaunchError(
        f"{sentence(error.what)} The job was asked for with {words}.", error.remedy, transient=error.transient
    )


def refused(output: str, what: str) -> LaunchError:
    """The error for a refusal of salloc or sbatch, by what it wrote to standard error."""
    cause = why_refused(output)
    if cause is None:
        return LaunchError(f"{what}: {text.complaint(output).rstrip('.')}.")
    meaning, remedy = cause
    return LaunchError(f"{what}: {meaning}", remedy)
