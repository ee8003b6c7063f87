"""What a user's own job does wrong itself: how its ranks are bound, and which transports its variables leave."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from seatrial.judgement.rank_notes import by_node
from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import Kernel
from seatrial.model.past import OwnJob
from seatrial.model.run import RecordedRun
from seatrial.model.subject import SubjectKind, job
from seatrial.model.units import share
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.model.words import some
from seatrial.node.hcas import PORT_UNIT_BYTES
from seatrial.rules.base import Readings, findings_of
from seatrial.rules.ranks import RANKS, threads_findings

OFF = frozenset(("0", "off", "no", "disable", "disabled", "false", "none"))
SMALL_PLACES = frozenset(("cores", "threads"))
TCP_PROVIDERS = frozenset(("tcp", "sockets", "udp"))
INFINIBAND = ("rc", "dc", "ud", "ib", "all")
"""Beginnings of the names of UCX's transports over InfiniBand and RoCE; `all` has them, too."""
CARRIED = 0.5
"""An adapter that counted less than this share of what was sent did not carry it; other traffic only adds to it."""
UNSET = "Leave it out of the job, or ask the site which value it recommends; "
PLACES = "`seatrial placement -- LAUNCH LINE` shows where ranks run."
SHOWS = "`seatrial link --transports` shows what carries messages."


def job_findings(recorded: RecordedRun) -> list[Finding]:
    """All that is wrong with the job and not with the machine; empty where the check was not in a user's own job."""
    own = recorded.info.own_job
    if own is None:
        return []
    findings = [*_of_ranks(own, recorded.facts), *_of_variables(own, recorded.facts), *_unused_adapters(own, recorded)]
    return [msgspec.structs.replace(finding, subject=job(own.job)) for finding in findings]


def _of_ranks(own: OwnJob, facts: Mapping[str, NodeFacts]) -> Iterator[Finding]:
    ranks = by_node(own.ranks)
    of_nodes = {node: facts.get(node) or NodeFacts(hostname=node, complete=False) for node in ranks}
    readings = Readings(facts=of_nodes, ranks=ranks, groups=(tuple(of_nodes),))
    threads = own.variables.get("OMP_NUM_THREADS", "").partition(",")[0]
    number = int(threads) if threads.isascii() and threads.isdecimal() and len(threads) < 5 else None
    for finding in (
        *(one for rule in RANKS for one in findings_of(rule, readings)),
        *threads_findings(of_nodes, ranks, number),
    ):
        statement = f"As {own.line} starts ranks: " if not own.steps else f"Ranks of {own.line}: "
        yield msgspec.structs.replace(finding, statement=statement + finding.statement)


class Setting(NamedTuple):
    """A variable whose value makes a job slow."""

    name: str
    slows: Callable[[str, "JobSetup"], bool]
    kind: FindingKind
    effect: str


class JobSetup(NamedTuple):
    """What a value is compared with."""

    adapters: frozenset[str]
    """Names of adapters that are active on any node."""
    ranks_per_node: int
    variables: Mapping[str, str]


def _words(value: str) -> frozenset[str]:
    return frozenset(word.strip().partition(";")[0].lower() for word in value.lstrip("^").split(",") if word.strip())


def _without_adapters(value: str, _: JobSetup) -> bool:
    """UCX_TLS that leaves no transport over the adapters."""
    named = [word for word in _words(value) if word.startswith(INFINIBAND)]
    return "ib" in named if value.startswith("^") else not named


def _other_devices(value: str, scene: JobSetup) -> bool:
    names = _words(value)
    return "all" not in names and not any(name.partition(":")[0] in scene.adapters for name in names)


def _only_tcp(value: str, _: JobSetup) -> bool:
    return bool(_words(value)) and _words(value) <= TCP_PROVIDERS


def _ob1_over_tcp(value: str, scene: JobSetup) -> bool:
    words = _words(value)
    slow = not value.startswith("^") and "tcp" in words and not words & {"openib", "uct", "ofi", "usnic"}
    return slow and _ob1(scene)


def _no_shared_memory(value: str, scene: JobSetup) -> bool:
    """Open MPI's ob1 then sends messages inside a node through the network."""
    words = _words(value)
    lacks = words & {"vader", "sm"} if value.startswith("^") else not words & {"vader", "sm", "smcuda"}
    return scene.ranks_per_node > 1 and (_ob1(scene) or not scene.adapters) and bool(lacks)


def _ob1(scene: JobSetup) -> bool:
    return scene.variables.get("OMPI_MCA_pml", "") == "ob1"


def _is_off(value: str, scene: JobSetup) -> bool:
    """A rank that is alone on its node needs no binding."""
    return scene.ranks_per_node > 1 and value.strip().lower().partition(":")[0] in OFF


def _at_the_first_thread(value: str, scene: JobSetup) -> bool:
    """OpenMP 5.2, 10.1.3: with the policy primary (formerly master), all threads get the place of the first one.

    Without OMP_PLACES, or with places as small as a core, that is one core. `false` is the default, and no fault.
    """
    threads = scene.variables.get("OMP_NUM_THREADS", "").partition(",")[0]
    places = scene.variables.get("OMP_PLACES", "cores").strip().lower().partition("(")[0]
    several = threads.isascii() and threads.isdecimal() and threads.lstrip("0") not in ("", "1")
    return several and places in SMALL_PLACES and value.strip().lower().partition(",")[0] in ("master", "primary")


TRANSPORT, BINDING = FindingKind.JOB_TRANSPORT, FindingKind.JOB_BINDING
UNBOUND = "ranks are not bound and migrate between cores"
SLOW_WAY = "messages between nodes cannot use the fast adapters"
SETTINGS = (
    Setting("UCX_TLS", _without_adapters, TRANSPORT, SLOW_WAY),
    Setting("UCX_NET_DEVICES", _other_devices, TRANSPORT, SLOW_WAY),
    Setting("FI_PROVIDER", _only_tcp, TRANSPORT, SLOW_WAY),
    Setting("I_MPI_OFI_PROVIDER", _only_tcp, TRANSPORT, SLOW_WAY),
    Setting("I_MPI_FABRICS", lambda value, _: "tcp" in value.lower().replace(":", ",").split(","), TRANSPORT, SLOW_WAY),
    Setting("OMPI_MCA_btl", _ob1_over_tcp, TRANSPORT, SLOW_WAY),
    Setting("OMPI_MCA_btl", _no_shared_memory, TRANSPORT, "messages inside a node cannot use shared memory"),
    Setting("SLURM_CPU_BIND", _is_off, BINDING, UNBOUND),
    Setting("SLURM_CPU_BIND_TYPE", _is_off, BINDING, UNBOUND),
    Setting("OMPI_MCA_hwloc_base_binding_policy", _is_off, BINDING, UNBOUND),
    Setting("PRTE_MCA_hwloc_default_binding_policy", _is_off, BINDING, UNBOUND),
    Setting("I_MPI_PIN", _is_off, BINDING, UNBOUND),
    Setting("MV2_ENABLE_AFFINITY", _is_off, BINDING, UNBOUND),
    Setting("OMP_PROC_BIND", _at_the_first_thread, BINDING, "all threads of a rank share the core of its first thread"),
)
"""One line for each known variable of Slurm, Open MPI, UCX, libfabric, Intel MPI, MVAPICH and OpenMP."""


def _of_variables(own: OwnJob, facts: Mapping[str, NodeFacts]) -> Iterator[Finding]:
    ranks = by_node(own.ranks)
    per_node = max((len(there) for there in ranks.values()), default=1)
    adapters = frozenset(hca.name for known in facts.values() for hca in known.active_hcas)
    scene = JobSetup(adapters, per_node, own.variables)
    for setting in SETTINGS:
        value = own.variables.get(setting.name, "")
        nothing_faster = setting.effect == SLOW_WAY and not adapters
        if not value or nothing_faster or not setting.slows(value, scene):
            continue
        yield Finding(
            kind=setting.kind,
            subject=job(own.job),
            verdict=Verdict.MISCONFIGURED,
            statement=f"{setting.name}={value}: {setting.effect}.",
            remedy=UNSET + (PLACES if setting.kind is BINDING else SHOWS),
            brief=f"{setting.name}={value}",
        )


def _unused_adapters(own: OwnJob, recorded: RecordedRun) -> Iterator[Finding]:
    """The counters of active adapters did not see what was sent meanwhile. Ports whose counters cannot be read say
    nothing.
    """
    sent: defaultdict[str, int] = defaultdict(int)
    for measurement in recorded.measurements:
        shape = measurement.shape
        if shape.kernel is Kernel.ONEWAY and measurement.times_s:
            windows = len(measurement.times_s) + len(measurement.warmup_times_s)
            sent[measurement.source] += windows * shape.window_bytes
    shares: dict[str, float] = {}
    names: set[str] = set()
    for node, sent_bytes in sent.items():
        before, after = recorded.facts.get(node), recorded.facts_after.get(node)
        counted = _counted(before, after) if before and after else None
        if counted is None or not sent_bytes:
            return
        shares[node] = sum(counted.values()) / sent_bytes
        names |= counted.keys()
    if shares and max(shares.values()) < CARRIED:
        which = some(sorted(names))
        yield Finding(
            kind=TRANSPORT,
            subject=job(own.job),
            verdict=Verdict.MISCONFIGURED,
            statement=f"MPI as this job has it does not send through {which}: the ports counted at most "
            f"{share(max(shares.values()))} of what was sent.",
            remedy=f"Use an MPI that was built for this network, and unset variables that restrict it. {SHOWS}",
            brief=f"MPI does not use {which}",
        )


def _counted(before: NodeFacts, after: NodeFacts) -> dict[str, int] | None:
    """Adapter -> bytes that its active ports sent between the readings; None where one of them did not say."""
    old = {(hca.name, port.number): port.counters.get("port_xmit_data") for hca in before.hcas for port in hca.ports}
    counted: dict[str, int] = {}
    for hca in after.active_hcas:
        for port in hca.ports:
            first, last = old.get((hca.name, port.number)), port.counters.get("port_xmit_data")
            if port.active and (first is None or last is None or last < first or last == 2**32 - 1):
                return None
            if port.active and first is not None and last is not None:
                counted[hca.name] = counted.get(hca.name, 0) + PORT_UNIT_BYTES * (last - first)
    return counted or None


def of_machine(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings about the machine, and not about the job itself."""
    return tuple(one for one in findings if one.subject.kind is not SubjectKind.JOB)
