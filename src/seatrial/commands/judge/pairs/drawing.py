"""The page's map of a table of pairs (rows send, columns receive, one for each metric), and its findings."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from seatrial.judgement.wording import SLOW_KINDS, WAYS, named, part_remedy, sentence
from seatrial.model.pair_faults import Located, LocatedFault
from seatrial.model.pair_table import PairTable, Reals
from seatrial.model.subject import Direction, SubjectKind
from seatrial.model.units import BANDWIDTH, LATENCY, quantity, share
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.model.words import count, natural_sorted
from seatrial.render.matrix import LETTERS, MOST_NUMBERED, Matrix, MatrixCell, shade_of, verdict_key

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


MOST_ROWS = 128
"""Nodes of a drawing; of more, those with the worst pairs."""


def pair_maps(table: PairTable, located: Located, groups: Sequence[Sequence[str]]) -> Iterator[Matrix]:
    """Bandwidth, then latency; a metric that no pair has is left out."""
    for metric in (BANDWIDTH, LATENCY):
        values = table.matrix(metric)
        usual = float(np.nanmedian(values[np.isfinite(values)])) if np.isfinite(values).any() else 0.0
        if usual > 0:
            with np.errstate(divide="ignore"):
                quality = values / usual if metric == BANDWIDTH else usual / values
            yield _map(table.nodes, located, groups, metric, values, quality)


def _map(
    nodes: Sequence[str], located: Located, groups: Sequence[Sequence[str]], metric: str, values: Reals, quality: Reals
) -> Matrix:
    """`quality`: over the table's median, 1 for as good; 0 where nothing arrived, NaN where nothing was measured."""
    group_of = {name: f"group {number}" for number, group in enumerate(groups, 1) for name in group}
    place = {name: number for number, name in enumerate(nodes)}
    order = _shown(nodes, group_of, quality)
    bad = _at_fault(located, metric)
    numbered = len(order) <= MOST_NUMBERED
    cells = []
    for row, source in enumerate(order):
        for column, target in enumerate(order):
            good = float(quality[place[source], place[target]])
            if math.isnan(good):
                continue
            verdict = _verdict(source, target, good, bad)
            number = quantity(float(values[place[source], place[target]]), metric) if good else "nothing arrived"
            cells.append(
                MatrixCell(
                    row=row,
                    column=column,
                    style=verdict.value,
                    shade=shade_of(verdict, good),
                    gravity=verdict.gravity,
                    texts=(f"{100 * good:.0f}", LETTERS[verdict].strip()),
                    quality=good,
                    hover=f"{source}>{target}; {number}; {share(good)} of the median"
                    if numbered or verdict is not Verdict.PASS
                    else "",
                )
            )
    kept = f"; the {len(order)} of {count(len(nodes), 'node')} with the worst pairs"
    return Matrix(
        caption=f"{WORDS[metric].capitalize()} in % of the median{kept if len(order) < len(nodes) else ''}",
        labels=tuple(order),
        groups=tuple(group_of.get(name, "") for name in order),
        cells=tuple(cells),
        key=verdict_key(cells, len(order), "the median"),
    )


def _shown(nodes: Sequence[str], group_of: dict[str, str], quality: Reals) -> list[str]:
    """The nodes by group and name; if they are too many, those with the worst pairs."""
    kept = list(nodes)
    if len(nodes) > MOST_ROWS:
        worst = np.fmin(np.nanmin(quality, axis=1, initial=np.inf), np.nanmin(quality, axis=0, initial=np.inf))
        kept = [nodes[number] for number in np.argsort(worst, kind="stable")[:MOST_ROWS]]
    rank = {group: number for number, group in enumerate(natural_sorted({*group_of.values(), ""}))}
    return sorted(natural_sorted(kept), key=lambda name: rank[group_of.get(name, "")])


def _at_fault(located: Located, metric: str) -> dict[tuple[str, str], Verdict]:
    """Ordered pairs -> verdict. A node is in the place of an end that may be any: ("n3", ""), ("", "n3")."""
    bad: dict[tuple[str, str], Verdict] = {}
    for unstable in located.unstable:
        if unstable.metric == metric and unstable.subject.kind is SubjectKind.PAIR:
            source, _, target = unstable.subject.name.partition(">")
            bad[source, target] = Verdict.UNSTABLE
    for fault in located.faults:
        if fault.metric != metric:
            continue
        for pair in fault.evidence:
            source, _, target = pair.partition(">")
            bad[source, target] = Verdict.SLOW
        if fault.subject.kind is SubjectKind.NODE:
            name = fault.subject.name
            bad |= dict.fromkeys([(name, "")] * (fault.direction is not Direction.IN), Verdict.SLOW)
            bad |= dict.fromkeys([("", name)] * (fault.direction is not Direction.OUT), Verdict.SLOW)
    return bad


def _verdict(source: str, target: str, good: float, bad: dict[tuple[str, str], Verdict]) -> Verdict:
    """The verdict on a pair: its own, or that of a node at its end, if the pair is worse than the median."""
    own = bad.get((source, target))
    if own is not None:
        return own
    of_node = (source, "") in bad or ("", target) in bad
    return Verdict.SLOW if of_node and good < 1 else Verdict.PASS
