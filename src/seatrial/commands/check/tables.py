"""The tables of a check's report: which rows come first, which are left out, and their cells."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from seatrial.commands.check.heatmap import share
from seatrial.model import units
from seatrial.model.facts import NodeFacts
from seatrial.model.judgement import Judgement, LeafLoad, Loaded, NodeVerdict, PairVerdict
from seatrial.model.limit import Limit
from seatrial.model.run import NodeState
from seatrial.model.subject import Direction
from seatrial.model.verdict import Verdict
from seatrial.model.words import NaturalKey, count, natural_key, natural_sorted
from seatrial.render.fact_text import columns as fact_columns
from seatrial.render.report import Table, columns

MOST_PAIRS = 2000
MOST_ROWS = 500
MOST_LIMITS = 20
WAYS = {Direction.OUT: "sends", Direction.IN: "receives"}


def _cut(shown: int, wanted: int, noun: str) -> str:
    return (
        "" if shown == wanted else f"The worst {shown} of {count(wanted, noun)} are shown; the JSON report lists all."
    )


def pairs_table(judgement: Judgement) -> Table:
    """All pairs, worst first; of more than 2000 only those that did not pass, and of those the worst 500."""
    many = len(judgement.pairs) > MOST_PAIRS
    pairs = pairs_worst_first(judgement, odd=many)
    left_out = ""
    if many:
        odd, pairs = pairs, pairs[:MOST_ROWS]
        left_out = f"Of {len(judgement.pairs)} pairs only those that did not pass are listed, {len(odd)} in all. "
        left_out += _cut(len(pairs), len(odd), "pair")
    rows = []
    for pair in pairs:
        bandwidth, latency = pair.bandwidth_bytes_per_s, pair.latency_s
        part = share(pair, judgement.peers_bandwidth_bytes_per_s)
        rows.append(
            (
                pair.source,
                pair.target,
                pair.verdict.value,
                units.estimate(bandwidth, units.BANDWIDTH) if bandwidth else "none",
                units.share(part) if part is not None else "",
                units.estimate(latency, units.LATENCY) if latency else "none",
                "yes" if pair.retested else "",
                pair.reason,
            )
        )
    of = "of limit" if any(pair.limit for pair in judgement.pairs) else "of peers"
    head = columns("source", "target", "verdict", "#bandwidth", f"#{of}", "#latency", "retested", "~reason")
    return Table(title="Pairs", anchor="pairs", columns=head, rows=tuple(rows), left_out=left_out.strip())


def nodes_table(judgement: Judgement) -> Table:
    """All nodes, worst first; the worst 500 of more."""
    nodes = nodes_worst_first(judgement.nodes)
    rows = tuple(
        (
            node.node,
            node.leaf,
            node.verdict.value,
            units.bandwidth(node.best_out_bytes_per_s),
            units.bandwidth(node.best_in_bytes_per_s),
            units.duration(node.best_latency_s),
            node.reason,
        )
        for node in nodes[:MOST_ROWS]
    )
    head = columns("node", "leaf", "verdict", "#best out", "#best in", "#best latency", "~reason")
    return Table(title="Nodes", anchor="nodes", columns=head, rows=rows, left_out=_cut(len(rows), len(nodes), "node"))


def facts_table(judgement: Judgement, facts: Mapping[str, NodeFacts]) -> Table:
    """What each node is, in natural order; of more than 500 nodes those with the worst verdicts."""
    worst = [node.node for node in nodes_worst_first(judgement.nodes) if node.node in facts]
    others = natural_sorted(set(facts) - set(worst))
    shown = natural_sorted((worst + others)[:MOST_ROWS])
    cells = [fact_columns(facts[node]) for node in shown]
    return Table(
        columns=columns("node", *(cells[0] if cells else {})),
        rows=tuple((node, *texts.values()) for node, texts in zip(shown, cells, strict=True)),
        left_out=_cut(len(shown), len(facts), "node"),
    )


def limits_table(judgement: Judgement) -> Table:
    """One row for each term of each limit, least limit first. Limits that differ only in their path are one."""
    groups: dict[tuple[object, ...], list[Limit]] = defaultdict(list)
    for pair in judgement.pairs:
        if pair.limit is not None:
            groups[_identity(pair.limit)].append(pair.limit)
    limits = sorted(groups.values(), key=lambda group: (group[0].limit_bytes_per_s, group[0].path))
    rows = [row for group in limits[:MOST_LIMITS] for row in _limit_rows(group)]
    head = columns("path", "#limit", "term", "binds", "#rate", "~inputs", "formula", "~source")
    left_out = (
        f"The lowest {MOST_LIMITS} of {len(limits)} different limits are shown." if len(limits) > MOST_LIMITS else ""
    )
    return Table(
        title="Limits",
        anchor="limits",
        columns=head,
        rows=tuple(rows),
        left_out=left_out,
        aside="The limit of a path is the lowest of its terms; inputs are in the unit that their name states.",
    )


def _identity(limit: Limit) -> tuple[object, ...]:
    terms = tuple((t.name, t.bytes_per_s, tuple(sorted(t.inputs.items())), t.formula) for t in limit.terms)
    return limit.limit_bytes_per_s, limit.binding, limit.gate_bytes_per_s, terms


def _limit_rows(group: Sequence[Limit]) -> list[tuple[str, ...]]:
    limit = group[0]
    path = limit.path if len(group) == 1 else f"{limit.path} and {len(group) - 1} more"
    rows: list[tuple[str, ...]] = []
    for term in sorted(limit.terms, key=lambda term: term.bytes_per_s):
        inputs = ", ".join(f"{name} = {value:.10g}" for name, value in sorted(term.inputs.items()))
        binds = "binds" if term.name == limit.binding else ""
        rate = units.bandwidth(term.bytes_per_s)
        rows.append(
            (path, units.bandwidth(limit.limit_bytes_per_s), term.name, binds, rate, inputs, term.formula, term.source)
        )
    rows.append(
        (
            path,
            units.bandwidth(limit.limit_bytes_per_s),
            "gate",
            "",
            units.bandwidth(limit.gate_bytes_per_s),
            "",
            "",
            "above it a measurement is INVALID",
        )
    )
    return rows


def lost_table(lost: Sequence[NodeState]) -> Table:
    """Nodes that were not measured, the first 500 of more."""
    shown = lost[:MOST_ROWS]
    return Table(
        title="Nodes not measured",
        anchor="lost",
        columns=columns("node", "fault", "~reason"),
        rows=tuple((state.node, "yes" if state.fault else "no", state.reason) for state in shown),
        left_out=f"{len(lost) - len(shown)} more are in the JSON report." if len(lost) > len(shown) else "",
    )


def leaves_table(loaded: Loaded | None) -> Table:
    """One row a leaf and way, the least share of what the peers carry first."""
    leaves = sorted(loaded.leaves, key=_least_of_peers) if loaded else []
    shown = leaves[:MOST_ROWS]
    return Table(
        columns=columns("leaf", "way", "#nodes", "#together", "#one at a time", "#share", "#of peers"),
        rows=tuple(
            (
                one.leaf,
                WAYS[one.direction],
                str(one.nodes),
                units.estimate(one.bytes_per_s, units.BANDWIDTH),
                units.bandwidth(one.alone_bytes_per_s),
                units.share(one.share),
                units.share(one.of_peers),
            )
            for one in shown
        ),
        left_out="" if len(shown) == len(leaves) else f"The first {len(shown)} of {len(leaves)} are shown.",
        aside="Each row is one leaf while all its nodes that took part send to other leaves, or receive from them.",
    )


def _least_of_peers(one: LeafLoad) -> tuple[float, str, str]:
    return one.of_peers if one.of_peers is not None else 1.0, one.leaf, one.direction.value


def loaded_rows(loaded: Loaded | None) -> list[tuple[str, str]]:
    """Label and text of each line; none where nothing was measured under load."""
    if loaded is None:
        return []
    rows: list[tuple[str, str]] = []
    bisection = loaded.bisection_bytes_per_s
    if bisection is not None:
        share = loaded.bisection_share
        alone = f", {units.share(share)} of what the same pairs reach one at a time" if share is not None else ""
        rows.append(
            (
                "bisection",
                f"{units.bandwidth(bisection.value)} while half of the nodes send to the other half "
                f"({loaded.bisection_pairs} pairs at once){alone}",
            )
        )
    if loaded.oversubscription is not None:
        design = loaded.design_oversubscription
        by_design = f"; by its cables {ratio(design)}" if design is not None else ""
        rows.append(("uplinks", f"over-subscription {ratio(loaded.oversubscription)} under load{by_design}"))
    return rows


def ratio(value: float) -> str:
    """`2.1:1`."""
    return f"{value:.1f}:1"


def pairs_worst_first(judgement: Judgement, *, odd: bool = False) -> list[PairVerdict]:
    """Gravest verdict first, then the least share of the reference, then by name; `odd`: only what did not pass."""

    def key(pair: PairVerdict) -> tuple[int, float, NaturalKey, NaturalKey]:
        part = share(pair, judgement.peers_bandwidth_bytes_per_s)
        return -pair.verdict.gravity, float("inf") if part is None else part, *_names(pair)

    return sorted((pair for pair in judgement.pairs if not odd or pair.verdict is not Verdict.PASS), key=key)


def nodes_worst_first(nodes: Sequence[NodeVerdict]) -> list[NodeVerdict]:
    """Gravest verdict first, then the least bandwidth in either direction, then by name."""

    def key(node: NodeVerdict) -> tuple[int, float, NaturalKey]:
        known = [value for value in (node.best_out_bytes_per_s, node.best_in_bytes_per_s) if value is not None]
        return -node.verdict.gravity, min(known, default=float("inf")), natural_key(node.node)

    return sorted(nodes, key=key)


def unexplained(judgement: Judgement, pairs: Sequence[PairVerdict]) -> list[PairVerdict]:
    """Pairs that did not pass and that no finding names."""
    explained = {name for finding in judgement.findings for name in finding.pairs}
    return [
        pair for pair in pairs if pair.verdict is not Verdict.PASS and f"{pair.source}>{pair.target}" not in explained
    ]


def _names(pair: PairVerdict) -> tuple[NaturalKey, NaturalKey]:
    return natural_key(pair.source), natural_key(pair.target)
