"""Ranks on this machine, by mpirun or mpiexec."""

import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from seatrial.launch.collector import QUICK_FACTS, collector
from seatrial.launch.contract import PLAIN, FactsReading, HoldsNothing, Hosts, ProgramCommand, StartManner
from seatrial.launch.environments.environment import NO_ENVIRONMENT, Environment
from seatrial.launch.environments.report import ask
from seatrial.launch.mpi import Family, Mpi, default_argv, default_line, without_schedulers
from seatrial.launch.session import PipeSession, look
from seatrial.model.errors import LaunchError, UsageError
from seatrial.model.fabric import NO_FABRIC
from seatrial.model.measurement import DefaultStart
from seatrial.process.process import Completed, run

START_TIMEOUT_S = 60.0
FEWEST = 2


def mpirun_argv(mpi: Mpi, ranks: int, *probe: str | Path, root: bool, options: Sequence[str] = ()) -> list[str]:
    """The command that starts `ranks` ranks of the probe (its argv) here. `options`: for mpirun, after ours."""
    argv = [mpi.mpirun]
    if mpi.family is Family.OPEN_MPI:
        argv += ["--oversubscribe", *(["--allow-run-as-root"] if root else [])]
    return [*argv, "-n", str(ranks), *options, *map(str, probe)]


class LocalLauncher(HoldsNothing):
    """The contract on one machine: what it calls nodes are places, HOST:0, HOST:1, ..., one rank each."""

    name = "local"

    def __init__(
        self, mpi: Mpi, probe: Path, ranks: int, *, quick_facts: bool = False, environment: Environment = NO_ENVIRONMENT
    ) -> None:
        """`mpi`: as it is where mpirun is started; `environment`: what the probe is started in, facts are not read."""
        self._mpi = mpi
        self.probe = probe
        self.environment = environment.seeing(str(probe.absolute().parent))
        self._ranks = ranks
        self._facts_environment = QUICK_FACTS if quick_facts else {}

    def hosts(self) -> Hosts:
        """A place for each rank that was asked for."""
        cores = len(os.sched_getaffinity(0))
        if self._ranks > max(cores, FEWEST):
            raise UsageError(
                f"--ranks {self._ranks}: this machine has {cores} cores, and ranks that share one wait for each other.",
                f"Give at most --ranks {max(cores, FEWEST)}.",
            )
        name = socket.gethostname()
        return Hosts(nodes=tuple(f"{name}:{rank}" for rank in range(self._ranks)), fabric=NO_FABRIC)

    def read_facts(self, nodes: Sequence[str]) -> FactsReading:
        """This machine's facts, for every place."""
        done = run(["sh", "-s"], stdin=collector(), timeout_s=30, extra_environment=self._facts_environment)
        if not done.ok:
            return FactsReading(texts={}, silent=dict.fromkeys(nodes, f"facts.sh failed: {done.stderr.strip()}"))
        return FactsReading(texts=dict.fromkeys(nodes, done.stdout), silent={})

    def start(self, nodes: Sequence[str], log: Path, manner: StartManner = PLAIN) -> PipeSession:
        """One rank for every place named."""
        if not self._mpi.mpirun:
            raise LaunchError(f"There is no mpirun beside {self._mpi.mpicc}.", "Install the MPI's launcher.")
        program = self.environment.around_program([str(self.probe)])
        mpirun = mpirun_argv(self._mpi, len(nodes), *program, root=os.geteuid() == 0, options=manner.options)
        argv = without_schedulers(self.environment.around_launcher(mpirun), os.environ)
        around = {"OMPI_MCA_mpi_yield_when_idle": "1", **manner.environment}
        return PipeSession(argv, nodes, log, one_host=True, timeout_s=START_TIMEOUT_S, extra_environment=around)

    def default_start(self, nodes: Sequence[str], log: Path) -> DefaultStart | None:
        """See launch.contract.StartsByDefault."""
        if not self._mpi.mpirun:
            return None
        program = self.environment.around_program([str(self.probe)])
        argv = default_argv(self._mpi, len(nodes), program, root=os.geteuid() == 0)
        alone = without_schedulers(self.environment.around_launcher(argv), os.environ)
        return look(default_line(self._mpi, len(nodes)), alone, nodes, log, {}, one_host=True)

    @property
    def program(self) -> str:
        """See launch.contract.StartsPrograms."""
        return str(self.probe)

    def program_command(
        self, nodes: Sequence[str], argv: Sequence[str], ranks_per_node: int, folder: Path, *, in_order: bool = False
    ) -> ProgramCommand:
        """See launch.contract.StartsPrograms: `ranks_per_node` on this machine, as it is the only node."""
        environment = self.environment.seeing(str(folder))
        if not ranks_per_node:
            return ProgramCommand(argv=tuple(environment.around_launcher(environment.around_program(argv))))
        if not self._mpi.mpirun:
            raise LaunchError(f"There is no mpirun beside {self._mpi.mpicc}.", "Install the MPI's launcher.")
        words = environment.around_program(argv)
        whole = mpirun_argv(self._mpi, ranks_per_node * len(nodes), *words, root=os.geteuid() == 0)
        return ProgramCommand(argv=tuple(without_schedulers(environment.around_launcher(whole), os.environ)))

    def report(
        self, nodes: Sequence[str], argv: Sequence[str], variables: Mapping[str, str], *, within: bool
    ) -> Completed:
        """See launch.environments.judge.Reporting. mpirun may be of the environment, which is then entered always."""
        environment = self.environment
        program = environment.around_program(argv) if within else argv
        whole = mpirun_argv(self._mpi, len(nodes), *program, root=os.geteuid() == 0)
        alone = without_schedulers(environment.around_launcher(whole), os.environ)
        return ask(alone, len(nodes), timeout_s=START_TIMEOUT_S, variables=variables)
