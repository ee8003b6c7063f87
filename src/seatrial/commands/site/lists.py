"""The index of a site and its list of runs: the map of nodes, what is open, what changed, what was measured."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

import msgspec

from seatrial.archive.listing import CLOSED, RunRow
from seatrial.commands.site.addresses import node_page, run_page
from seatrial.commands.site.past import VerdictChange
from seatrial.model.monitoring import NodeStanding
from seatrial.render.node_map import ago, standing_map
from seatrial.render.report import Block, Items, Paragraph, rows_table

MOST_OPEN = 200
MOST_RECENT = 20
MOST_PROBLEMS = 20
MINUTES = 16
"""Characters of 2026-11-21T08:00; what follows are seconds."""
OPEN_HEADS = ("node", "verdict", "~open", "=since", "run")
CHANGE_HEADS = ("node", "before", "verdict", "~what", "=when", "run")
RUN_HEADS = ("run", "kind", "=started", "ending", "#nodes", "~headline")


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the index shows. `left_out`: sentences on what has no page, and why."""

    nodes: Mapping[str, NodeStanding]
    leaf_of: Mapping[str, str]
    changes: Sequence[VerdictChange]
    runs: Mapping[str, RunRow]
    """All runs with a page by the stem of its file, the newest first."""
    left_out: Sequence[str]
    at: datetime


def stems(runs: Mapping[str, RunRow]) -> dict[str, str]:
    """The stem of each run's page by the name of the run."""
    return {row.run: stem for stem, row in reversed(list(runs.items()))}


def run_cell(run: str, pages: Mapping[str, str], up: str) -> str:
    """The name of a run, as a link where it has a page. `pages`: as `stems` makes them."""
    return run_page(run, pages[run], up) if run in pages else run


def time_cell(time: str) -> str:
    """2026-11-21 08:00: a time in UTC, ISO 8601, for a table."""
    return time[:MINUTES].replace("T", " ")


def index_blocks(listed: Listed) -> Iterator[Block]:
    """The blocks of the index, which is in the folder of the site."""
    pages = stems(listed.runs)
    nodes = [standing for standing in listed.nodes.values() if standing.is_node]
    yield from standing_map(nodes, listed.at, partial(node_page, up=""), listed.leaf_of)
    yield _open(listed, pages)
    yield rows_table(CHANGE_HEADS, (_change(change, pages) for change in listed.changes), None, "What changed lately")
    yield rows_table(RUN_HEADS, _runs(listed), MOST_RECENT, "Latest runs", "see all runs")
    yield _left_out(listed)


def run_list_blocks(listed: Listed) -> Iterator[Block]:
    """The blocks of the page of all runs."""
    yield rows_table(RUN_HEADS, _runs(listed), None)
    yield _left_out(listed)


def _open(listed: Listed, pages: Mapping[str, str]) -> Block:
    """Open findings, the gravest first."""
    faulty = sorted(
        (part for part in listed.nodes.values() if part.faults), key=lambda part: (-part.verdict.gravity, part.node)
    )
    rows = [
        (
            node_page(part.node, "") if part.is_node else part.node,
            fault.fault.verdict.value,
            fault.fault.text,
            f"{ago(fault.since, listed.at)} ago",
            run_cell(fault.run, pages, ""),
        )
        for part in faulty
        for fault in part.faults
    ]
    if not rows:
        return Paragraph(title="Open", text="No finding is open.")
    return rows_table(OPEN_HEADS, rows, MOST_OPEN, "Open", "the JSON has all")


def _change(change: VerdictChange, pages: Mapping[str, str]) -> tuple[str, ...]:
    return (
        node_page(change.node, ""),
        change.before.value,
        change.after.verdict.value,
        "; ".join(change.after.faults),
        time_cell(change.after.ended),
        run_cell(change.after.run, pages, ""),
    )


def _runs(listed: Listed) -> Iterator[tuple[str, ...]]:
    for stem, row in listed.runs.items():
        yield (
            run_page(row.run, stem, ""),
            row.kind,
            time_cell(row.started),
            row.ending if row.state == CLOSED else row.state,
            str(row.nodes or ""),
            row.headline or row.problem or row.unjudged,
        )


def _left_out(listed: Listed) -> Items:
    more = len(listed.left_out) - MOST_PROBLEMS
    rest = [f"and {more} more: `seatrial runs list` shows them"] if more > 0 else []
    return Items(title="Without a page", items=(*listed.left_out[:MOST_PROBLEMS], *rest))
