"""What uplinks and the whole fabric carry under load, for every form of the report."""

from seatrial.commands.check.html_tables import MOST_ROWS, Column, Table
from seatrial.model import units
from seatrial.model.judgement import LeafLoad, Loaded
from seatrial.model.subject import Direction
from seatrial.render.json_text import Json, finite, number

TEXTS = ("leaf", "way")
HEAD = (*TEXTS, "nodes", "together", "one at a time", "share", "of peers")
WORDS = {Direction.OUT: "sends", Direction.IN: "receives"}


def summary(loaded: Loaded | None) -> list[tuple[str, str]]:
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


def leaves_table(loaded: Loaded | None) -> Table:
    """One row a leaf and way, those that carry the least of what their peers do first."""
    leaves = sorted(loaded.leaves, key=_worst_first) if loaded else []
    shown = leaves[:MOST_ROWS]
    return Table(
        columns=tuple(Column(title=title, number=title not in TEXTS) for title in HEAD),
        rows=tuple(
            (
                one.leaf,
                WORDS[one.direction],
                str(one.nodes),
                units.estimate(one.bytes_per_s, units.BANDWIDTH),
                units.bandwidth(one.alone_bytes_per_s),
                units.share(one.share),
                units.share(one.of_peers),
            )
            for one in shown
        ),
        left_out="" if len(shown) == len(leaves) else f"The first {len(shown)} of {len(leaves)} are shown.",
    )


def _worst_first(one: LeafLoad) -> tuple[float, str, str]:
    return one.of_peers if one.of_peers is not None else 1.0, one.leaf, one.direction.value


def loaded_json(loaded: Loaded | None) -> Json | None:
    """The fields that docs/report.md describes."""
    if loaded is None:
        return None
    fields: Json = finite(loaded)
    for entry, one in zip(fields["leaves"], loaded.leaves, strict=True):
        entry["share"] = number(one.share)
    return fields
