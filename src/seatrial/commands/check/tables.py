"""The tables of a check's report: which rows come first, which are left out, and their cells."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from seatrial.commands.check.heatmap import share
from seatrial.commands.check.unmeasured_pairs import BAD
from seatrial.model import units
from seatrial.model.facts import NodeFacts
from seatrial.model.judgement import Judgement, LeafLoad, Loaded, NodeVerdict, PairVerdict
from seatrial.model.limit import Limit
from seatrial.model.run import NodeState
from seatrial.model.subject import Direction
from seatrial.model.verdict import Verdict
from seatrial.model.words import NaturalKey, by_text, count, few, natural_key, natural_sorted
from seatrial.render.fact_text import columns as fact_columns
from seatrial.render.report import Cells, Record, Table, columns, record_table

MOST_ROWS = 200
MOST_WORST = 10
MOST_FEW = 16
MOST_LETTERS = 60
"""Characters of the names of nodes that are alike."""
MORE = "The worst {} are shown; the JSON report lists all."
WAYS = {Direction.OUT: "sends", Direction.IN: "receives"}


def pair_cells(judgement: Judgement) -> Cells[PairVerdict]:
    """The columns of a pair, its bandwidth as a share of what the judgement compares it with."""
    peers = judgement.peers_bandwidth_bytes_per_s
    return {
        "source": lambda pair: pair.source,
        "target": lambda pair: pair.target,
        "verdict": lambda pair: pair.verdict.value,
        "#bandwidth": lambda pair: units.estimate(pair.bandwidth_bytes_per_s, units.BANDWIDTH),
        f"#of {'limit' if any(pair.limit for pair in judgement.pairs) else 'peers'}": (
            lambda pair: units.share(share(pair, peers))
        ),
        "#latency": lambda pair: units.estimate(pair.latency_s, units.LATENCY),
        "retested": lambda pair: "yes" if pair.retested else "",
        "~reason": lambda pair: pair.reason,
    }


NODES: Cells[NodeVerdict] = {
    "node": lambda node: node.node,
    "leaf": lambda node: node.leaf,
    "verdict": lambda node: node.verdict.value,
    "#best out": lambda node: units.bandwidth(node.best_out_bytes_per_s),
    "#best in": lambda node: units.bandwidth(node.best_in_bytes_per_s),
    "#latency": lambda node: units.duration(node.best_latency_s),
    "~reason": lambda node: node.reason,
}


def worst_tables(judgement: Judgement) -> Iterator[Table]:
    """The ten worst pairs, and all nodes where they are few, else the worst of them."""
    if pairs := pairs_worst_first(judgement)[:MOST_WORST]:
        title = f"The {len(pairs)} worst pairs" if len(pairs) < len(judgement.pairs) else "Pairs, worst first"
        yield replace(record_table(pair_cells(judgement), pairs, title=title), anchor="pairs", stacked=True)
    if nodes := nodes_worst_first(judgement.nodes):
        few_nodes = len(nodes) <= MOST_FEW
        title = "Nodes" if few_nodes else f"The {MOST_WORST} worst nodes of {len(nodes)}"
        shown = nodes if few_nodes else nodes[:MOST_WORST]
        yield replace(record_table(NODES, shown, title=title), anchor="nodes", stacked=True)


def _all_rows(cells: Cells[Record], worst_first: Sequence[Record], odd: Sequence[Record], noun: str) -> Table:
    """All rows, worst first; of more than 200 only those that did not pass, and of those the worst 200."""
    number, many = count(len(worst_first), noun), len(worst_first) > MOST_ROWS
    shown = odd[:MOST_ROWS] if many else worst_first
    left_out = f"Of {number} only those that did not pass are listed, {len(odd)} in all." * many
    left_out += f" {MORE.format(MOST_ROWS)}" * (many and len(shown) < len(odd))
    title = f"{noun.capitalize()}s that did not pass" if many else f"All {number}"
    table = record_table(cells, shown, most=None, title=title)
    return replace(table, anchor=f"all-{noun}s", left_out=left_out, folded=True)


def folded_tables(judgement: Judgement) -> Iterator[Table]:
    """What only few readers need: all pairs, all nodes and the terms of the limits, as far as the page lacks them."""
    if len(judgement.pairs) > MOST_WORST:
        pairs = pairs_worst_first(judgement), pairs_worst_first(judgement, odd=True)
        yield _all_rows(pair_cells(judgement), *pairs, "pair")
    if len(judgement.nodes) > MOST_FEW:
        nodes = nodes_worst_first(judgement.nodes)
        yield _all_rows(NODES, nodes, [node for node in nodes if node.verdict is not Verdict.PASS], "node")
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
        rows=tuple((few(nodes, MOST_LETTERS), *cells) for cells, nodes in ordered[:MOST_FEW]),
        left_out=MORE.format(MOST_FEW) * (len(ordered) > MOST_FEW),
        stacked=True,
    )


def _limits_table(judgement: Judgement) -> Table:
    """One row for each term of each limit, least limit first. Limits that differ only in their path are one."""
    groups: dict[tuple[object, ...], list[Limit]] = defaultdict(list)
    for pair in judgement.pairs:
        if (limit := pair.limit) is not None:
            terms = tuple((t.name, t.bytes_per_s, tuple(sorted(t.inputs.items())), t.formula) for t in limit.terms)
            groups[limit.limit_bytes_per_s, limit.binding, limit.gate_bytes_per_s, terms].append(limit)
    limits = sorted(groups.values(), key=lambda group: (group[0].limit_bytes_per_s, group[0].path))
    rows = [row for group in limits[:MOST_FEW] for row in _limit_rows(group)]
    head = columns("path", "#limit", "term", "binds", "#rate", "~inputs", "~formula", "~source")
    return Table(
        title="Limits",
        anchor="limits",
        columns=head,
        rows=tuple(rows),
        left_out=f"The lowest {MOST_FEW} of {len(limits)} are shown." * (len(limits) > MOST_FEW),
        folded=True,
        aside="The limit of a path is the lowest of its terms; inputs are in the unit that their name states.",
    )


def _limit_rows(group: Sequence[Limit]) -> Iterator[tuple[str, ...]]:
    limit = group[0]
    path = limit.path if len(group) == 1 else f"{limit.path} and {len(group) - 1} more"
    whole = path, units.bandwidth(limit.limit_bytes_per_s)
    for term in sorted(limit.terms, key=lambda term: term.bytes_per_s):
        inputs = ", ".join(f"{name} = {value:.10g}" for name, value in sorted(term.inputs.items()))
        binds, rate = "binds" * (term.name == limit.binding), units.bandwidth(term.bytes_per_s)
        yield *whole, term.name, binds, rate, inputs, term.formula, term.source
    yield *whole, "gate", "", units.bandwidth(limit.gate_bytes_per_s), "", "", "above it a measurement is INVALID"


LOST: Cells[NodeState] = {
    "node": lambda state: state.node,
    "fault": lambda state: "yes" if state.fault else "no",
    "~reason": lambda state: state.reason,
}
LEAVES: Cells[LeafLoad] = {
    "leaf": lambda load: load.leaf,
    "way": lambda load: WAYS[load.direction],
    "#nodes": lambda load: str(load.nodes),
    "#together": lambda load: units.estimate(load.bytes_per_s, units.BANDWIDTH),
    "#one at a time": lambda load: units.bandwidth(load.alone_bytes_per_s),
    "#share": lambda load: units.share(load.share),
    "#of peers": lambda load: units.share(load.of_peers),
}


def leaves_table(loaded: Loaded | None) -> Table:
    """One row a leaf and way, the least share of what the peers carry first."""

    def key(load: LeafLoad) -> tuple[float, str, str]:
        return 1.0 if load.of_peers is None else load.of_peers, load.leaf, load.direction.value

    aside = "Each row is one leaf while all its nodes that took part send to other leaves, or receive from them."
    return replace(record_table(LEAVES, sorted(loaded.leaves if loaded else (), key=key), MOST_ROWS), aside=aside)


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
