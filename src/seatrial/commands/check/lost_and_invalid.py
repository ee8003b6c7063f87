"""Findings that need no statistics: lost nodes, hanging pairs, impossible numbers."""

from collections.abc import Iterable, Mapping

from seatrial.commands.check.pair_verdicts import Judged, bandwidth_reason
from seatrial.locate.evidence import Evidence, Pair
from seatrial.locate.references import References
from seatrial.model.run import NodeState
from seatrial.model.subject import node, pair
from seatrial.model.units import BANDWIDTH
from seatrial.model.verdict import Finding, FindingKind, Verdict


def lost_findings(lost: Iterable[NodeState]) -> list[Finding]:
    """Nodes that are down or stopped answering; not those taken out on purpose, nor those whose ranks died."""
    return [
        Finding(
            kind=FindingKind.NODE_DOWN,
            subject=node(state.node),
            verdict=Verdict.NOT_RUN,
            statement=f"Node {state.node} cannot be measured: {state.reason}.",
            remedy=f"Look at its power, network and slurmd (scontrol show node {state.node}), and at its slurmd's log.",
        )
        for state in lost
        if state.fault and not state.rank_died
    ]


def hanging_findings(pairs: Iterable[Pair]) -> list[Finding]:
    """Pairs that did not answer while both ends did."""
    return [
        Finding(
            kind=FindingKind.PAIR_HANGS,
            subject=pair(source, target),
            verdict=Verdict.NOT_RUN,
            statement=f"A message from {source} to {target} never came back, though both nodes answer.",
            remedy="Look at firewall, routes and MTU between the two (ping -M do -s SIZE).",
        )
        for source, target in pairs
    ]


def invalid_findings(
    judged: Mapping[Pair, Judged], evidence: Mapping[Pair, Evidence], references: References
) -> list[Finding]:
    """Numbers that are faster than physics permits."""
    return [
        Finding(
            kind=FindingKind.FASTER_THAN_PHYSICS,
            subject=pair(*one),
            verdict=Verdict.INVALID,
            statement=f"From {one[0]} to {one[1]}: {bandwidth_reason(one, verdict, evidence[one], references)}.",
            remedy="Do not trust this number: the data took another way, was never sent, or a fact is wrong.",
            metric=BANDWIDTH,
            measured=verdict.estimate,
        )
        for one, verdict in judged.items()
        if verdict.verdict is Verdict.INVALID
    ]
