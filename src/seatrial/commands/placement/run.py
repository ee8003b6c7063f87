"""The places of the ranks of a launch line, better places, and whether these measure better."""

import os
import re
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from seatrial.archive import layout
from seatrial.archive.journal import StartFailed, SurveyPlanned
from seatrial.archive.reader import parse_all
from seatrial.archive.writer import RunWriter
from seatrial.commands.placement.advice import RANKFILE, Advice
from seatrial.commands.placement.gain import ADVISED, ASKED
from seatrial.commands.placement.judge import Placement, advice_of, disobeyed, judge_placement, shown_by_messages
from seatrial.driver.clock import monotonic_s
from seatrial.driver.facts_reading import ALLOCATED_S, FactsRead, read_here
from seatrial.driver.node_selection import fewer_nodes
from seatrial.driver.progress import SILENT, Progress
from seatrial.driver.run import MeasuredRun, Run, describe
from seatrial.driver.site import environment_of_line, hosts_launcher, probe_for
from seatrial.experiment.controls import alternating
from seatrial.files.owners import temporary_folder
from seatrial.judgement.rank_notes import by_node
from seatrial.launch.contract import PLAIN, Hosts, StartManner
from seatrial.launch.hosts.job_nodes import in_other_job
from seatrial.launch.hosts.launcher import HostsLauncher
from seatrial.launch.hosts.reach import read_remote_facts
from seatrial.launch.launch_line import (
    HostsMoved,
    LineLauncher,
    compiler_beside,
    dialect_of,
    job_of,
    known_program,
    program_hint,
)
from seatrial.launch.line_parser import Dialect, LaunchLine, parse_line
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.errors import LaunchError, SeatrialError, UsageError
from seatrial.model.measurement import Kernel, Measurement, Phase, ProbeStart, RankPlace, Round, Shape
from seatrial.model.node_list import node_list
from seatrial.model.run import Design
from seatrial.model.settings import PlacementSettings, SiteSettings
from seatrial.model.words import count
from seatrial.node.rank_places import rank_places
from seatrial.pairs.rank_pairs import ROUNDS, lasting, pilot_shapes, placed_pairs, placed_rounds
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
        job = job_of(line)
        partition = line.option("p", "partition") if line.dialect is Dialect.SRUN else ""
        wanted = msgspec.structs.replace(site, partition=partition, nodes=tuple(names), quick_facts=True)
        launcher = SlurmLauncher(wanted, probe=Path())
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


DESIGN = "placement"
THREADS = "OMP_NUM_THREADS"
TRIES = 2
"""Tries of the first start under the advised placement, which may well not be possible."""


class Placing(Run):
    """A run that starts a launch line."""

    def __init__(
        self,
        settings: PlacementSettings,
        launcher: LineLauncher,
        writer: RunWriter,
        found: "FirstStart",
        progress: Progress,
    ) -> None:
        self._starts = settings.starts
        self._found = found
        self._pairs = placed_pairs([[rank.place for rank in there] for there in found.by_host.values()])
        places = tuple(rank.place for rank in found.ranks)
        super().__init__(settings.site, launcher, writer, progress, nodes=places, planned=self._pairs, fewest=1)
        self.facts = found.facts.facts

    def measure_line(self) -> str:
        """Start once to see; where there is something to advise, measure with it and without; a remark or empty."""
        self._writer.append(SurveyPlanned(pairs=self._pairs))
        self._writer.write_facts(layout.BEFORE, self._found.facts.texts)
        deadline = monotonic_s() + self.settings.budget_s
        self.measurer.begin(PLAIN)
        ranks = by_node(self.measurer.starts[0].ranks)
        advice = advice_of(self.facts, ranks, self._found.line)
        if advice and advice.rankfile:
            self._writer.write_log(RANKFILE, advice.rankfile.encode())
        starts = self._starts if shown_by_messages(self.facts, ranks) else 0
        self._describe(starts if advice and self._pairs else 0)
        if advice is None or not starts:
            return ""
        if not self._pairs:
            return "A single rank has no partner: nothing was measured."
        return self._prove(advice, starts, deadline)

    def _manner(self, advice: Advice) -> StartManner:
        library = str(self.measurer.header.get("mpi_library", ""))
        rankfile = self._writer.folder / layout.LOGS_FOLDER / RANKFILE
        return StartManner(options=advice.options(self._found.line, str(rankfile), library))

    def _prove(self, advice: Advice, starts: int, deadline: float) -> str:
        """Stops where the advised placement does not come up, or comes up otherwise: then it is withdrawn."""
        shapes = self._pilot()
        self.progress.stage(f"Starting the line as it is and as advised, alternating, {starts} of each")
        self.progress.rounds(2 * starts * ROUNDS * len(shapes))
        for repetition, variant in alternating((ASKED, ADVISED), starts):
            self.measurer.close()
            if variant == ASKED:
                self.measurer.begin(PLAIN)
            elif not self._begins(self._manner(advice), first=repetition == 0):
                return ""
            if not self.measurer.run(placed_rounds(repetition, variant, shapes, self._pairs), deadline):
                return self.spent(f"before all was measured {starts} times")
            if variant == ADVISED and disobeyed(self.facts, self.measurer.starts, advice):
                return ""
        return ""

    def _begins(self, advised: StartManner, *, first: bool) -> bool:
        """Whether the line starts as advised. Raises LaunchError where it did before and does not any more."""
        try:
            self.measurer.begin(advised, starts=TRIES)
        except HostsMoved:
            raise
        except LaunchError as error:
            if not first:
                raise
            self.measurer.starts.append(ProbeStart(session=0, ranks=(), variant=ADVISED, failure=str(error)))
            self._writer.append(StartFailed(variant=ADVISED, failure=str(error)))
            return False
        return True

    def _pilot(self) -> list[Shape]:
        """How long each takes under the asked placement; the slowest pair counts."""
        shapes = pilot_shapes()
        for shape in shapes:
            self.measurer.measure(Round(phase=Phase.PILOT, repetition=0, shape=shape, pairs=self._pairs, variant=ASKED))
        took = {
            shape.kernel: max((_mean(one) for one in self.measurer.measurements if one.shape == shape), default=0.01)
            for shape in shapes
        }
        self.measurer.window_s = took[Kernel.ONEWAY]
        return [lasting(shape, took[shape.kernel]) for shape in shapes]

    def _describe(self, starts: int) -> None:
        ranks, nodes = count(len(self._found.ranks), "rank"), count(len(self._found.by_host), "node")
        todo = (
            f"{count(len(self._pairs), 'pair')} at once, {count(starts, 'launch', 'launches')} under this and {starts} "
            "under the advised placement."
            if starts
            else "nothing was to be measured."
        )
        self.designed(
            Design(
                name=DESIGN,
                pairs_at_once=len(self._pairs),
                repetitions=starts,
                rounds=2 * starts * ROUNDS * len(pilot_shapes()),
                ordered_pairs=len(self._pairs),
                planned_pairs=len(self._pairs),
                statement=f"{ranks} on {nodes} where the launch line puts them; {todo}",
            )
        )


class FirstStart(msgspec.Struct, frozen=True, kw_only=True):
    """What a first start of the line showed."""

    line: LaunchLine
    ranks: tuple[RankPlace, ...]
    facts: FactsRead

    @property
    def by_host(self) -> Mapping[str, Sequence[RankPlace]]:
        """Ranks of each host in order, whether their masks are known or not."""
        hosts: dict[str, list[RankPlace]] = {}
        for rank in self.ranks:
            hosts.setdefault(rank.node, []).append(rank)
        return hosts


def run_placement(settings: PlacementSettings, progress: Progress = SILENT) -> MeasuredRun[Placement]:
    """Carry out `seatrial placement`. Whatever ends it, the run is closed.

    Raises UsageError for an invalid line, LaunchError where it does not start, ArchiveError.
    """
    site = settings.site
    progress.stage("Preparing the probe")
    around = environment_of_line(site, settings.words)
    line = parse_line(settings.words, dialect_of(settings.words, around), settings.program, settings.cores)
    line = msgspec.structs.replace(line, cores=settings.cores or _threads_here(line))
    if not settings.program:
        known_program(line, around)
        if hint := program_hint(line):
            progress.stage(hint)
    with_mpi = msgspec.structs.replace(site, mpicc=site.mpicc or compiler_beside(settings.words, around))
    named = hosts_of_line(line, with_mpi, progress)
    probe = named.probe if named else probe_for(with_mpi)
    launcher = LineLauncher(line, probe, site.wait_s, around)
    progress.stage("Starting the launch line with the probe in place of its program")
    ranks = _look(launcher)
    facts = line_facts(sorted({rank.host for rank in ranks}), line, site, progress, named)
    found = FirstStart(line=line, ranks=ranks, facts=facts)
    hosts = Hosts(nodes=tuple(found.by_host), fabric=facts.fabric, cluster=facts.cluster)
    given = ["--hosts", node_list(site.hosts)] if site.hosts else []
    given += ["--program", settings.program] if settings.program else []
    given += ["--environment", site.environment, "--wrap", site.wrap] if around else []
    given += ["--cores", str(line.cores)] if line.cores else []
    site = msgspec.structs.replace(site, command=("placement", *given, "--", *settings.words))
    settings = msgspec.structs.replace(settings, site=site, cores=line.cores)
    info = describe(settings, launcher, hosts, hosts.nodes)
    info = msgspec.structs.replace(info, wrap=around.where.value if around else "")
    writer = RunWriter(site.archive, info)
    placing = Placing(settings, launcher, writer, found, progress)
    folder = placing.carry_out(placing.measure_line)
    recorded = placing.recorded()
    return MeasuredRun(folder=folder, recorded=recorded, result=judge_placement(recorded))


def _threads_here(line: LaunchLine) -> int | None:
    """OMP_NUM_THREADS of our own environment, which the line inherits where it does not say otherwise."""
    told = os.environ.get(THREADS, "").partition(",")[0]
    if line.cores_each or line.processors_each or not re.fullmatch("[0-9]{1,4}", told):
        return None
    return int(told) or None


def _look(launcher: LineLauncher) -> tuple[RankPlace, ...]:
    with temporary_folder() as folder:
        session = launcher.look(folder / "launch.err")
        try:
            return rank_places(session.nodes, session.ranks, ())
        finally:
            session.close()


def _mean(one: Measurement) -> float:
    whole = (*one.warmup_times_s, *one.times_s)
    return sum(whole) / len(whole) if whole else 0.0
