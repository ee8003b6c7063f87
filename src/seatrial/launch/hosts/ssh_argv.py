"""Argument lists and variables for ssh, and for mpirun over ssh; pure.

Sources: ssh_config(5), and those of `launch.mpi`.
"""

from collections.abc import Iterable, Sequence

from seatrial.launch.mpi import Family, Mpi, placed_argv

CONNECT_TIMEOUT_S = 10
OPTIONS = ("BatchMode=yes", f"ConnectTimeout={CONNECT_TIMEOUT_S}", "ServerAliveInterval=15", "ServerAliveCountMax=4")
"""No question is ever asked; a host that does not answer, or stops to do so, ends its connection."""
LIBRARY_PATH = "LD_LIBRARY_PATH"
DAEMONS = {Family.OPEN_MPI: ("prted", "orted"), Family.MPICH: ("hydra_pmi_proxy", "hydra_bstrap_proxy")}
"""Programs that mpirun starts on each host, from its own folder: of newer versions first."""


def ssh_options() -> list[str]:
    """Options as words for ssh."""
    return [word for option in OPTIONS for word in ("-o", option)]


def ssh_argv(host: str, command: Sequence[str]) -> list[str]:
    """`command` on the host. ssh hands it to a shell there, so its words have to be constants of ours."""
    return ["ssh", "-T", *ssh_options(), "--", host, *command]


def mpirun_argv(
    mpi: Mpi,
    hosts: Sequence[str],
    program: Sequence[str],
    *,
    root: bool,
    ranks_per_host: int = 1,
    options: Sequence[str] = (),
    exported: Iterable[str] = (),
    folder: str = "/",
) -> list[str]:
    """The command that starts `program` on each host, in their order, each rank bound to a core of its own.

    `options`: for mpirun, after ours; `exported`: names of variables that the ranks get. The ranks run in
    `folder`: in `/`, since this folder need not exist on the hosts.
    """
    open_mpi = mpi.family is Family.OPEN_MPI
    where = ["--wdir", folder] if open_mpi else ["-launcher", "ssh", "-rmk", "user", "-wdir", folder]
    return placed_argv(
        mpi, hosts, ranks_per_host, program, root=root, where=where, bound=True, options=options, exported=exported
    )


def default_argv(mpi: Mpi, hosts: Sequence[str], program: Sequence[str], *, root: bool) -> list[str]:
    """mpirun as a user starts it who says nothing of binding: one rank on each host."""
    if mpi.family is Family.OPEN_MPI:
        allowed = ["--allow-run-as-root"] if root else []
        listed = ",".join(f"{host}:1" for host in hosts)
        return [mpi.mpirun, *allowed, "--host", listed, "-n", str(len(hosts)), "--wdir", "/", *program]
    launched = ["-launcher", "ssh", "-rmk", "user", "-hosts", ",".join(hosts), "-ppn", "1"]
    return [mpi.mpirun, *launched, "-n", str(len(hosts)), "-wdir", "/", *program]


def mpirun_variables() -> dict[str, str]:
    """Variables with which mpirun uses ssh, asks no question, and starts the daemon on each host itself.

    Open MPI would otherwise let hosts start the daemons of other hosts, between which ssh may not be allowed, and
    give ssh the names of hosts without their domain.
    """
    options = " ".join(ssh_options())
    return {
        "OMPI_MCA_plm": "rsh",
        "OMPI_MCA_plm_rsh_agent": "ssh",
        "OMPI_MCA_plm_rsh_args": options,
        "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
        "OMPI_MCA_orte_keep_fqdn_hostnames": "1",
        "PRTE_MCA_plm": "ssh",
        "PRTE_MCA_plm_ssh_agent": "ssh",
        "PRTE_MCA_plm_ssh_args": options,
        "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
        "PRTE_MCA_prte_keep_fqdn_hostnames": "1",
        "HYDRA_LAUNCHER_EXTRA_ARGS": options,
        "I_MPI_HYDRA_BOOTSTRAP": "ssh",
    }
