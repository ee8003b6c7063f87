"""Nodes held by one job while a setting is changed and restored; and the ranks of a user's own job."""

import os
import time
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.model.errors import LaunchError, UsageError
from seatrial.model.measurement import RankPlace
from seatrial.model.node_list import expand, node_list
from seatrial.model.past import JobStep, OwnJob
from seatrial.model.settings import SlurmRequest
from seatrial.node.processor_sets import listed
from seatrial.process.keeper import Keeper
from seatrial.process.process import run, step_binding
from seatrial.slurm import argv as slurm_argv
from seatrial.slurm import text
from seatrial.slurm.allocation import Allocation, obtain, with_request
from seatrial.slurm.argv import STEP_NAME, step
from seatrial.slurm.job import job_around, job_now
from seatrial.slurm.presence import COMMAND_TIMEOUT_S, asked
from seatrial.slurm.queue import job_ending, new_job_name

HELD_JOB = "SEATRIAL_HELD_JOB"
"""The variable that names the job to a command of ours, which measures in it as if it had made it."""
OWN_STEPS = ("batch", "extern", "interactive")
"""Steps of Slurm's own: none of them is the user's program."""
MASK = """cpus=
while read -r key value; do
  [ "$key" != Cpus_allowed_list: ] || cpus=$value
done <"/proc/$pid/status"
"""
RUNNING = f"""scontrol listpids "$SLURM_JOB_ID" 2>/dev/null | while read -r pid job step place rank; do
  case $place$rank in '' | *[!0-9]*) continue ;; esac
  [ "$step" != "$SLURM_STEP_ID" ] && [ -r "/proc/$pid/status" ] || continue
  read -r name <"/proc/$pid/comm"
  {MASK}  echo "rank|$SLURMD_NODENAME|$step|$rank|$pid|$cpus|$name"
done
"""
"""POSIX sh, once on each node: a line for each task of the job's other steps (scontrol(1), listpids)."""
STARTED = f"""pid=$$
{MASK}echo "rank|$SLURMD_NODENAME|$SLURM_STEP_ID|$SLURM_PROCID|$pid|$cpus|srun"
"""
"""Script of a task whose step was started only to see where its tasks may run."""
LOOK_S = 5.0
"""A step that takes longer is given up: the answer is to come soon."""


class HeldNodes:
    """A job of our own that lasts until it is given back."""

    def __init__(self, allocation: Allocation, nodes: Sequence[str], name: str, ends_s: float) -> None:
        self.job, self.nodes, self.name = allocation.job, tuple(nodes), name
        self._allocation, self._ends_s = allocation, ends_s

    def left_s(self) -> float:
        """Seconds for which something may still be measured, so that time is left to restore."""
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


def steps_of(job: str) -> list[str]:
    """Ask for the steps that run in a job."""
    return ["squeue", "--steps", "--noheader", f"--jobs={job}", "--format=%i|%N|%j"]


def parse_steps(text: str, own: str) -> tuple[JobStep, ...]:
    """Steps of the user's own; `own`: the number of the step that we are in, or empty.

    Not those of seatrial: one that has just ended may still be in the list.
    """
    steps = []
    for line in text.splitlines():
        fields = [field.strip() for field in line.split("|", 2)]
        number = fields[0].rpartition(".")[2]
        ours = number in OWN_STEPS or number == own or fields[-1] == STEP_NAME
        if len(fields) == 3 and not ours:
            steps.append(JobStep(number=number, nodes=fields[1], name=fields[2]))
    return tuple(steps)


def running_ranks(job: str, nodes: Sequence[str], arguments: Sequence[str] = ()) -> list[str]:
    """One task on each node that looks at the tasks of other steps. Not bound, so that it finds a core to run on."""
    quiet = ["--mpi=none", "--cpu-bind=none", "--kill-on-bad-exit=0"]
    return [*step(job, nodes, arguments=arguments), *quiet, "sh", "-c", RUNNING]


def started_ranks(job: str, arguments: Sequence[str] = ()) -> list[str]:
    """A step as the variables of the job have it: with their number of tasks, their nodes, and their binding."""
    plain = ["--overlap", "--mpi=none", "--mem=0", "--wait=0", "--export=ALL", "--kill-on-bad-exit=0"]
    return ["srun", f"--jobid={job}", f"--job-name={STEP_NAME}", *plain, *arguments, "sh", "-c", STARTED]


def parse_ranks(text: str) -> Mapping[str, tuple[RankPlace, ...]]:
    """Number of the step -> places in the order of ranks; lines of another form are left out."""
    of_step: dict[str, dict[int, RankPlace]] = {}
    for line in text.splitlines():
        fields = line.split("|", 6)
        if len(fields) != 7 or fields[0] != "rank" or not (fields[3].isascii() and fields[3].isdecimal()):
            continue
        _, node, number, rank, pid, cpus, _ = fields
        place = RankPlace(
            rank=int(rank[:9]),
            place=f"{node}:{rank[:9]}",
            node=node,
            cpus=listed(cpus) or (),
            pid=int(pid) if pid.isascii() and pid.isdecimal() and len(pid) < 10 else None,
        )
        of_step.setdefault(number, {})[place.rank] = place
    return {number: tuple(ranks[rank] for rank in sorted(ranks)) for number, ranks in of_step.items()}


def see_own_job(job: str, nodes: Sequence[str], arguments: Sequence[str]) -> OwnJob:
    """The ranks of the program that runs; where none does, those of a step that is started only to see its ranks.

    Inside a step, as under srun --pty, its variables describe that step and not the job's ranks: none is started.
    """
    own = os.environ.get("SLURM_STEP_ID", "")
    listed = run(steps_of(job), timeout_s=COMMAND_TIMEOUT_S)
    view = OwnJob(job=job, steps=parse_steps(listed.stdout if listed.ok else "", own))
    if view.program is not None:
        argv, number = running_ranks(job, nodes, arguments), view.program.number
    elif own and step_binding():
        return view
    else:
        argv, number = started_ranks(job, arguments), ""
    seen = parse_ranks(run(argv, timeout_s=LOOK_S).stdout)
    ranks = seen.get(number, ()) if number else next(iter(seen.values()), ())
    return msgspec.structs.replace(view, ranks=tuple(rank for rank in ranks if rank.node in nodes))
