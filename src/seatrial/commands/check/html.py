"""The report as one HTML page that needs nothing from outside: no server, no network, no other file."""

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

from seatrial.commands.check import html_tables, loaded_text
from seatrial.commands.check.headline import could_show, headline, medians, peers
from seatrial.commands.check.heatmap import HeatMap, heat_map
from seatrial.commands.check.heatmap_plot import heat_map_data
from seatrial.model import units
from seatrial.model.facts import NodeFacts
from seatrial.model.judgement import Judgement
from seatrial.model.run import RunInfo
from seatrial.model.verdict import Finding
from seatrial.render import finding_text
from seatrial.render.escape import script_json
from seatrial.render.fact_differences import differences
from seatrial.render.pages import STYLE, environment, own_file

MOST_FINDINGS = 200
MOST_NODES = 64
"""Beyond these a cell of the heat map is all pairs from one leaf to another."""
_NONE = "'none'"


def as_html(run: RunInfo, judgement: Judgement, facts: Mapping[str, NodeFacts]) -> str:
    """The whole page. Its policy lists the hashes of our scripts, so that no text from outside can ever run."""
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    made_with = environment()
    heat = heat_map(judgement, run.fabric, most_nodes=MOST_NODES)
    has_plot = len(heat.labels) > 1 and bool(judgement.pairs)
    scripts = [get_plotlyjs(), own_file(made_with, "page.js")] if has_plot else []
    plot = script_json(heat_map_data(heat, judgement)) if has_plot else ""
    lost = judgement.lost or run.lost
    return made_with.get_template(
        "page.html.j2"
    ).render(
        run=run,
        headline=headline(run, judgement),
        findings=[_card(finding) for finding in judgement.findings[:MOST_FINDINGS]],
        findings_left_out=max(0, len(judgement.findings) - MOST_FINDINGS),
        policy=_policy(scripts),
        style=own_file(made_with, STYLE),
        scripts=[Markup(script) for script in scripts],  # noqa: S704 - our own files and plotly's
        plot=Markup(plot),  # noqa: S704 - escaped by script_json
        heat_map_note=_heat_map_note(heat),
        medians=medians(judgement),
        peers=peers(judgement),
        could_show=could_show(judgement),
        nodes=html_tables.nodes_table(judgement),
        loaded=loaded_text.leaves_table(judgement.loaded),
        loaded_rows=loaded_text.summary(judgement.loaded),
        pairs=html_tables.pairs_table(judgement),
        limits=html_tables.limits_table(judgement),
        facts=html_tables.facts_table(judgement, facts),
        differences=differences(facts),
        lost=lost[: html_tables.MOST_ROWS],
        lost_left_out=max(0, len(lost) - html_tables.MOST_ROWS),
        notes=judgement.notes,
        design=judgement.design or run.design,
        design_rows=html_tables.design_rows(judgement.design or run.design),
        run_rows=html_tables.run_rows(run),
    )


def _policy(scripts: list[str]) -> str:
    """Content-Security-Policy: nothing may be fetched, and only these very scripts may run."""
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts)
    return (
        f"default-src 'none'; script-src {hashes or _NONE}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _card(finding: Finding) -> dict[str, Any]:
    part = finding_text.of_limit(finding)
    return {
        **finding_text.card(finding),
        "subject": finding.subject.text,
        "share": None if part is None else units.share(part),
        "percent": None if part is None else round(max(0.0, min(1.0, part)) * 100, 1),
    }


def _heat_map_note(heat: HeatMap) -> str:
    told = "Rows send, columns receive. A cell without colour was not measured"
    told += f": {heat.blank} of {len(heat.labels) * (len(heat.labels) - 1)}, as designed." if heat.blank else "."
    if heat.by_leaf:
        told += " There are too many nodes to draw each: a cell is the worst of all pairs from one leaf to another. The"
        told += " worst leaves come first; point at a cell for the median of its pairs."
    if heat.left_out:
        told += f" The {len(heat.labels)} worst leaves are drawn; {heat.left_out} more are not."
    return told
