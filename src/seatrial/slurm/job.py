"""The job around this process: its state, owner and nodes as Slurm reports them, and its variables in this shell."""

import os
import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from seatrial.model.errors import JobOver, LaunchError, UsageError
from seatrial.model.launching import blocked, fine, noted
from seatrial.model.verdict import Finding, FindingKind
from seatrial.slurm import argv
from seatrial.slurm.presence import asked, queue_answer
from seatrial.slurm.queue import ENDED

PROC = Path("/proc")
CGROUP = re.compile(r"/job_(\d{1,18})(?:/|$)", re.MULTILINE)
"""Slurm's own name of a job's cgroup; also seen from within a container that has a process namespace of its own."""
VARIABLE = re.compile(rb"(?:^|\0)SLURM_JOB_ID=(\d{1,18})(?:\0|$)")
MOST_ANCESTORS = 100
MOST_BYTES = 1 << 20
PARENT, SESSION = 1, 3
"""Fields of /proc/PID/stat behind the name of the program: state, parent, group, session (proc(5))."""
KEEP_JOB_VARIABLES = (
    "Keep them (guix shell --pure --preserve=^SLURM, apptainer without --cleanenv), or set SLURM_JOB_ID={job} here."
)
SALLOC = b"salloc"


def hidden_job(proc: Path = PROC, process: int | None = None) -> str:
    """The job's number; empty where neither the cgroup nor an ancestor of this user's names one."""
    number = os.getpid() if process is None else process
    of_cgroup = CGROUP.search(_read(proc / str(number) / "cgroup").decode(errors="replace"))
    if of_cgroup:
        return of_cgroup[1]
    for ancestor in _ancestors(proc, number):
        named = VARIABLE.search(_read(proc / str(ancestor) / "environ"))
        if named:
            return named[1].decode()
    return ""


def salloc_session(proc: Path = PROC, process: int | None = None) -> str:
    """The session of the nearest ancestor that is salloc; empty where none is."""
    for ancestor in _ancestors(proc, os.getpid() if process is None else process):
        begin, _, rest = _read(proc / str(ancestor) / "stat").rpartition(b")")
        fields = rest.split()
        if begin.partition(b"(")[2] == SALLOC and len(fields) > SESSION:
            return fields[SESSION].decode(errors="replace")
    return ""


def job_of_session(session: str, host: str = "") -> str:
    """The user's job that was asked for in this session of this host; empty unless exactly one was."""
    lines = [line.split() for line in asked(argv.jobs_by_session(os.geteuid())).stdout.splitlines()]
    own_host = (host or socket.gethostname()).partition(".")[0]
    fitting = {
        words[0]
        for words in lines
        if len(words) == 4 and words[2] == session and words[1].partition(".")[0] == own_host and words[3] == "RUNNING"
    }
    return fitting.pop() if len(fitting) == 1 else ""


def _ancestors(proc: Path, number: int) -> Iterator[int]:
    """The process itself, its parent, and so on."""
    for _ in range(MOST_ANCESTORS):
        yield number
        fields = _read(proc / str(number) / "stat").rpartition(b")")[2].split()
        number = int(fields[PARENT]) if len(fields) > PARENT and fields[PARENT].isdigit() else 0
        if number <= 1:
            return


def _read(path: Path) -> bytes:
    """What the kernel says of a process; empty where it is another user's or gone."""
    try:
        with path.open("rb") as stream:
            return stream.read(MOST_BYTES)
    except OSError:
        return b""


def judge_hidden_job(step: str, job: str, nodes: str, also: str = "") -> Finding:
    """This shell is inside a job without the job's variables, and without `also`, such as Slurm's commands.

    `job`: empty where only salloc knows it.
    """
    where = f" on {nodes}" if nodes else ""
    gone = f"its SLURM_ variables{f' and {also}' if also else ''} are gone"
    says = f"This shell is inside {f'job {job}' if job else 'a job of salloc'}{where}, and {gone}."
    return blocked(step, FindingKind.JOB_VARIABLES, says, KEEP_JOB_VARIABLES.format(job=job or "NUMBER"))


OVER = frozenset([*ENDED, "COMPLETING", "PENDING"])
"""PENDING: Slurm has taken it back and put it in the queue again."""
STANDING_STILL = frozenset(["SUSPENDED", "STOPPED"])


class SlurmJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job that is not over."""

    state: str
    """Slurm's word for the state, in capitals."""
    user: str
    """Whose it is, by number."""
    nodes: str
    """Nodes in Slurm's notation."""

    def stranger(self, environ: Mapping[str, str], user_id: int) -> str:
        """The number of its user where that is not us; else empty. In a container everybody may be root."""
        ours = {environ.get("SLURM_JOB_UID", ""), str(user_id)}
        return "" if not self.user or self.user in ours else self.user


def parse_job(text: str, number: str) -> SlurmJob | None:
    """The line of that very job in the output of `squeue --format=%A|%T|%U|%N`; None where it is over.

    Asked for the first job of an array or of a heterogeneous job, squeue reports all tasks and parts.
    """
    for line in text.splitlines():
        fields = [field.strip() for field in line.split("|", 3)]
        if len(fields) == 4 and fields[0] == number and fields[1].upper() not in OVER:
            return SlurmJob(state=fields[1].upper(), user=fields[2], nodes=fields[3])
    return None


def job_now(number: str) -> SlurmJob | None:
    """The job, or None where it is over. Raises LaunchError where Slurm does not answer."""
    return parse_job(queue_answer(argv.job_about(number), f"job {number}"), number)


def job_around(number: str) -> SlurmJob:
    """The job that this shell is in. Raises LaunchError where it is over, or another user's."""
    job = job_now(number)
    if job is None:
        raise LaunchError(f"SLURM_JOB_ID says that this is job {number}, and Slurm knows no such job any more.", FORGET)
    stranger = job.stranger(os.environ, os.geteuid())
    if stranger:
        raise LaunchError(f"SLURM_JOB_ID says that this is job {number}, and that is user {stranger}'s.", FORGET)
    return job


def refuse_clusters(named: str) -> None:
    """`named`: the value of SLURM_CLUSTERS. Raises UsageError for several, whose nodes may have equal names."""
    several = "," in named or named.strip().lower() == "all"
    if several:
        raise UsageError(
            f"SLURM_CLUSTERS={named} names several clusters, whose nodes may have the same names.",
            "Set it to the one cluster that is to be measured, or unset it.",
        )


def refuse_over(number: str) -> None:
    """Raise JobOver where nothing can be started in the job any more, or for the time being."""
    job = job_now(number)
    if job is None:
        raise JobOver(
            f"Job {number} is over: it was cancelled, or Slurm ended it when a node failed.",
            "Run it again; outside any job `seatrial check` makes an allocation that survives a failing node.",
        )
    if job.state in STANDING_STILL:
        raise JobOver(
            f"Job {number} is suspended: other jobs preempted it, or somebody ran scontrol suspend.",
            "Run it again on a partition whose jobs are not suspended (PreemptMode), or once it may go on.",
        )


STEP = "variables"
OF_JOB = ("SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES")
CHANGING = (
    "SLURM_CONSTRAINT", "SLURM_CPUS_PER_TASK", "SLURM_CPU_BIND", "SLURM_DISTRIBUTION", "SLURM_EPILOG", "SLURM_EXACT",
    "SLURM_EXCLUSIVE", "SLURM_EXPORT_ENV", "SLURM_GRES", "SLURM_HINT", "SLURM_HOSTFILE", "SLURM_KILL_BAD_EXIT",
    "SLURM_MEM_PER_CPU", "SLURM_MEM_PER_NODE", "SLURM_MPI_TYPE", "SLURM_NETWORK", "SLURM_NTASKS_PER_NODE",
    "SLURM_OVERCOMMIT", "SLURM_PROLOG", "SLURM_RESV_PORTS", "SLURM_TASK_PROLOG", "SLURM_THREADS_PER_CORE",
    "SLURM_TIMELIMIT",
)  # fmt: skip
"""Input variables of srun (srun(1), INPUT ENVIRONMENT VARIABLES) that change where tasks run or what they see."""
FORGET = "Unset the old job's variables (unset SLURM_JOB_ID SLURM_JOBID), or start from a new shell."
KEEP = "Preserve all SLURM_ variables (guix shell --preserve=^SLURM, module without purge), or start from a new shell."


def judge_variables(environ: Mapping[str, str], job_state: str, stranger: str = "") -> list[Finding]:
    """`environ`: this process's environment; `job_state`: squeue's word for SLURM_JOB_ID, empty where it has none.

    `stranger`: whose that job is, where it is not ours.
    """
    job = environ.get("SLURM_JOB_ID", "")
    if not job and "SLURM_JOB_ID" in environ:
        says = "SLURM_JOB_ID is set here and empty: srun refuses every step."
        return [blocked(STEP, FindingKind.JOB_VARIABLES, says, "Unset it: unset SLURM_JOB_ID.")]
    if not job:
        return _outside(environ)
    if not job_state:
        return [
            blocked(
                STEP,
                FindingKind.JOB_VARIABLES,
                f"SLURM_JOB_ID is {job}, and Slurm knows no such job any more: srun will refuse every step.",
                FORGET,
            )
        ]
    if stranger:
        says = f"SLURM_JOB_ID is {job}, and that is user {stranger}'s job."
        return [blocked(STEP, FindingKind.JOB_VARIABLES, says, FORGET)]
    lost = [name for name in OF_JOB if not environ.get(name)]
    if lost:
        says = f"Inside job {job}, and {' and '.join(lost)} {'is' if len(lost) == 1 else 'are'} lost."
        return [noted(STEP, FindingKind.JOB_VARIABLES, says, KEEP)]
    return [fine(STEP, f"Inside job {job}, which is {job_state.lower()}.")]


def _outside(environ: Mapping[str, str]) -> list[Finding]:
    left = [name for name in OF_JOB if environ.get(name)]
    if left:
        says = f"{' and '.join(left)} of a job {'is' if len(left) == 1 else 'are'} here, and SLURM_JOB_ID is not."
        return [blocked(STEP, FindingKind.JOB_VARIABLES, says, KEEP)]
    changing = [f"{name}={environ[name]}" for name in CHANGING if environ.get(name)]
    if changing:
        says = f"Variables of this shell change how srun starts: {', '.join(changing)}."
        return [noted(STEP, FindingKind.SRUN_VARIABLES, says, "Unset those that you do not mean.")]
    return [fine(STEP, "Outside of any job, and nothing of an old one is left.")]
