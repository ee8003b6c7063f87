"""Slurm's commands as argument lists; pure."""

import math
from collections.abc import Sequence

from seatrial.model.node_list import node_list
from seatrial.model.settings import SlurmRequest

SINFO = ("sinfo", "--all", "--noheader", "--Node", "--format=%N|%T|%P|%E")
"""Also what Slurm hides from users who may not use it: else the default partition would seem to be another one."""
FEATURES = ("sinfo", "--all", "--noheader", "--Node", "--format=%N|%f|%b")
SHOW_NODES = ("scontrol", "--oneliner", "show", "nodes")
NODE_NAMES = ("sinfo", "--noheader", "--Node", "--format=%N")
PARTITION_NAMES = ("sinfo", "--noheader", "--format=%R")
TOPOLOGY = ("scontrol", "show", "topology")
CONFIG = ("scontrol", "show", "config")
QUEUE_FORMAT = "--format=%i|%T|%n|%r"
SPARE_MINUTES = 5
ALONE_MINUTES = 2
"""The collector takes a second or two; a job so short fits into the gaps between others'."""
ALONE_MEMORY_MB = 200
"""lstopo of a large node takes a tenth of it."""
HOLDS = "seatrial-holds"
HOLDER = ("sh", "-c", f'echo "{HOLDS} $SLURM_JOB_ID"; exec cat >/dev/null')
"""Salloc runs it once all nodes are up. When its input ends it ends, and salloc gives the allocation back: Slurm's
accounting then says COMPLETED, where it says CANCELLED after scancel."""
LASTING_HOLDER = ("sh", "-c", f'echo "{HOLDS} $SLURM_JOB_ID"; read -r _ || exec sleep 2147483647')
"""A holder that only a line of input ends: an input that merely ends leaves the job until it is cancelled."""
ONE_NODE_S = 60
"""A node that has just ended a job cleans up after it."""
IMMEDIATE_S = 10
"""A scheduler looks at the queue every few seconds; a free node is granted by then."""


def minutes(seconds: float) -> int:
    """The time limit of an allocation that serves for `seconds`."""
    return math.ceil(seconds / 60) + SPARE_MINUTES


def longest_s(limit_minutes: int | None) -> float:
    """Seconds for which an allocation of that time limit may serve: 0 if the limit is short; None: no limit."""
    return math.inf if limit_minutes is None else max((limit_minutes - SPARE_MINUTES) * 60.0, 0.0)


ANY = SlurmRequest()


def request_words(request: SlurmRequest) -> list[str]:
    """What the site's rules want, as options of salloc and sbatch.

    Excluded nodes are not among them: the job asks for its nodes by name.
    """
    wanted = {
        "account": request.account,
        "qos": request.qos,
        "reservation": request.reservation,
        "constraint": request.constraint,
        "gres": request.gres,
    }
    return [*(f"--{name}={value}" for name, value in wanted.items() if value), *request.arguments]


def named(job: str) -> str:
    """The option of salloc, sbatch and srun that names a job."""
    return f"--job-name={job}"


def allocation(
    nodes: Sequence[str], seconds: float, partition: str, name: str, request: SlurmRequest = ANY
) -> list[str]:
    """What salloc and sbatch alike are asked for: these nodes, alone, for this time, even if one of them fails."""
    asked = [
        f"--nodes={len(nodes)}",
        f"--ntasks={len(nodes)}",
        "--ntasks-per-node=1",
        f"--nodelist={node_list(nodes)}",
        "--exclusive",
        "--no-kill",
        named(name),
        f"--time={minutes(seconds)}",
    ]
    return [*asked, *([f"--partition={partition}"] if partition else []), *request_words(request)]


def salloc(
    nodes: Sequence[str],
    seconds: float,
    partition: str,
    name: str,
    *,
    at_once: bool = False,
    request: SlurmRequest = ANY,
    lasting: bool = False,
) -> list[str]:
    """An allocation that lasts as long as `HOLDER`, which says when it is granted and nodes are up.

    `name`: of the job; `at_once`: now or never, without waiting in the queue; `lasting`: also when salloc's standard
    input ends, until it is given back or cancelled. salloc then ends the holder, for which it would wait for ever.
    """
    immediate = [f"--immediate={IMMEDIATE_S}"] if at_once else []
    words = ["salloc", "--wait-all-nodes=1", *immediate, *(["--kill-command"] if lasting else [])]
    holder = LASTING_HOLDER if lasting else HOLDER
    return [*words, *allocation(nodes, seconds, partition, name, request), *holder]


def sbatch(
    nodes: Sequence[str],
    seconds: float,
    partition: str,
    name: str,
    output: str,
    script: str,
    argv: Sequence[str],
    request: SlurmRequest = ANY,
) -> list[str]:
    """sbatch that runs `script` with `argv` later and prints the job's number.

    Once: Slurm's own habit (JobRequeue) is to begin a job again whose first node failed. With what is set here: a job
    of --export=NONE would find no MPI.
    """
    asked = [
        *allocation(nodes, seconds, partition, name, request),
        f"--output={output}",
        "--no-requeue",
        "--export=ALL",
    ]
    return ["sbatch", "--parsable", "--wait-all-nodes=1", *asked, script, *argv]


def sbatch_alone(
    node: str, partition: str, name: str, script: str, argv: Sequence[str], *, memory: bool, request: SlurmRequest = ANY
) -> list[str]:
    """A job of one core of one node for a few minutes, beside others' jobs; prints its number.

    Not a task of a job array: Slurm treats the tasks of an array alike, and once one cannot start it does not try
    those behind it, though their nodes may be free. `memory`: say how little is needed, where memory is given out.
    """
    asked = [
        *("--nodes=1", "--ntasks=1", "--cpus-per-task=1"),
        *([f"--mem={ALONE_MEMORY_MB}M"] if memory else []),
        f"--nodelist={node}",
        named(name),
        f"--time={ALONE_MINUTES}",
        *([f"--partition={partition}"] if partition else []),
        *request_words(request),
        *("--no-requeue", "--chdir=/", "--output=/dev/null"),
    ]
    return ["sbatch", "--parsable", *asked, script, *argv]


def on_one_node(node: str, argv: Sequence[str], partition: str, request: SlurmRequest = ANY) -> list[str]:
    """`argv` once on a node, in a job of its own that waits a minute for the node; standard input is passed on."""
    asked = [
        *("srun", "--nodes=1", "--ntasks=1", f"--nodelist={node}", f"--immediate={ONE_NODE_S}", "--mpi=none"),
        *(f"--time={ALONE_MINUTES}", named("seatrial-setting"), "--quiet"),
        *([f"--partition={partition}"] if partition else []),
        *request_words(request),
    ]
    return [*asked, *argv]


STEP_NAME = "seatrial"
"""Name of our own steps, so that none is taken for the user's program."""


def step(job: str, nodes: Sequence[str], *, ranks_per_node: int = 1, arguments: Sequence[str] = ()) -> list[str]:
    """A step of one task on each of the nodes, or as many as said, beside whatever else the job runs.

    `arguments`: the site's own. Account, QOS, reservation, constraint and GRES are those of the job.
    """
    return [
        "srun",
        f"--jobid={job}",
        f"--job-name={STEP_NAME}",
        "--overlap",
        "--no-kill",
        f"--nodes={len(nodes)}",
        f"--ntasks={len(nodes) * ranks_per_node}",
        f"--ntasks-per-node={ranks_per_node}",
        f"--nodelist={node_list(nodes)}",
        "--mem=0",
        "--wait=0",  # a site's WaitTime would end slow nodes' tasks soon after the first one's
        "--export=ALL",  # a job begun with --export=NONE would keep settings from the ranks
        *arguments,
    ]


def setting_step(job: str, node: str, argv: Sequence[str], arguments: Sequence[str] = ()) -> list[str]:
    """`argv` once on a node of the job, beside whatever else runs there; standard input is passed on."""
    return [*step(job, [node], arguments=arguments), "--mpi=none", "--cpu-bind=none", "--quiet", *argv]


def facts_step(job: str, nodes: Sequence[str], arguments: Sequence[str] = ()) -> list[str]:
    """The collector on every node, its text on standard input; each line of output bears its task's number.

    Not bound: inside an interactive step SLURM_CPU_BIND would hold it to that step's processors.
    """
    own = ["--mpi=none", "--cpu-bind=none", "--kill-on-bad-exit=0", "--label", "sh", "-s"]
    return [*step(job, nodes, arguments=arguments), *own]


def probe_step(
    job: str,
    nodes: Sequence[str],
    mpi: str,
    *probe: str,
    ranks_per_node: int = 1,
    options: Sequence[str] = (),
    arguments: Sequence[str] = (),
) -> list[str]:
    """The probe (its argv) on every node; standard input goes to rank 0 alone.

    `options`: for srun, after ours; `arguments`: the site's own.
    """
    return [*_mpi_step(job, nodes, mpi, ranks_per_node, arguments), "--input=0", *options, *probe]


def program_step(
    job: str,
    nodes: Sequence[str],
    mpi: str,
    argv: Sequence[str],
    *,
    ranks_per_node: int,
    folder: str,
    in_order: bool = False,
    arguments: Sequence[str] = (),
) -> list[str]:
    """A user's program in a folder that the nodes share; its ranks are bound as the site has it.

    `ranks_per_node` 0: once, without MPI, and on all processors of the job there, since its threads need them.
    The step ends when a rank fails. `mpi` as of srun, empty for the site's own. `in_order`: one rank on each node, in
    the order of the nodes: srun sorts its list unless the distribution is arbitrary (srun(1), --distribution).
    """
    if not ranks_per_node:
        once = [*step(job, nodes, arguments=arguments), "--mpi=none", "--cpu-bind=none", "--kill-on-bad-exit=1"]
        return [*once, "--input=none", f"--chdir={folder}", *argv]
    begun = _mpi_step(job, nodes, mpi, ranks_per_node, arguments)
    placed = ["--distribution=arbitrary", f"--nodelist={','.join(nodes)}"] if in_order else []
    return [*begun, *placed, "--input=none", f"--chdir={folder}", *argv]


def _mpi_step(job: str, nodes: Sequence[str], mpi: str, ranks: int, arguments: Sequence[str]) -> list[str]:
    chosen = [f"--mpi={mpi}"] if mpi else []
    return [*step(job, nodes, ranks_per_node=ranks, arguments=arguments), *chosen, "--kill-on-bad-exit=1"]


IS_THERE = 'test -e "$1" || echo missing'


def presence_step(job: str, nodes: Sequence[str], path: str, arguments: Sequence[str] = ()) -> list[str]:
    """Have every node without that file print `missing`, after its task's number."""
    own = ["--mpi=none", "--cpu-bind=none", "--label", "--input=none", "sh", "-c", IS_THERE, "sh", path]
    return [*step(job, nodes, arguments=arguments), *own]


def broadcast(job: str, source: str, target: str) -> list[str]:
    """Copy a file to all nodes of a job; not over another file: in /tmp that may be somebody else's."""
    return ["sbcast", f"--jobid={job}", source, target]


def remove_step(job: str, nodes: Sequence[str], path: str, arguments: Sequence[str] = ()) -> list[str]:
    """Remove a file on every node."""
    own = ["--mpi=none", "--cpu-bind=none", "--input=none", "--quiet", "rm", "-f", "--", path]
    return [*step(job, nodes, arguments=arguments), *own]


def report_step(
    job: str, nodes: Sequence[str], mpi: str, argv: Sequence[str], arguments: Sequence[str] = ()
) -> list[str]:
    """`argv` once on every node, launched as the probe is; each line of output bears its task's number."""
    chosen = [f"--mpi={mpi}"] if mpi else []
    begun = step(job, nodes, arguments=arguments)
    return [*begun, *chosen, "--kill-on-bad-exit=0", "--input=0", "--label", *argv]


def partition(name: str) -> list[str]:
    """Ask for one partition."""
    return ["scontrol", "--oneliner", "show", "partition", name]


def reservation(name: str) -> list[str]:
    """Ask for one reservation."""
    return ["scontrol", "--oneliner", "show", "reservation", name]


TAKE_OUT = """
reservation=$1
shift
while [ $# -gt 0 ]; do
    case $(sinfo --noheader --all --Node --nodes="$1" --format=%T) in
        drain*) ;;
        *) scontrol update NodeName="$1" State="$2" Reason="\\"$3\\"" || exit 1 ;;
    esac
    shift 3
done
all=$(scontrol --oneliner show reservation) || exit 1
case " $all" in
    *"ReservationName=$reservation "*)
        scancel --reservation="$reservation"
        scontrol delete ReservationName="$reservation" ;;
esac
"""
"""POSIX sh: nodes out of service first, so that nobody gets them, and then the reservation away, if it is there, with
what is left of our job in it. A node that somebody has drained meanwhile keeps that reason.
scontrol takes a quotation mark from either end of a reason, so it gets one there.
"""


def reserve(name: str, nodes: Sequence[str], user: str, minutes_: int) -> list[str]:
    """Keep idle or drained nodes for one user from now on; the reservation ends by itself after these minutes."""
    wanted = [f"Nodes={node_list(nodes)}", f"Users={user}", "StartTime=now", f"Duration={minutes_}"]
    return ["scontrol", "create", "reservation", f"ReservationName={name}", *wanted]


def end_reservation(name: str) -> list[str]:
    """End a reservation in which no job runs."""
    return ["scontrol", "delete", f"ReservationName={name}"]


def resume(nodes: Sequence[str]) -> list[str]:
    """Nodes back into service."""
    return ["scontrol", "update", f"NodeName={node_list(nodes)}", "State=RESUME"]


def drain(node: str, reason: str) -> list[str]:
    """A node out of service, as soon as it runs no job."""
    return ["scontrol", "update", f"NodeName={node}", "State=DRAIN", f"Reason={reason}"]


def take_out(reservation_: str, states: Sequence[tuple[str, str, str]]) -> list[str]:
    """Nodes out of service, with the state and reason of each, and the reservation away."""
    return ["sh", "-c", TAKE_OUT, "seatrial-take-out", reservation_, *(word for state in states for word in state)]


def state_of(nodes: Sequence[str]) -> list[str]:
    """SINFO for these nodes alone."""
    return [*SINFO, f"--nodes={node_list(nodes)}"]


def cancel(job: str) -> list[str]:
    """End a job."""
    return ["scancel", job]


def cancel_named(name: str, user: str) -> list[str]:
    """End the user's jobs of that name."""
    return ["scancel", f"--user={user}", f"--name={name}"]


def queue_of(job: str) -> list[str]:
    """Ask for a job, also when it has just ended."""
    return ["squeue", "--noheader", "--states=all", f"--jobs={job}", QUEUE_FORMAT]


def queue_of_name(name: str, user: str) -> list[str]:
    """Ask for the user's jobs of that name, also those that have just ended."""
    return ["squeue", "--noheader", "--states=all", f"--user={user}", f"--name={name}", QUEUE_FORMAT]


def job_about(job: str) -> list[str]:
    """Ask for the state, the user and the nodes of a job in the queue, each with the number of the job."""
    return ["squeue", "--noheader", f"--jobs={job}", "--format=%A|%T|%U|%N"]


def jobs_by_session(user: int) -> list[str]:
    """Ask where a user's jobs were asked for: number, host, session and state of each."""
    fields = "JobID:32,AllocNodes:256,AllocSID:32,State:32"
    return ["squeue", "--noheader", f"--user={user}", f"--Format={fields}"]


def job_reason(job: str) -> list[str]:
    """Ask why a job is still in the queue."""
    return ["squeue", "--noheader", f"--jobs={job}", "--format=%r"]


ACCOUNTED = (
    "JobID,User,Partition,NNodes,ReqCPUS,Submit,Start,End,ElapsedRaw,Suspended,Timelimit,JobName,State,ExitCode,"
)
"""Texts of users may hold the separator and line breaks: other columns are between them, and one comes last."""
SUBMIT_LINE, LAST_ACCOUNTED = "SubmitLine,", "NodeList"
"""A column that sacct has since Slurm 20.11."""


def accounting(start: str, end: str, partition: str, *, submit_line: bool = True) -> list[str]:
    """Ask accounting for all users' jobs of a period without their steps, with records of requeued ones."""
    columns = ACCOUNTED + (SUBMIT_LINE if submit_line else "") + LAST_ACCOUNTED
    asked = ["sacct", "--allusers", "--allocations", "--duplicates", "--parsable2", f"--format={columns}"]
    chosen = [f"--partition={partition}"] if partition else []
    return [*asked, f"--starttime={start}", f"--endtime={end}", *chosen]
