"""The page of a node: what is open, what every run said of it, its pairs, its figures over time, and its facts."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

import msgspec
from msgspec import structs

from seatrial.commands.site.addresses import node_page
from seatrial.commands.site.lists import run_cell, time_cell
from seatrial.commands.site.past import MOST_LOOKS, Look
from seatrial.drift.changes import FactDrift
from seatrial.drift.fact_words import fact_name, value_text
from seatrial.model import units
from seatrial.model.facts import NodeFacts
from seatrial.model.measurement import Estimate, Kernel, Measurement
from seatrial.model.monitoring import NodeStanding
from seatrial.model.verdict import Verdict
from seatrial.render.escape import shorten
from seatrial.render.gpu_node import device_map
from seatrial.render.node_trials import MAIN
from seatrial.render.plots import Axis, Plot, round_steps
from seatrial.render.report import Block, Lines, PageLink, Report, rows_table
from seatrial.render.run_plot import RunValue, in_order, over_runs

MOST_DRAWN = 6
"""Pairs of a node whose samples its page draws, the gravest: as many colours are easily kept apart."""
MOST_SAMPLES = 120
"""Samples of one pair, the first."""
MOST_LETTERS = 14
"""Characters of a pair beside its curve."""
Pair = tuple[str, str]


class PairSamples(msgspec.Struct, frozen=True, kw_only=True):
    """The rates of one ordered pair, a sample each window of messages, in the order in which they were measured."""

    source: str
    target: str
    bytes_per_s: tuple[float, ...]


def samples_of(measurements: Iterable[Measurement], pairs: Collection[Pair]) -> dict[Pair, PairSamples]:
    """The samples of these pairs; a pair without any is left out."""
    rates: dict[Pair, list[float]] = {}
    for measurement in measurements:
        shape, pair = measurement.shape, (measurement.source, measurement.target)
        if pair in pairs and shape.kernel is Kernel.ONEWAY:
            window_bytes = shape.window_bytes
            rates.setdefault(pair, []).extend(window_bytes / time for time in measurement.times_s if time > 0)
    return {
        pair: PairSamples(source=pair[0], target=pair[1], bytes_per_s=tuple(values[:MOST_SAMPLES]))
        for pair, values in rates.items()
        if values
    }


def samples_plot(
    samples: Sequence[PairSamples], title: str = "Raw samples of its pairs: bandwidth, in the order of measuring"
) -> Plot | None:
    """All samples over each other; None where no pair has two."""
    named = {f"{pair.source}>{pair.target}": pair.bytes_per_s for pair in samples if len(pair.bytes_per_s) > 1}
    last = max(map(len, named.values()), default=1) - 1
    axis = Axis(
        low=0.0,
        high=float(last),
        logarithmic=False,
        ticks=tuple((place, f"{place + 1:.0f}") for place in round_steps(last)),
        title="samples in the order of measuring",
    )
    curves = [
        (
            shorten(name, MOST_LETTERS),
            [RunValue(run=name, date=f"sample {number}", value=rate) for number, rate in enumerate(rates, start=1)],
        )
        for name, rates in named.items()
    ]
    return in_order(title, curves, units.bandwidth, axis, "bandwidth of one window of messages")


MOST_PAIRS = 40
"""Pairs of a node in the page, the gravest first; all are in the JSON of the run."""
DAY = 10
"""Characters of 2026-11-21."""
MOST_FACTS = 30
"""Changed facts in the page, those first that are known to cost most."""
CHANGED_HEADS = ("~fact", "~before", "~now")
FAULT_HEADS = ("verdict", "~open", "=since", "run")
LOOK_HEADS = ("run", "=ended", "verdict", "#of the limit", "~found")
PAIR_HEADS = ("from", "to", "verdict", "#bandwidth", "#of the limit", "#latency", "~why")


class SitePair(msgspec.Struct, frozen=True, kw_only=True):
    """One ordered pair of a node, as the report of the run has it."""

    source: str
    target: str
    verdict: Verdict
    reason: str = ""
    bandwidth_bytes_per_s: Estimate | None = None
    latency_s: Estimate | None = None
    of_limit: float | None = None


class SiteNodeFields(msgspec.Struct, frozen=True, kw_only=True):
    """A node after all runs of an archive; docs/site.md describes each field."""

    node: NodeStanding
    leaf: str
    looks: tuple[Look, ...]
    pairs_run: str
    pairs: tuple[SitePair, ...]
    samples: tuple[PairSamples, ...]
    facts_run: str
    facts: NodeFacts | None
    facts_since: str
    changed_facts: tuple[FactDrift, ...]


def node_report(
    fields: SiteNodeFields, pages: Mapping[str, str], nodes: Mapping[str, NodeStanding], facts: Iterable[Block]
) -> Report:
    """The report of a node. `pages`: the stems of runs with a page; `nodes`: those with a page; `facts`: its last
    block.
    """
    standing = fields.node
    open_ = standing.faults[0].fault.text if standing.faults else "nothing open"
    return Report(
        kind="site node",
        word=standing.verdict.value,
        sentence=f"{standing.node}: {open_}",
        payload=lambda: fields,
        page=lambda: [*_blocks(fields, pages, nodes), *facts],
        about=tuple(text for text in (fields.leaf, f"last judged {time_cell(standing.judged)} UTC") if text),
    )


def _blocks(fields: SiteNodeFields, pages: Mapping[str, str], nodes: Mapping[str, NodeStanding]) -> Iterator[Block]:
    standing = fields.node
    faults = (
        (fault.fault.verdict.value, fault.fault.text, time_cell(fault.since), run_cell(fault.run, pages, "../"))
        for fault in standing.faults
    )
    yield rows_table(FAULT_HEADS, faults, None, "Open")
    yield from filter(None, (share_plot(fields.looks), *trial_plots(fields.looks), samples_plot(fields.samples)))
    pairs = rows_table(
        PAIR_HEADS, (_pair(pair, standing.node, nodes) for pair in fields.pairs), None, f"Pairs in {fields.pairs_run}"
    )
    cut = "The page of the run has the others." if len(fields.pairs) == MOST_PAIRS else ""
    yield structs.replace(pairs, left_out=cut)
    looks = rows_table(LOOK_HEADS, (_look(look, pages) for look in fields.looks), None, "Runs")
    cut = f"The newest {MOST_LOOKS} runs." if len(fields.looks) == MOST_LOOKS else ""
    yield structs.replace(looks, left_out=cut)
    changes = (
        (fact_name(change.fact), value_text(change.fact, change.before), value_text(change.fact, change.after))
        for change in fields.changed_facts
    )
    title = f"Facts that changed since {fields.facts_since}"
    yield rows_table(CHANGED_HEADS, changes, MOST_FACTS, title, "the JSON has all")
    best = _best(fields)
    aside = "" if best is None else f"The best pair of the node carried {units.bandwidth(best)}."
    if fields.facts is not None and (devices := device_map(fields.facts, aside)) is not None:
        yield devices
        yield devices.table
    yield Lines(title="Clocks and heat before the last run", rows=tuple(_condition(standing)))


def _best(fields: SiteNodeFields) -> float | None:
    """What the best pair that begins at the node carried."""
    own = [pair.bandwidth_bytes_per_s for pair in fields.pairs if pair.source == fields.node.node]
    return max((each.value for each in own if each is not None), default=None)


def _look(look: Look, pages: Mapping[str, str]) -> tuple[str, ...]:
    return (
        run_cell(look.run, pages, "../"),
        time_cell(look.ended),
        look.verdict.value,
        "" if look.of_limit is None else units.share(look.of_limit),
        "; ".join(look.faults),
    )


def _pair(pair: SitePair, node: str, nodes: Mapping[str, NodeStanding]) -> tuple[str, ...]:
    ends: list[str] = [
        PageLink(name, node_page(name).href) if name in nodes and name != node else name
        for name in (pair.source, pair.target)
    ]
    return (
        *ends,
        pair.verdict.value,
        units.estimate(pair.bandwidth_bytes_per_s, units.BANDWIDTH) if pair.bandwidth_bytes_per_s else "",
        "" if pair.of_limit is None else units.share(pair.of_limit),
        units.estimate(pair.latency_s, units.LATENCY) if pair.latency_s else "",
        pair.reason,
    )


def _condition(standing: NodeStanding) -> Iterator[tuple[str, str]]:
    condition = standing.condition
    if condition is None:
        return
    if condition.clocks_hz:
        yield "clocks", ", ".join(f"{clock / 1e9:.2f} GHz" for clock in condition.clocks_hz) + " (least, median, most)"
    if condition.hottest_celsius is not None:
        yield "hottest", f"{condition.hottest_celsius:.0f} °C"
    if condition.power_w is not None:
        yield "power", f"{condition.power_w:.0f} W"
    if condition.throttle_events is not None:
        yield "throttled", f"{condition.throttle_events} times since boot"


def trial_plots(looks: Sequence[Look]) -> Iterator[Plot]:
    """Each main figure of the node's trials over the runs that tried it; none for fewer than two."""
    for measure in MAIN:
        values = [
            RunValue(run=look.run, date=look.ended[:DAY], value=look.figures[measure])
            for look in reversed(looks)
            if measure in look.figures
        ]
        say = partial(units.quantity, metric=measure.metric)
        if (plot := over_runs(f"Trials: {measure.label}", values, say, what=measure.label)) is not None:
            yield plot


def share_plot(looks: Sequence[Look]) -> Plot | None:
    """The share of the limit over the runs that measured it; None for fewer than two."""
    measured = [(look, look.of_limit) for look in reversed(looks) if look.of_limit is not None]
    values = [RunValue(run=look.run, date=look.ended[:DAY], value=share) for look, share in measured]
    return over_runs("Share of the limit that its best pairs reach", values, units.share, what="share of the limit")
