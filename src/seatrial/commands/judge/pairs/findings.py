"""A located fault of a table of pairs as a finding."""

from seatrial.judgement.wording import SLOW_KINDS, WAYS, named, part_remedy, sentence
from seatrial.model.pair_faults import Located, LocatedFault
from seatrial.model.units import LATENCY, share
from seatrial.model.verdict import Finding, FindingKind

LEAST_P = 1e-9
WORDS = {"bandwidth_bytes_per_s": "bandwidth", LATENCY: "latency"}
REMEDY_DEAD = "Check that the tool that wrote the table reached this part, and measure it again."


def table_findings(located: Located) -> tuple[Finding, ...]:
    """A finding for each fault, worst first."""
    undirected = {one.metric for one in located.resolutions if not one.directed}
    return tuple(_finding(fault, directed=fault.metric not in undirected) for fault in located.faults)


def _finding(fault: LocatedFault, *, directed: bool) -> Finding:
    kind = _kind(fault)
    return Finding(
        kind=kind,
        subject=fault.subject,
        direction=fault.direction,
        verdict=kind.verdict,
        statement=f"{sentence(named(fault.subject))} {_observed(fault, directed=directed)}.",
        remedy=REMEDY_DEAD if fault.dead else part_remedy(fault.subject),
        brief="" if fault.dead else _brief(fault),
        metric=fault.metric,
        pairs=fault.evidence,
    )


def _kind(fault: LocatedFault) -> FindingKind:
    if fault.dead:
        return FindingKind.NO_USABLE_NUMBER
    return FindingKind.HIGH_LATENCY if fault.metric == LATENCY else SLOW_KINDS[fault.subject.kind]


def _brief(fault: LocatedFault) -> str:
    late = fault.metric == LATENCY
    return f"{share(fault.loss_ratio)} {'more latency' if late else 'less bandwidth'} than its peers"


def _observed(fault: LocatedFault, *, directed: bool) -> str:
    way = f", {WAYS[fault.direction]}" if directed else ""
    if fault.dead:
        return f"was measured without a usable {WORDS[fault.metric]} (0, NaN or impossible){way}"
    interval = f"[{share(fault.low)}–{share(fault.high)}]"
    if fault.metric == LATENCY:
        text = f"takes {share(fault.loss_ratio)} {interval} longer than its peers{way}"
    else:
        text = f"carries {share(fault.loss_ratio)} {interval} less than its peers{way}"
    return f"{text} (p {'< 1e-9' if fault.p < LEAST_P else f'= {fault.p:.1g}'})"
