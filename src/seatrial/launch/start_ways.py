"""How ranks are started within an allocation: by srun with one of its types of --mpi, or by the MPI's own launcher."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from seatrial.model.errors import LaunchError
from seatrial.model.settings import Start
from seatrial.process.process import run
from seatrial.slurm.argv import CONFIG
from seatrial.slurm.mpi_types import MPI_TYPES, other_types
from seatrial.slurm.presence import COMMAND_TIMEOUT_S

MPIEXEC = "mpiexec"
"""In place of a type: the MPI's own launcher inside the allocation."""
Started = TypeVar("Started")


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
        usual, others = _types()
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


def _types() -> tuple[str, Sequence[str]]:
    """The site's own type, and the others that srun lists."""
    listed = run(MPI_TYPES, timeout_s=COMMAND_TIMEOUT_S)
    return other_types(listed.stdout + listed.stderr, run(CONFIG, timeout_s=COMMAND_TIMEOUT_S).stdout)
