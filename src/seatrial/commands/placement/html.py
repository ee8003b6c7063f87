"""Where ranks are, as one page without scripts: cores drawn with the ranks on them, now and as advised."""

import shlex
from collections.abc import Sequence
from itertools import groupby

from seatrial.commands.placement.gain import Gain
from seatrial.commands.placement.judge import Placement
from seatrial.commands.placement.map import box_title, loose_text, node_title
from seatrial.commands.placement.picture import CoreCell, NodePicture, NumaBox
from seatrial.commands.placement.text import HEADINGS, advised_row, headline, lines, row_cells
from seatrial.launch.line_options import Dialect
from seatrial.model import units
from seatrial.model.measurement import Estimate
from seatrial.model.run import RunInfo
from seatrial.node.processor_sets import numbers
from seatrial.render import finding_text
from seatrial.render.json_text import Json
from seatrial.render.pages import STYLE, environment, own_file

MOST_PICTURES = 24
TOLD = ("asked", "by srun", "by Hydra", "Open MPI")
"""Of the terminal's lines; the others have a place of their own."""
MOST_ROWS = 500


def placement_as_html(run: RunInfo, found: Placement) -> str:
    """The whole page; everything from outside is cleaned and escaped."""
    made_with = environment()
    advice = found.advice
    rankfile = advice.rankfile.splitlines() if advice and found.dialect is Dialect.OPEN_MPI else []
    left_out = sum(len(picture.nodes) for picture in found.pictures[MOST_PICTURES:])
    return made_with.get_template("placement.html.j2").render(
        run=run,
        word=found.verdict.value,
        sentence=headline(found),
        style=own_file(made_with, STYLE),
        findings=[finding_text.card(finding) for finding in found.findings],
        command=shlex.join(found.advised_line),
        rankfile=rankfile if found.advised_line else [],
        proofs=[_proof(gain) for gain in found.gains],
        nodes=[_node(picture, advised_row(found)) for picture in found.pictures[:MOST_PICTURES]],
        nodes_left_out=left_out,
        summary=[(label, words) for label, words in lines(found) if label in TOLD],
        notes=found.notes,
        head=[advised_row(found) if name == "advised" else name for name in HEADINGS],
        rows=[row_cells(row) for row in found.rows[:MOST_ROWS]],
        rows_left_out=max(len(found.rows) - MOST_ROWS, 0),
    )


def _node(picture: NodePicture, advised: str) -> Json:
    sides = [_side(picture, "now")] + ([_side(picture, advised)] if picture.advised else [])
    return {
        "title": node_title(picture),
        "loose": [loose_text(loose) for loose in picture.loose],
        "sides": sides,
    }


def _side(picture: NodePicture, name: str) -> Json:
    """All sockets of a node with the ranks of one placement."""
    roaming = {core for loose in picture.loose for core in loose.cores} if name == "now" else set[int]()
    sockets = groupby(sorted(picture.boxes, key=_socket), key=_socket)
    return {
        "title": name,
        "sockets": [[_box(box, name == "now", roaming) for box in boxes] for _, boxes in sockets],
    }


def _socket(box: NumaBox) -> int:
    return -1 if box.package is None else box.package


def _box(box: NumaBox, now: bool, roaming: set[int]) -> Json:
    return {
        "title": box_title(box),
        "near": bool(box.adapters),
        "cells": [_cell(core, core.now if now else core.advised, core.first in roaming) for core in box.cores],
    }


def _cell(core: CoreCell, ranks: Sequence[int], roaming: bool) -> Json:
    """`kind`: the class by which the style colours it."""
    if len(ranks) > 1:
        kind = "shared"
    elif ranks:
        kind = "one"
    else:
        kind = "roaming" if roaming else "free" if core.ours else "foreign"
    said = {
        "shared": f"ranks {numbers(ranks)}",
        "one": f"rank {numbers(ranks)}",
        "roaming": "ranks that are not bound",
        "free": "no rank",
        "foreign": "not this job's",
    }[kind]
    text = "" if not ranks else ",".join(map(str, ranks)) if len(ranks) <= 2 else f"{len(ranks)}×"
    return {"core": core.first, "kind": kind, "text": text, "title": f"core {core.first}: {said}"}


def _proof(gain: Gain) -> Json:
    """Places of both intervals on one axis from zero to the greatest value, in per cent of its width."""
    most = max(gain.asked.high, gain.advised.high) * 1.05

    def bar(name: str, one: Estimate) -> Json:
        low, value, high = (round(100 * each / most, 2) for each in (one.low, one.value, one.high))
        return {"name": name, "low": low, "value": value, "high": high, "text": units.estimate(one, gain.metric)}

    name = "Bandwidth" if gain.metric == units.BANDWIDTH else "Latency"
    better = "longer is better" if gain.metric == units.BANDWIDTH else "shorter is better"
    return {
        "title": f"{name}, {better}",
        "text": f"{gain.text}: {gain.outcome.value}",
        "bars": [bar("as it is", gain.asked), bar("as advised", gain.advised)],
    }
