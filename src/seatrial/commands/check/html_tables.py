"""The page's tables as values: titles, columns, rows of text, and a sentence on what was left out."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.commands.check.heatmap import share
from seatrial.commands.check.worst_rows import nodes_worst_first, pairs_worst_first
from seatrial.model import units
from seatrial.model.facts import NodeFacts
from seatrial.model.judgement import Judgement
from seatrial.model.limit import Limit
from seatrial.model.run import Design, RunInfo, run_kind
from seatrial.model.words import count, natural_sorted
from seatrial.render import fact_differences

MOST_PAIRS = 2000
MOST_ROWS = 500
MOST_LIMITS = 20


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A heading, and whether numbers or long sentences stand below it."""

    title: str
    number: bool = False
    sentences: bool = False


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of text, one text a column. In the column `verdict` the text is a verdict's word."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: str = ""
    """A sentence where not all rows are here."""


def _columns(*titles: str) -> tuple[Column, ...]:
    """A title that begins with # heads numbers, one that begins with ~ sentences."""
    return tuple(
        Column(title=title.lstrip("#~"), number=title.startswith("#"), sentences=title.startswith("~"))
        for title in titles
    )


def _cut(shown: int, wanted: int, noun: str) -> str:
    return "" if shown == wanted else f"The worst {shown} of {count(wanted, noun)} are shown; the JSON report has all."


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
    columns = _columns("source", "target", "verdict", "#bandwidth", f"#{of}", "#latency", "retested", "~reason")
    return Table(columns=columns, rows=tuple(rows), left_out=left_out.strip())


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
    columns = _columns("node", "leaf", "verdict", "#best out", "#best in", "#best latency", "~reason")
    return Table(columns=columns, rows=rows, left_out=_cut(len(rows), len(nodes), "node"))


def facts_table(judgement: Judgement, facts: Mapping[str, NodeFacts]) -> Table:
    """What each node is, in natural order; of more than 500 nodes those with the worst verdicts."""
    worst = [node.node for node in nodes_worst_first(judgement.nodes) if node.node in facts]
    others = natural_sorted(set(facts) - set(worst))
    shown = natural_sorted((worst + others)[:MOST_ROWS])
    columns = [fact_differences.columns(facts[node]) for node in shown]
    titles = columns[0] if columns else {}
    return Table(
        columns=_columns("node", *titles),
        rows=tuple((node, *texts.values()) for node, texts in zip(shown, columns, strict=True)),
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
    columns = _columns("path", "#limit", "term", "binds", "#rate", "~inputs", "formula", "~source")
    left_out = (
        f"The least {MOST_LIMITS} of {len(limits)} different limits are shown." if len(limits) > MOST_LIMITS else ""
    )
    return Table(columns=columns, rows=tuple(rows), left_out=left_out)


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


def run_rows(run: RunInfo) -> list[tuple[str, str]]:
    """The run's metadata, label and text; what is not known has no row."""
    rows = [
        ("run", run.run),
        ("of", run_kind(run).command),
        ("started", run.started),
        ("ended", run.ended),
        ("ending", run.ending.value + (f": {run.reason}" if run.reason else "")),
        ("command", " ".join(run.command)),
        ("launcher", run.launcher),
        ("cluster", run.cluster),
        ("job", run.job),
        ("MPI library", run.mpi_library),
        ("leaves from", run.fabric.source),
        ("seed", str(run.seed)),
        ("seatrial", run.seatrial),
    ]
    return [row for row in rows if row[1]]


def design_rows(design: Design | None) -> list[tuple[str, str]]:
    """The design's numbers, label and text."""
    if design is None:
        return []
    return [
        ("design", design.name),
        ("pairs planned", f"{design.planned_pairs} of {design.ordered_pairs} ordered pairs"),
        ("pairs measured", f"{design.measured_pairs}, in {design.measured} measurements"),
        ("pairs at once", str(design.pairs_at_once)),
        ("repetitions", str(design.repetitions)),
        ("rounds", str(design.rounds)),
    ]
