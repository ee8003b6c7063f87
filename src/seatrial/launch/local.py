"""Ranks on this machine, by mpirun or mpiexec."""

import os
import socket
from collections.abc import Sequence
from pathlib import Path

from seatrial.launch.contract import PLAIN, FactsReading, Hosts, LaunchError, Manner
from seatrial.launch.mpi import Family, Mpi
from seatrial.launch.process import run
from seatrial.launch.session import PipeSession
from seatrial.launch.sources import QUICK_FACTS, collector
from seatrial.model.errors import UsageError
from seatrial.model.fabric import NO_FABRIC

START_TIMEOUT_S = 60.0
FEWEST = 2


def mpirun_argv(mpi: Mpi, ranks: int, probe: Path, *, root: bool, options: Sequence[str] = ()) -> list[str]:
    """The command that starts `ranks` ranks of the probe here. `options`: for mpirun, after ours."""
    argv = [mpi.mpirun]
    if mpi.family is Family.OPEN_MPI:
        argv += ["--oversubscribe", *(["--allow-run-as-root"] if root else [])]
    return [*argv, "-n", str(ranks), *options, str(probe)]


class LocalLauncher:
    """The contract on one machine: what it calls nodes are places, HOST:0, HOST:1, ..., one rank each."""

    name = "local"
    job = ""

    def __init__(self, mpi: Mpi, probe: Path, ranks: int, *, quick_facts: bool = False) -> None:
        self._mpi = mpi
        self._probe = probe
        self._ranks = ranks
        self._facts_environment = QUICK_FACTS if quick_facts else {}

    def hosts(self) -> Hosts:
        """As many places as ranks were asked for."""
        cores = len(os.sched_getaffinity(0))
        if self._ranks > max(cores, FEWEST):
            raise UsageError(
                f"--ranks {self._ranks}: this machine has {cores} cores, and ranks that share one wait for each other.",
                f"Give at most --ranks {max(cores, FEWEST)}.",
            )
        name = socket.gethostname()
        return Hosts(nodes=tuple(f"{name}:{rank}" for rank in range(self._ranks)), fabric=NO_FABRIC)

    def allocate(self, nodes: Sequence[str], seconds: float) -> None:
        """Nothing to get hold of here."""

    def read_facts(self, nodes: Sequence[str]) -> FactsReading:
        """This machine's facts, for every place."""
        done = run(["sh", "-s"], stdin=collector(), timeout_s=30, extra_environment=self._facts_environment)
        if not done.ok:
            return FactsReading(texts={}, silent=dict.fromkeys(nodes, f"facts.sh failed: {done.stderr.strip()}"))
        return FactsReading(texts=dict.fromkeys(nodes, done.stdout), silent={})

    def start(self, nodes: Sequence[str], log: Path, manner: Manner = PLAIN) -> PipeSession:
        """One rank for every place named."""
        if not self._mpi.mpirun:
            raise LaunchError(f"There is no mpirun beside {self._mpi.mpicc}.", "Install the MPI's launcher.")
        argv = mpirun_argv(self._mpi, len(nodes), self._probe, root=os.geteuid() == 0, options=manner.options)
        around = {"OMPI_MCA_mpi_yield_when_idle": "1", **manner.environment}
        return PipeSession(argv, nodes, log, one_host=True, timeout_s=START_TIMEOUT_S, extra_environment=around)

    def close(self) -> None:
        """Nothing to give back."""
