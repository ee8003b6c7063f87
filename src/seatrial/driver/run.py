"""A run: how every command that measures begins it, records it, and ends it whatever happens.

It begins with a launcher and its hosts, the nodes within the node-hour limit, and a folder in the archive.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from seatrial import __version__
from seatrial.archive import layout
from seatrial.archive.journal import ValuesImported
from seatrial.archive.reader import parse_all, read_info
from seatrial.archive.writer import RunWriter, ended
from seatrial.driver.clock import new_run_name, now_text
from seatrial.driver.measurer import Measurer
from seatrial.driver.node_selection import allocate_available, described, within_node_hours
from seatrial.driver.progress import Progress
from seatrial.driver.session_losses import TooManyLost
from seatrial.driver.site import choose_launcher, environment_of
from seatrial.importers.series_times import dates_of
from seatrial.launch.contract import Hosts, Launcher, StartsOtherwise
from seatrial.launch.environments.judge import Reporting, check_environment, refuse_fatal
from seatrial.model import formats
from seatrial.model.errors import LaunchError, SeatrialError
from seatrial.model.fabric import Wiring
from seatrial.model.facts import NodeFacts
from seatrial.model.imported import Batch
from seatrial.model.measurement import Verification, node_of
from seatrial.model.run import Design, Ending, NodeCause, NodeState, RecordedRun, RunInfo, RunKind
from seatrial.model.settings import CheckSettings, Settings, SiteSettings
from seatrial.model.words import count, utc_text
from seatrial.process.process import unbroken
from seatrial.rules.base import Readings, findings_of, one_place_per_host
from seatrial.rules.software import MPI_SETTINGS

Judged = TypeVar("Judged")


class MeasuredRun(msgspec.Struct, Generic[Judged], frozen=True, kw_only=True):
    """The closed run's folder, what is in it, and the judgement."""

    folder: Path
    recorded: RecordedRun
    result: Judged


class ExplainedByFacts(LaunchError):
    """A failed start whose cause is in the nodes' facts: there are findings, though nothing could be measured."""


def explained_by_facts(error: LaunchError, facts: Mapping[str, NodeFacts]) -> LaunchError:
    """The error; ExplainedByFacts if a node has other MPI settings than its peers."""
    if not findings_of(MPI_SETTINGS, one_place_per_host(Readings(facts=facts))):
        return error
    return ExplainedByFacts(error.what, error.remedy, transient=error.transient)


def preflight(launcher: Launcher, measurer: Measurer, progress: Progress) -> None:
    """Try the launcher's environment on the nodes that answer; what prevents no start becomes a remark of the run.

    Then the probe is started, and stays: only a start shows whether its ranks form one world. Raises LaunchError with
    what was observed of the environment.
    """
    if not isinstance(launcher, Reporting) or not launcher.environment or not measurer.nodes:
        return  # no environment, or nothing is started, as by a replay
    progress.stage(f"Trying the environment on {count(len(measurer.nodes), 'node')}")
    faults = check_environment(launcher, measurer.nodes)
    refuse_fatal(faults)
    try:
        measurer.start()
    except LaunchError as error:
        if not faults:
            raise
        seen = " ".join(fault.what for fault in faults)
        remedies = " ".join(dict.fromkeys(fault.remedy for fault in faults))
        raise LaunchError(f"{error.what} What is wrong with the environment: {seen}", remedies) from error
    measurer.remarks.extend(f"{fault.what} {fault.remedy}" for fault in faults)


INTERRUPTED = "Interrupted: what had been measured was kept, the rest was not measured."
MOST_REMARKS = 3
"""Remarks of the measurer that become part of the reason with which a run is closed."""


class Run:
    """One run: its settings, its folder in the archive, its nodes, and what was measured so far.

    Commands give `carry_out` their work, or make a class of their own from this one.
    """

    def __init__(
        self,
        settings: SiteSettings,
        launcher: Launcher,
        writer: RunWriter,
        progress: Progress,
        *,
        nodes: Sequence[str],
        planned: Sequence[tuple[str, str]] = (),
        left_out: Sequence[NodeState] = (),
        wiring: Wiring | None = None,
        fewest: int = 2,
    ) -> None:
        """`planned`: ordered pairs, as far as known; `left_out`: nodes that were not available; `fewest`: ranks."""
        self.settings = settings
        self.progress = progress
        self.measurer = Measurer(launcher, writer, nodes, progress, settings.round_timeout_s, fewest)
        self.measurer.verify = Verification.ALL if settings.verify else Verification.ENDS
        self.afterwards: list[Callable[[], None]] = []
        """Called when no rank runs any more, however the run ends."""
        self.facts: dict[str, NodeFacts] = {}
        self.facts_after: dict[str, NodeFacts] = {}
        self._fewest = fewest
        self._launcher = launcher
        self._writer = writer
        self._planned = tuple(planned)
        self._left_out = tuple(left_out)
        self.wiring = wiring

    @property
    def seed(self) -> int:
        """The seed of the random order of rounds."""
        return self._writer.info.seed

    def carry_out(self, work: Callable[[], str], blames: Callable[[], bool] = lambda: False) -> Path:
        """Do the work, which returns a remark for the report or nothing, and close the run; its folder.

        `blames`: whether the report of what is known so far has findings, which then decide the exit code.

        An error of the work becomes the reason with which the run is closed. It is raised again where nothing was
        measured and no finding will say what is wrong. A run is closed exactly once, also after Ctrl-C.
        """
        ending, reason = Ending.FAILED, ""
        failure: SeatrialError | None = None
        try:
            reason = work()
            ending = Ending.COMPLETE
        except KeyboardInterrupt:
            ending, reason = Ending.INTERRUPTED, INTERRUPTED
        except SeatrialError as error:
            failure, reason = error, str(error)
        finally:
            with unbroken(wanted=ending is not Ending.INTERRUPTED):
                folder = self._finish(ending, reason, failure)
        if (
            failure
            and not self._writer.measurements
            and not isinstance(failure, (ExplainedByFacts, TooManyLost))
            and not blames()
        ):
            raise failure
        return folder

    def _finish(self, ending: Ending, reason: str, failure: SeatrialError | None) -> Path:
        """Give the nodes back and close the run."""
        try:
            self.measurer.close(kill=ending is not Ending.COMPLETE)
        finally:
            try:
                for clean_up in self.afterwards:
                    clean_up()
            finally:
                self._launcher.close()
        way = self._launcher.remark if isinstance(self._launcher, StartsOtherwise) else ""
        said = " ".join(filter(None, (reason, way, *self.measurer.remarks[:MOST_REMARKS])))
        return self._writer.close(ended(self._info(), ending, now_text(), said), failure)

    def allocate(self, nodes: Sequence[str], seconds: float) -> tuple[str, ...]:
        """Get the nodes for that long; those that were granted. Raises LaunchError.

        Nodes that go out of service before they are granted are lost, as long as enough others are left.
        """
        granted, lost = allocate_available(self._launcher, nodes, seconds, self._fewest)
        for state in lost:
            self.measurer.lose(state)
        self._writer.describe(msgspec.structs.replace(self._writer.info, job=self._launcher.job))
        return granted

    def get_nodes(self, nodes: Sequence[str], seconds: float, asleep: Sequence[str] = ()) -> tuple[str, ...]:
        """Get the nodes for that long, of which Slurm wakes those `asleep`, and read the facts of those granted.

        Raises LaunchError.
        """
        waking = f"; Slurm wakes {', '.join(asleep)}" if asleep else ""
        self.progress.stage(f"Waiting for {count(len(set(map(node_of, nodes))), 'node')}{waking}")
        granted = self.allocate(nodes, seconds)
        self.progress.stage(f"Reading the facts of {count(len(set(map(node_of, granted))), 'node')}")
        self.inspect(granted)
        return granted

    def read_facts(self, nodes: Sequence[str], reading: str, silent: str) -> dict[str, NodeFacts]:
        """The facts of the nodes, which are kept. Nodes that do not answer are lost, for the reason `silent`."""
        facts = self._launcher.read_facts(nodes)
        self._writer.write_facts(reading, facts.texts)
        for node, why in facts.silent.items():
            self.measurer.lose(NodeState(node=node, reason=f"{silent}: {why}", fault=True, cause=NodeCause.SILENT))
        return parse_all(facts.texts, self._writer.info.features)

    def inspect(self, nodes: Sequence[str]) -> None:
        """Before anything is measured: read the facts, and try the environment of the launch. Raises LaunchError."""
        self.facts = self.read_facts(nodes, layout.BEFORE, "did not answer")
        preflight(self._launcher, self.measurer, self.progress)

    def designed(self, design: Design) -> None:
        """Record what is going to be measured."""
        self._writer.describe(msgspec.structs.replace(self._writer.info, design=design))

    def spent(self, where: str) -> str:
        """A remark for the report: the budget was spent before or in something."""
        return f"The budget of {self.settings.budget_s:.0f} s was spent {where}."

    def note_cut(self, cut: str) -> None:
        """Report what --node-hours cut off, now and in the report; empty: nothing."""
        if cut:
            self.progress.stage(cut)
            self.measurer.remarks.append(cut)

    def recorded(self) -> RecordedRun:
        """The run as a judge sees it, with what is known so far."""
        return RecordedRun(
            info=self._info(),
            planned=self._planned,
            facts=self.facts,
            facts_after=self.facts_after,
            measurements=tuple(self.measurer.measurements),
            group_measurements=tuple(self.measurer.group_measurements),
            starts=tuple(self.measurer.starts),
            losses=tuple(self.measurer.losses),
            sessions=self.measurer.sessions,
            wiring=self.wiring,
        )

    def _info(self) -> RunInfo:
        ways = self._launcher if isinstance(self._launcher, StartsOtherwise) and self.measurer.sessions else None
        return msgspec.structs.replace(
            self._writer.info,
            started_by=ways.started_by if ways else "",
            mpi_library=str(self.measurer.header.get("mpi_library", "")),
            lost=(*self._left_out, *self.measurer.lost.values()),
            hanging_pairs=tuple(self.measurer.hung),
            capped_pairs=self.measurer.capped,
        )


def describe(settings: Settings, launcher: Launcher, hosts: Hosts, nodes: Sequence[str]) -> RunInfo:
    """run.json at the start of a run with these settings."""
    site, kind = settings.site, RunKind(str(settings.__struct_config__.tag))
    environment = environment_of(site, local=launcher.name in ("local", "ssh"))
    check = settings if isinstance(settings, CheckSettings) else None
    replayed = read_info(site.replay) if site.replay else None
    words = described(hosts.features, site)
    return RunInfo(
        format=formats.RUN,
        run=site.run or new_run_name(kind.value),
        kind=kind,
        seatrial=__version__,
        command=site.command,
        started=now_text("milliseconds"),  # by which runs of one second are sorted
        launcher=launcher.name,
        cluster=hosts.cluster,
        controllers=hosts.controllers,
        nodes=tuple(nodes),
        fabric=hosts.fabric,
        features={node: words[node] for node in nodes if node in words},
        lost=hosts.left_out,
        seed=replayed.seed if replayed else site.seed,
        figure=replayed.figure if replayed else None,
        environment=environment.spec,
        wrap=environment.where.value if environment else "",
        effect=check.effect if check else None,
        latency_effect=check.latency_effect if check else None,
        settings=settings,
    )


def write_batch(
    archive: Path, run: str, batches: Sequence[Batch], started: str, *, cluster: str = "", command: Sequence[str] = ()
) -> Path:
    """The folder of the run, which has the values of all batches. `started`: UTC, ISO 8601.

    Raises UsageError for a name that is taken, ArchiveError.
    """
    info = RunInfo(
        format=formats.RUN,
        run=run,
        kind=RunKind.IMPORT,
        seatrial=__version__,
        command=tuple(command),
        started=started,
        launcher="import",
        cluster=cluster,
        nodes=tuple(dict.fromkeys(value.node for batch in batches for value in batch.values)),
    )
    writer = RunWriter(archive, info)
    for batch in batches:
        writer.append(ValuesImported(source=batch.source, label=batch.label, values=batch.values))
    return writer.close(ended(info, Ending.COMPLETE, started))


def times_of(batches: Sequence[Batch]) -> list[str]:
    """When each run began: as its label says; else in their order, a second apart, up to now."""
    try:
        moments = dates_of([batch.label for batch in batches])
    except ValueError:
        latest = datetime.now(UTC).replace(microsecond=0)
        moments = [latest - timedelta(seconds=len(batches) - place) for place in range(len(batches))]
    return [utc_text(moment, "auto") for moment in moments]


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """A run of which nothing has been carried out, and which has a folder."""

    site: SiteSettings
    """The site's settings with the time that the node-hour limit leaves."""
    launcher: Launcher
    hosts: Hosts
    nodes: tuple[str, ...]
    writer: RunWriter
    cut: str
    """What the node-hour limit cut off; empty: nothing."""

    def frame(self, progress: Progress, fewest: int) -> Run:
        """The run with all its nodes, which goes on while `fewest` of them are left."""
        left_out = self.hosts.left_out
        run = Run(
            self.site, self.launcher, self.writer, progress, nodes=self.nodes, left_out=left_out, fewest=fewest
        )  # fmt: skip
        run.note_cut(self.cut)
        return run


def find_hosts(site: SiteSettings, progress: Progress) -> tuple[Launcher, Hosts]:
    """The launcher that fits the site, and what it can measure. Errors as of `choose_launcher`."""
    progress.stage("Looking for nodes, preparing the probe")
    launcher = choose_launcher(site)
    hosts = launcher.hosts()
    return launcher, msgspec.structs.replace(hosts, features=described(hosts.features, site))


def all_nodes(hosts: Hosts) -> tuple[str, ...]:
    """Every node that can be measured. Raises SeatrialError where there is none."""
    if not hosts.nodes:
        raise SeatrialError("No node can be measured.", "`seatrial doctor` shows what is wrong with each.")
    return hosts.nodes


def open_run(
    settings: Settings, site: SiteSettings, launcher: Launcher, hosts: Hosts, nodes: Sequence[str], *, fewest: int
) -> Opening:
    """Reduce the run to the node-hour limit and create its folder.

    `site`: that is measured, usually the one of the settings. `fewest`: with as many nodes as there are, only time is
    reduced. Raises UsageError where nothing fits, and ArchiveError.
    """
    site, hosts, kept, cut = within_node_hours(site, hosts, nodes, job=launcher.job, fewest=fewest)
    writer = RunWriter(site.archive, describe(msgspec.structs.replace(settings, site=site), launcher, hosts, kept))
    return Opening(site=site, launcher=launcher, hosts=hosts, nodes=kept, writer=writer, cut=cut)
