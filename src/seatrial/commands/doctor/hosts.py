"""A launch on hosts without Slurm, tried step by step: logins, clocks, the probe and its libraries, mpirun over ssh."""

import time
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.commands.doctor import node_identity, starts
from seatrial.driver.node_selection import FEWEST
from seatrial.driver.progress import Progress
from seatrial.launch.contract import Hosts
from seatrial.launch.environments.report import TaskReport, parse_reports, question
from seatrial.launch.hosts.launcher import HostsLauncher
from seatrial.model.errors import LaunchError
from seatrial.model.launching import blocked, fine, untried
from seatrial.model.node_list import node_list
from seatrial.model.subject import node as node_subject
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import by_text, count
from seatrial.pairs.survey import LATENCY

STEP = "hosts"


def examine_hosts(launcher: HostsLauncher, progress: Progress) -> list[Finding]:
    """What each step found. Raises UsageError for names that are invalid or mean the same host, nothing else."""
    progress.stage("Logging in to the hosts")
    try:
        hosts = launcher.hosts()
    except LaunchError as error:
        return [blocked(STEP, FindingKind.NODE_SILENT, error.what, error.remedy)]
    remarks = judge_logins(hosts)
    nodes = hosts.nodes
    if len(nodes) < FEWEST:
        says = "The probe was not started: fewer than two hosts could run it."
        return [*remarks, untried(starts.STEP, FindingKind.NO_ROOM, says)]
    progress.stage(f"Looking at {count(len(nodes), 'host')}")
    asked_s = time.time()
    answer = launcher.report(nodes, node_identity.question(), {}, within=False)
    places = node_identity.parse_places(answer.stdout)
    remarks += node_identity.judge_clocks(places, asked_s=asked_s, answered_s=time.time(), slurm=False)
    probe = str(launcher.probe)
    reports = parse_reports(launcher.report(nodes, question(probe), {}, within=True).stdout)
    remarks += node_identity.judge_programs(by_given_name(reports, launcher.names), nodes, probe)
    able = node_identity.able_nodes(by_given_name(reports, launcher.names), nodes)
    if len(able) < FEWEST:
        says = "The probe was not started: fewer than two hosts have it and its libraries."
        return [*remarks, untried(starts.STEP, FindingKind.NO_ROOM, says)]
    progress.stage(f"Starting the probe on {count(len(able), 'host')}")
    return [*remarks, starts.try_traffic(launcher, able, "", LATENCY)]


def judge_logins(hosts: Hosts) -> list[Finding]:
    """One obstacle for each reason, with its hosts; and which hosts answered."""
    remarks = [
        blocked(
            STEP,
            FindingKind.NODE_SILENT,
            f"{node_list(nodes)} cannot be measured: {reason}.",
            "Repair that, or name other hosts; ssh must log in without a question, to hosts with the same MPI.",
            subject=node_subject(nodes[0]),
        )
        for reason, nodes in by_text((state.node, state.reason) for state in hosts.left_out).items()
    ]
    if hosts.nodes:
        remarks.append(fine(STEP, f"ssh logs in to {count(len(hosts.nodes), 'host')} ({node_list(hosts.nodes)})."))
    return remarks


def by_given_name(reports: Sequence[TaskReport], names: Mapping[str, str]) -> list[TaskReport]:
    """The reports, each host under the name that it was given. `names`: own name -> given name."""
    return [msgspec.structs.replace(one, host=names.get(one.host, one.host)) for one in reports]
