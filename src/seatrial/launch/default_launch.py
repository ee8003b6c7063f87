"""Where the MPI's own launcher puts ranks when nobody says anything of binding: as other programs are started."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from seatrial.launch.mpi import Family, Mpi
from seatrial.launch.session import PipeSession
from seatrial.model.errors import LaunchError
from seatrial.model.node_list import node_list
from seatrial.model.placement import DefaultStart

TIMEOUT_S = 20.0
"""It is worth no more: nothing of the run depends on it."""


def default_line(mpi: Mpi, ranks: int) -> str:
    """The line as a user would write it, without the program."""
    return f"{Path(mpi.mpirun).name} -n {ranks}"


def default_argv(mpi: Mpi, ranks: int, program: Sequence[str], *, root: bool) -> list[str]:
    """The same as an argument list. Open MPI needs an option to run as root, which changes no binding."""
    allowed = ["--allow-run-as-root"] if root and mpi.family is Family.OPEN_MPI else []
    return [mpi.mpirun, *allowed, "-n", str(ranks), *program]


def placed_argv(mpi: Mpi, ranks: int, ranks_per_node: int, program: Sequence[str], *, root: bool) -> list[str]:
    """The same with this many ranks on placed node, as many as the job's variables say it has room for."""
    words = default_argv(mpi, ranks, program, root=root)
    placed = (
        ["--map-by", f"ppr:{ranks_per_node}:node"] if mpi.family is Family.OPEN_MPI else ["-ppn", str(ranks_per_node)]
    )
    return [*words[:1], *placed, *words[1:]]


def job_variables(job: str, nodes: Sequence[str], tasks: int = 1) -> dict[str, str]:
    """What a user's mpirun finds in a job of that many tasks on each of these nodes (salloc(1), output variables)."""
    names, count = node_list(nodes), str(len(nodes))
    each = f"{tasks}(x{count})" if len(nodes) > 1 else str(tasks)
    return {
        "SLURM_JOB_ID": job,
        "SLURM_JOBID": job,
        "SLURM_JOB_NODELIST": names,
        "SLURM_NODELIST": names,
        "SLURM_JOB_NUM_NODES": count,
        "SLURM_NNODES": count,
        "SLURM_NTASKS": str(len(nodes) * tasks),
        "SLURM_TASKS_PER_NODE": each,
        "SLURM_NTASKS_PER_NODE": str(tasks),
    }


def look(
    line: str,
    argv: Sequence[str],
    nodes: Sequence[str],
    log: Path,
    variables: Mapping[str, str],
    *,
    one_host: bool,
    names: Mapping[str, str] | None = None,
) -> DefaultStart:
    """Start it, read where its ranks are, and end it. What goes wrong is the result. `names`: as of PipeSession."""
    try:
        session = PipeSession(
            argv, nodes, log, one_host=one_host, timeout_s=TIMEOUT_S, extra_environment=variables, names=names
        )
    except (LaunchError, OSError) as error:
        return DefaultStart(line=line, failure=error.what if isinstance(error, LaunchError) else str(error))
    session.close()
    return DefaultStart(line=line, nodes=session.nodes, ranks=session.ranks)
