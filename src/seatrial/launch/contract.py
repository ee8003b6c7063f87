"""What every launcher offers: hosts, facts of the hosts, sessions of the probe on them, and ways to start it."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import msgspec

from seatrial.model.errors import LaunchError
from seatrial.model.fabric import Fabric
from seatrial.model.loss import Loss
from seatrial.model.measurement import DefaultStart, GroupMeasurement, GroupRound, Measurement, Round
from seatrial.model.past import OwnJob
from seatrial.model.run import NodeState
from seatrial.model.settings import Start
from seatrial.process.process import run
from seatrial.slurm.argv import CONFIG
from seatrial.slurm.presence import COMMAND_TIMEOUT_S
from seatrial.slurm.text import MPI_TYPES, other_types

MPIEXEC = "mpiexec"
"""Instead of a type of `srun --mpi`: the MPI's own launcher inside the allocation."""
Started = TypeVar("Started")


class Hosts(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes to measure, nodes left out and why, and the topology as far as the launcher knows it."""

    nodes: tuple[str, ...]
    left_out: tuple[NodeState, ...] = ()
    fabric: Fabric
    cluster: str = ""
    controllers: tuple[str, ...] = ()
    """Hosts of the controllers of that cluster."""
    asleep: tuple[str, ...] = ()
    """Nodes that are off to save power; an allocation wakes them up."""
    features: dict[str, tuple[str, ...]] = {}
    """The words with which the scheduler describes each node, where it does."""
    most_nodes: int = 0
    """What the partition allows one job to have (MaxNodes); 0: any number."""


class StartManner(msgspec.Struct, frozen=True, kw_only=True):
    """How the probe is started on its nodes; without anything, as the site's own settings have it."""

    environment: dict[str, str] = {}
    """Laid over the launcher's own."""
    options: tuple[str, ...] = ()
    """Options of srun or mpirun itself."""
    ranks_per_node: int = 1
    """The ranks on each node. If there is more than one, the session's nodes are places, NODE:0, NODE:1, ..."""


PLAIN = StartManner()


class FactsReading(msgspec.Struct, frozen=True, kw_only=True):
    """Raw facts of the nodes that answered; `silent` ones did not, with what was seen of it."""

    texts: dict[str, str]
    silent: dict[str, str]


class Session(Protocol):
    """One launch of the probe, one rank a node."""

    nodes: tuple[str, ...]
    """The node of each rank."""
    header: dict[str, Any]
    ranks: tuple[dict[str, Any], ...]

    def measure(self, wanted: Round, timeout_s: float) -> Iterator[Measurement]:
        """Carry out one round; each pair's measurement comes as it is delivered.

        Raises ProbeLost when the round is not over after `timeout_s` or the probe is gone, RoundRefused at a no.
        """

    def close(self, *, kill: bool = False) -> Loss | None:
        """End the probe; `kill` does not ask it first. What is known of a rank that had died unnoticed, else None."""


@runtime_checkable
class MeasuresGroups(Protocol):
    """A session that also carries out rounds of kernels that are not pairs."""

    def measure_groups(self, wanted: GroupRound, timeout_s: float) -> Iterator[GroupMeasurement]:
        """Carry out one round of groups; each group's measurement comes as it is delivered.

        Raises as Session.measure does, and ValueError for groups that the kernel cannot use.
        """


class Launcher(Protocol):
    """Runs the probe on nodes."""

    name: str
    job: str
    """The scheduler's name for the allocation, or empty."""

    def hosts(self) -> Hosts:
        """What there is to measure. Raises UsageError for a partition or node that does not exist."""

    def allocate(self, nodes: Sequence[str], seconds: float) -> None:
        """Get hold of the nodes for that long. Raises LaunchError."""

    def read_facts(self, nodes: Sequence[str]) -> FactsReading:
        """Run the collector on every node. A node that does not answer is silent, not an error."""

    def start(self, nodes: Sequence[str], log: Path, manner: StartManner = PLAIN) -> Session:
        """Start the probe on those nodes; standard error goes to `log`. Raises LaunchError."""

    def close(self) -> None:
        """Give everything back that `allocate` got."""


class HoldsNothing:
    """A launcher, or a part of one, that need not get hold of nodes and has nothing to give back."""

    job = ""

    def allocate(self, nodes: Sequence[str], seconds: float) -> None:
        """Nothing to get hold of."""

    def close(self) -> None:
        """Nothing to give back."""


@runtime_checkable
class StartsByDefault(Protocol):
    """A launcher that can look where the MPI's own launcher puts ranks when nobody says anything of binding."""

    def default_start(self, nodes: Sequence[str], log: Path) -> DefaultStart | None:
        """Start one rank on each of the nodes in that way, read where they are, and end them; nothing is measured.

        None where there is no such launcher. A start that fails is a result, not an error.
        """


class ProgramCommand(msgspec.Struct, frozen=True, kw_only=True):
    """How a program is started: the launcher's words around its own, and the variables that go with them."""

    argv: tuple[str, ...]
    environment: dict[str, str] = {}


@runtime_checkable
class StartsPrograms(Protocol):
    """A launcher that can start any program in a folder that the nodes share."""

    @property
    def program(self) -> str:
        """The path of the probe on the nodes, which have it as soon as a session was started."""

    def program_command(
        self, nodes: Sequence[str], argv: Sequence[str], ranks_per_node: int, folder: Path, *, in_order: bool = False
    ) -> ProgramCommand:
        """The command that starts `argv` on these nodes, to be run in `folder`; `ranks_per_node` 0: once, without MPI.

        `in_order`: rank 0 is on the first node, rank 1 on the second, and so on, with one rank on each.
        Called between `allocate` and `close`. Raises LaunchError for a manner in which it cannot start programs.
        """


@runtime_checkable
class SeesOwnJob(Protocol):
    """A launcher that can look at the job around it, as its user has it."""

    def own_job(self, nodes: Sequence[str]) -> OwnJob:
        """The steps that run, and where ranks may run; what cannot be seen is left out."""


@runtime_checkable
class Hurries(Protocol):
    """A launcher that can give silent nodes less time, where an answer is wanted soon."""

    hurried: bool
    """Less time for the first start, which others follow, and for nodes that say nothing of their facts."""


@runtime_checkable
class StartsOtherwise(Protocol):
    """A launcher that may start the probe in another way than the site's own."""

    @property
    def remark(self) -> str:
        """Which way it used instead, and why; empty: the site's own, or the one that was asked for."""

    @property
    def started_by(self) -> str:
        """What starts ranks in place of the site's own srun: `mpiexec`, `srun --mpi=pmi2`; empty: that srun."""


class StartWays:
    """The way by which the probe is started: the chosen one, or the first other that works; it is kept then."""

    def __init__(self, chosen: str, start: Start, *, mpiexec: bool) -> None:
        """`chosen`: the type of --mpi that was asked for, which is never replaced; `mpiexec`: whether there is one."""
        self.way = MPIEXEC if start is Start.MPIEXEC else chosen
        self.remark = ""
        """Which way is used instead of the site's own, and why; empty: its own, or the one that was asked for."""
        self._fixed = bool(self.way)
        self._mpiexec = mpiexec and start is Start.AUTO

    @property
    def started_by(self) -> str:
        """`mpiexec`, or the srun with the type that replaces the site's own; empty: srun as it was asked for."""
        if self.way == MPIEXEC:
            return MPIEXEC
        return f"srun --mpi={self.way}" if self.remark else ""

    def start(self, attempt: Callable[[str], Started]) -> Started:
        """What `attempt` gives, called with a way; empty: the site's own. Raises LaunchError of the first attempt."""
        try:
            started = attempt(self.way)
        except LaunchError as error:
            if self._fixed or not error.other_mpi_type:
                raise
            return self._otherwise(attempt, error)
        self._fixed = True
        return started

    def _otherwise(self, attempt: Callable[[str], Started], first: LaunchError) -> Started:
        listed = run(MPI_TYPES, timeout_s=COMMAND_TIMEOUT_S)
        usual, others = other_types(listed.stdout + listed.stderr, run(CONFIG, timeout_s=COMMAND_TIMEOUT_S).stdout)
        self._fixed = True
        for way in (*others, *([MPIEXEC] if self._mpiexec else [])):
            try:
                started = attempt(way)
            except LaunchError:
                continue
            self.way = way
            used = "mpiexec inside the allocation" if way == MPIEXEC else f"--mpi={way}"
            self.remark = f"The default of this site, --mpi={usual}, does not work ({first.what}): {used} was used."
            return started
        raise first
