"""What nodes do now, compared with what they did in earlier runs of the archive."""

from collections.abc import Mapping, Sequence

from seatrial.drift.peer_groups import one_kernel
from seatrial.model.facts import NodeFacts
from seatrial.model.judgement import Before, NodeVerdict
from seatrial.model.past import OwnJob
from seatrial.model.subject import CLUSTER, Subject, SubjectKind, node
from seatrial.model.units import duration, share
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.model.words import count, natural_sorted, some

LOSS = 0.10
"""A node that lost more than this since every earlier run is slower than it was. Runs differ by a few hundredths."""
LATENCY_TIMES, LATENCY_MORE_S = 1.5, 2e-6
"""A latency that grew by this factor and by this much is higher than it was. Latencies of nodes that share a kernel are
not judged, since its scheduler decides on them."""
MOST_NODES = 6
MOST_ALIKE = 0.5
"""Losses of more than this share of the nodes are one finding on all of them."""


def compare(own: OwnJob | None, nodes: Sequence[NodeVerdict]) -> tuple[Before, ...]:
    """Each node's best values and the worst that an earlier run had of it; nodes without an earlier value left out."""
    compared = []
    for verdict in nodes:
        runs = own.earlier if own else ()
        before = Before(
            node=verdict.node,
            runs=tuple(one.run for one in runs if verdict.node in one.out_bytes_per_s),
            out_ratio=_ratio(verdict.best_out_bytes_per_s, [one.out_bytes_per_s for one in runs], verdict.node),
            in_ratio=_ratio(verdict.best_in_bytes_per_s, [one.in_bytes_per_s for one in runs], verdict.node),
            latency_s=verdict.best_latency_s,
            most_latency_s=max(
                (one.latency_s[verdict.node] for one in runs if verdict.node in one.latency_s), default=None
            ),
        )
        if before.runs and (before.out_ratio is not None or before.in_ratio is not None):
            compared.append(before)
    return tuple(compared)


def _ratio(value: float | None, then: Sequence[Mapping[str, float]], name: str) -> float | None:
    """The ratio to the least of the earlier values, so that a single good run accuses nobody."""
    earlier = [values[name] for values in then if values.get(name)]
    return value / min(earlier) if value and earlier else None


def slower_findings(
    before: Sequence[Before], others: Sequence[Finding], facts: Mapping[str, NodeFacts]
) -> list[Finding]:
    """Nodes that are slower than in every earlier run, and that no other finding names."""
    named = {one.subject.name for one in others if one.subject.kind is SubjectKind.NODE and one.at_fault}
    shared = one_kernel(facts.values())
    slow = [one for one in before if one.node not in named and _slower(one, shared)]
    if not slow:
        return []
    if len(slow) > max(MOST_ALIKE * len(before), 1):
        names = some(natural_sorted(one.node for one in slow), MOST_NODES)
        worst = min(slow, key=lambda one: one.least)
        what = f"{count(len(slow), 'node')} of {len(before)} ({names}) are slower than in every earlier run"
        return [_finding(CLUSTER, f"{what}; {worst.node}: {_said(worst)}.", worst)]
    says = "is slower than in every earlier run"
    return [_finding(node(one.node), f"Node {one.node} {says}: {_said(one)}.", one) for one in slow]


def _slower(before: Before, shared: bool) -> bool:
    return before.least < 1 - LOSS or (_late(before) and not shared)


def _late(before: Before) -> bool:
    if before.latency_s is None or before.most_latency_s is None:
        return False
    return before.latency_s > max(LATENCY_TIMES * before.most_latency_s, before.most_latency_s + LATENCY_MORE_S)


def _said(before: Before) -> str:
    ways = (("out", before.out_ratio), ("in", before.in_ratio))
    lower = [(way, ratio) for way, ratio in ways if ratio is not None and ratio < 1 - LOSS]
    sentences = [f"best bandwidth {way} at {share(ratio)} of what it was" for way, ratio in lower]
    if not sentences and before.latency_s is not None and before.most_latency_s is not None:
        sentences = [f"latency {duration(before.latency_s)}, {duration(before.most_latency_s)} before"]
    return f"{', '.join(sentences)} (compared with {', '.join(before.runs)})"


def _finding(subject: Subject, statement: str, before: Before) -> Finding:
    return Finding(
        kind=FindingKind.SLOWER_THAN_BEFORE,
        subject=subject,
        verdict=Verdict.SLOW,
        statement=statement,
        remedy="`seatrial facts NODES --since RUN` shows what changed on the nodes since then.",
        brief=f"at {share(before.least)} of what it was"
        if before.least < 1 - LOSS
        else "latency is higher than it was",
    )


def before_text(own: OwnJob, before: Sequence[Before]) -> str:
    """`98 % to 101 % of what these nodes did in 2 earlier runs, 2026-11-20 to 2026-11-22`; empty without any."""
    ratios = [ratio for one in before for ratio in (one.out_ratio, one.in_ratio) if ratio is not None]
    if not ratios:
        return ""
    days = sorted(one.started[:10] for one in own.earlier)
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    runs = count(len(own.earlier), "earlier run")
    low, high = (share(ratio) for ratio in (min(ratios), max(ratios)))
    span = low if low == high else f"{low} to {high}"
    return f"best pair of each node at {span} of the least in {runs} ({when})"
