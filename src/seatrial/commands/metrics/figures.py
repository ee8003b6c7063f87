"""What is exported: each family with its name, its help and its rows; pure.

Names of seatrial's own begin with `seatrial_`. Slurm's are those of slurmctld's own endpoint (MetricsType=
metrics/openmetrics, Slurm 25.11 and later), so that dashboards survive the upgrade.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from statistics import median

import msgspec

from seatrial.model.gate import GateTally
from seatrial.model.monitoring import NodeStanding
from seatrial.model.verdict import GOOD, Verdict
from seatrial.model.words import age_s
from seatrial.slurm.census import AccountUse, JobGroup, NodeCount

HOUR_S = 3600.0
OTHER = "other"
"""The label of all that are not among the largest; a real user of that name is added to them."""
JOB_STATES = (
    "boot_fail", "cancelled", "completed", "completing", "configuring", "deadline", "failed", "node_fail",
    "out_of_memory", "pending", "preempted", "running", "suspended", "timeout",
)  # fmt: skip
JOB_WORDS = {"boot_fail": "bootfail", "node_fail": "node_failed", "out_of_memory": "outofmemory"}
"""squeue's word -> that of Slurm's metrics, where it is another one."""
BASE_STATES = {"allocated": "alloc", "down": "down", "idle": "idle", "mixed": "mixed", "unknown": "unknown"}
FLAG_STATES = {
    "completing": "completing", "drained": "drained", "draining": "draining", "fail": "fail", "maintenance": "maint",
    "not_responding": "noresp", "planned": "planned", "reserved": "resv",
}  # fmt: skip
"""sinfo's word -> that of Slurm's metrics. A node has one base state, and any number of the others."""
DRAIN, BUSY = "drain", ("allocated", "mixed")
IN_PARTITIONS = {"completing": "cg", "noresp": "no_resp"}
"""Words that Slurm's metrics write in another way for the nodes of partitions."""
AMOUNTS = {
    "cpus": ("Processors of the node.", "cpus"),
    "cpus_alloc": ("Allocated processors.", "cpus_allocated"),
    "memory_bytes": ("Memory of the node.", "memory_bytes"),
    "memory_alloc_bytes": ("Allocated memory.", "memory_allocated_bytes"),
}
"""Metric of a node -> help, field of `NodeCount`."""
SCHEDULER = {
    "slurm_server_thread_cnt": ("", "Server thread count"),
    "slurm_agent_queue_size": ("", "Agent queue size"),
    "slurm_slurmdbd_queue_size": ("", "DBD Agent queue size"),
    "slurm_sdiag_jobs_submitted": ("", "Jobs submitted"),
    "slurm_sdiag_jobs_started": ("", "Jobs started"),
    "slurm_sdiag_jobs_completed": ("", "Jobs completed"),
    "slurm_sdiag_jobs_canceled": ("", "Jobs canceled"),
    "slurm_sdiag_jobs_failed": ("", "Jobs failed"),
    "slurm_schedule_cycle_last": ("Main schedule statistics", "Last cycle"),
    "slurm_sched_mean_cycle": ("Main schedule statistics", "Mean cycle"),
    "slurm_schedule_queue_len": ("Main schedule statistics", "Last queue length"),
    "slurm_bf_cycle_last": ("Backfilling stats", "Last cycle"),
    "slurm_bf_mean_cycle": ("Backfilling stats", "Mean cycle"),
    "slurm_bf_depth_mean": ("Backfilling stats", "Depth Mean"),
    "slurm_bf_queue_len": ("Backfilling stats", "Last queue length"),
    "slurm_backfilled_jobs": ("Backfilling stats", "Total backfilled jobs (since last slurm start)"),
}
"""Metric -> heading and word of sdiag; cycles in microseconds."""


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One family of numbers: rows of label values, in the order of `labels`, and their number."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    rows: tuple[tuple[tuple[str, ...], float], ...]


def gate_figures(gates: GateTally) -> Iterator[Figure]:
    """What seatrial-gate answered."""
    yield _per("seatrial_gate_answers", "Answers of seatrial-gate on all nodes so far.", "outcome", gates.answers)
    text = "Nodes by the last answer of their gate; silent: none within an hour."
    yield _per("seatrial_gate_nodes", text, "outcome", gates.nodes)


class SlurmState(msgspec.Struct, frozen=True, kw_only=True):
    """What Slurm's commands said; None: that command did not answer, or was not asked."""

    nodes: tuple[NodeCount, ...] | None = None
    jobs: tuple[JobGroup, ...] | None = None
    scheduler: Mapping[tuple[str, str], int] | None = None
    shares: tuple[AccountUse, ...] | None = None
    seconds: Mapping[str, float] = {}
    """Command -> how long it took."""
    answered: Mapping[str, bool] = {}
    unread: Mapping[str, int] = {}
    """Command -> lines that could not be read."""


def single(name: str, text: str, value: float) -> Figure:
    """A family of one number without labels."""
    return Figure(name=name, help=text, rows=(((), value),))


def node_figures(nodes: Mapping[str, NodeStanding], runs: int, unread: int, at: datetime) -> Iterator[Figure]:
    """What the archive says of nodes."""
    everything = nodes.values()
    standings = [node for node in everything if node.is_node]
    by_verdict = Counter(node.verdict for node in standings)
    numbers = {verdict.value: by_verdict[verdict] for verdict in Verdict}
    yield _per("seatrial_nodes", "Nodes by how they are after all runs.", "verdict", numbers)
    yield Figure(
        name="seatrial_node_good", help="1: the node passed and nothing is open; 0: not, or undecided.",
        labels=("node", "verdict"),
        rows=tuple(((node.node, node.verdict.value), float(node.verdict in GOOD)) for node in standings),
    )  # fmt: skip
    ages = {node.node: age_s(node.judged, at) for node in standings}
    yield _per("seatrial_node_verdict_age_seconds", "Time since the end of the last run on the node.", "node", ages)
    shares = {node.node: node.of_limit for node in standings if node.of_limit is not None}
    yield _per(
        "seatrial_node_limit_ratio", "Share of its link's limit that the node's best pairs reach.", "node", shares
    )
    yield from _conditions(standings, at)
    faults = Counter(fault.fault.kind for node in everything for fault in node.faults)
    yield _per("seatrial_findings", "Open findings by kind.", "kind", faults)
    yield single("seatrial_findings_open", "Open findings.", faults.total())
    yield Figure(
        name="seatrial_node_finding_age_seconds", help="Time since the first run that found it.",
        labels=("node", "kind"),
        rows=tuple(((node.node, fault.fault.kind), age_s(fault.since, at))
                   for node in everything for fault in node.faults),
    )  # fmt: skip
    yield single("seatrial_runs_read", "Runs from which the standing of nodes follows.", runs)
    yield single("seatrial_runs_unread", "Runs that could not be read or judged.", unread)


def _conditions(standings: Sequence[NodeStanding], at: datetime) -> Iterator[Figure]:
    """Clocks and heat of nodes. Three clocks a node, not one a processor: a large site has a million processors."""
    nodes = [(node.node, node.condition) for node in standings if node.condition is not None]
    yield Figure(
        name="seatrial_node_clock_hertz", help="Clock of the node's processors: lowest, median and highest.",
        labels=("node", "of"),
        rows=tuple(((node, word), clock) for node, condition in nodes
                   for word, clock in zip(("lowest", "median", "highest"), condition.clocks_hz or (), strict=False)),
    )  # fmt: skip
    for name, text, field in (
        ("temperature_celsius", "The hottest reading.", "hottest_celsius"),
        ("power_watts", "The highest reading of power, usually that of the whole node.", "power_w"),
        ("throttle_events", "How often processors were slowed down for heat since boot.", "throttle_events"),
    ):
        values = {node: getattr(condition, field) for node, condition in nodes}
        reported = {node: value for node, value in values.items() if value is not None}
        yield _per(f"seatrial_node_{name}", text, "node", reported)
    ages = {node: age_s(condition.read, at) for node, condition in nodes}
    yield _per("seatrial_node_facts_age_seconds", "Time since clocks and heat were read.", "node", ages)


def slurm_figures(state: SlurmState, most_names: int, now_s: float) -> Iterator[Figure]:
    """What Slurm said, under the names of its own endpoint where that has them. `most_names`: users, and accounts."""
    for name, text, values in (
        ("command_seconds", "How long the command took.", state.seconds),
        ("command_answered", "1: it answered; 0: its numbers are unknown.", state.answered),
        ("lines_unread", "Lines of its output that could not be read.", state.unread),
    ):
        yield _per(f"seatrial_slurm_{name}", text, "command", values)
    if state.nodes is not None:
        yield from _nodes(state.nodes)
    if state.jobs is not None:
        yield from _jobs(state.jobs, now_s)
        yield from _by_name("user", "username", state.jobs, most_names)
        yield from _by_name("account", "account", state.jobs, most_names)
    if state.scheduler is not None:
        for name, place in SCHEDULER.items():
            if place in state.scheduler:
                yield single(name, f"sdiag: {' '.join(filter(None, place))}.", state.scheduler[place])
    if state.shares is not None:
        yield from _use(state.shares, most_names)


def _by_state(nodes: Sequence[NodeCount]) -> dict[str, int]:
    """How many nodes are in each state; all states are there."""
    words: Counter[str] = Counter()
    for (base, *flags), number in Counter(node.state for node in nodes).items():
        drained = ["draining" if base in BUSY else "drained"] if DRAIN in flags else []
        of_flags = (FLAG_STATES[flag] for flag in (*flags, *drained) if flag in FLAG_STATES)
        of_state = {BASE_STATES.get(base, base), *of_flags}
        words.update(dict.fromkeys(of_state, number))
    return {word: words[word] for word in (*BASE_STATES.values(), *FLAG_STATES.values())}


def _nodes(nodes: Sequence[NodeCount]) -> Iterator[Figure]:
    yield single("slurm_nodes", "Nodes.", len(nodes))
    for word, number in _by_state(nodes).items():
        yield single(f"slurm_nodes_{word}", f"Nodes in this state: {word}.", number)
    for name, (text, field) in AMOUNTS.items():
        yield _per(f"slurm_node_{name}", text, "node", {node.node: getattr(node, field) for node in nodes})
    by_partition: dict[str, list[NodeCount]] = defaultdict(list)
    for node in nodes:
        for partition in node.partitions:
            by_partition[partition].append(node)
    yield _per("slurm_partition_nodes", "Nodes.", "partition", {name: len(its) for name, its in by_partition.items()})
    states = {name: _by_state(its) for name, its in by_partition.items()}
    for word in (*BASE_STATES.values(), *FLAG_STATES.values()):
        counts = {name: numbers[word] for name, numbers in states.items()}
        name = f"slurm_partition_nodes_{IN_PARTITIONS.get(word, word)}"
        yield _per(name, f"Nodes in this state: {word}.", "partition", counts)


def _jobs(jobs: Sequence[JobGroup], now_s: float) -> Iterator[Figure]:
    yield single("slurm_jobs", "Jobs.", sum(group.jobs for group in jobs))
    for state in JOB_STATES:
        word = JOB_WORDS.get(state, state)
        yield single(f"slurm_jobs_{word}", f"Jobs in this state: {word}.", _total(jobs, state))
    yield single("slurm_jobs_cpus_alloc", "Processors of running jobs.", _total(jobs, "running", "cpus"))
    yield single("slurm_jobs_nodes_alloc", "Nodes of running jobs.", _total(jobs, "running", "nodes"))
    by_partition: dict[str, list[JobGroup]] = defaultdict(list)
    for group in jobs:
        for partition in group.partitions:
            by_partition[partition].append(group)
    for state in ("running", "pending"):
        counts = {name: _total(its, state) for name, its in by_partition.items()}
        yield _per(f"slurm_partition_jobs_{state}", f"Jobs in this state: {state}.", "partition", counts)
    waits = {
        name: [max(now_s - time_s, 0.0) for group in its if group.state == "pending"
               for time_s in group.submitted_s if time_s]
        for name, its in by_partition.items()
    }  # fmt: skip
    for word, summary in (("median", median), ("longest", max)):
        yield _per(
            f"seatrial_pending_{word}_seconds", f"How long pending jobs have waited since they were submitted: {word}.",
            "partition", {name: float(summary(its)) if its else 0.0 for name, its in waits.items()},
        )  # fmt: skip


def _total(jobs: Iterable[JobGroup], state: str, field: str = "jobs") -> int:
    """Jobs in a state, or their processors or nodes."""
    return sum(getattr(group, field) for group in jobs if group.state == state)


def _by_name(kind: str, label: str, jobs: Sequence[JobGroup], most: int) -> Iterator[Figure]:
    """Jobs of the users, or the accounts, with the most processors in use or asked for; all others together."""
    asked: Counter[str] = Counter()
    for group in jobs:
        asked[getattr(group, kind)] += group.cpus
    names = sorted(filter(None, asked), key=lambda name: (-asked[name], name))[:most]
    its: dict[str, list[JobGroup]] = {name: [] for name in names}
    for group in jobs:
        name = getattr(group, kind)
        its.setdefault(name if name in its else OTHER, []).append(group)
    for state in ("running", "pending"):
        counts = {name: _total(groups, state) for name, groups in its.items()}
        yield _per(f"slurm_{kind}_jobs_{state}", f"Jobs in this state: {state}.", label, counts)
    cpus = {name: _total(groups, "running", "cpus") for name, groups in its.items()}
    yield _per(f"slurm_{kind}_jobs_cpus_alloc", "Processors of running jobs.", label, cpus)
    left = len([name for name in asked if name]) - len(names)
    yield single(f"seatrial_{kind}s_in_other", f"How many are counted together under {OTHER!r}.", left)


def _use(shares: Sequence[AccountUse], most: int) -> Iterator[Figure]:
    """What accounts have used against their limits."""
    accounts = sorted((use for use in shares if not use.user), key=lambda use: (-use.used_s, use.account))[:most]
    used = {use.account: use.used_s / HOUR_S for use in accounts}
    yield _per("seatrial_account_used_hours", "Hours used, as sshare counts them.", "account", used)
    limits = {use.account: use.limit_s / HOUR_S for use in accounts if use.limit_s is not None}
    yield _per("seatrial_account_limit_hours", "Limit of processor hours (GrpTRESMins).", "account", limits)


def _per(name: str, text: str, label: str, values: Mapping[str, float]) -> Figure:
    rows = tuple(((key,), float(value)) for key, value in sorted(values.items()))
    return Figure(name=name, help=text, labels=(label,), rows=rows)
