"""Detects the site: its launcher, the hosts that are reached over ssh, and its fabric's cables and routes."""

import os
import shutil
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.archive.reader import read_entries, read_facts_texts, read_info, read_wiring, refuse_damaged
from seatrial.fabric import forwarding, ibnetdiscover
from seatrial.fabric import routed_fabric as routed
from seatrial.fabric.slurm_topology import parse_leaf_file
from seatrial.files.inputs import MAP_BYTES, ROUTES_BYTES, argument_text
from seatrial.launch.contract import Hosts, Launcher
from seatrial.launch.environments.environment import NO_ENVIRONMENT, Environment, Where
from seatrial.launch.environments.kinds import AUTO, parse_environment
from seatrial.launch.hosts.host_file import refuse_names
from seatrial.launch.hosts.job_nodes import JobNodes, in_other_job, job_nodes
from seatrial.launch.hosts.launcher import HostsLauncher
from seatrial.launch.line_parser import is_srun, launcher_of
from seatrial.launch.local import LocalLauncher
from seatrial.launch.mpi import Family, Mpi, find_mpi, host_mpirun
from seatrial.launch.probe_build import build, default_folder, prebuilt
from seatrial.launch.replay import ReplayLauncher
from seatrial.launch.site_outputs import discover, read_tables
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.errors import LaunchError, UsageError
from seatrial.model.fabric import Fabric
from seatrial.model.settings import CheckSettings, SiteSettings, Start
from seatrial.model.words import count
from seatrial.slurm.presence import OVER_SSH, is_here

LIVE = "live"
MOST_NAMED = 4


def wiring_of(settings: CheckSettings, hosts: Hosts, nodes: Sequence[str]) -> "routed.RoutedFabric | None":
    """The fabric of these nodes by its cables; None where none was named.

    A replay has the recorded one, unless another is named. Raises UsageError for texts that are invalid or know none
    of the nodes, LaunchError where a live fabric cannot be queried, DamagedRun.
    """
    if not settings.fabric:
        for option, given in (("--routes", settings.routes), ("--device", settings.device)):
            if given:
                raise UsageError(f"{option} {given} describes a fabric that is not given.", "Add --fabric.")
        return read_wiring(settings.replay) if settings.replay else None
    fabric = ibnetdiscover.parse_fabric(
        discover() if settings.fabric == LIVE else argument_text(Path(settings.fabric), MAP_BYTES)
    )
    tables = None
    if settings.routes:
        tables = forwarding.parse_tables(
            read_tables() if settings.routes == LIVE else argument_text(Path(settings.routes), ROUTES_BYTES), fabric
        )
    source = fabric.source if settings.fabric == LIVE else Path(settings.fabric).name
    routing = routed.make_routing(fabric, tables, nodes, hosts.fabric, device=settings.device, source=source)
    return routed.RoutedFabric(routing)


def with_leaf_file(settings: CheckSettings, hosts: Hosts) -> Hosts:
    """The hosts with the leaves of --leaves, if it is given.

    A replay may be of another cluster: the file that a site's defaults name does not hold for it. Raises UsageError for
    a file that cannot be read so, and for one that has none of the nodes.
    """
    if not settings.leaves or (settings.replay and "--leaves" in settings.from_site):
        return hosts
    path = Path(settings.leaves)
    try:
        leaf_of = parse_leaf_file(argument_text(path, MAP_BYTES))
    except ValueError as error:
        raise UsageError(
            f"--leaves {settings.leaves!r}: {error}.",
            "Write `n[1-4] leaf1` on each line, or give topology.conf or topology.yaml.",
        ) from error
    known = {node: leaf_of[node] for node in hosts.nodes if node in leaf_of}
    if not known:
        few = ", ".join(list(leaf_of)[:MOST_NAMED])
        raise UsageError(f"--leaves {settings.leaves!r} has none of the nodes; it has {few}.", "Name another file.")
    lacking = len(hosts.nodes) - len(known)
    without = f", {count(lacking, 'node')} without one" if lacking else ""
    source = f"{path.name}: {count(len(set(known.values())), 'leaf switch', 'leaf switches')}{without}"
    return msgspec.structs.replace(hosts, fabric=Fabric(leaf_of=known, source=source))


def with_leaves(hosts: Hosts, wiring: "routed.RoutedFabric | None") -> Hosts:
    """The hosts with the leaves of the wiring, if there is one."""
    if wiring is None:
        return hosts
    return msgspec.structs.replace(hosts, fabric=Fabric(leaf_of=dict(wiring.leaf_of), source=wiring.source))


NAMED = "named"
"""What JobNodes has as scheduler where a user named the hosts."""


def uses_ssh(settings: SiteSettings) -> bool:
    """Whether nodes are reached over ssh: hosts are named, or Slurm does not answer in a job of another scheduler."""
    if settings.hosts or settings.launcher == "ssh":
        return True
    return settings.launcher == "auto" and in_other_job(os.environ) and not is_here()


def named_hosts(settings: SiteSettings, job: JobNodes | None = None) -> JobNodes:
    """The hosts that the settings name, else those of `job` or of the job around us.

    Raises UsageError where there are none, and for options that need Slurm; LaunchError where a job hides its nodes.
    """
    if settings.launcher not in ("auto", "ssh"):
        raise UsageError(
            f"Hosts are measured over ssh, not by --launcher {settings.launcher}.", "Leave out one of the two."
        )
    if option := settings.for_slurm or ("--mpi" if settings.mpi and "--mpi" not in settings.from_site else ""):
        raise UsageError(f"{option} is for Slurm, and these hosts are measured over ssh.", "Leave it out.")
    if settings.hosts:
        return JobNodes(scheduler=NAMED, nodes=settings.hosts)
    around = job or job_nodes(os.environ)
    if around is None:
        raise UsageError(
            "--launcher ssh needs to know the hosts.",
            "Name them with --hosts or --hostfile, or use it in a job of PBS, LSF or Flux.",
        )
    return around


def chosen_hosts(settings: SiteSettings) -> tuple[str, ...]:
    """The hosts that are to be read: the settings' nodes, else all. Raises as `named_hosts`, and for bad names."""
    hosts = named_hosts(settings).nodes
    wanted = settings.nodes or hosts
    refuse_names(hosts, wanted)
    return wanted


LAUNCHERS = ("auto", "slurm", "local", "ssh")
launcher_factory: ContextVar[Callable[..., Launcher] | None] = ContextVar("launcher_factory", default=None)
"""Makes the launcher of a run from its settings in place of Slurm and local MPI; tests set it. A replay ignores it."""


def choose_launcher(settings: SiteSettings) -> Launcher:
    """Replay where a recording is given, hosts where they are named, Slurm where it answers, the hosts of another
    scheduler's job, else this machine's MPI. Builds the probe.

    This machine is measured only where that is asked for: a login node has other users, and a PASS would be taken for
    one of the cluster.
    Raises UsageError for options that do not fit together, LaunchError for what is missing on this site.
    """
    if settings.replay is not None:
        return replay_launcher(settings)
    if (make := launcher_factory.get()) is not None:
        return make(settings)
    if settings.launcher not in LAUNCHERS:
        raise UsageError(
            f"--launcher {settings.launcher} is not one of {', '.join(LAUNCHERS)}.", "A recording is named by --replay."
        )
    if settings.hosts or settings.launcher == "ssh":
        return hosts_launcher(settings)
    if settings.launcher == "slurm" or (settings.launcher == "auto" and is_here()):
        refuse_type_without_srun(settings)
        environment = environment_of(settings, local=False)
        own, probe = _probe(settings, environment)
        return SlurmLauncher(settings, probe=probe, environment=environment, own=own)
    if settings.launcher == "auto" and (job := job_nodes(os.environ)) is not None:
        return hosts_launcher(settings, job)
    refuse_without_slurm(settings)
    environment, mpi, probe_path = _started_here(settings)
    return LocalLauncher(mpi, probe_path, settings.ranks, quick_facts=settings.quick_facts, environment=environment)


def hosts_launcher(settings: SiteSettings, job: JobNodes | None = None) -> HostsLauncher:
    """A launcher for the hosts that the settings name, else for those of the PBS, LSF or Flux job around us.

    Raises UsageError where there are none, and for options that need Slurm; LaunchError for what is missing.
    """
    named = named_hosts(settings, job)
    environment, mpi, probe = _started_here(settings)
    return HostsLauncher(
        named.nodes,
        mpi,
        probe,
        nodes=settings.nodes,
        job=named.job,
        options=settings.mpirun_options,
        quick_facts=settings.quick_facts,
        environment=environment,
    )


def refuse_type_without_srun(settings: SiteSettings) -> None:
    """Raises UsageError for a type of srun's where srun does not start ranks."""
    if settings.mpi and settings.start is Start.MPIEXEC and "--mpi" not in settings.from_site:
        raise UsageError("--mpi is an option of srun, and --start mpiexec uses no srun.", "Leave out one of the two.")


def refuse_without_slurm(settings: SiteSettings) -> None:
    """Raises UsageError for an option that needs Slurm, LaunchError where this machine was not asked for."""
    if option := "Naming nodes" if settings.nodes else settings.for_slurm:
        raise UsageError(
            f"{option} needs Slurm, and no Slurm answers here (sinfo).",
            "Run it on a login node, or give --launcher local without it to measure this machine alone.",
        )
    if settings.launcher == "auto":
        raise LaunchError(
            "No Slurm answers here (sinfo), so nothing was measured.",
            f"Run it where sinfo works. {OVER_SSH}"
            if isinstance(settings, CheckSettings) and settings.returning
            else "Run it where sinfo works, or give --launcher local to measure this machine alone.",
        )


def environment_of(settings: SiteSettings, *, local: bool) -> Environment:
    """The environment that the settings name. A replay starts nothing, in none.

    On this machine alone mpirun is taken from the environment, too, unless --wrap sets it to inside.
    """
    if settings.replay is not None:
        return NO_ENVIRONMENT
    environment = parse_environment(settings.environment, settings.wrap)
    if local and settings.wrap == AUTO:
        return msgspec.structs.replace(environment, where=Where.OUTSIDE)
    return environment


def replay_launcher(settings: SiteSettings) -> ReplayLauncher:
    """A launcher that plays the run in the folder `settings.replay`."""
    folder = settings.replay
    assert folder is not None  # noqa: S101 - the caller looked
    refuse_damaged(folder)
    before, after = (read_facts_texts(folder, reading) for reading in (layout.BEFORE, layout.AFTER))
    return ReplayLauncher(read_info(folder), before, after, read_entries(folder))


def probe_for(settings: SiteSettings) -> Path:
    """The probe for a launcher that is not ours to choose: built, or prebuilt. Errors as of `choose_launcher`."""
    return _probe(settings, environment_of(settings, local=False))[1]


def environment_of_line(settings: SiteSettings, words: Sequence[str]) -> Environment:
    """What a user's own launch line runs in: around srun as it suits the kind, around all of a line with mpirun."""
    return environment_of(settings, local=not is_srun(launcher_of(words)))


def _started_here(settings: SiteSettings) -> tuple[Environment, Mpi, Path]:
    """The environment, the MPI whose mpirun this machine starts, and the probe."""
    environment = environment_of(settings, local=True)
    mpi, probe = _probe(settings, environment)
    inside = environment and environment.where is Where.INSIDE
    return environment, host_mpirun(mpi) if inside else mpi, probe


def _probe(settings: SiteSettings, environment: Environment) -> tuple[Mpi, Path]:
    if settings.probe is None:
        mpi = find_mpi(settings.mpicc, environment)
        return mpi, build(mpi, settings.probe_dir or default_folder(), environment)
    path = prebuilt(settings.probe)
    try:
        return find_mpi(settings.mpicc, environment), path
    except LaunchError:  # a prebuilt probe needs no compiler, and srun no mpirun
        return Mpi(mpicc="mpicc", mpirun=shutil.which("mpirun") or "", family=Family.UNKNOWN), path
