"""How many ranks drive a port, for a terminal and as JSON."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from seatrial.commands.saturate.judge import Saturation
from seatrial.model import units
from seatrial.model.limit import Limit
from seatrial.model.run import RunInfo
from seatrial.render.json_text import finite, json_text
from seatrial.render.pair_json import limit_fields, outcome_fields
from seatrial.render.sheet import labelled, rendered, text
from seatrial.statistics.max_rate import MaxRate

if TYPE_CHECKING:
    from rich.console import RenderableType

FORMAT = 1


def saturation_as_text(found: Saturation, *, width: int = 100, colour: bool = False) -> str:
    """The report, at most `width` columns wide; ends in a newline."""
    return rendered(_blocks(found), width=width, colour=colour)


def _blocks(found: Saturation) -> Iterator["RenderableType"]:
    yield text(f"{found.word}  {found.pair[0]} to {found.pair[1]}: {found.reason}", "bold")
    if found.finding:
        yield text(found.finding)
    yield ""
    yield labelled(summary(found), indent=3)


def summary(found: Saturation) -> Iterator[tuple[str, str]]:
    """Label and text of each line, for every form of the report alike."""
    if isinstance(found.limit, Limit):
        yield "limit", f"{units.bandwidth(found.limit.limit_bytes_per_s)}, set by {found.limit.binding}"
    for one in found.by_ranks:
        latency = f"; latency {units.estimate(one.latency_s, units.LATENCY)}" if one.latency_s else ""
        yield rank_count(one.ranks), f"{units.estimate(one.bandwidth_bytes_per_s, units.BANDWIDTH)}{latency}"
    if found.by_ranks:
        yield "at", f"messages of {units.size(found.message_bytes)}"
    if found.ranks_needed:
        yield "needed", f"{found.ranks_needed} of those measured"
    if found.model:
        yield "model", _model(found.model)
    for note in found.notes:
        yield "note", note


def rank_count(ranks: int) -> str:
    """1 rank, 2 ranks."""
    return "1 rank" if ranks == 1 else f"{ranks} ranks"


def _model(model: MaxRate) -> str:
    def rate(value: float) -> str:
        return units.bandwidth(value) if math.isfinite(value) else "beyond what was measured"

    node, rank = model.node_bytes_per_s, model.rank_bytes_per_s
    return (
        f"start-up {units.duration(model.startup_s.value)}; "
        f"port {rate(node.value)} [{rate(node.low)}–{rate(node.high)}]; "
        f"one rank {rate(rank.value)} [{rate(rank.low)}–{rate(rank.high)}]; error {units.share(model.relative_error)}"
    )


def saturation_as_json(run: RunInfo, found: Saturation) -> str:
    """docs/saturate.md says what each field means."""
    content = {
        **outcome_fields(run, found, FORMAT),
        "finding": found.finding,
        "message_bytes": found.message_bytes,
        "by_ranks": msgspec.to_builtins(found.by_ranks),
        "by_size": msgspec.to_builtins(found.by_size),
        "ranks_needed": found.ranks_needed,
        "one_rank_share": msgspec.to_builtins(found.one_rank_share),
        "model": msgspec.to_builtins(found.model),
        **limit_fields(found.limit),
    }
    return json_text(finite(content))
