"""How many ranks drive a port: the report of `seatrial link --ranks-per-node`."""

import math
from collections.abc import Iterator

from seatrial.commands.link.saturate.judge import AtOnce, AtSize, Saturation
from seatrial.model import units
from seatrial.model.limit import Limit, NoLimit
from seatrial.model.measurement import Estimate
from seatrial.model.run import RunInfo
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count, verb
from seatrial.render.curves import overlaid
from seatrial.render.json import filled
from seatrial.render.pair_view import PairOutcome, limit_levels, limit_text, pair_report, range_text, value_text
from seatrial.render.plots import Plot
from seatrial.render.report import Block, Cells, Report, record_table
from seatrial.statistics.max_rate import MaxRate
from seatrial.statistics.segments import Interval


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
        rows=_summary(saturation),
        page=lambda: _page(saturation),
    )


def _most(saturation: Saturation) -> str:
    """`2 ranks drive the port, 232.0 MB/s, 1 rank 94 % of that; `: the fewest ranks that deliver what the best do."""
    by_ranks = {at_once.ranks: at_once.bandwidth_bytes_per_s.value for at_once in saturation.by_ranks}
    needed = saturation.ranks_needed
    if not needed or needed not in by_ranks:
        return ""
    single = f", 1 rank {units.share(by_ranks[1] / by_ranks[needed])} of that" if needed > 1 and by_ranks.get(1) else ""
    drive = f"{count(needed, 'rank')} {verb(needed, 'drives', 'drive')} the port"
    return f"{drive}, {units.bandwidth(by_ranks[needed])}{single}; "


def _page(saturation: Saturation) -> Iterator[Block]:
    if (plot := _plot(saturation)) is not None:
        yield plot
    yield record_table(SIZES, saturation.by_size, None, "All sizes")
    timed = (at_once for at_once in saturation.by_ranks if at_once.latency_s)
    yield record_table(LATENCIES, timed, None, "Small messages while all of these ranks communicate")


def _summary(saturation: Saturation) -> Iterator[tuple[str, str]]:
    """Label and text of each line."""
    if isinstance(saturation.limit, Limit):
        yield "limit", limit_text(saturation.limit)
    for one in saturation.by_ranks:
        latency = f"; latency {units.estimate(one.latency_s, units.LATENCY)}" if one.latency_s else ""
        rate = f"; {_message_rate(one.message_rate_per_s)}" if one.message_rate_per_s else ""
        bandwidth = units.estimate(one.bandwidth_bytes_per_s, units.BANDWIDTH)
        yield count(one.ranks, "rank"), f"{bandwidth}{latency}{rate}"
    if saturation.by_ranks:
        yield "at", f"messages of {units.size(saturation.message_bytes)}"
    if saturation.ranks_needed:
        yield "needed", f"{saturation.ranks_needed} of those measured"
    if saturation.model:
        yield "model", _model(saturation.model)


def _message_rate(rate: Estimate) -> str:
    """3.2 M messages/s, range 3.1-3.3."""
    spread = f", {units.prefixed(rate.value, rate.low, rate.high)}" if rate.runs > 1 else ""
    return f"{units.prefixed(rate.value)} messages/s{spread}"


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


def _plot(saturation: Saturation) -> Plot | None:
    """Bandwidth from zero over ranks by their logarithm, one line a message size, the largest first."""
    by_size: dict[int, dict[float, Estimate]] = {}
    for one in reversed(saturation.by_size):
        by_size.setdefault(one.message_bytes, {})[one.ranks] = one.bandwidth_bytes_per_s
    return overlaid(
        "Bandwidth over ranks at once",
        [(units.size(size), by_ranks) for size, by_ranks in by_size.items()],
        size_text=lambda ranks: count(int(ranks), "rank"),
        value_text=units.bandwidth,
        ends_text=lambda value: units.ends(value.value, value.low, value.high, units.BANDWIDTH),
        quantities=("ranks of each node that send at once", "bandwidth of all ranks"),
        levels=limit_levels([("limit", saturation.limit)]),
        linear=True,
    )


SIZES: Cells[AtSize] = {
    "#size": lambda at_size: units.size(at_size.message_bytes),
    "#ranks at once": lambda at_size: str(at_size.ranks),
    "#bandwidth": lambda at_size: units.bandwidth(at_size.bandwidth_bytes_per_s.value),
    "#range": lambda at_size: range_text(at_size.bandwidth_bytes_per_s, units.BANDWIDTH),
}
LATENCIES: Cells[AtOnce] = {
    "#ranks at once": lambda at_once: str(at_once.ranks),
    "#latency": lambda at_once: value_text(at_once.latency_s, units.duration),
    "#range": lambda at_once: range_text(at_once.latency_s, units.LATENCY),
    "#messages/s": lambda at_once: value_text(at_once.message_rate_per_s, units.prefixed),
}
