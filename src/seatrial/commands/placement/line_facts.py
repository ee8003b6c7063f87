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
from seatrial.launch.line_options import Dialect
from seatrial.launch.line_parser import LaunchLine
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.errors import SeatrialError
from seatrial.model.settings import SiteSettings
from seatrial.slurm.argv import minutes
from seatrial.slurm.presence import is_here


def line_facts(hosts: Sequence[str], line: LaunchLine, site: SiteSettings, progress: Progress) -> FactsRead:
    """Of this machine by itself, of others through Slurm, by the names that they gave themselves.

    Inside the line's job where it has one, else in a short allocation, for which --wait, --idle-only and --node-hours
    hold. What cannot be read is missing.
    """
    progress.stage("Reading the facts of the nodes")
    try:
        if list(hosts) == [socket.gethostname()]:
            read = read_here(quick=True)
            return _renamed(read, dict.fromkeys(read.facts, hosts[0]))
        if not is_here():
            return FactsRead(facts={})
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


def _by_slurm(launcher: SlurmLauncher, job: str, nodes: Sequence[str]) -> FactsRead:
    """By a step of a job that runs, which is left as it is, or in an allocation of our own."""
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
