"""Slurm's commands as argument lists; pure."""

import math
from collections.abc import Sequence

SINFO = ("sinfo", "--noheader", "--Node", "--format=%N|%T|%P|%E")
FEATURES = ("sinfo", "--noheader", "--Node", "--format=%N|%f")
TOPOLOGY = ("scontrol", "show", "topology")
CONFIG = ("scontrol", "show", "config")
SPARE_MINUTES = 5
IMMEDIATE_S = 10
"""A scheduler looks at the queue every few seconds; a free node is granted by then."""


def node_list(nodes: Sequence[str]) -> str:
    """n1,n2,n3 -> n[1-3], as Slurm writes it."""
    from ClusterShell.NodeSet import NodeSet

    return str(NodeSet.fromlist(list(nodes)))


def expand(text: str) -> tuple[str, ...]:
    """n[1-3] -> n1, n2, n3. Raises ValueError for a text that is no node set."""
    from ClusterShell.NodeSet import NodeSet, NodeSetException

    try:
        return tuple(NodeSet(text))
    except NodeSetException as error:
        raise ValueError(str(error)) from error


def minutes(seconds: float) -> int:
    """The time limit of an allocation that serves for `seconds`."""
    return math.ceil(seconds / 60) + SPARE_MINUTES


def allocation(nodes: Sequence[str], seconds: float, partition: str) -> list[str]:
    """What salloc and sbatch alike are asked for: these nodes, alone, for so long, even if one of them fails."""
    asked = [
        f"--nodes={len(nodes)}",
        f"--ntasks={len(nodes)}",
        "--ntasks-per-node=1",
        f"--nodelist={node_list(nodes)}",
        "--exclusive",
        "--no-kill",
        "--job-name=seatrial",
        f"--time={minutes(seconds)}",
    ]
    return asked + ([f"--partition={partition}"] if partition else [])


def salloc(nodes: Sequence[str], seconds: float, partition: str, *, at_once: bool = False) -> list[str]:
    """An allocation without a shell of its own: salloc returns when it is granted and all nodes are up.

    `at_once`: now or never, without standing in the queue.
    """
    now = [f"--immediate={IMMEDIATE_S}"] if at_once else []
    return ["salloc", "--no-shell", "--wait-all-nodes=1", *now, *allocation(nodes, seconds, partition)]


def sbatch(
    nodes: Sequence[str], seconds: float, partition: str, output: str, script: str, argv: Sequence[str]
) -> list[str]:
    """The same, to run `script` with `argv` later; prints the job's number."""
    asked = [*allocation(nodes, seconds, partition), f"--output={output}"]
    return ["sbatch", "--parsable", "--wait-all-nodes=1", *asked, script, *argv]


def step(job: str, nodes: Sequence[str], *, ranks_per_node: int = 1) -> list[str]:
    """A step of one task on each of the nodes, or as many as said, beside whatever else the job runs."""
    return [
        "srun",
        f"--jobid={job}",
        "--overlap",
        "--no-kill",
        f"--nodes={len(nodes)}",
        f"--ntasks={len(nodes) * ranks_per_node}",
        f"--ntasks-per-node={ranks_per_node}",
        f"--nodelist={node_list(nodes)}",
        "--mem=0",
    ]


def facts_step(job: str, nodes: Sequence[str]) -> list[str]:
    """The collector on every node, its text on standard input; each line of output bears its task's number."""
    return [*step(job, nodes), "--mpi=none", "--kill-on-bad-exit=0", "--label", "sh", "-s"]


def probe_step(
    job: str, nodes: Sequence[str], mpi: str, *probe: str, ranks_per_node: int = 1, options: Sequence[str] = ()
) -> list[str]:
    """The probe (its argv) on every node; standard input goes to rank 0 alone. `options`: for srun, after ours."""
    chosen = [f"--mpi={mpi}"] if mpi else []
    own = [*step(job, nodes, ranks_per_node=ranks_per_node), *chosen, "--kill-on-bad-exit=1", "--input=0"]
    return [*own, *options, *probe]


def report_step(job: str, nodes: Sequence[str], mpi: str, argv: Sequence[str]) -> list[str]:
    """`argv` once on every node, launched as the probe is; each line of output bears its task's number."""
    chosen = [f"--mpi={mpi}"] if mpi else []
    return [*step(job, nodes), *chosen, "--kill-on-bad-exit=0", "--input=none", "--label", *argv]


def cancel(job: str) -> list[str]:
    """End a job."""
    return ["scancel", job]


def job_state(job: str) -> list[str]:
    """Ask for the state of a job in the queue."""
    return ["squeue", "--noheader", f"--jobs={job}", "--format=%T"]


def job_reason(job: str) -> list[str]:
    """Ask why a job still stands in the queue."""
    return ["squeue", "--noheader", f"--jobs={job}", "--format=%r"]


def job_nodes(job: str) -> list[str]:
    """Ask for the nodes of a running job."""
    return ["squeue", "--noheader", f"--jobs={job}", "--format=%N"]
