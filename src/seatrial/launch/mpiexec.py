"""Argument lists and variables for an MPI's own launcher, mpiexec or mpirun; pure.

Sources: mpirun(1) of Open MPI 4.1 and 5.0; `mpiexec -help` of MPICH 4 (Hydra); salloc(1) and srun(1), environment.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from seatrial.launch.mpi import Family, Mpi
from seatrial.model.node_list import node_list

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
