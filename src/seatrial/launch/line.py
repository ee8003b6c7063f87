"""A user's own launch line as a launcher: the same line with the probe in place of the program."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from seatrial.diagnosis.placement.line import LaunchLine, launcher_place
from seatrial.diagnosis.placement.line_options import Dialect
from seatrial.launch.contract import PLAIN, FactsReading, Hosts, LaunchError, Manner
from seatrial.launch.mpi import Family, family_of
from seatrial.launch.probe_text import hosts_by_rank
from seatrial.launch.process import run
from seatrial.launch.session import PipeSession
from seatrial.model.errors import UsageError
from seatrial.model.fabric import NO_FABRIC

START_TIMEOUT_S = 60.0
PIPED = {Dialect.SRUN: ("--input=0", "--kill-on-bad-exit=1")}
"""What makes a launcher give our input to rank 0 alone; mpirun does so by itself."""
FAMILIES = {Family.OPEN_MPI: Dialect.OPEN_MPI, Family.MPICH: Dialect.HYDRA}


def dialect_of(words: Sequence[str]) -> Dialect:
    """Which launcher a line uses, asking mpirun itself. Raises UsageError where it is none that we know."""
    launcher = words[launcher_place(words)]
    if not shutil.which(launcher):
        raise UsageError(f"There is no {launcher} here.", "Load the MPI module, or give the launcher's full path.")
    if launcher.rpartition("/")[2].startswith("srun"):
        return Dialect.SRUN
    said = run([launcher, "--version"], timeout_s=30)
    dialect = FAMILIES.get(family_of(said.stdout))
    if dialect is None:
        raise UsageError(
            f"{launcher} is of no MPI that seatrial can bind: it calls itself neither Open MPI nor MPICH.",
            "Use srun, Open MPI's mpirun or MPICH's mpiexec.",
        )
    return dialect


def compiler_beside(words: Sequence[str]) -> str:
    """The compiler that belongs to a line's mpirun: beside it, with its suffix; empty for srun or where none is."""
    launcher = words[launcher_place(words)]
    name = launcher.rpartition("/")[2]
    found = shutil.which(launcher)
    if name.startswith("srun") or not found:
        return ""
    suffix = ".mpich" if name.endswith(".hydra") else name.partition(".")[1] + name.partition(".")[2]
    beside = Path(found).with_name(f"mpicc{suffix}")
    return str(beside) if os.access(beside, os.X_OK) else ""


class LineLauncher:
    """The contract over a launch line. What it calls nodes are places, HOST:0, HOST:1, ..., one rank each."""

    job = ""

    def __init__(self, line: LaunchLine, probe: Path, wait_s: float) -> None:
        """`wait_s`: how long an srun outside of a job may stand in the queue."""
        self.name = line.dialect.value
        self._line = line
        self._probe = probe
        queued = line.dialect is Dialect.SRUN and not os.environ.get("SLURM_JOB_ID")
        self._timeout_s = START_TIMEOUT_S + (wait_s if queued else 0.0)

    def look(self, log: Path) -> PipeSession:
        """A session of as many ranks as come up, wherever they do. Raises LaunchError."""
        return PipeSession(self._argv(PLAIN), None, log, ranks=self._line.ranks, timeout_s=self._timeout_s)

    def hosts(self) -> Hosts:
        """Not known before a start."""
        return Hosts(nodes=(), fabric=NO_FABRIC)

    def allocate(self, nodes: Sequence[str], seconds: float) -> None:
        """The line gets hold of what it needs."""

    def read_facts(self, nodes: Sequence[str]) -> FactsReading:
        """Nobody is asked in mid-run: a launch line starts all of its ranks or none."""
        return FactsReading(texts=dict.fromkeys(nodes, ""), silent={})

    def start(self, nodes: Sequence[str], log: Path, manner: Manner = PLAIN) -> PipeSession:
        """`nodes`: the places found by `look`, all of them, by rank. The manner's options replace the line's binding.

        Raises LaunchError, too, where ranks come up on other hosts than they did.
        """
        session = PipeSession(
            self._argv(manner),
            nodes,
            log,
            one_host=True,
            timeout_s=self._timeout_s,
            extra_environment=manner.environment,
        )
        if hosts_by_rank(session.ranks) != tuple(place.rpartition(":")[0] for place in nodes):
            session.close(kill=True)
            raise LaunchError("The ranks came up on other hosts than the first time.", "Name the nodes in the line.")
        return session

    def _argv(self, manner: Manner) -> list[str]:
        bound = not manner.options
        add = (*manner.options, *PIPED.get(self._line.dialect, ()))
        return self._line.argv([str(self._probe)], add=add, bound=bound, piped=False)

    def close(self) -> None:
        """Nothing to give back."""


def known_program(line: LaunchLine) -> None:
    """Raise UsageError where the word taken for the program is none: then an option that we do not know hid it."""
    word = line.program[0]
    if shutil.which(word) is None:
        raise UsageError(
            f"{word!r} is taken for the program of the launch line, and is none.",
            "If another word is the program, name it by --program.",
        )
