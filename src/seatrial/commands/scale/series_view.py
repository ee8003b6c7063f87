"""The runs of a scaling curve in its report, and what would be run."""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from seatrial.commands.scale.measured import ScaleSeries
from seatrial.commands.scale.series import Planned
from seatrial.model.node_list import node_list
from seatrial.model.words import count, verb
from seatrial.render.json import filled
from seatrial.render.report import Block, Items, Lines, Report, Table, columns

MOST_ROWS = 40


class PlaceFields(msgspec.Struct, frozen=True, kw_only=True):
    """One run, and where it is made."""

    run: str
    over: Literal["cores", "nodes", "own"]
    size: int
    nodes: tuple[str, ...]
    ranks: int


class ScalingRun(PlaceFields, frozen=True, kw_only=True):
    """One run that was made for a curve."""

    node_hours: float
    earlier: bool


class PlannedRun(PlaceFields, frozen=True, kw_only=True):
    """One run that would be made; `grown`: how much more work it has than that of the smallest size."""

    grown: float


class SeriesPreview(msgspec.Struct, frozen=True, kw_only=True):
    """The runs that would be made for a curve; docs/scale.md describes each field."""

    series: str
    node_hours: float
    runs: tuple[PlannedRun, ...]


def series_blocks(series: ScaleSeries) -> Iterator[Block]:
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
        payload=lambda: filled(
            SeriesPreview,
            series=name,
            node_hours=node_hours,
            runs=[filled(PlannedRun, item, item.place, run=item.name(name)) for item in planned],
        ),
        terminal=blocks,
        page=blocks,
    )
