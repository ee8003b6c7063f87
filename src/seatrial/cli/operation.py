"""seatrial status, seatrial alone, and seatrial metrics: how nodes are after the runs of the archive.

Nothing is measured. Exit code of status 1: a finding on a node is open; 2: a node is undecided, or none was judged.
Exit code of metrics 0 also where Slurm does not answer, which the numbers say; 2 where they cannot be handed over.
"""

import contextlib
import shlex
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from seatrial.archive import gate, layout, listing, reader
from seatrial.archive.layout import DamagedRun
from seatrial.archive.lease import Life, presumed
from seatrial.archive.listing import StoredHeadline
from seatrial.cli import report
from seatrial.cli.json_output import JSON_OUTPUT
from seatrial.cli.options import archive_option, seconds
from seatrial.cli.outcome import OutputForms, keep_report, output_options, say
from seatrial.cli.parameters import Text, Word, option
from seatrial.cli.site_file import site_gate
from seatrial.commands.metrics import figures as metrics_figures
from seatrial.commands.metrics import run as metrics_run
from seatrial.commands.status import view as status_view
from seatrial.files.owners import is_own
from seatrial.judgement.qualification import confirmed
from seatrial.judgement.standings import Judged, looks_of, standings_after
from seatrial.model.errors import ExitCode, SeatrialError
from seatrial.model.gate import GateTally
from seatrial.model.monitoring import Ask, NodeStanding, Target, parse_target
from seatrial.model.run import RunInfo
from seatrial.model.settings import CheckSettings
from seatrial.process.time_limit import TimeUp, timed
from seatrial.render.finding_text import standings_of

if TYPE_CHECKING:
    from seatrial.render.report import Report


ALL_S, OTHERS_S = 60.0, 1.0
"""Seconds that a list spends on judging this user's runs, and on those of others, whose owners did not do it."""
RUN_S = 20.0
"""Seconds for one run."""
LEAST_S = 0.01


class Unjudged(SeatrialError):
    """A run could not be judged for a list."""


def judged(rows: Sequence[listing.RunRow]) -> list[listing.RunRow]:
    """The rows; those of closed runs have the first line of their report, or why there is none."""
    left_s = {True: ALL_S, False: OTHERS_S}
    made = []
    for row in rows:
        if row.state != listing.CLOSED:
            made.append(row)
            continue
        folder = Path(row.folder)
        began = time.monotonic()
        owned = True
        try:
            line = listing.read_headline(folder)
            if line is None:
                owned = is_own(folder)
                line = judge(folder, min(left_s[owned], RUN_S))
        except Unjudged as error:
            made.append(msgspec.structs.replace(row, unjudged=str(error)))
        else:
            made.append(
                msgspec.structs.replace(row, verdict=line.verdict, headline=line.headline, exit_code=line.exit_code)
            )
        left_s[owned] -= time.monotonic() - began
    return made


def judge(folder: Path, limit_s: float) -> StoredHeadline:
    """Judge a run, and keep the first line of its report. Raises Unjudged, whatever is wrong with the run."""
    made = report_within(folder, limit_s)
    return StoredHeadline(seatrial="", verdict=made.word, headline=made.headline, exit_code=int(made.exit_code))


def report_within(folder: Path, limit_s: float = RUN_S) -> "Report":
    """The report of a run, whose first line is kept. Raises Unjudged, whatever is wrong with the run."""
    if limit_s < LEAST_S:
        raise Unjudged(
            "It has no headline, and judging the others took all the time that a list has.", _by_hand(folder)
        )
    try:
        with timed(limit_s):
            made = report.report_of(folder)
    except TimeUp as error:
        what = f"It has no headline, and judging it takes more than {limit_s:.1f} s."
        raise Unjudged(what, _by_hand(folder)) from error
    except SeatrialError as error:
        raise Unjudged(error.what, error.remedy) from error
    except Exception as error:
        what = f"It cannot be judged ({type(error).__name__}: {error})."
        raise Unjudged(what, "This is a bug of seatrial; please report it.") from error
    keep_report(folder, made)
    return made


def _by_hand(folder: Path) -> str:
    return f"`seatrial report {shlex.quote(folder.name)}` judges it."


def keep_all(folders: Iterable[Path]) -> None:
    """Keep the headlines of runs that were closed just now, so that no reader need judge them."""
    until_s = time.monotonic() + ALL_S
    for folder in [*folders]:
        with contextlib.suppress(Unjudged, KeyboardInterrupt):
            if listing.read_headline(folder) is None:
                judge(folder, min(until_s - time.monotonic(), RUN_S))


MOST_RUNS = 5000
"""Runs that say how nodes are, the newest: with a slice of qualify every 20 minutes those of ten weeks."""


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """How the nodes of an archive are, by name. `unread`: runs that could not be read or judged in time."""

    nodes: dict[str, NodeStanding]
    runs: int
    unread: int


def read_runs(archive: Path) -> Iterator[tuple[RunInfo, Judged] | None]:
    """The newest runs of this user and of root that judge nodes, the newest first: others may put anything there.

    None for each that was cut off, cannot be read, or cannot be judged in time. A run that Slurm granted no nodes says
    nothing on them, unless they went out of service.
    """
    until_s = time.monotonic() + ALL_S
    for folder in reader.trusted_runs(archive)[:MOST_RUNS]:
        try:
            info = reader.read_info(folder)
            looks = looks_of(info)
            if not looks:
                continue
            if layout.is_open(folder):
                if presumed(folder).life is Life.CUT_OFF:
                    yield None
                continue
            ended = info.ended or info.started
            nodes = listing.read_standings(folder)
            if nodes is None:  # not by what was kept just now: the disk may be full, or another user's
                nodes = standings_of(report_within(folder, min(until_s - time.monotonic(), RUN_S))) or None
        except (DamagedRun, Unjudged):
            nodes = None
        if nodes is None or not _is_past(ended):
            yield None
            continue
        if not (info.had_nodes or any(node.faults for node in nodes)):
            continue
        threshold = info.settings.threshold if isinstance(info.settings, CheckSettings) else 0.0
        yield info, Judged(run=info.run, ended=ended, looks=looks, nodes=nodes, threshold=threshold)


def judged_runs(archive: Path) -> tuple[list[Judged], int]:
    """The newest runs that judge nodes, the oldest first, and how many cannot be read."""
    runs = [run and run[1] for run in read_runs(archive)]
    judged = [run for run in reversed(runs) if run is not None]
    return judged, len(runs) - len(judged)


def cluster(archive: Path) -> Cluster:
    """How each node is after the newest runs."""
    runs, unread = judged_runs(archive)
    return Cluster(nodes=standings_after(confirmed(runs)), runs=len(runs), unread=unread)


def _is_past(text: str) -> bool:
    """Whether it is a time, and none of a clock that was ahead: no later run would ever be the last one."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None and not reader.is_ahead(text)
    except ValueError:
        return False


def leave_verdicts(closed: Iterable[Path]) -> None:
    """Leave for seatrial-gate how the nodes of runs are that were closed just now, if the site's file asks for it."""
    try:
        if policy := site_gate():
            for archive in {folder.parent for folder in closed}:
                gate.leave_verdicts(policy, cluster(archive).nodes.values())
    except SeatrialError as error:
        say(str(error))


def gates_now(now_s: float) -> GateTally | None:
    """What the gates answered; None where the site has none."""
    policy = site_gate()
    return gate.gates_tally(policy, now_s) if policy else None


@click.command()
@archive_option
@output_options("plot", "nagios")
def status(archive: Path, output: OutputForms) -> int:
    """Say how the nodes are after all runs: what is open and since when, and what to do next."""
    standing = cluster(archive)
    at = datetime.now(UTC)
    gates = gates_now(at.timestamp())
    return output.show(status_view.status_report(standing.nodes, standing.runs, standing.unread, at, gates))


@click.command()
@option(
    "--to PLACE",
    "target",
    type=Text(parse_target),
    default="-",
    help="textfile:FILE for node_exporter, graphite:HOST:PORT, or - for standard output.",
)
@option(
    "--slurm",
    "ask",
    type=Word(Ask),
    default=Ask.AUTO.value,
    help="auto: nodes, jobs and scheduler, unless slurmctld exports them itself; always; never.",
)
@option("--names", type=click.IntRange(1, 1000), default=20, help="Users, and accounts, with numbers of their own.")
@option(
    "--interval TIME",
    type=Text(seconds),
    default="15s",
    help="A call sooner than this after the last one does nothing.",
)
@archive_option
def metrics(target: Target, ask: Ask, names: int, interval: float, archive: Path) -> int:
    """Write how nodes are, and what Slurm does, as numbers for Prometheus or Graphite."""
    folder = metrics_run.state_folder()
    kept = metrics_run.read_kept(folder)
    now_s = time.time()
    if metrics_run.too_soon(kept, interval, now_s) and target != Target():
        say(f"The last call was less than {interval:g} s ago; nothing is asked. --interval sets that time.")
        return ExitCode.PASS
    if ask is Ask.AUTO and shutil.which("sinfo") is None:
        ask = Ask.NEVER
    state, kept = metrics_run.ask_slurm(kept, ask, now_s, metrics_run.carried_out)
    metrics_run.keep(folder, kept)
    standing = cluster(archive)
    at = datetime.fromtimestamp(now_s, UTC)
    figures = [*metrics_figures.node_figures(standing.nodes, standing.runs, standing.unread, at)]
    if gates := gates_now(now_s):
        figures += metrics_figures.gate_figures(gates)
    figures += metrics_figures.slurm_figures(state, names, now_s) if state else ()
    if target == Target():
        JSON_OUTPUT.print_text(metrics_run.exposition(figures).decode())
    else:
        metrics_run.deliver(figures, target)
    if state and not all(state.answered.values()):
        silent = ", ".join(name for name, ok in state.answered.items() if not ok)
        say(f"{silent}: no usable answer within {metrics_run.COMMAND_S:.0f} s; these numbers are unknown.")
    return ExitCode.PASS
