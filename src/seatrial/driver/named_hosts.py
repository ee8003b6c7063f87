"""The hosts that are reached over ssh: those that the user names, or those of the PBS, LSF or Flux job around us."""

import os

from seatrial.launch.hosts.host_file import refuse_names
from seatrial.launch.hosts.job_nodes import JobNodes, in_other_job, job_nodes
from seatrial.model.errors import UsageError
from seatrial.model.settings import SiteSettings, Start
from seatrial.slurm.presence import is_here

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
    for option, given in (
        ("--partition", settings.partition),
        *settings.slurm.options,
        ("--idle-only", settings.idle_only),
        ("--node-hours", settings.node_hours),
        ("--mpi", settings.mpi),
        ("--start srun", settings.start is Start.SRUN),
    ):
        if given and option not in settings.from_site:
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
