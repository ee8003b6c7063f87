"""What `seatrial site` says when the site is complete."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from seatrial.commands.site.addresses import INDEX, PAGE
from seatrial.model.errors import ExitCode
from seatrial.model.words import count
from seatrial.render.report import Block, Lines, Report

MOST_SHOWN = 5
"""Runs without a page that are named; the index has more."""


class SiteFields(msgspec.Struct, frozen=True, kw_only=True):
    """What was rendered; docs/site.md describes each field."""

    folder: Path
    runs: int
    nodes: int
    rendered: int
    kept: int
    removed: int
    unread: int
    left_out: tuple[str, ...]


def site_report(fields: SiteFields) -> Report:
    """The answer of the command: how much is there, and how much of it is new."""
    pages = f"{count(fields.rendered, 'page')} rendered, {fields.kept} kept"
    if fields.unread:
        pages += f"; {count(fields.unread, 'run')} cut off or unreadable"
    return Report(
        kind="site",
        answers=True,
        sentence=f"site of {count(fields.runs, 'run')} and {count(fields.nodes, 'node')}: {pages}",
        payload=lambda: fields,
        terminal=lambda _: _blocks(fields),
        exit_code=ExitCode.PASS,
    )


def _blocks(fields: SiteFields) -> Iterator[Block]:
    rows = [("open", str(fields.folder / f"{INDEX}{PAGE}"))]
    if fields.removed:
        rows.append(("removed", count(fields.removed, "page")))
    rows += [("left out" if place == 0 else "", text) for place, text in enumerate(fields.left_out[:MOST_SHOWN])]
    if (more := len(fields.left_out) - MOST_SHOWN) > 0:
        rows.append(("", f"and {count(more, 'more run')}: the index names them"))
    yield Lines(rows=tuple(rows))
