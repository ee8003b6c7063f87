"""The report for a terminal, read by an administrator at three in the morning: verdict, culprit, proof, cure."""

import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from seatrial.commands.check import loaded_text
from seatrial.commands.check.headline import INCOMPLETE, could_show, headline, medians, peers
from seatrial.commands.check.heatmap import HeatMap
from seatrial.commands.check.text_heatmap import drawn_heat_map
from seatrial.commands.check.worst_rows import nodes_worst_first, pairs_worst_first, unexplained
from seatrial.model import units
from seatrial.model.facts import NodeFacts
from seatrial.model.judgement import Judgement, NodeVerdict, PairVerdict
from seatrial.model.run import RunInfo
from seatrial.model.verdict import Finding, Verdict
from seatrial.model.words import count
from seatrial.render import finding_text
from seatrial.render.escape import clean
from seatrial.render.fact_differences import differences
from seatrial.render.sheet import LEAST_WIDTH, indented, labelled, rendered, text

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

MOST_FINDINGS = 20
MOST_PAIRS = 10
MOST_NODES = 16

_STYLES = {
    Verdict.PASS.value: "bold white on #1d4f7c",
    Verdict.SLOW.value: "bold black on #e8833a",
    Verdict.UNSTABLE.value: "bold black on #f2c14e",
    Verdict.INVALID.value: "bold white on #a3201d",
    Verdict.MISCONFIGURED.value: "bold white on #6b4fa0",
    Verdict.INCONCLUSIVE.value: "bold black on #b8b8b8",
    Verdict.NOT_RUN.value: "bold black on #b8b8b8",
    INCOMPLETE: "bold black on #f2c14e",
}


def as_text(
    run: RunInfo, judgement: Judgement, facts: Mapping[str, NodeFacts], *, width: int = 100, colour: bool = False
) -> str:
    """The report, at most `width` (40 at least) columns wide, with ANSI colours or none; ends in a newline."""
    blocks = _blocks(run, judgement, facts, max(width, LEAST_WIDTH))
    return rendered(blocks, width=width, colour=colour)


def _blocks(
    run: RunInfo, judgement: Judgement, facts: Mapping[str, NodeFacts], width: int
) -> Iterator["RenderableType"]:
    yield _headline(run, judgement)
    for number, finding in enumerate(judgement.findings[:MOST_FINDINGS], start=1):
        yield ""
        yield _finding_title(number, finding)
        yield indented(text(finding.statement, "bold"))
        yield labelled([(line.label, line.text) for line in finding_text.lines(finding)], indent=3)
    if len(judgement.findings) > MOST_FINDINGS:
        yield f"\nand {count(len(judgement.findings) - MOST_FINDINGS, 'finding')} more, which the page shows"
    if judgement.verdict is not Verdict.PASS:
        yield from _details(run, judgement, width)
    yield ""
    yield labelled(_closing(run, judgement, facts))


def _headline(run: RunInfo, judgement: Judgement) -> "Text":
    from rich.text import Text

    first = headline(run, judgement)
    return Text.assemble((first.word, _STYLES[first.word]), ("  ", ""), (first.what, "bold"))


def _finding_title(number: int, finding: Finding) -> "Text":
    from rich.text import Text

    verdict = finding.verdict.value
    return Text.assemble(
        (f"{number}  ", "bold"), (verdict, _STYLES[verdict]), f"  {clean(finding_text.title(finding))}"
    )


def _details(run: RunInfo, judgement: Judgement, width: int) -> Iterator["RenderableType"]:
    """Heat map, pairs that no finding explains, nodes."""
    heat, drawn = drawn_heat_map(judgement, run.fabric, width)
    if drawn:
        yield ""
        yield text(_heat_map_title(heat, judgement), "bold")
        yield from drawn
    odd = pairs_worst_first(judgement, odd=True)
    shown = unexplained(judgement, odd) if drawn and not heat.by_leaf else odd
    if shown:
        yield ""
        yield text(_cut_title("Pairs that did not pass", "and that no finding names", shown, odd), "bold")
        yield _pairs_table(shown[:MOST_PAIRS])
    yield from _nodes(judgement)


def _heat_map_title(heat: HeatMap, judgement: Judgement) -> str:
    of = "limit" if any(pair.limit for pair in judgement.pairs) else "peers' bandwidth"
    what = "leaf by leaf, worst first" if heat.by_leaf else "pairs"
    what += f", {len(heat.labels)} of {len(heat.labels) + heat.left_out} leaves" if heat.left_out else ""
    return f"Bandwidth in % of the {of}, {what}; rows send, columns receive"


def _cut_title(what: str, restriction: str, shown: list[PairVerdict], all_odd: list[PairVerdict]) -> str:
    title = what if len(shown) == len(all_odd) else f"{what} {restriction}"
    return title if len(shown) <= MOST_PAIRS else f"{title}: the worst {MOST_PAIRS} of {len(shown)}"


def _table(*headers: str) -> "Table":
    """Columns whose title begins with a space hold numbers."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for header in headers:
        last = header == headers[-1]
        table.add_column(
            header.strip(),
            justify="right" if header.startswith(" ") else "left",
            overflow="fold",
            ratio=1 if last else None,
        )
    return table


def _pairs_table(pairs: list[PairVerdict]) -> "Table":
    table = _table("pair", "verdict", " bandwidth", " latency", "reason")
    for pair in pairs:
        measured, latency = pair.bandwidth_bytes_per_s, pair.latency_s
        table.add_row(
            text(f"{pair.source}>{pair.target}"),
            text(pair.verdict.value),
            units.bandwidth(measured.value) if measured else "none",
            units.duration(latency.value) if latency else "none",
            text(pair.reason),
        )
    return table


def _nodes(judgement: Judgement) -> Iterator["RenderableType"]:
    nodes = nodes_worst_first(judgement.nodes)
    odd = [node for node in nodes if node.verdict is not Verdict.PASS]
    shown = nodes if len(nodes) <= MOST_NODES else odd
    if shown:
        title = "Nodes" if shown is nodes else "Nodes that did not pass"
        cut = "" if len(shown) <= MOST_NODES else f": the worst {MOST_NODES} of {len(shown)}"
        yield ""
        yield text(title + cut, "bold")
        yield _nodes_table(shown[:MOST_NODES])


def _nodes_table(nodes: list[NodeVerdict]) -> "Table":
    table = _table("node", "leaf", "verdict", " best out", " best in", " latency", "reason")
    for node in nodes:
        table.add_row(
            text(node.node),
            text(node.leaf),
            text(node.verdict.value),
            units.bandwidth(node.best_out_bytes_per_s),
            units.bandwidth(node.best_in_bytes_per_s),
            units.duration(node.best_latency_s),
            text(node.reason),
        )
    return table


def _closing(run: RunInfo, judgement: Judgement, facts: Mapping[str, NodeFacts]) -> Iterator[tuple[str, str]]:
    for label, known in (
        ("all pairs", medians(judgement)),
        ("peers", peers(judgement)),
        ("would see", could_show(judgement)),
    ):
        if known:
            yield label, known
    yield from loaded_text.summary(judgement.loaded)
    for state in judgement.lost or run.lost:
        yield "not measured", f"{state.node}: {state.reason}" + ("" if state.fault else " (no fault)")
    for difference in differences(facts):
        yield "nodes differ", difference
    for note in judgement.notes:
        yield "note", note
    design = judgement.design or run.design
    if design is not None:
        yield "design", design.statement
    yield "run", f"{run.run}, {run.started}, {run.launcher}" + (f", job {run.job}" if run.job else "")
    yield "more", f"seatrial report {shlex.quote(clean(run.run))} --html report.html"
