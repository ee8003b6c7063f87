"""Nodes of which a check says whether they may return to service: which wait, their partners, a way to drained ones.

Slurm sends no job to a node that is drained. It is resumed inside a reservation of ours, and out of service again
before the reservation ends; where Slurm does not permit that, it is reached over ssh, beside partners held by a job.
"""

import enum
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime

import msgspec

from seatrial.archive.changed_settings import OutOfService, ReadmittedNodes
from seatrial.archive.gate import ask_gate
from seatrial.driver.custody import Custody
from seatrial.driver.node_selection import allocation_s, described, grouped
from seatrial.driver.progress import Progress
from seatrial.driver.reach import Reach
from seatrial.driver.site import choose_launcher
from seatrial.files.owners import user_name
from seatrial.launch.contract import Hosts, Launcher
from seatrial.launch.hosts.launcher import HostsLauncher
from seatrial.launch.slurm import SlurmLauncher
from seatrial.model.errors import LaunchError, SeatrialError, UsageError
from seatrial.model.gate import FOREIGN_CHARACTER, MOST_TEXT, OURS, GatePolicy, Step
from seatrial.model.node_list import node_list
from seatrial.model.settings import CheckSettings, SlurmRequest, Start
from seatrial.model.words import natural_sorted, verb
from seatrial.process.process import run
from seatrial.slurm import argv, text
from seatrial.slurm.census import EPOCH
from seatrial.slurm.presence import COMMAND_TIMEOUT_S, OVER_SSH, answer, asked, is_here
from seatrial.slurm.queue import new_job_name, parse_boots
from seatrial.slurm.text import NodeLine

PARTNERS = 3
"""Three partners of a slow node of four show among each other what good nodes deliver."""
SETTLE_S = 30.0
"""A daemon that Slurm had given up answers within this time, or not at all."""
SPARE_MINUTES = 10
"""A reservation outlasts the time limit of the job in it by this much, and then ends by itself."""
WAITING = "requalify"
"""Reasons begin with it with which a site's hooks close a node until it is requalified."""
NO_REASON = "no reason was given"
"""Slurm drains no node without one; slurm.conf does. Not one of the gate's, which resumes what it drained."""


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """How returning nodes and their partners are measured."""

    settings: CheckSettings
    launcher: Launcher


@contextmanager
def reached(
    settings: CheckSettings, progress: Progress, given: Launcher | None, say: Callable[[str], None]
) -> Iterator[Reached]:
    """The returning nodes and their partners within reach, until everything is as it was.

    `given`: a launcher that was chosen already. `say` gets a sentence about nodes that could not be put back.
    Raises UsageError for unknown nodes, LaunchError where a node is out of reach, SeatrialError without partners.
    """
    by_ssh = settings.launcher == "ssh" and not settings.hosts
    within = with_candidates(msgspec.structs.replace(settings, launcher="slurm") if by_ssh else settings)
    launcher = given or choose_launcher(within)
    hosts = launcher.hosts()
    chosen, out = with_partners(within, launcher, hosts)
    if not out and not by_ssh:
        yield Reached(settings=chosen, launcher=given or choose_launcher(chosen))
        return
    reservation, why = ("", "") if by_ssh else _reserve(chosen)
    if reservation:
        with _readmitted(chosen, reservation, out, progress, say) as (readmitted, why):
            if not why:
                yield Reached(settings=readmitted, launcher=choose_launcher(readmitted))
                return
    held = [name for name in chosen.nodes if name not in {node.node for node in out}]
    with _beside_held(chosen, held, hosts.cluster, why, progress) as over_ssh:
        yield over_ssh


def with_candidates(settings: CheckSettings) -> CheckSettings:
    """The settings with the returning nodes among the named ones, if any are named: the others may be partners."""
    named = tuple(dict.fromkeys((*settings.returning, *settings.nodes))) if settings.nodes else ()
    return msgspec.structs.replace(settings, nodes=named)


def with_partners(
    settings: CheckSettings, launcher: Launcher, hosts: Hosts
) -> tuple[CheckSettings, tuple[OutOfService, ...]]:
    """The settings with the nodes that are measured, and which of them have to be resumed. Raises as `reached`."""
    names = settings.returning
    hosts = msgspec.structs.replace(hosts, features=described(hosts.features, settings))
    asks_slurm = isinstance(launcher, SlurmLauncher) and not launcher.job
    out = _out_of_service(names) if asks_slurm else ()
    drained = tuple(node.node for node in out if node.state == "DRAIN")
    nodes = tuple(natural_sorted({*names, *partners_of(names, hosts)}))
    return msgspec.structs.replace(settings, nodes=nodes, drained=drained), out


def chosen_hosts(settings: CheckSettings, hosts: Hosts) -> Hosts:
    """Only the returning nodes and their partners, of what a launcher knows; all where none is to return."""
    if not settings.returning or not settings.nodes:
        return hosts
    return msgspec.structs.replace(
        hosts,
        nodes=tuple(node for node in hosts.nodes if node in settings.nodes),
        left_out=tuple(state for state in hosts.left_out if state.node in settings.nodes),
    )


def partners_of(names: Sequence[str], hosts: Hosts) -> tuple[str, ...]:
    """Free nodes for the returning ones, more than these: of the same kind and below the same switch as far as known.

    Raises UsageError for nodes that the launcher does not know, SeatrialError where no other node is free.
    """
    members = {*hosts.nodes, *(state.node for state in hosts.left_out)}
    if strange := [name for name in names if name not in members]:
        raise UsageError(
            f"Node {strange[0]} is not among the nodes here ({node_list(natural_sorted(members))}).",
            "Name its partition with --partition.",
        )
    free = natural_sorted(node for node in hosts.nodes if node not in names)
    if not free:
        others = grouped(state for state in hosts.left_out if state.node not in names)
        raise SeatrialError(
            f"{node_list(names)} {verb(len(names))} measured beside others, and no other node is free"
            + (f" ({others})." if others else "."),
            "Wait until a node is free, or name partners with --nodes: busy ones are waited for.",
        )
    kinds = {hosts.features.get(name) for name in names}
    leaves = {hosts.fabric.leaf_of.get(name) for name in names}
    near = sorted(
        free, key=lambda node: (hosts.features.get(node) not in kinds, hosts.fabric.leaf_of.get(node) not in leaves)
    )
    return tuple(near[: max(PARTNERS, len(names) + 1)])


def _out_of_service(names: Sequence[str]) -> tuple[OutOfService, ...]:
    """The nodes to which Slurm sends no job although they answer. Raises SeatrialError while one still runs jobs."""
    lines = {line.node: line for line in text.parse_sinfo(asked(argv.state_of(names)).stdout)}
    out = [line for line in lines.values() if line.out_of_service and "*" not in line.flags and line.state != "inval"]
    if busy := [line.node for line in out if line.state in text.DRAINING]:
        raise SeatrialError(
            f"{node_list(busy)} {verb(len(busy))} out of service and still {'runs' if len(busy) == 1 else 'run'} jobs.",
            "Check again when these have ended: squeue -w " + node_list(busy),
        )
    drained = {line.node for line in out if line.state in text.DRAINED or line.reason.startswith(WAITING)}
    return tuple(
        OutOfService(node=line.node, state="DRAIN" if line.node in drained else "DOWN", reason=line.reason or NO_REASON)
        for line in out
    )


def _reserve(settings: CheckSettings) -> tuple[str, str]:
    """The name of a reservation of all nodes; or, with an empty name, why Slurm makes none."""
    name = new_job_name()
    minutes = argv.minutes(allocation_s(settings.budget_s)) + SPARE_MINUTES
    done = run(argv.reserve(name, settings.nodes, user_name(os.geteuid()), minutes), timeout_s=COMMAND_TIMEOUT_S)
    return (name, "") if done.ok else ("", text.complaint(done.stderr))


@contextmanager
def _readmitted(
    settings: CheckSettings,
    reservation: str,
    out: Sequence[OutOfService],
    progress: Progress,
    say: Callable[[str], None],
) -> Iterator[tuple[CheckSettings, str]]:
    """Settings with which the nodes are in service inside the reservation; or why Slurm does not resume them."""
    names = [node.node for node in out]
    progress.stage(f"Resuming {node_list(names)} in the reservation {reservation}, for this check alone")
    with _protected(ReadmittedNodes(nodes=tuple(out), reservation=reservation)) as custody:
        done = custody.switch(usual=False)[-1]
        if not done.ok:
            custody.forget()
            run(argv.end_reservation(reservation), timeout_s=COMMAND_TIMEOUT_S)
            yield settings, text.complaint(done.stderr)
            return
        try:
            _await(names)
            request = msgspec.structs.replace(settings.slurm, reservation=reservation)
            yield msgspec.structs.replace(settings, slurm=request), ""
        finally:
            progress.stage(f"Taking {node_list(names)} out of service again")
            if why := custody.restore():
                say(why)


@contextmanager
def _protected(readmitted: ReadmittedNodes) -> Iterator[Custody]:
    """Nodes that will be out of service again, whatever happens; where that cannot be noted, nothing is reserved."""
    with ExitStack() as unused:
        unused.callback(run, argv.end_reservation(readmitted.reservation), timeout_s=COMMAND_TIMEOUT_S)
        with Custody(readmitted.reservation, Reach(launcher="slurm"), (), 0.0) as custody:
            custody.protect([readmitted])
            unused.pop_all()
            yield custody


def _await(names: Sequence[str]) -> None:
    """Until the daemons of the nodes have answered, or will not."""
    deadline = time.monotonic() + SETTLE_S
    while time.monotonic() < deadline:
        lines = text.parse_sinfo(asked(argv.state_of(names)).stdout)
        if all(line.idle or line.reserved for line in lines):
            return
        time.sleep(0.5)


@contextmanager
def _beside_held(
    settings: CheckSettings, held: Sequence[str], cluster: str, why: str, progress: Progress
) -> Iterator[Reached]:
    """The nodes over ssh, while a job of ours holds those in service. Raises LaunchError for one out of reach."""
    progress.stage(f"Reaching {node_list(settings.returning)} over ssh")
    reach = Reach(launcher="slurm", partition=settings.partition, slurm=settings.slurm)
    seconds = allocation_s(settings.budget_s)
    with Custody(new_job_name(), reach, held, seconds, settings.wait_s):
        over_ssh = msgspec.structs.replace(
            settings, launcher="ssh", hosts=settings.nodes, nodes=(), partition="", slurm=SlurmRequest(), mpi="",
            start=Start.AUTO, idle_only=False, node_hours=0.0,
        )  # fmt: skip
        launcher = choose_launcher(over_ssh)
        if isinstance(launcher, HostsLauncher):
            launcher.cluster = cluster
        try:
            left_out = {state.node: state.reason for state in launcher.hosts().left_out}
        except LaunchError as error:  # ssh reaches none of them
            if not why:
                raise
            left_out = dict.fromkeys(settings.returning, error.what)
        if unreached := [name for name in settings.returning if name in left_out]:
            refused = f"Slurm does not resume it for this user ({why.rstrip('.')}), and ssh" if why else "Ssh"
            raise LaunchError(
                f"{node_list(unreached)}: {refused} does not reach it: {left_out[unreached[0]].rstrip('.')}.",
                "Check it as root or as an operator of Slurm, or as a user whose ssh reaches it.",
                transient=False,
            )
        yield Reached(settings=msgspec.structs.replace(over_ssh, nodes=over_ssh.hosts), launcher=launcher)


REQUALIFIED = f"{OURS}requalified"
"""Reason of a good node between its measurement and the gate's answer."""


class Act(enum.StrEnum):
    """What has become of a node, to follow its name."""

    RESUMED = "resumed"
    DRAINED = "drained"
    FELL = "went down"
    """Slurm set it down meanwhile."""
    KEPT = "kept"
    """Out of service, as before."""
    SERVES = "stays in service"


def node_states(names: Sequence[str]) -> dict[str, NodeLine]:
    """The nodes as Slurm has them; nothing where there is no Slurm. Raises LaunchError where it does not answer."""
    lines = text.parse_sinfo(answer(asked(argv.state_of(names)), OVER_SSH)) if is_here() else ()
    return {line.node: line for line in lines}


def administrators(states: Mapping[str, NodeLine]) -> dict[str, str]:
    """Nodes that somebody else has drained, and why: they stay out, whatever would be measured."""
    return {
        name: f"{line.state}: {line.reason}"
        for name, line in states.items()
        if line.state in text.DRAINED and line.state != "inval" and not line.reason.startswith((OURS, WAITING))
    }


def ask(policy: GatePolicy, decided: Mapping[str, str], leave: Callable[[], None]) -> dict[str, str]:
    """Let the gate resume or drain the nodes after the verdicts that `leave` leaves for it; its answer for each.

    `decided`: what is wrong with each node, empty for a good one. A node that waits no longer does: its drain becomes
    one that the gate may end, which must not see an older good verdict then.
    """
    waited = [name for name, line in node_states(tuple(decided)).items() if _waits(line)] if decided else []
    _take_over({name: REQUALIFIED for name in waited if not decided[name]})
    leave()
    _take_over({name: OURS + FOREIGN_CHARACTER.sub("_", decided[name])[:MOST_TEXT] for name in waited if decided[name]})
    return {name: ask_gate(policy, name, Step.DRAIN).text for name in decided}


def _take_over(reasons: Mapping[str, str]) -> None:
    for name, reason in reasons.items():
        run(argv.drain(name, reason), timeout_s=COMMAND_TIMEOUT_S)


def acts(before: Mapping[str, NodeLine], after: Mapping[str, NodeLine]) -> dict[str, Act]:
    """What changed between two states of the nodes; of those alone that Slurm knows."""
    return {name: _act(before[name], after[name]) for name in before if name in after}


def _act(before: NodeLine, after: NodeLine) -> Act:
    if not after.out_of_service:
        return Act.RESUMED if before.out_of_service else Act.SERVES
    if before.out_of_service:
        return Act.KEPT
    return Act.DRAINED if after.state in text.DRAINED else Act.FELL


def _waits(line: NodeLine) -> bool:
    """Whether the node is to be requalified, or was, and whoever did that ended before the gate could answer."""
    return line.out_of_service and (line.reason.startswith(WAITING) or line.reason == REQUALIFIED)


def waiting_nodes(judged: Mapping[str, str]) -> tuple[str, ...]:
    """Free nodes that are out of service until they are requalified, or that started again since a run judged them.

    `judged`: when that was, by node, in ISO 8601. Raises LaunchError where Slurm does not answer.
    """
    lines = text.parse_sinfo(answer(asked(argv.SINFO), OVER_SSH))
    lines = tuple(line for line in lines if not set(line.flags) - {"+", "$"} and line.state not in text.DRAINING)
    names = {line.node for line in lines if _waits(line)}
    able = {line.node for line in lines if line.idle or (line.out_of_service and line.reason.startswith(OURS))}
    shown = run(argv.SHOW_NODES, timeout_s=COMMAND_TIMEOUT_S, extra_environment=EPOCH)
    for name, booted_s in parse_boots(answer(shown, OVER_SSH)).items():
        if name in able & judged.keys() and booted_s > datetime.fromisoformat(judged[name]).timestamp():
            names.add(name)
    return tuple(natural_sorted(names))
