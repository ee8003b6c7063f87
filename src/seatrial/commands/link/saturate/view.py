"""How many ranks drive a port: the report of `seatrial link --ranks-per-node`."""

import math
from collections.abc import Iterator, Sequence

from seatrial.commands.link.saturate.judge import AtOnce, AtSize, Saturation
from seatrial.model import units
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.measurement import Estimate
from seatrial.model.run import RunInfo
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count
from seatrial.render.curves import runs_text
from seatrial.render.json import filled
from seatrial.render.pair_view import PairOutcome, limit_text, pair_report
from seatrial.render.plots import Axis, Plot, Point, Series, round_steps
from seatrial.render.report import Block, Cells, Report, record_table, rows_table
from seatrial.statistics.max_rate import MaxRate
from seatrial.statistics.segments import Interval

LATENCY_HEAD = ("#ranks at once", "#latency", "#range", "#messages/s")


class SaturationFields(PairOutcome, frozen=True, kw_only=True):
    """How many ranks drive the port of a pair; docs/saturate.md describes each field."""

    finding: str
    message_bytes: int
    by_ranks: tuple[AtOnce, ...]
    by_size: tuple[AtSize, ...]
    ranks_needed: int | None
    one_rank_share: Estimate | None
    model: MaxRate | None
    limit: Limit | NoLimit


def saturation_report(run: RunInfo, saturation: Saturation) -> Report:
    """The whole report."""
    return pair_report(
        run,
        saturation,
        f"{_most(saturation)}{saturation.reason}",
        payload=lambda: filled(
            SaturationFields,
            saturation,
            finding=next(
                (one.statement for one in saturation.findings if one.kind is FindingKind.PORT_NEEDS_RANKS), ""
            ),
        ),
        rows=summary(saturation),
        page=lambda: _page(saturation),
    )


def _most(saturation: Saturation) -> str:
    """`2 ranks drive the port, 232.0 MB/s, 1 rank 94 % of that; `: the fewest ranks that deliver what the best do."""
    by_ranks = {at_once.ranks: at_once.bandwidth_bytes_per_s.value for at_once in saturation.by_ranks}
    needed = saturation.ranks_needed
    if not needed or needed not in by_ranks:
        return ""
    verb = "drives" if needed == 1 else "drive"
    single = f", 1 rank {units.share(by_ranks[1] / by_ranks[needed])} of that" if needed > 1 and by_ranks.get(1) else ""
    return f"{count(needed, 'rank')} {verb} the port, {units.bandwidth(by_ranks[needed])}{single}; "


def _page(saturation: Saturation) -> Iterator[Block]:
    if saturation.by_size:
        yield bandwidth_plot(saturation)
        yield record_table(SIZES, saturation.by_size, None, "All sizes")
    title = "Small messages while all of these ranks communicate"
    yield rows_table(LATENCY_HEAD, _latencies(saturation), None, title)


def summary(saturation: Saturation) -> Iterator[tuple[str, str]]:
    """Label and text of each line."""
    if isinstance(saturation.limit, Limit):
        yield "limit", limit_text(saturation.limit)
    for one in saturation.by_ranks:
        latency = f"; latency {units.estimate(one.latency_s, units.LATENCY)}" if one.latency_s else ""
        rate = f"; {message_rate(one.message_rate_per_s)}" if one.message_rate_per_s else ""
        yield rank_count(one.ranks), f"{units.estimate(one.bandwidth_bytes_per_s, units.BANDWIDTH)}{latency}{rate}"
    if saturation.by_ranks:
        yield "at", f"messages of {units.size(saturation.message_bytes)}"
    if saturation.ranks_needed:
        yield "needed", f"{saturation.ranks_needed} of those measured"
    if saturation.model:
        yield "model", _model(saturation.model)
    for note in saturation.notes:
        yield "note", note


def message_rate(rate: Estimate) -> str:
    """3.2 M messages/s, range 3.1-3.3."""
    spread = f", {units.prefixed(rate.value, rate.low, rate.high)}" if rate.runs > 1 else ""
    return f"{units.prefixed(rate.value)} messages/s{spread}"


def rank_count(ranks: int) -> str:
    """1 rank, 2 ranks."""
    return "1 rank" if ranks == 1 else f"{ranks} ranks"


def _model(model: MaxRate) -> str:
    """Start-up, port and one rank with their intervals; what these ranks and sizes do not show has no number."""
    start = model.startup_s
    return "; ".join(
        (
            f"start-up {units.duration(start.value)}" if start.value > 0 else "start-up too short to see",
            f"port {_model_rate(model.node_bytes_per_s, 'not reached by these ranks')}",
            f"one rank {_model_rate(model.rank_bytes_per_s, 'not seen apart from the port')}",
            f"error {units.share(model.relative_error)}",
        )
    )


def _model_rate(rate: Interval, unseen: str) -> str:
    if not math.isfinite(rate.value):
        return unseen
    if not math.isfinite(rate.high):
        return f"{units.bandwidth(rate.value)}, at least {units.bandwidth(rate.low)}"
    return f"{units.bandwidth(rate.value)}, range {units.ends(rate.value, rate.low, rate.high, units.BANDWIDTH)}"


def bandwidth_plot(saturation: Saturation) -> Plot:
    """Ranks by their logarithm, bandwidth from zero; one line a message size, the largest first."""
    limit = saturation.limit if isinstance(saturation.limit, Limit) else None
    limit_bytes_per_s = limit.limit_bytes_per_s if limit else 0.0
    top = max(limit_bytes_per_s, *(one.bandwidth_bytes_per_s.high for one in saturation.by_size)) * 1.1
    counts = sorted({one.ranks for one in saturation.by_size})
    sizes = sorted({one.message_bytes for one in saturation.by_size}, reverse=True)
    return Plot(
        title="Bandwidth over ranks at once",
        x=Axis(
            low=counts[0],
            high=max(counts[-1], 2 * counts[0]),
            logarithmic=True,
            ticks=tuple((ranks, rank_count(ranks)) for ranks in counts),
            title="ranks of each node that send at once",
        ),
        y=Axis(
            low=0.0,
            high=top,
            logarithmic=False,
            ticks=tuple((value, units.bandwidth(value)) for value in round_steps(top)),
            title=f"bandwidth of all ranks; {runs_text([one.bandwidth_bytes_per_s for one in saturation.by_size])}",
        ),
        series=tuple(_series([one for one in saturation.by_size if one.message_bytes == size]) for size in sizes),
        levels=((limit_bytes_per_s, f"limit {limit_text(limit)}"),) if limit else (),
    )


def _series(points: Sequence[AtSize]) -> Series:
    return Series(label=units.size(points[0].message_bytes), points=tuple(map(_point, points)))


def _point(one: AtSize) -> Point:
    value = one.bandwidth_bytes_per_s
    text = units.estimate(value, units.BANDWIDTH)
    return Point(
        x=one.ranks,
        y=value.value,
        low=value.low,
        high=value.high,
        x_text=rank_count(one.ranks),
        y_text=units.bandwidth(value.value),
        hover=f"{units.size(one.message_bytes)}, {rank_count(one.ranks)}: {text}",
    )


def _range(value: Estimate, metric: str) -> str:
    return units.ends(value.value, value.low, value.high, metric) if value.runs > 1 else ""


SIZES: Cells[AtSize] = {
    "#size": lambda at_size: units.size(at_size.message_bytes),
    "#ranks at once": lambda at_size: str(at_size.ranks),
    "#bandwidth": lambda at_size: units.bandwidth(at_size.bandwidth_bytes_per_s.value),
    "#range": lambda at_size: _range(at_size.bandwidth_bytes_per_s, units.BANDWIDTH),
}


def _latencies(saturation: Saturation) -> Iterator[tuple[str, ...]]:
    for one in saturation.by_ranks:
        if (took := one.latency_s) is not None:
            spread = units.ends(took.value, took.low, took.high, units.LATENCY) if took.runs > 1 else ""
            rate = one.message_rate_per_s
            yield str(one.ranks), units.duration(took.value), spread, units.prefixed(rate.value) if rate else ""
