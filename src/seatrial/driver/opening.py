"""How a run begins: its launcher and hosts, the nodes within the node-hour limit, and a folder in the archive."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from seatrial import __version__
from seatrial.archive.journal import ValuesImported
from seatrial.archive.writer import RunWriter, ended
from seatrial.driver.node_selection import described, within_node_hours
from seatrial.driver.progress import Progress
from seatrial.driver.run import Run, describe
from seatrial.driver.site import choose_launcher
from seatrial.launch.contract import Hosts, Launcher
from seatrial.model import formats
from seatrial.model.errors import SeatrialError
from seatrial.model.imported import Batch
from seatrial.model.run import Ending, RunInfo, RunKind
from seatrial.model.settings import Settings, SiteSettings
from seatrial.model.words import moment_of, utc_text


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
        moments = [moment_of(batch.label) for batch in batches]
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
