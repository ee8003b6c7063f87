"""Argument lists and variables for ssh, and for mpirun over ssh; pure.

Sources: ssh_config(5); mpirun(1) of Open MPI 4.1 and 5.0; `mpiexec -help` of MPICH 4 (Hydra).
"""

from collections.abc import Iterable, Mapping, Sequence

from seatrial.launch.mpi import Family, Mpi

CONNECT_TIMEOUT_S = 10
OPTIONS = ("BatchMode=yes", f"ConnectTimeout={CONNECT_TIMEOUT_S}", "ServerAliveInterval=15", "ServerAliveCountMax=4")
"""No question is ever asked; a host that does not answer, or stops to do so, ends its connection."""
SCHEDULERS = ("SLURM_", "PBS_", "LSB_", "LSF_", "LS_", "FLUX_", "SGE_", "PE_")
"""Beginnings of variables by which mpirun would take the nodes and the launcher of a scheduler."""
KEPT = ("SLURM_CONF",)
OF_OPEN_MPI = ("OMPI_", "PMIX_", "PRTE_")
"""Beginnings of variables that Open MPI gives its ranks without being asked."""
LIBRARY_PATH = "LD_LIBRARY_PATH"


def ssh_options() -> list[str]:
    """As words of ssh."""
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
    ranks = ["-n", str(len(hosts) * ranks_per_host)]
    if mpi.family is Family.OPEN_MPI:
        listed = ",".join(f"{host}:{ranks_per_host}" for host in hosts)
        placed = ["--host", listed, "--map-by", f"ppr:{ranks_per_host}:node"]
        placed += [] if binds(options) else ["--bind-to", "core"]
        allowed = ["--allow-run-as-root"] if root else []
        shown = [word for name in sorted(exported) if not name.startswith(OF_OPEN_MPI) for word in ("-x", name)]
        return [mpi.mpirun, *allowed, *placed, *ranks, "--wdir", folder, *shown, *options, *program]
    placed = ["-launcher", "ssh", "-rmk", "user", "-hosts", ",".join(hosts), "-ppn", str(ranks_per_host)]
    bound = [] if binds(options) else ["-bind-to", "core"]
    return [mpi.mpirun, *placed, *ranks, *bound, "-wdir", folder, *options, *program]


def binds(options: Sequence[str]) -> bool:
    """Whether a user's own options of mpirun say to what ranks are bound."""
    return any(word.lstrip("-").partition("=")[0] in ("bind-to", "bind-to-core", "binding") for word in options)


def default_argv(mpi: Mpi, hosts: Sequence[str], program: Sequence[str], *, root: bool) -> list[str]:
    """The same as a user starts it who says nothing of binding: one rank on each host."""
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


def without_schedulers(argv: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """`argv` without the variables of a job around us, since mpirun is given its hosts."""
    names = [name for name in environment if name.startswith(SCHEDULERS) and name not in KEPT]
    return ["env", *(part for name in sorted(names) for part in ("-u", name)), *argv] if names else list(argv)


def ending_with_parent(argv: Sequence[str], family: Family, setpriv: str) -> list[str]:
    """`argv`, an mpirun, gets a signal when this process is killed (PR_SET_PDEATHSIG in prctl(2)).

    Open MPI's mpirun ends its ranks at SIGTERM, and removes its files. Hydra passes that signal on and waits for ranks
    that are stopped; where mpiexec itself is killed, its proxies kill the ranks. `setpriv`: the path of that program of
    util-linux; empty where it is missing: then mpirun ends when its standard input does.
    """
    number = "TERM" if family is Family.OPEN_MPI else "KILL"
    return [setpriv, "--pdeathsig", number, "--", *argv] if setpriv else list(argv)


DAEMONS = {Family.OPEN_MPI: ("prted", "orted"), Family.MPICH: ("hydra_pmi_proxy", "hydra_bstrap_proxy")}
"""Programs that mpirun starts on each host, from its own folder: of newer versions first."""
