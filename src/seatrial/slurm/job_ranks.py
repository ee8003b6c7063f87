"""The ranks of a user's own job: those of its running steps, or those that srun would start there."""

import os
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.model.own_job import JobStep, OwnJob
from seatrial.model.placement import RankPlace
from seatrial.node.processor_sets import listed
from seatrial.process.process import run, step_binding
from seatrial.slurm.argv import STEP_NAME, step
from seatrial.slurm.presence import COMMAND_TIMEOUT_S

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
"""The same of a task of a step that was started only to see where its tasks may run."""
LOOK_S = 5.0
"""A step that takes longer is given up: the answer is to come soon."""


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
    """By the number of the step, in the order of ranks; lines of another form are left out."""
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
