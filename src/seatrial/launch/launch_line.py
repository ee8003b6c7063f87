"""A user's own launch line as a launcher: the same line with the probe in place of the program.

In a step's shell (srun --pty) the line inherits that step's binding, which is part of where its ranks really run.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from seatrial.launch.contract import PLAIN, FactsReading, HoldsNothing, Hosts, StartManner
from seatrial.launch.environments.discovery import find_program
from seatrial.launch.environments.environment import NO_ENVIRONMENT, Environment, Where
from seatrial.launch.line_parser import Dialect, LaunchLine, is_srun, launcher_of
from seatrial.launch.mpi import Family, family_of
from seatrial.launch.probe_text import hosts_by_rank
from seatrial.launch.session import PipeSession
from seatrial.model.errors import LaunchError, UsageError
from seatrial.model.fabric import NO_FABRIC
from seatrial.model.measurement import node_of
from seatrial.process.process import run, step_binding
from seatrial.slurm.allocation import Waiting
from seatrial.slurm.job import refuse_over

START_TIMEOUT_S = 60.0
PIPED = {Dialect.SRUN: ("--input=0", "--kill-on-bad-exit=1")}
"""What makes a launcher give our input to rank 0 alone; mpirun does so by itself."""
CHOOSES_NODES = ("w", "nodelist", "F", "nodefile", "r", "relative", "jobid")
FAMILIES = {Family.OPEN_MPI: Dialect.OPEN_MPI, Family.MPICH: Dialect.HYDRA}


class HostsMoved(LaunchError):
    """The ranks came up on other hosts than they did before."""


def dialect_of(words: Sequence[str], environment: Environment = NO_ENVIRONMENT) -> Dialect:
    """Which launcher a line uses, asking mpirun itself, in the line's environment.

    Raises UsageError where it is none that we know, LaunchError where the environment cannot be entered.
    """
    launcher = launcher_of(words)
    if not find_program(environment, launcher):
        where = f"in {environment.spec}" if environment else "here"
        raise UsageError(f"There is no {launcher} {where}.", "Load the MPI module, or give the launcher's full path.")
    if is_srun(launcher):
        return Dialect.SRUN
    version = run(environment.around_launcher([launcher, "--version"]), timeout_s=30)
    dialect = FAMILIES.get(family_of(version.stdout))
    if dialect is None:
        raise UsageError(
            f"{launcher} belongs to an MPI that seatrial cannot bind: it reports neither Open MPI nor MPICH.",
            "Use srun, Open MPI's mpirun or MPICH's mpiexec.",
        )
    return dialect


def job_of(line: LaunchLine) -> str:
    """The number of the job in which the line starts its ranks; empty if there is none, or it gets a job each time."""
    named = line.option("jobid") if line.dialect is Dialect.SRUN else ""
    return "" if _allocates(line) else named or os.environ.get("SLURM_JOB_ID", "")


def _allocates(line: LaunchLine) -> bool:
    return any(one.words[0].rpartition("/")[2] == "salloc" for one in line.before)


def compiler_beside(words: Sequence[str], environment: Environment = NO_ENVIRONMENT) -> str:
    """The compiler that belongs to a line's mpirun: beside it, with its suffix.

    Empty for srun, where none is, and where an environment that is entered by each rank has its own.
    """
    launcher = launcher_of(words)
    name = launcher.rpartition("/")[2]
    inside = environment and environment.where is Where.INSIDE
    path = "" if is_srun(launcher) or inside else find_program(environment, launcher)
    if not path:
        return ""
    suffix = ".mpich" if name.endswith(".hydra") else name.partition(".")[1] + name.partition(".")[2]
    beside = Path(path).with_name(f"mpicc{suffix}")
    return find_program(environment, str(beside))


class LineLauncher(HoldsNothing):
    """The contract over a launch line. What it calls nodes are places, HOST:0, HOST:1, ..., one rank each."""

    def __init__(self, line: LaunchLine, probe: Path, wait_s: float, environment: Environment = NO_ENVIRONMENT) -> None:
        """`wait_s`: how long an srun outside of a job may wait in the queue. `environment`: what the line runs in."""
        self.environment = environment.seeing(str(probe.absolute().parent))
        self.name = line.dialect.value
        self._line = line
        self._probe = probe
        self._allocates = _allocates(line)
        queued = line.dialect is Dialect.SRUN and not os.environ.get("SLURM_JOB_ID")
        self._timeout_s = START_TIMEOUT_S + (wait_s if queued or self._allocates else 0.0)
        self._pinned: tuple[str, ...] = ()

    def look(self, log: Path) -> PipeSession:
        """A session of as many ranks as come up, wherever they do. Raises LaunchError, at once if no job can start."""
        waiting = Waiting(())
        try:
            session = PipeSession(
                self._argv(PLAIN),
                None,
                log,
                ranks=self._line.ranks,
                timeout_s=self._timeout_s,
                extra_environment=step_binding(),
                in_vain=waiting.hopeless,
            )
        except LaunchError as error:
            raise waiting.never("the line") or error from error
        free = self._line.dialect is Dialect.SRUN and not self._allocates and not self._line.option(*CHOOSES_NODES)
        hosts = dict.fromkeys(host.partition(".")[0] for host in hosts_by_rank(session.ranks))
        if free and all(hosts):
            self._pinned = (f"--nodelist={','.join(hosts)}",)
        return session

    def hosts(self) -> Hosts:
        """Not known before a start."""
        return Hosts(nodes=(), fabric=NO_FABRIC)

    def read_facts(self, nodes: Sequence[str]) -> FactsReading:
        """No node is asked: a launch line starts all of its ranks or none. Raises JobOver if its job ended."""
        if job := job_of(self._line):
            refuse_over(job)
        return FactsReading(texts=dict.fromkeys(nodes, ""), silent={})

    def start(self, nodes: Sequence[str], log: Path, manner: StartManner = PLAIN) -> PipeSession:
        """`nodes`: the places found by `look`, all of them, by rank. The manner's options replace the line's binding.

        Raises LaunchError, too, where ranks come up on other hosts than they did.
        """
        session = PipeSession(
            self._argv(manner),
            nodes,
            log,
            one_host=True,
            timeout_s=self._timeout_s,
            extra_environment={**step_binding(), **manner.environment},
        )
        if hosts_by_rank(session.ranks) != tuple(map(node_of, nodes)):
            session.close(kill=True)
            raise HostsMoved("The ranks came up on other hosts than the first time.", "Name the nodes in the line.")
        return session

    def _argv(self, manner: StartManner) -> list[str]:
        bound = not manner.options
        add = (*manner.options, *self._pinned, *PIPED.get(self._line.dialect, ()))
        program = self.environment.around_program([str(self._probe)])
        return self.environment.around_launcher(self._line.argv(program, add=add, bound=bound, piped=False))


def known_program(line: LaunchLine, environment: Environment = NO_ENVIRONMENT) -> None:
    """Raise UsageError where the word taken for the program is none: then an option that we do not know hid it."""
    for word in (one.words[0] for one in (*line.before, *line.wrappers)):
        if not find_program(environment, word):
            raise UsageError(
                f"{word} of the launch line is not a program here.", "Leave it out, or give its full path."
            )
    word = line.program[0]
    if not find_program(environment, word):
        raise UsageError(
            f"{word!r} is taken for the program of the launch line, but is not a program.",
            "If another word is the program, name it with --program.",
        )


def program_hint(line: LaunchLine) -> str:
    """A sentence where the program is a script that seems to start another one; empty elsewhere."""
    script, *others = line.program
    inner = next((word for word in others[:1] if not word.startswith("-") and shutil.which(word)), "")
    path = shutil.which(script)
    if not inner or not path:
        return ""
    try:
        with Path(path).open("rb") as file:
            if file.read(2) != b"#!":
                return ""
    except OSError:
        return ""
    return f"{script} is a script and left out; if it binds {inner}, say --program {inner}, so that it stays"
