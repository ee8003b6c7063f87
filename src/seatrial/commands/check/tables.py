"""The tables of a check's report: which rows come first, which are left out, and their cells."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from seatrial.commands.check.heatmap import share
from seatrial.commands.check.unmeasured_pairs import BAD
from seatrial.model import units
from seatrial.model.facts import NodeFacts
from seatrial.model.judgement import Judgement, Loaded, NodeVerdict, PairVerdict
from seatrial.model.limit import Limit
from seatrial.model.run import NodeState
from seatrial.model.subject import Direction
from seatrial.model.verdict import Verdict
from seatrial.model.words import NaturalKey, by_text, count, few, natural_key, natural_sorted
from seatrial.render.fact_text import columns as fact_columns
from seatrial.render.report import Table, columns

MOST_ROWS = 200
MOST_WORST = 10
MOST_FEW_NODES = 16
MOST_KINDS = 16
MOST_LETTERS = 60
"""Characters of the names of nodes that are alike."""
MOST_LIMITS = 20
WAYS = {Direction.OUT: "sends", Direction.IN: "receives"}


def _cut(shown: int, wanted: int, noun: str) -> str:
    return (
        "" if shown == wanted else f"The worst {shown} of {count(wanted, noun)} are shown; the JSON report lists all."
    )


def worst_pairs_table(judgement: Judgement) -> Table:
    """The ten worst pairs."""
    shown = pairs_worst_first(judgement)[:MOST_WORST]
    title = f"The {len(shown)} worst pairs" if len(shown) < len(judgement.pairs) else "Pairs, worst first"
    return _pairs(judgement, shown, title, "pairs", stacked=True)


def _all_pairs_table(judgement: Judgement) -> Table:
    """All pairs, worst first; of more than 200 only those that did not pass, and of those the worst 200."""
    many = len(judgement.pairs) > MOST_ROWS
    pairs = pairs_worst_first(judgement, odd=many)
    title = f"All {count(len(pairs), 'pair')}"
    left_out = ""
    if many:
        odd, pairs = pairs, pairs[:MOST_ROWS]
        title = "Pairs that did not pass"
        left_out = (
            f"Of {count(len(judgement.pairs), 'pair')} only those that did not pass are listed, {len(odd)} in all. "
        )
        left_out += _cut(len(pairs), len(odd), "pair")
    return _pairs(judgement, pairs, title, "all-pairs", left_out=left_out.strip(), folded=True)


def _pairs(judgement: Judgement, pairs: Sequence[PairVerdict], title: str, anchor: str, **changes: Any) -> Table:  # noqa: ANN401
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
    return Table(title=title, anchor=anchor, columns=head, rows=tuple(rows), **changes)


def worst_nodes_table(judgement: Judgement) -> Table:
    """All nodes where they are few, else the worst of them."""
    nodes = nodes_worst_first(judgement.nodes)
    few = len(nodes) <= MOST_FEW_NODES
    shown = nodes if few else nodes[:MOST_WORST]
    return _nodes(shown, "Nodes" if few else f"The {MOST_WORST} worst nodes of {len(nodes)}", "nodes", stacked=True)


def _all_nodes_table(judgement: Judgement) -> Table:
    """All nodes, worst first; of more than 200 those that did not pass, and of those the worst 200."""
    nodes = nodes_worst_first(judgement.nodes)
    many = len(nodes) > MOST_ROWS
    odd = [node for node in nodes if node.verdict is not Verdict.PASS] if many else nodes
    left_out = f"Of {count(len(nodes), 'node')} only those that did not pass are listed, {len(odd)} in all. " * many
    left_out += _cut(min(len(odd), MOST_ROWS), len(odd), "node")
    title = "Nodes that did not pass" if many else f"All {count(len(nodes), 'node')}"
    return _nodes(odd[:MOST_ROWS], title, "all-nodes", left_out=left_out.strip(), folded=True)


def _nodes(nodes: Sequence[NodeVerdict], title: str, anchor: str, **changes: Any) -> Table:  # noqa: ANN401
    head = columns("node", "leaf", "verdict", "#best out", "#best in", "#best latency", "~reason")
    return Table(title=title, anchor=anchor, columns=head, rows=tuple(map(node_row, nodes)), **changes)


def node_row(node: NodeVerdict) -> tuple[str, ...]:
    """Node, leaf, verdict, best bandwidths and latency with units, reason."""
    return (
        node.node,
        node.leaf,
        node.verdict.value,
        units.bandwidth(node.best_out_bytes_per_s),
        units.bandwidth(node.best_in_bytes_per_s),
        units.duration(node.best_latency_s),
        node.reason,
    )


def folded_tables(judgement: Judgement) -> Iterator[Table]:
    """What only few readers need: all pairs, all nodes and the terms of the limits, as far as the page lacks them."""
    if len(judgement.pairs) > MOST_WORST:
        yield _all_pairs_table(judgement)
    if len(judgement.nodes) > MOST_FEW_NODES:
        yield _all_nodes_table(judgement)
    limits = _limits_table(judgement)
    if limits.rows:
        yield limits


def facts_table(judgement: Judgement, facts: Mapping[str, NodeFacts]) -> Table:
    """One row for all nodes that are alike; of many kinds those of the nodes with the worst verdicts."""
    texts = {node: tuple(fact_columns(facts[node]).values()) for node in natural_sorted(facts)}
    groups = by_text((node, cells) for node, cells in texts.items())
    worst = {node.node: place for place, node in enumerate(nodes_worst_first(judgement.nodes))}
    ordered = sorted(groups.items(), key=lambda group: min(worst.get(node, len(worst)) for node in group[1]))
    head = fact_columns(facts[next(iter(facts))])
    return Table(
        columns=columns("~nodes", *(f"~{title}" for title in head)),
        rows=tuple((few(nodes, MOST_LETTERS), *cells) for cells, nodes in ordered[:MOST_KINDS]),
        left_out=_cut(min(len(ordered), MOST_KINDS), len(ordered), "kind"),
        stacked=True,
    )


def _limits_table(judgement: Judgement) -> Table:
    """One row for each term of each limit, least limit first. Limits that differ only in their path are one."""
    groups: dict[tuple[object, ...], list[Limit]] = defaultdict(list)
    for pair in judgement.pairs:
        if pair.limit is not None:
            groups[_identity(pair.limit)].append(pair.limit)
    limits = sorted(groups.values(), key=lambda group: (group[0].limit_bytes_per_s, group[0].path))
    rows = [row for group in limits[:MOST_LIMITS] for row in _limit_rows(group)]
    head = columns("path", "#limit", "term", "binds", "#rate", "~inputs", "~formula", "~source")
    left_out = (
        f"The lowest {MOST_LIMITS} of {len(limits)} different limits are shown." if len(limits) > MOST_LIMITS else ""
    )
    return Table(
        title="Limits",
        anchor="limits",
        columns=head,
        rows=tuple(rows),
        left_out=left_out,
        folded=True,
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

    by_peers = [(1.0 if load.of_peers is None else load.of_peers, load) for load in loaded.leaves] if loaded else []
    leaves = [load for _, load in sorted(by_peers, key=lambda pair: (pair[0], pair[1].leaf, pair[1].direction.value))]
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
        line = loaded.detectable_ratio
        power = f"; one that carries {units.share(line)} less than its peers would have been found" if line else ""
        rows.append(("uplinks", f"over-subscription {ratio(loaded.oversubscription)} under load{by_design}{power}"))
    return rows


def ratio(value: float) -> str:
    """`2.1:1`."""
    return f"{value:.1f}:1"


def pairs_worst_first(judgement: Judgement, *, odd: bool = False) -> list[PairVerdict]:
    """Gravest verdict first, then the least share of the reference, then by name; `odd`: only what did not pass."""

    shown = [pair for pair in judgement.pairs if not odd or pair.verdict is not Verdict.PASS]
    keys = {name: natural_key(name) for pair in shown for name in (pair.source, pair.target)}

    def key(pair: PairVerdict) -> tuple[int, float, NaturalKey, NaturalKey]:
        part = share(pair, judgement.peers_bandwidth_bytes_per_s)
        return -pair.verdict.gravity, float("inf") if part is None else part, keys[pair.source], keys[pair.target]

    return sorted(shown, key=key)


def nodes_worst_first(nodes: Sequence[NodeVerdict]) -> list[NodeVerdict]:
    """Gravest verdict first, then the least bandwidth in either direction, then by name."""

    def key(node: NodeVerdict) -> tuple[int, float, NaturalKey]:
        known = [value for value in (node.best_out_bytes_per_s, node.best_in_bytes_per_s) if value is not None]
        return -node.verdict.gravity, min(known, default=float("inf")), natural_key(node.node)

    return sorted(nodes, key=key)


def unexplained(judgement: Judgement, pairs: Sequence[PairVerdict]) -> list[PairVerdict]:
    """Pairs that did not pass and that no finding explains: a pair that none does is never SLOW or UNSTABLE."""
    shown = {name for finding in judgement.findings for name in finding.pairs}
    return [
        pair
        for pair in pairs
        if pair.verdict not in (Verdict.PASS, *BAD) and f"{pair.source}>{pair.target}" not in shown
    ]
