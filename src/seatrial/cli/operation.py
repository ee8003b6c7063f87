"""seatrial status, seatrial alone, and seatrial metrics: how nodes are after the runs of the archive.

Nothing is measured. Exit code of status 1: a finding on a node is open; 2: a node is undecided, or none was judged.
Exit code of metrics 0 also where Slurm does not answer, which the numbers say; 2 where they cannot be handed over.
"""

import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from seatrial.archive import gate, headlines, layout, reader
from seatrial.archive.run_files import DamagedRun
from seatrial.cli.archived_headlines import ALL_S, RUN_S, Unjudged, judge
from seatrial.cli.options import archive_option, seconds
from seatrial.cli.outcome import OutputForms, output_options, say
from seatrial.cli.parameters import Text, Word, option
from seatrial.cli.site_file import site_gate
from seatrial.commands.metrics import figures as metrics_figures
from seatrial.commands.metrics import prometheus
from seatrial.commands.metrics import run as metrics_run
from seatrial.commands.status import view as status_view
from seatrial.judgement.qualification import confirmed
from seatrial.judgement.standings import Judged, looks_of, standings_after
from seatrial.model.errors import ExitCode, SeatrialError
from seatrial.model.gate import GateTally
from seatrial.model.monitoring import Ask, NodeStanding, Target, parse_target
from seatrial.model.run import RunInfo
from seatrial.model.settings import CheckSettings

MOST_RUNS = 5000
"""Runs that say how nodes are, the newest: with a slice of qualify every 20 minutes those of ten weeks."""


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """How the nodes of an archive are, by name. `unread`: runs that could not be read or judged in time."""

    nodes: dict[str, NodeStanding]
    runs: int
    unread: int


def read_runs(archive: Path, limit_s: float = ALL_S) -> Iterator[tuple[RunInfo, Judged] | None]:
    """The newest runs of this user and of root that judge nodes, the newest first: others may put anything there.

    None for each that cannot be read, or judged in time.
    """
    until_s = time.monotonic() + limit_s
    for folder in reader.trusted_runs(archive)[:MOST_RUNS]:
        try:
            info = reader.read_info(folder)
            looks = looks_of(info)
            if not looks or layout.is_open(folder):
                continue
            ended = info.ended or info.started
            nodes = headlines.read_standings(folder)
            if nodes is None:
                judge(folder, min(until_s - time.monotonic(), RUN_S))
                nodes = headlines.read_standings(folder)
        except (DamagedRun, Unjudged):
            nodes = None
        if nodes is None or not _is_past(ended):
            yield None
            continue
        threshold = info.settings.threshold if isinstance(info.settings, CheckSettings) else 0.0
        yield info, Judged(run=info.run, ended=ended, looks=looks, nodes=nodes, threshold=threshold)


def judged_runs(archive: Path, limit_s: float = ALL_S) -> tuple[list[Judged], int]:
    """The newest runs that judge nodes, the oldest first, and how many cannot be read."""
    runs = [run and run[1] for run in read_runs(archive, limit_s)]
    judged = [run for run in reversed(runs) if run is not None]
    return judged, len(runs) - len(judged)


def cluster(archive: Path, limit_s: float = ALL_S) -> Cluster:
    """How each node is after the newest runs."""
    runs, unread = judged_runs(archive, limit_s)
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
    "--to",
    "target",
    type=Text(parse_target),
    default="-",
    help="textfile:FILE for node_exporter, graphite:HOST:PORT, or - for standard output.",
    metavar="PLACE",
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
    "--interval",
    type=Text(seconds),
    default="15s",
    help="A call sooner than this after the last one does nothing.",
    metavar="TIME",
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
        sys.stdout.write(prometheus.exposition(figures).decode())
    else:
        prometheus.deliver(figures, target)
    if state and not all(state.answered.values()):
        silent = ", ".join(name for name, ok in state.answered.items() if not ok)
        say(f"{silent}: no answer within {metrics_run.COMMAND_S:.0f} s; these numbers are unknown.")
    return ExitCode.PASS
