"""The runs of a scaling curve in its report, and what would be run."""

from collections.abc import Iterator, Sequence

from seatrial.commands.scale.measured import Series
from seatrial.commands.scale.series import Planned
from seatrial.model.node_list import node_list
from seatrial.model.words import count, verb
from seatrial.render.json import Json
from seatrial.render.report import Block, Items, Lines, Report, Table, columns

MOST_ROWS = 40


def series_fields(series: Series | None) -> Json:
    """docs/scale.md describes each field. A curve of files has no runs."""
    runs = series.runs if series else ()
    return {
        "series": series.name if series else "",
        "left": list(series.left) if series else [],
        "node_hours": series.node_hours if series else 0.0,
        "runs": [
            {
                "run": run.run,
                "over": run.place.over,
                "size": run.place.size,
                "nodes": list(run.place.nodes),
                "ranks": run.ranks,
                "node_hours": run.node_hours,
                "earlier": run.earlier,
            }
            for run in runs
        ],
    }


def series_blocks(series: Series) -> Iterator[Block]:
    """What could not be run, and where the runs are."""
    if series.left:
        yield Items(title="Not measured", items=series.left)
    earlier = sum(run.earlier for run in series.runs)
    before = f", {earlier} of them earlier" if earlier else ""
    rows = [
        ("runs", f"{len(series.runs)} of {series.planned}{before}; seatrial report {series.name}-..."),
        ("node-hours", f"{series.node_hours:.3g}"),
    ]
    yield Lines(title="Series", rows=tuple(rows))


def preview_report(name: str, planned: Sequence[Planned], node_hours: float) -> Report:
    """The runs in their order, and what they take together."""
    takes = f"at most {node_hours:.2f} node-hours" if node_hours else "no allocation"

    def blocks(_: int = 0) -> Iterator[Block]:
        yield Lines(rows=(("series", name), ("runs", count(len(planned), "run")), ("takes", takes)))
        left = len(planned) - MOST_ROWS
        yield Table(
            title="Runs in order",
            columns=columns("run", "nodes", "#ranks", "#work"),
            rows=tuple(
                (
                    item.name(name),
                    node_list(item.place.nodes) or "this machine",
                    str(item.place.ranks or "all cores"),
                    f"{item.grown:g}",
                )
                for item in planned[:MOST_ROWS]
            ),
            left_out=f"{count(left, 'more run')} {verb(left)} in the JSON report." if left > 0 else "",
        )

    return Report(
        kind="dry-run",
        payload=lambda: {
            "series": name,
            "node_hours": node_hours,
            "runs": [
                {
                    "run": item.name(name),
                    "over": item.place.over,
                    "size": item.place.size,
                    "nodes": list(item.place.nodes),
                    "ranks": item.place.ranks,
                    "grown": item.grown,
                }
                for item in planned
            ],
        },
        terminal=blocks,
        page=blocks,
    )
