"""The page's drawings of all pairs: a matrix and a distribution for bandwidth, and the same for latency."""

from collections.abc import Callable, Iterator

from seatrial.commands.check.heatmap import Cell, HeatMap
from seatrial.locate.thresholds import LIMIT_FLOOR
from seatrial.model import units
from seatrial.model.judgement import Judgement
from seatrial.model.measurement import Estimate
from seatrial.model.verdict import Verdict
from seatrial.model.words import count
from seatrial.render.distribution import Distribution, Reference, of_verdicts
from seatrial.render.matrix import LETTERS, MOST_NUMBERED, Matrix, MatrixCell, shade_of, verdict_key

MOST_LIMITS = 3
"""Different limits that a distribution draws; of more the least and the greatest."""


def matrices(heat: HeatMap, judgement: Judgement) -> Iterator[Matrix]:
    """Bandwidth, then latency; a metric that no pair has is left out."""
    of = "limit" if any(pair.limit for pair in judgement.pairs) else "peers"
    peers, latency = judgement.peers_bandwidth_bytes_per_s, judgement.peers_latency_s
    if any(cell.bandwidth_bytes_per_s for cell in heat.cells.values()):
        yield _matrix(
            heat,
            f"Bandwidth in % of the {of}",
            lambda cell: cell.bandwidth_verdict,
            lambda cell: "" if cell.share is None else f"{cell.share * 100:.0f}",
            lambda cell: _ratio(cell.bandwidth_bytes_per_s, peers),
            _of_bandwidth,
        )
    if any(cell.latency_s for cell in heat.cells.values()):
        scale = units.time_scale(latency or max(cell.latency_s.value for cell in heat.cells.values() if cell.latency_s))
        yield _matrix(
            heat,
            f"One-way latency in {scale.unit}",
            lambda cell: cell.latency_verdict,
            lambda cell: f"{cell.latency_s.value / scale.per_unit:.3g}" if cell.latency_s else "",
            lambda cell: 1 / ratio if (ratio := _ratio(cell.latency_s, latency)) else None,
            lambda cell, _: units.estimate(cell.latency_s, units.LATENCY) if cell.latency_s else "",
        )


def _ratio(measured: Estimate | None, peers: float | None) -> float | None:
    return measured.value / peers if measured and peers else None


def _matrix(
    heat: HeatMap,
    caption: str,
    verdict: Callable[[Cell], Verdict],
    number: Callable[[Cell], str],
    quality: Callable[[Cell], float | None],
    details: Callable[[Cell, bool], str],
) -> Matrix:
    """`quality`: over the peers', 1 for as good as they are. `details`: what to say of a cell, and whether by leaf."""
    numbered = len(heat.labels) <= MOST_NUMBERED
    cells = []
    for (row, column), cell in sorted(heat.cells.items()):
        of = verdict(cell)
        cells.append(
            MatrixCell(
                row=row,
                column=column,
                style=of.value,
                shade=shade_of(of, quality(cell)),
                gravity=of.gravity,
                texts=(number(cell), LETTERS[of].strip()),
                quality=quality(cell),
                hover=_hover(cell, heat, (row, column), of, details) if numbered or of is not Verdict.PASS else "",
            )
        )
    return Matrix(
        caption=caption,
        labels=heat.labels,
        groups=("",) * len(heat.labels) if heat.by_leaf else heat.leaves,
        cells=tuple(cells),
        key=verdict_key(cells, len(heat.labels), "its peers"),
    )


def _hover(
    cell: Cell, heat: HeatMap, place: tuple[int, int], verdict: Verdict, details: Callable[[Cell, bool], str]
) -> str:
    pair = cell.slowest
    name = f"{heat.labels[place[0]]}>{heat.labels[place[1]]}"
    if heat.by_leaf:
        name += f" ({count(cell.pairs, 'pair')}, slowest {pair.source}>{pair.target})"
    parts = (name, verdict.value, details(cell, heat.by_leaf))
    return "; ".join(part for part in parts if part)


def _of_bandwidth(cell: Cell, by_leaf: bool) -> str:
    if cell.bandwidth_bytes_per_s is None:
        return ""
    number = units.estimate(cell.bandwidth_bytes_per_s, units.BANDWIDTH)
    if cell.share is None:
        return number
    middle = f", median {units.share(cell.median_share)}" if by_leaf and cell.median_share is not None else ""
    return f"{number}; {units.share(cell.share)} of the {'limit' if cell.slowest.limit else 'peers'}{middle}"


def distributions(judgement: Judgement) -> Iterator[Distribution]:
    """Bandwidth over ordered pairs, then latency over pairs; of a metric that no pair has there is none."""
    rates = [
        (pair.bandwidth_bytes_per_s.value, pair.on_bandwidth) for pair in judgement.pairs if pair.bandwidth_bytes_per_s
    ]
    if rates:
        yield _distribution(
            f"Bandwidth of {count(len(rates), 'ordered pair')}",
            rates,
            [*_limits(judgement), *_peers(judgement.peers_bandwidth_bytes_per_s, units.BANDWIDTH)],
            judgement,
            units.BANDWIDTH,
        )
    late = sorted((pair for pair in judgement.pairs if pair.latency_s), key=lambda pair: pair.on_latency.gravity)
    both = {frozenset((pair.source, pair.target)): pair for pair in late}
    times = [(pair.latency_s.value, pair.on_latency) for pair in both.values() if pair.latency_s]
    if times:
        yield _distribution(
            f"One-way latency of {count(len(times), 'pair')}",
            times,
            _peers(judgement.peers_latency_s, units.LATENCY),
            judgement,
            units.LATENCY,
        )


def _distribution(
    caption: str, values: list[tuple[float, Verdict]], references: list[Reference], judgement: Judgement, metric: str
) -> Distribution:
    references += [
        Reference(value=one.value, style="threshold", text=f"{one.text} {units.quantity(one.value, metric)}")
        for one in judgement.thresholds
        if one.metric == metric
    ]
    return of_verdicts(caption, values, references, lambda value: units.quantity(value, metric))


def _peers(value: float | None, metric: str) -> list[Reference]:
    return [Reference(value=value, style="peers", text=f"peers {units.quantity(value, metric)}")] if value else []


def _limits(judgement: Judgement) -> Iterator[Reference]:
    """The limits, and the share of the least below which a pair is slow whatever its peers do."""
    limits = sorted({pair.limit.limit_bytes_per_s for pair in judgement.pairs if pair.limit})
    shown = limits if len(limits) <= MOST_LIMITS else [limits[0], limits[-1]]
    for value in shown:
        yield Reference(value=value, style="limit", text=f"limit {units.bandwidth(value)}")
    if limits:
        floor = LIMIT_FLOOR * limits[0]
        text = f"{units.share(LIMIT_FLOOR)} of the limit, below it slow"
        yield Reference(value=floor, style="threshold", text=text)
