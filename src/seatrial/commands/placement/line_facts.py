"""Facts of the hosts on which the ranks of a user's launch line came up."""

import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from seatrial.archive.reader import parse_all
from seatrial.driver.facts_reading import ALLOCATED_S, FactsRead, read_here
from seatrial.driver.node_selection import fewer_nodes
from seatrial.driver.progress import Progress
from seatrial.driver.site import hosts_launcher
from seatrial.launch.hosts.job_nodes import in_other_job
from seatrial.launch.hosts.launcher import HostsLauncher
from seatrial.launch.hosts.reach import read_remote_facts
from seatrial.launch.line_parser import Dialect, LaunchLine
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.settings import SiteSettings
from seatrial.model.words import count
from seatrial.slurm.argv import minutes
from seatrial.slurm.presence import is_here


def hosts_of_line(line: LaunchLine, site: SiteSettings, progress: Progress) -> HostsLauncher | None:
    """The hosts that --hosts names, each with the probe, which is copied to those that lack it; None without --hosts.

    Raises UsageError for a line of srun and invalid names, LaunchError where ssh reaches no host.
    """
    if not site.hosts:
        return None
    if line.dialect is Dialect.SRUN:
        raise UsageError(
            "srun starts ranks through Slurm, and --hosts are reached over ssh.",
            "Leave out --hosts, or give a line of mpirun.",
        )
    progress.stage(f"Logging in to {count(len(site.hosts), 'host')}")
    launcher = hosts_launcher(site)
    for state in launcher.hosts().left_out:
        progress.stage(f"{state.node} is left out: {state.reason}")
    return launcher


def line_facts(
    hosts: Sequence[str], line: LaunchLine, site: SiteSettings, progress: Progress, named: HostsLauncher | None = None
) -> FactsRead:
    """Read the facts of this machine here, those of others through Slurm or ssh, by the names that they gave
    themselves.

    Facts are read inside the line's job where it has one, else in a short allocation, for which --wait, --idle-only and
    --node-hours hold. What cannot be read is missing. `named`: what `hosts_of_line` returned. Raises UsageError where
    ranks came up on a host that --hosts does not name.
    """
    progress.stage("Reading the facts of the nodes")
    if named is not None:
        return _over_ssh({host: _given_name(host, named) for host in hosts})
    try:
        if list(hosts) == [socket.gethostname()]:
            read = read_here(quick=True)
            return _renamed(read, dict.fromkeys(read.facts, hosts[0]))
        if not is_here():
            return _over_ssh({host: host for host in hosts}) if in_other_job(os.environ) else FactsRead(facts={})
        names = {host.partition(".")[0]: host for host in hosts}
        srun = line.dialect is Dialect.SRUN
        job = (line.option("jobid") if srun else "") or os.environ.get("SLURM_JOB_ID", "")
        partition = line.option("p", "partition") if srun else ""
        launcher = SlurmLauncher(
            partition=partition,
            request=site.slurm,
            nodes=tuple(names),
            probe=Path(),
            wait_s=site.wait_s,
            idle_only=site.idle_only,
            quick_facts=True,
        )
        nodes = tuple(names) if job else fewer_nodes(site.node_hours, tuple(names), minutes(ALLOCATED_S))[0]
        return _renamed(_by_slurm(launcher, job, nodes), names)
    except SeatrialError as error:
        progress.stage(f"The facts of the nodes cannot be read: {error.what}")
    return FactsRead(facts={})


def _given_name(host: str, named: HostsLauncher) -> str:
    """The name under which --hosts has this host."""
    if host not in named.names:
        raise UsageError(
            f"Ranks came up on {host}, which --hosts does not name, or which cannot be reached.",
            "Name the same hosts in the launch line (mpirun --host n1:2,n2:2) and in --hosts.",
        )
    return named.names[host]


def _over_ssh(given: Mapping[str, str]) -> FactsRead:
    """`given`: the name that a host has for itself -> the name by which ssh reaches it."""
    reading = read_remote_facts(tuple(given.values()), quick=True)
    own = {name: host for host, name in given.items()}
    read = FactsRead(facts=parse_all(reading.texts), texts=reading.texts, silent=reading.silent, launcher="ssh")
    return _renamed(read, own)


def _by_slurm(launcher: SlurmLauncher, job: str, nodes: Sequence[str]) -> FactsRead:
    """Read facts by a step of a job that runs, which is left as it is, or in an allocation of our own."""
    if job:
        launcher.job = job
        reading = launcher.read_facts(nodes)
    else:
        try:
            launcher.allocate(nodes, ALLOCATED_S)
            reading = launcher.read_facts(nodes)
        finally:
            launcher.close()
    return FactsRead(facts=parse_all(reading.texts), texts=reading.texts, silent=reading.silent, launcher="slurm")


def _renamed(read: FactsRead, names: Mapping[str, str]) -> FactsRead:
    return msgspec.structs.replace(
        read,
        facts={names.get(node, node): known for node, known in read.facts.items()},
        texts={names.get(node, node): text for node, text in read.texts.items()},
    )
