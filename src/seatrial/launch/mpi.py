"""Which MPI is here: its compiler, the launcher that belongs to it, its family, and argument lists for the launcher.

Sources: mpirun(1) of Open MPI 4.1 and 5.0; `mpiexec -help` of MPICH 4 (Hydra); salloc(1) and srun(1), environment.
"""

import enum
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from seatrial.launch.environments.discovery import look_inside
from seatrial.launch.environments.environment import NO_ENVIRONMENT, Environment
from seatrial.model.errors import LaunchError, UsageError
from seatrial.model.node_list import node_list
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


SCHEDULERS = ("SLURM_", "PBS_", "LSB_", "LSF_", "LS_", "FLUX_", "SGE_", "PE_")
"""Beginnings of variables by which mpirun would take the nodes and the launcher of a scheduler."""
KEPT = ("SLURM_CONF",)
OF_OPEN_MPI = ("OMPI_", "PMIX_", "PRTE_")
"""Beginnings of variables that Open MPI gives its ranks without being asked."""
STEP_VARIABLES = {
    "SLURM_OVERLAP": "1",
    "SLURM_NO_KILL": "set",
    "SLURM_WAIT": "0",
    "SLURM_EXPORT_ENV": "ALL",
    "SLURM_CPU_BIND": "none",
    "SLURM_MPI_TYPE": "none",
}
"""Options of the srun by which mpiexec starts its daemons in a job, for the reasons of `slurm.argv.step`. A daemon that
is bound would hold all ranks of its node to its own core."""


def default_line(mpi: Mpi, ranks: int) -> str:
    """The line as a user would write it, without the program."""
    return f"{Path(mpi.mpirun).name} -n {ranks}"


def default_argv(mpi: Mpi, ranks: int, program: Sequence[str], *, root: bool) -> list[str]:
    """Argument list without options of binding. Open MPI needs an option to run as root, which changes no binding."""
    return [mpi.mpirun, *_allowed(mpi, root), "-n", str(ranks), *program]


def placed_argv(
    mpi: Mpi,
    nodes: Sequence[str],
    ranks_per_node: int,
    program: Sequence[str],
    *,
    root: bool,
    where: Sequence[str] = (),
    bound: bool = False,
    options: Sequence[str] = (),
    exported: Iterable[str] = (),
    in_order: bool = False,
) -> list[str]:
    """The command that starts `program` with this many ranks on each of the nodes, in their order.

    Inside a job Open MPI takes its nodes in the order of the job. `in_order`: one rank on each node, in their order
    there, too, as the parts of one MPMD program.

    The nodes are named, also where they are all of a job: PRRTE 4 leaves it to Slurm which nodes of the job it gets.

    `where`: more words about the nodes; `bound`: each rank to a core of its own, unless `options` bind otherwise, which
    follow ours; `exported`: names of variables that the ranks get.
    """
    binding = ["--bind-to", "core"] if bound and not binds(options) else []
    ranks = ["-n", str(len(nodes) * ranks_per_node)]
    others: list[str] = []
    if mpi.family is Family.OPEN_MPI and in_order:
        placed = ["--host", f"{nodes[0]}:1", *binding, "-n", "1"]
        options = [*_shown(exported), *options]
        for node in nodes[1:]:
            others += [":", "--host", f"{node}:1", "-n", "1", *program]
    elif mpi.family is Family.OPEN_MPI:
        listed = ",".join(f"{node}:{ranks_per_node}" for node in nodes)
        placed = ["--host", listed, "--map-by", f"ppr:{ranks_per_node}:node", *binding, *ranks]
        options = [*_shown(exported), *options]
    else:
        hosts = ["-hosts", ",".join(nodes)]
        placed = [*hosts, "-ppn", str(ranks_per_node), *ranks, *(word.replace("--", "-") for word in binding)]
    return [mpi.mpirun, *_allowed(mpi, root), *where, *placed, *options, *program, *others]


def _allowed(mpi: Mpi, root: bool) -> list[str]:
    return ["--allow-run-as-root"] if root and mpi.family is Family.OPEN_MPI else []


def _shown(exported: Iterable[str]) -> list[str]:
    return [word for name in sorted(exported) if not name.startswith(OF_OPEN_MPI) for word in ("-x", name)]


def binds(options: Sequence[str]) -> bool:
    """Whether a user's own options of mpirun say to what ranks are bound."""
    return any(word.lstrip("-").partition("=")[0] in ("bind-to", "bind-to-core", "binding") for word in options)


def job_variables(job: str, nodes: Sequence[str], tasks: int = 1) -> dict[str, str]:
    """What a user's mpirun finds in a job of that many tasks on each of these nodes (salloc(1), output variables)."""
    names, count = node_list(nodes), str(len(nodes))
    tasks_text = f"{tasks}(x{count})" if len(nodes) > 1 else str(tasks)
    return {
        "SLURM_JOB_ID": job,
        "SLURM_JOBID": job,
        "SLURM_JOB_NODELIST": names,
        "SLURM_NODELIST": names,
        "SLURM_JOB_NUM_NODES": count,
        "SLURM_NNODES": count,
        "SLURM_NTASKS": str(len(nodes) * tasks),
        "SLURM_TASKS_PER_NODE": tasks_text,
        "SLURM_NTASKS_PER_NODE": str(tasks),
    }


def ending_with_parent(argv: Sequence[str], family: Family, setpriv: str) -> list[str]:
    """`argv`, an mpirun, gets a signal when this process is killed (PR_SET_PDEATHSIG in prctl(2)).

    Open MPI's mpirun ends its ranks at SIGTERM, and removes its files. Hydra passes that signal on and waits for ranks
    that are stopped; where mpiexec itself is killed, its proxies kill the ranks. `setpriv`: the path of that program of
    util-linux; empty where it is missing: then mpirun ends when its standard input does.
    """
    number = "TERM" if family is Family.OPEN_MPI else "KILL"
    return [setpriv, "--pdeathsig", number, "--", *argv] if setpriv else list(argv)


def without_schedulers(argv: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """`argv` without the variables of a job around us, since mpirun is given its hosts."""
    names = [name for name in environment if name.startswith(SCHEDULERS) and name not in KEPT]
    return ["env", *(part for name in sorted(names) for part in ("-u", name)), *argv] if names else list(argv)
