"""Judgements as they come out of real trouble, for the renderers' tests."""

from itertools import permutations

import msgspec

from seatrial.model import subject
from seatrial.model.fabric import Fabric
from seatrial.model.facts import NetworkInterface, NodeFacts
from seatrial.model.judgement import Judgement, NodeVerdict, PairVerdict
from seatrial.model.limit import Limit, LimitTerm
from seatrial.model.measurement import Estimate
from seatrial.model.run import Design, Ending, NodeState, RunInfo, RunKind
from seatrial.model.verdict import Experiment, Finding, FindingKind, Verdict

LEAF_OF = {"n1": "leaf1", "n2": "leaf1", "n3": "leaf2", "n4": "leaf2"}
HEALTHY = 117.2e6
SICK = 70.6e6
LIMIT = 117.67e6
EVIL = "<script>alert(1)</script>"

DESIGN = Design(
    name="complete",
    pairs_at_once=2,
    repetitions=6,
    rounds=36,
    ordered_pairs=12,
    planned_pairs=12,
    statement="All 12 ordered pairs, 6 repetitions in random order: each link is seen by 6 pairs.",
)


def estimate(value: float, spread: float = 0.002, runs: int = 6) -> Estimate:
    """A median with a symmetric interval of the given relative half width."""
    return Estimate(
        value=value,
        low=value * (1 - spread),
        high=value * (1 + spread),
        confidence=0.96875,
        runs=runs,
        method="median, order statistics",
    )


def ethernet_limit(path: str) -> Limit:
    """1 Gb/s with MTU 1500: 1448 of every 1538 bytes on the wire are payload."""
    term = LimitTerm(
        name="Ethernet link",
        bytes_per_s=LIMIT,
        inputs={"speed_bits_per_s": 1e9, "mtu_bytes": 1500.0},
        source="/sys/class/net/eth0/speed, /sys/class/net/eth0/mtu",
        formula="speed / 8 * (MTU - 52) / (MTU + 38)",
    )
    return Limit(path=path, limit_bytes_per_s=LIMIT, binding="Ethernet link", terms=(term,), gate_bytes_per_s=125e6)


def run_info(**changes: object) -> RunInfo:
    """A complete run on four nodes under two leaves."""
    run = RunInfo(
        format=1,
        run="2026-11-20T031502-a1b2",
        kind=RunKind.CHECK,
        seatrial="0.1.0",
        command=("seatrial", "check", "--nodes", "n[1-4]"),
        started="2026-11-20T03:15:02Z",
        ended="2026-11-20T03:16:40Z",
        ending=Ending.COMPLETE,
        launcher="slurm",
        cluster="demo",
        job="4711",
        nodes=tuple(LEAF_OF),
        mpi_library="Open MPI 4.1.4",
        fabric=Fabric(leaf_of=LEAF_OF, source="scontrol show topology"),
        design=DESIGN,
    )
    return msgspec.structs.replace(run, **changes)


def pair(
    source: str, target: str, value: float = HEALTHY, verdict: Verdict = Verdict.PASS, reason: str = ""
) -> PairVerdict:
    """One pair with its limit and 40 µs of latency."""
    return PairVerdict(
        source=source,
        target=target,
        verdict=verdict,
        reason=reason or f"{value / LIMIT:.0%} of the limit",
        bandwidth_bytes_per_s=estimate(value),
        latency_s=estimate(40.2e-6, 0.01),
        limit=ethernet_limit(f"{source}>{target}"),
    )


def node(
    name: str, value: float = HEALTHY, verdict: Verdict = Verdict.PASS, reason: str = "at its limit"
) -> NodeVerdict:
    """One node with the same best in both directions."""
    return NodeVerdict(
        node=name,
        leaf=LEAF_OF.get(name, ""),
        verdict=verdict,
        reason=reason,
        best_out_bytes_per_s=value,
        best_in_bytes_per_s=value,
        best_latency_s=40.2e-6,
    )


def judgement(**changes: object) -> Judgement:
    """Four healthy nodes, all pairs at 117.2 MB/s."""
    healthy = Judgement(
        pairs=tuple(pair(a, b) for a, b in permutations(LEAF_OF, 2)),
        nodes=tuple(map(node, LEAF_OF)),
        findings=(),
        peers_bandwidth_bytes_per_s=HEALTHY,
        peers_latency_s=40.2e-6,
        notes=("Faults that show only while many pairs send at once have not been looked for.",),
        complete=True,
        design=DESIGN,
    )
    return msgspec.structs.replace(healthy, **changes)


def slow_node(name: str = "n3") -> Judgement:
    """The link of one node runs at 60 % of what it should, in both directions."""
    names = [name if each == "n3" else each for each in LEAF_OF]
    pairs = tuple(
        pair(a, b, SICK, Verdict.SLOW, "60 % of the limit set by the Ethernet link") if name in (a, b) else pair(a, b)
        for a, b in permutations(names, 2)
    )
    nodes = [node(each) for each in names if each != name]
    nodes.insert(2, node(name, SICK, Verdict.SLOW, "no partner reaches more than 60 % of the limit"))
    finding = Finding(
        kind=FindingKind.SLOW_LINK,
        subject=subject.node(name),
        verdict=Verdict.SLOW,
        statement=f"The link of {name} carries 60 % of what it should, in both directions.",
        remedy=f"Look at cable, port and negotiated speed of {name}: ethtool eth0; then run this check again.",
        metric="bandwidth_bytes_per_s",
        measured=estimate(SICK),
        limit=LIMIT,
        limit_name="Ethernet link, 1 Gb/s, MTU 1500",
        peers=HEALTHY,
        pairs=tuple(f"{p.source}>{p.target}" for p in pairs if name in (p.source, p.target)),
        experiments=(
            Experiment(
                description=f"{name} measured again alone, nothing else running",
                outcome="70.5 MB/s to n1, 70.7 MB/s to n4",
                confirmed=True,
            ),
            Experiment(
                description="n4, on the same leaf, measured again alone",
                outcome="117.2 MB/s to n1, so the uplink of leaf2 is sound",
                confirmed=True,
            ),
        ),
    )
    return judgement(pairs=pairs, nodes=tuple(nodes), findings=(finding,))


def troubled() -> tuple[RunInfo, Judgement]:
    """A lost node, an INVALID pair, an UNSTABLE pair, a pair never run, and an uplink that may be another."""
    lost = (
        NodeState(node="n5", reason="down in Slurm since 2026-11-19: Not responding", fault=True),
        NodeState(node="n6", reason="drained: memory upgrade", fault=False),
    )
    special = {
        ("n1", "n2"): pair("n1", "n2", 160e6, Verdict.INVALID, "faster than all interfaces of n1 together could carry"),
        ("n2", "n1"): pair("n2", "n1", 104e6, Verdict.UNSTABLE, "2 of 6 runs at half the rate"),
        ("n4", "n3"): PairVerdict(source="n4", target="n3", verdict=Verdict.NOT_RUN, reason="the run was cut short"),
    }
    across = [(a, b) for a, b in permutations(LEAF_OF, 2) if LEAF_OF[a] == "leaf1" and LEAF_OF[b] == "leaf2"]
    for a, b in across:
        special[a, b] = pair(a, b, 55e6, Verdict.SLOW, "47 % of the limit")
    uplink = Finding(
        kind=FindingKind.SLOW_UPLINK,
        subject=subject.uplink("leaf1"),
        direction=subject.Direction.OUT,
        ambiguous_with=(subject.uplink("leaf2"),),
        verdict=Verdict.SLOW,
        statement="The way from leaf1 up to the spine or from the spine down to leaf2 carries 47 % of what it should.",
        remedy="Look at the uplink ports of both switches; a third leaf would tell them apart.",
        metric="bandwidth_bytes_per_s",
        measured=estimate(55e6),
        limit=LIMIT,
        limit_name="Ethernet link, 1 Gb/s, MTU 1500",
        peers=HEALTHY,
        pairs=tuple(f"{a}>{b}" for a, b in across),
    )
    down = Finding(
        kind=FindingKind.NODE_DOWN,
        subject=subject.node("n5"),
        verdict=Verdict.DOWN,
        statement="n5 could not be measured: it is down in Slurm.",
        remedy="Look at its console and at slurmd's log, then: scontrol update nodename=n5 state=resume.",
    )
    judged = judgement(
        pairs=tuple(special.get((a, b)) or pair(a, b) for a, b in permutations(LEAF_OF, 2)),
        nodes=(
            node("n1", 160e6, Verdict.INVALID, "its numbers cannot be trusted: one pair is faster than physics"),
            node("n2", 104e6, Verdict.UNSTABLE, "good and bad in turn"),
            node("n3"),
            node("n4"),
        ),
        findings=(uplink, down),
        complete=False,
        lost=lost,
    )
    return run_info(ending=Ending.INTERRUPTED, reason="time limit of job 4711", lost=lost), judged


def facts() -> dict[str, NodeFacts]:
    """Four like nodes, but n3 with an older kernel."""
    ethernet = NetworkInterface(
        name="eth0", link_type=1, state="up", speed_bits_per_s=1e9, mtu_bytes=1500, driver="igb"
    )
    loopback = NetworkInterface(name="lo", link_type=772, state="unknown", mtu_bytes=65536)
    return {
        name: NodeFacts(
            hostname=name,
            complete=True,
            kernel="6.1.0-18" if name == "n3" else "6.1.0-28",
            cpu_model="AMD EPYC 7543 32-Core Processor",
            processors=128,
            cores=64,
            sockets=2,
            memory_bytes=540_000_000_000,
            interfaces=(loopback, ethernet),
            mpi_versions=("Open MPI 4.1.4",),
        )
        for name in LEAF_OF
    }


def big(nodes: int, nodes_per_leaf: int, partners: int) -> Judgement:
    """Many nodes, each sending to the next few; node 7 (counted from 0) is at half rate."""
    names = [f"node{i}" for i in range(nodes)]
    leaves = {name: f"leaf{i // nodes_per_leaf}" for i, name in enumerate(names)}
    pairs = []
    for i in range(nodes):
        for step in range(1, partners + 1):
            j = (i + step) % nodes
            sick = 7 in (i, j)
            pairs.append(
                pair(names[i], names[j], LIMIT / 2 if sick else HEALTHY, Verdict.SLOW if sick else Verdict.PASS)
            )
    verdicts = [
        msgspec.structs.replace(
            node(name, LIMIT / 2 if i == 7 else HEALTHY, Verdict.SLOW if i == 7 else Verdict.PASS), leaf=leaves[name]
        )
        for i, name in enumerate(names)
    ]
    return judgement(pairs=tuple(pairs), nodes=tuple(verdicts))
