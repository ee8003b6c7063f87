"""`seatrial link --transports`: which ranks to put between which nodes, the run, and its judgement."""

from pathlib import Path

import msgspec

from seatrial.archive.journal import VariantNoted, of_type
from seatrial.archive.reader import read_entries, read_run, refuse_damaged
from seatrial.commands.link.transports.ablation import Ablation
from seatrial.commands.link.transports.judge import Transports, TransportsByRail, judge_run
from seatrial.driver.node_selection import enough
from seatrial.driver.progress import SILENT, Progress
from seatrial.driver.run import MeasuredRun, find_hosts, open_run
from seatrial.driver.two_nodes import Pair, pick_ends
from seatrial.launch.contract import Hosts, Launcher
from seatrial.model.errors import SeatrialError, UsageError
from seatrial.model.run import RunKind
from seatrial.model.settings import TransportsSettings

TransportsRun = MeasuredRun[Transports | TransportsByRail]


def run_transports(settings: TransportsSettings, progress: Progress = SILENT) -> TransportsRun:
    """Carry out `seatrial link --transports`, or judge the run in `replay` again. Whatever ends it, the run is closed.

    Raises UsageError, LaunchError, ArchiveError and other SeatrialErrors; KeyboardInterrupt only before the first
    measurement.
    """
    if settings.site.replay is not None:
        return judged_again(settings.site.replay)
    launcher, hosts = find_hosts(settings.site, progress)
    nodes, pair, each = place(settings, launcher, hosts)
    opening = open_run(settings, settings.site, launcher, hosts, nodes, fewest=len(nodes))
    settings = msgspec.structs.replace(settings, site=opening.site)
    trial = Ablation(settings, launcher, opening.writer, nodes, pair, each, progress)
    trial.note_cut(opening.cut)
    folder = trial.carry_out(trial.measure_variants)
    recorded = trial.recorded()
    return TransportsRun(folder=folder, recorded=recorded, result=judge_run(recorded, trial.notes))


def judged_again(folder: Path) -> TransportsRun:
    """The run in an archive's folder. Raises DamagedRun; SeatrialError for another kind of run."""
    refuse_damaged(folder)
    recorded = read_run(folder)
    notes = [entry.note for entry in of_type(read_entries(folder), VariantNoted)]
    kind = recorded.info.kind
    if kind is not RunKind.TRANSPORTS:
        raise SeatrialError(
            f"The run {recorded.info.run} is not a run of seatrial link --transports, but of {kind.command}."
        )
    return TransportsRun(folder=folder, recorded=recorded, result=judge_run(recorded, notes))


def place(settings: TransportsSettings, launcher: Launcher, hosts: Hosts) -> tuple[tuple[str, ...], Pair, int]:
    """Nodes to get hold of, the pair of ranks to measure, and ranks a node. Raises UsageError, SeatrialError."""
    if settings.rails is not None and (settings.within or launcher.name == "local"):
        raise UsageError(
            "--rails: two ranks of one node have no rails between them.", "Leave --rails out, or name two nodes."
        )
    if launcher.name == "local":
        first, second, *_ = hosts.nodes
        return (first, second), (first, second), 1
    if not settings.within:
        pair = pick_ends(enough(hosts, settings.site), hosts, settings.ends)
        return pair, pair, 1
    node = settings.within
    if settings.ends:
        raise UsageError("--within and two nodes cannot be given together.", "Name one node with --within, or two.")
    if node not in hosts.nodes:
        why = next((state.reason for state in hosts.left_out if state.node == node), "there is no such node here")
        raise SeatrialError(f"{node} cannot be measured: {why}.")
    return (node,), (f"{node}:0", f"{node}:1"), 2
