"""Nodes held by one job from before a setting is changed until after it is restored."""

import time
from collections.abc import Sequence

from seatrial.model.errors import LaunchError, UsageError
from seatrial.model.node_list import expand, node_list
from seatrial.model.settings import SlurmRequest
from seatrial.process.keeper import Keeper
from seatrial.slurm import argv as slurm_argv
from seatrial.slurm import text
from seatrial.slurm.allocation import Allocation, obtain, with_request
from seatrial.slurm.job import job_around, job_now
from seatrial.slurm.presence import asked
from seatrial.slurm.queue import job_ending, new_job_name

HELD_JOB = "SEATRIAL_HELD_JOB"
"""The variable that names the job to a command of ours, which measures in it as if it had made it."""


class HeldNodes:
    """A job of our own that lasts until it is given back."""

    def __init__(self, allocation: Allocation, nodes: Sequence[str], name: str, ends_s: float) -> None:
        self.job, self.nodes, self.name = allocation.job, tuple(nodes), name
        self._allocation, self._ends_s = allocation, ends_s

    def left_s(self) -> float:
        """For how long something may still be measured, so that time is left to restore."""
        return self._ends_s - time.monotonic()

    def give_back(self) -> bool:
        """End the job; whether Slurm heard of it."""
        return self._allocation.give_back()


def hold(
    nodes: Sequence[str], seconds: float, partition: str, request: SlurmRequest, wait_s: float, keeper: Keeper
) -> HeldNodes:
    """A job on these nodes alone that lasts until it is given back or cancelled, even if this process is killed.

    The keeper takes over ending it. Raises LaunchError where the nodes are not granted.
    """
    name = new_job_name()
    keeper.take(job_ending(name))
    argv = slurm_argv.salloc(nodes, seconds, partition, name, request=request, lasting=True)
    try:
        allocation = obtain(argv, nodes, wait_s, unheard=keeper.release)
    except LaunchError as error:
        raise with_request(error, request) from error
    except BaseException:
        keeper.release()
        raise
    return HeldNodes(allocation, nodes, name, time.monotonic() + seconds)


def refuse_foreign_nodes(job: str, nodes: Sequence[str]) -> None:
    """Raise UsageError for nodes that are not part of the job around this process, and LaunchError where it is over."""
    members = expand(job_around(job).nodes)
    foreign = [node for node in nodes if node not in members]
    if foreign:
        raise UsageError(
            f"{node_list(foreign)} is not part of job {job}, in which this command runs.",
            f"It has {node_list(members)}. Run the command outside of any job, and it holds the nodes that it needs.",
        )


def runs_on(job: str) -> bool:
    """Whether steps can be started in the job. Raises LaunchError where Slurm does not answer."""
    return bool(job) and job_now(job) is not None


def only_job(job: str) -> dict[str, str]:
    """Variables that make `srun -w n1 ...` a step of the job, on the nodes and with the tasks that it would have alone.

    With the number of nodes and tasks of the job, which salloc sets too, it would run on all of them.
    """
    return {"SLURM_JOB_ID": job, "SLURM_JOBID": job}


def nodes_in_service(nodes: Sequence[str]) -> tuple[str, ...]:
    """The nodes of these that Slurm has in service, in their order."""
    lines = text.parse_sinfo(asked(slurm_argv.state_of(nodes)).stdout)
    usable = {line.node for line in lines if not line.out_of_service}
    return tuple(node for node in nodes if node in usable)


def named_nodes(words: Sequence[str]) -> tuple[str, ...]:
    """Nodes that Slurm knows and that a command line names: `n[1-4]`, `--nodelist=n1,n2`, `-wn1`."""
    cluster = set(asked(slurm_argv.NODE_NAMES).stdout.split())
    named: dict[str, None] = {}
    for word in words:
        for names in (word, word.partition("=")[2], word.removeprefix("-w")):
            try:
                nodes = expand(names) if names else ()
            except ValueError:
                continue
            if nodes and cluster.issuperset(nodes):
                named |= dict.fromkeys(nodes)
    return tuple(named)
