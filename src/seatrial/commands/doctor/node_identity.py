"""Names and clocks of the nodes, and whether each has the probe, its libraries and the same MPI."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from seatrial.commands.doctor import changed_settings
from seatrial.failures.cause import causes, first_cause
from seatrial.launch.environments.environment import SHELL
from seatrial.launch.environments.report import TaskReport
from seatrial.model.launching import blocked, fine, last_lines, noted
from seatrial.model.node_list import node_list
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import by_text, count, verb
from seatrial.node.mpi import told, told_apart
from seatrial.slurm.text import complaint, launch_failures

STEP = "places"
CLOCK_NOTED_S = 5.0
"""The start of the step itself may take up to this long."""
CLOCK_BLOCKED_S = 300.0
"""The default lifetime of munge's credentials (munge(7), TTL)."""
MARK = "seatrial-place"
TEXT = (
    'read -r host </proc/sys/kernel/hostname; printf "seatrial-place %s %s %s\\n" "$host" "${SLURMD_NODENAME:-$host}" '
    '"$(date +%s 2>/dev/null)"'
)
SAME = "Name a folder that all nodes share with --probe-dir, and that is not mounted noexec there."


class NodeIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What a node calls itself, what Slurm calls it, and its time in seconds since 1970."""

    host: str
    node: str
    time_s: float | None = None
    """None if it has no `date`."""


def question() -> list[str]:
    """The argv that a node answers with its place, and with its notes of changed settings."""
    return [SHELL, "-c", f"{TEXT}{changed_settings.TEXT}"]


def parse_places(text: str) -> tuple[NodeIdentity, ...]:
    """Answers in the output of a labelled step."""
    found = re.findall(rf"{MARK} (\S+) (\S+) (\d{{0,18}})$", text, re.MULTILINE)
    return tuple(NodeIdentity(host=host, node=node, time_s=float(time) if time else None) for host, node, time in found)


def judge_places(places: Sequence[NodeIdentity], *, asked_s: float, answered_s: float) -> list[Finding]:
    """Names and clocks. The nodes' time must lie between the times of the question and of the answer."""
    found = []
    strange = [one for one in places if one.host.partition(".")[0] != one.node.partition(".")[0]]
    if strange:
        each = ", ".join(f"{one.node} calls itself {one.host}" for one in strange[:4])
        remedy = (
            "Give the node the hostname that slurm.conf has for it (hostnamectl set-hostname NODENAME), and check "
            "/etc/hostname and its DHCP."
        )
        found.append(blocked(STEP, FindingKind.HOSTNAME_DIFFERS, f"Hostnames differ from Slurm's: {each}.", remedy))
    return [*found, *judge_clocks(places, asked_s=asked_s, answered_s=answered_s)]


def judge_clocks(
    places: Sequence[NodeIdentity], *, asked_s: float, answered_s: float, slurm: bool = True
) -> list[Finding]:
    """One finding where a clock is wrong; an obstacle only to `slurm`, whose credentials would be too old."""
    times = {one.node: one.time_s for one in places if one.time_s is not None}
    off = {node: max(asked_s - 1 - time_s, time_s - answered_s - 1, 0.0) for node, time_s in times.items()}
    worst = {node: seconds for node, seconds in off.items() if seconds > CLOCK_NOTED_S}
    if not worst:
        return []
    each = ", ".join(f"{node} by {seconds:.0f} s" for node, seconds in sorted(worst.items())[:4])
    weigh = blocked if slurm and max(worst.values()) > CLOCK_BLOCKED_S else noted
    why = "munge rejects old credentials" if slurm else "the logs of the nodes cannot be compared"
    remedy = f"Start the time service there (chronyc tracking, timedatectl); {why}."
    return [weigh(STEP, FindingKind.CLOCK_DIFFERS, f"Clocks differ from this machine's: {each}.", remedy)]


def judge_silent(silent: Sequence[str], said: str, *, in_the_way: bool = True) -> list[Finding]:
    """Granted nodes on which nothing could be started, by srun's message for each; `said`: its standard error.

    `in_the_way`: they were asked for, or fewer than two others are left.

    A node that srun does not mention is named only if srun blames no node: else the others ended the step.
    """
    failures = launch_failures(said)
    blamed = [node for node in silent if node in failures] or silent
    found = []
    for reason, nodes in by_text((node, failures.get(node, "")) for node in blamed).items():
        of_each = "\n".join(f"Task launch for step 0 failed on node {node}: {reason}" for node in nodes)
        meaning, remedy = first_cause(causes("slurm"), of_each if reason else said) or (
            f"{reason or complaint(said)}.",
            "Check whether it is up, and read slurmd's log there.",
        )
        says = f"No process can be started on {node_list(nodes)}: {meaning}"
        weigh = blocked if in_the_way else noted
        found.append(weigh(STEP, FindingKind.NODE_SILENT, says, remedy, last_lines(said)))
    return found


def judge_programs(reports: Sequence[TaskReport], nodes: Sequence[str], probe: str) -> list[Finding]:
    """The probe, its libraries and the MPI library on every node that answered."""
    named = {node.partition(".")[0]: node for node in nodes}

    def names(hosts: Iterable[str]) -> list[str]:
        return sorted({named.get(host.partition(".")[0], host) for host in hosts})

    found = []
    without = names(one.host for one in reports if not one.program)
    if without:
        says = f"The probe {probe} does not exist, or may not be run, on {node_list(without)}."
        found.append(blocked(STEP, FindingKind.PROGRAM_MISSING, says, SAME))
    missing = sorted({name for one in reports if one.program for name in one.missing})
    if missing:
        lacking = names(one.host for one in reports if one.program and one.missing)
        says = f"{', '.join(missing)} {verb(len(missing))} missing on {node_list(lacking)}."
        remedy = "Install the MPI there as on the build machine, or load its module there (--environment)."
        found.append(blocked(STEP, FindingKind.LIBRARY_MISSING, says, remedy))
    libraries = {one.host: one.library for one in reports if one.library is not None}
    several = told_apart(libraries)
    if len(several) > 1:
        each = "; ".join(f"{node_list(names(hosts))}: {what}" for what, hosts in list(several.items())[:4])
        remedy = "Install the same MPI on all nodes; ranks of different builds may hang or crash."
        found.append(noted(STEP, FindingKind.MPI_DIFFERS, f"Nodes have different MPI libraries ({each}).", remedy))
    if reports and not found:
        same = f", and the same {told(next(iter(libraries.values())))}" if libraries else ""
        found.append(
            fine(
                STEP,
                f"{count(len(reports), 'node')} {verb(len(reports), 'has', 'have')} the probe and its libraries{same}.",
            )
        )
    return found


def able_nodes(reports: Sequence[TaskReport], nodes: Sequence[str]) -> tuple[str, ...]:
    """The nodes that appear able to run the probe; all of them where none reported what it has."""
    unable = {one.host.partition(".")[0] for one in reports if not one.program or one.missing}
    return tuple(node for node in nodes if node.partition(".")[0] not in unable)
