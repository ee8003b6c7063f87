"""Which MPI is here: its compiler, the launcher that belongs to it, and its family."""

import enum
import os
import shutil
import sys
from pathlib import Path

import msgspec

from seatrial.launch.environments.discovery import look_inside
from seatrial.launch.environments.environment import NO_ENVIRONMENT, Environment
from seatrial.model.errors import LaunchError, UsageError
from seatrial.process.process import run


class Family(enum.StrEnum):
    """MPIs whose launchers take different options."""

    OPEN_MPI = "Open MPI"
    MPICH = "MPICH"
    UNKNOWN = "unknown"


class Mpi(msgspec.Struct, frozen=True, kw_only=True):
    """An MPI compiler and the launcher beside it (empty where there is none, as on sites that only have srun)."""

    mpicc: str
    mpirun: str
    family: Family


def family_of(version_text: str) -> Family:
    """The family, from what `mpirun --version` prints."""
    if "Open MPI" in version_text or "OpenRTE" in version_text or "PRRTE" in version_text:
        return Family.OPEN_MPI
    if any(word in version_text for word in ("HYDRA", "MPICH", "Intel(R) MPI", "mvapich", "MVAPICH")):
        return Family.MPICH
    return Family.UNKNOWN


def find_mpi(mpicc: str = "", environment: Environment = NO_ENVIRONMENT) -> Mpi:
    """The named compiler, or `mpicc` on PATH, or the one in our own virtual environment; with its launcher.

    In an `environment` only what is in it counts. Raises UsageError where the named one is not there, LaunchError
    where there is none at all.
    """
    if environment:
        inside = look_inside(environment, mpicc)
        return Mpi(mpicc=inside.mpicc, mpirun=inside.mpirun, family=_family(inside.mpirun, environment))
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)))
    compiler = shutil.which(mpicc or "mpicc", path=path)
    if compiler is None and mpicc:
        raise UsageError(f"There is no MPI compiler {mpicc!r}.", "Name one that is on PATH, or its full path.")
    if compiler is None:
        raise LaunchError(
            "There is no MPI compiler (mpicc) on PATH, and the probe is built with the site's own.",
            "Load your site's MPI module (`module avail mpi` lists them), or name its compiler with --mpicc or a "
            "prebuilt probe with --probe. On a machine of your own: apt install libopenmpi-dev openmpi-bin, or "
            "dnf install openmpi-devel.",
        )
    mpirun = launcher_beside(Path(compiler), path)
    return Mpi(mpicc=compiler, mpirun=mpirun, family=_family(mpirun))


def host_mpirun(mpi: Mpi) -> Mpi:
    """The MPI as the mpirun on PATH outside of any environment starts it."""
    mpirun = shutil.which("mpirun") or ""
    return msgspec.structs.replace(mpi, mpirun=mpirun, family=_family(mpirun))


def _family(mpirun: str, environment: Environment = NO_ENVIRONMENT) -> Family:
    return family_of(run(environment.wrap([mpirun, "--version"]), timeout_s=30).stdout if mpirun else "")


def launcher_beside(mpicc: Path, path: str) -> str:
    """mpiexec or mpirun from the compiler's own folder and with its suffix (mpicc.mpich -> mpiexec.mpich)."""
    for stem in ("mpiexec", "mpirun"):
        beside = mpicc.with_name(mpicc.name.replace("mpicc", stem))
        if os.access(beside, os.X_OK):
            return str(beside)
    return shutil.which("mpirun", path=path) or ""
