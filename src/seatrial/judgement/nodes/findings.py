"""Findings on nodes: which figure is out of line, by how much, and what to do."""

from collections.abc import Sequence

from msgspec.structs import replace

from seatrial.judgement.nodes.peers import Outlier
from seatrial.model.subject import node
from seatrial.model.units import SHARE, estimate, quantity, share
from seatrial.model.verdict import Finding, FindingKind
from seatrial.model.words import count

REMEDIES = {
    FindingKind.LOW_MEMORY_BANDWIDTH: "Compare its memory modules with a peer's (seatrial facts): a missing or slower "
    "module, an empty channel, corrected errors (EDAC). Look for another process on the node.",
    FindingKind.HIGH_MEMORY_LATENCY: "Compare frequency, huge pages, NUMA settings and memory modules with a peer's.",
    FindingKind.SLOW_ARITHMETIC: "Look at governor, power limit, temperature and throttling on the node, and for "
    "processes that use its cores (top, systemd-cgtop, a CPU quota of the cgroup).",
    FindingKind.HIGH_NOISE: "Look for processes and interrupts on its cores (top, /proc/interrupts, perf sched): "
    "daemons, monitoring, a job that was not ended.",
    FindingKind.DELAYS_OTHERS: "Look at arithmetic and noise of its cores (the other figures of this report), at its "
    "frequency and for another process on the core of its first rank.",
    FindingKind.SLOW_SCHEDULER: "Compare kernel, mitigations, idle states and scheduler settings with a peer's "
    "(seatrial facts --drift).",
    FindingKind.SLOW_STORAGE: "Compare how it mounts the file system (seatrial facts: server, options, protocol), its "
    "network and the client's log with a peer's; remount it, and look for other programs that use the file system.",
}


def slow_node(worst_first: Sequence[Outlier]) -> Finding:
    """One node's figures of one kind, the one that is farthest out of line first."""
    worst = worst_first[0]
    name, compared = worst.node, worst.comparison
    measure, peers = compared.measure, compared.peers
    others = [each.comparison.measure.label for each in worst_first[1:]]
    likewise = f" The same holds for {' and '.join(others)}." if others else ""
    of_peers = None if measure.metric == SHARE else compared.ratios[name]
    part = f", {share(of_peers.value)} of" if of_peers else ", against"
    return Finding(
        kind=measure.kind,
        subject=node(name),
        verdict=measure.kind.verdict,
        statement=f"On {name} the {measure.label} is {estimate(worst.measured, measure.metric)}{part} the "
        f"{quantity(peers, measure.metric)} of {count(len(compared.nodes), 'node')} of its model.{likewise}",
        remedy=REMEDIES[measure.kind],
        brief=f"{measure.label} {quantity(worst.measured.value, measure.metric)}{part} "
        f"its peers' {quantity(peers, measure.metric)}",
        metric=measure.metric,
        measured=worst.measured,
        peers=peers,
        peers_name=f"median of {count(len(compared.nodes), 'node')} of its model",
        of_peers=of_peers,
    )


def with_slow_nodes(findings: Sequence[Finding], trials: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings on links, with a word where the trials show that the node itself is slow."""
    slow = {finding.subject: finding for finding in trials if finding.kind in REMEDIES}
    return tuple(_explained(one, slow[one.subject]) if one.subject in slow else one for one in findings)


def _explained(link: Finding, slow: Finding) -> Finding:
    return replace(
        link,
        statement=f"{link.statement} The node itself is slow as well ({slow.brief}), which may be the reason.",
        remedy=f"First see the finding {slow.kind} on this node. {link.remedy}",
    )
