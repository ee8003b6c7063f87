"""Spectra of pairs of ranks at several ranks per node: their modes and what explains these, pictures and a table.

Groups of pairs that cross the fabric alike are compared: those whose values lie apart are modes, and what the pairs of
a group share explains its mode. Groups whose values overlap are one mode.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from msgspec import structs

from seatrial.judgement.rank_notes import by_node
from seatrial.limits.rail_paths import shared_rails
from seatrial.locate.evidence import Pair, run_value
from seatrial.locate.thresholds import MOST_EFFECT
from seatrial.model.judgement import Spectrum, SpectrumMode, ranks_of, variant_of
from seatrial.model.measurement import Kernel, Measurement, Phase, node_of
from seatrial.model.run import RecordedRun
from seatrial.model.settings import PRACTICAL, CheckSettings
from seatrial.model.units import BANDWIDTH, LATENCY, quantity, share
from seatrial.model.words import count, some
from seatrial.node.rank_places import adapters_of, cores_of, known_cores
from seatrial.render.distribution import LEAST_COLUMNS, over_each_other, strips
from seatrial.render.plots import Plot
from seatrial.render.report import Cells, Drawing, Table, record_table
from seatrial.statistics.concurrent_flows import carried
from seatrial.statistics.estimates import FEWEST_ALIKE, median, robust_scale
from seatrial.statistics.fleets import judge_fleet, populations

MOST_QUANTILES = 200
LEAST_SHARE, NEARLY_ALL = 0.05, 0.9
"""Share of the values of a group that may be a mode of their own, and of the pairs of a mode that share what explains
it: a few may be disturbed."""
PEAKS_APART = 2.0
"""Two peaks are seen apart from this many standard deviations on: with less their sum has one maximum (Schilling,
Watkins and Watkins, The American Statistician 56, 2002)."""
NEAR, FAR = "within a leaf", "across leaves"
METRICS = {LATENCY: (Kernel.PINGPONG, "latency"), BANDWIDTH: (Kernel.ONEWAY, "bandwidth")}
ASIDE = (
    "A pair is rank i of a node with rank i of another, all ranks at once. Together: all ranks of a pair of nodes. A "
    "mode is apart from others; what its pairs share, and pairs of other modes do not, explains it."
)
Values = Mapping[Pair, float]


def spectra_of(recorded: RecordedRun) -> tuple[Spectrum, ...]:
    """All pairs of ranks at each number of ranks per node, latency first; empty where only one rank was measured."""
    if all(one.phase is not Phase.SATURATION for one in recorded.measurements):
        return ()
    runs: dict[tuple[str, int], list[Measurement]] = defaultdict(list)
    for measured in recorded.measurements:
        counts = measured.phase in (Phase.SURVEY, Phase.SATURATION) and measured.times_s and not measured.errors
        for metric, (kernel, _) in METRICS.items() if counts else ():
            if measured.shape.kernel is kernel:
                runs[metric, ranks_of(measured.variant)].append(measured)
    order = sorted(runs, key=lambda key: ([*METRICS].index(key[0]), key[1]))
    return tuple(_spectrum(recorded, metric, ranks, runs[metric, ranks]) for metric, ranks in order)


def all_ranks_measured(recorded: RecordedRun) -> bool:
    """Whether all pairs of the first repetition were measured with each number of ranks per node that was asked for."""
    settings = recorded.info.settings
    counts = (settings.ranks_per_node or ()) if isinstance(settings, CheckSettings) else ()
    if not counts:
        return True
    measured = {
        (one.shape.kernel, ranks_of(one.variant), one.pair)
        for one in recorded.measurements
        if one.phase in (Phase.SURVEY, Phase.SATURATION) and one.times_s and not one.repetition
    }
    pairs = Counter((kernel, ranks) for kernel, ranks, _ in measured)
    return all(pairs[kernel, ranks] >= ranks * pairs[kernel, 1] for kernel, _ in METRICS.values() for ranks in counts)


def _spectrum(recorded: RecordedRun, metric: str, ranks: int, runs: Iterable[Measurement]) -> Spectrum:
    by_pair: dict[Pair, list[float]] = defaultdict(list)
    for measured in runs:
        by_pair[measured.pair].append(run_value(measured))
    values = {pair: median(own) for pair, own in by_pair.items()}
    labels = _labels(recorded, ranks)
    drawn = sorted(values.values())
    chosen = np.linspace(0, len(drawn) - 1, min(len(drawn), MOST_QUANTILES)).round().astype(int)
    return Spectrum(
        ranks_per_node=ranks,
        metric=metric,
        pairs=len(values),
        median=median(drawn),
        together=_together(runs, ranks) if metric == BANDWIDTH else None,
        ranks_per_port=_ranks_per_port(recorded, ranks),
        modes=modes_of(values, labels),
        out_of_line=_out_of_line(values, labels, metric) if ranks > 1 else (),
        quantiles=tuple(drawn[place] for place in chosen),
    )


def _together(runs: Iterable[Measurement], ranks: int) -> float | None:
    """Bytes per second of all ranks of a pair of nodes while all of them send; None if all never did.

    Rates of ranks added up would count the time in which others waited, or had ended. A round that was repeated in
    parts is left out.
    """
    rounds: dict[tuple[Pair, int], list[Measurement]] = defaultdict(list)
    for measured in runs:
        nodes = (_node(measured.source, ranks), _node(measured.target, ranks))
        rounds[nodes, measured.repetition].append(measured)
    by_pair: dict[Pair, list[float]] = defaultdict(list)
    for (nodes, _), flows in rounds.items():
        if len(flows) == ranks <= flows[0].pairs_at_once:
            by_pair[nodes].append(carried(flows))
    return median([median(own) for own in by_pair.values()]) if by_pair else None


def _by_labels(values: Values, labels: Callable[[Pair], tuple[str, ...]]) -> Mapping[tuple[str, ...], list[float]]:
    alike: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for pair, value in values.items():
        alike[labels(pair)].append(value)
    return alike


def _out_of_line(values: Values, labels: Callable[[Pair], tuple[str, ...]], metric: str) -> tuple[str, ...]:
    """Nodes whose pairs are worse than what pairs with the same labels usually are; all were measured once only."""
    usual = {texts: median(own) for texts, own in _by_labels(values, labels).items()}
    by_node: dict[str, list[float]] = defaultdict(list)
    for pair, value in values.items():
        for place in pair:
            by_node[node_of(place)].append(value / usual[labels(pair)])
    if len(by_node) < FEWEST_ALIKE:
        return ()
    medians, larger = {node: [median(own)] for node, own in by_node.items()}, metric == BANDWIDTH
    fleet = judge_fleet(medians, higher_is_better=larger, effect=MOST_EFFECT[metric])
    return tuple(one.node for one in fleet.nodes if one.slow or one.suspected)


def spectrum_notes(spectra: Iterable[Spectrum]) -> Iterator[str]:
    """A sentence for each spectrum with nodes that are out of line."""
    for spectrum in spectra:
        if spectrum.out_of_line:
            named, (_, what) = some(spectrum.out_of_line), METRICS[spectrum.metric]
            ranks, first = spectrum.ranks_per_node, spectrum.out_of_line[0]
            yield (
                f"With {count(ranks, 'rank')} per node the {what} of {named} is worse than that of other nodes. It was "
                f"measured once: `seatrial link {first} NODE --ranks-per-node 1,{ranks}` beside a good NODE decides."
            )


def _node(place: str, ranks: int) -> str:
    return node_of(place) if ranks > 1 else place


def _ranks_per_port(recorded: RecordedRun, ranks: int) -> int | None:
    """Ranks over the ports that nodes share, rounded up; None where these are not known of two nodes."""
    facts = [recorded.facts[name] for name in recorded.info.nodes if name in recorded.facts][:2]
    ports = len(shared_rails(*facts).rails) if len(facts) > 1 else 0
    return -(-ranks // ports) if ports else None


def _labels(recorded: RecordedRun, ranks: int) -> Callable[[Pair], tuple[str, ...]]:
    """What is known of the way between two ranks: whether it crosses leaves, and the rail that is near the sender."""
    leaf_of, rail_of = recorded.info.fabric.leaf_of, _rails(recorded, variant_of(ranks))

    def labels(pair: Pair) -> tuple[str, ...]:
        leaves = [leaf_of.get(_node(place, ranks), "") for place in pair]
        ways = (NEAR if leaves[0] == leaves[1] else FAR) if all(leaves) else ""
        return tuple(filter(None, (ways, rail_of.get(pair[0], ""))))

    return labels


def _rails(recorded: RecordedRun, variant: str) -> dict[str, str]:
    """Rank by its place -> the only adapter on its NUMA node, and how many ranks are near that one.

    Nodes with a single adapter, and ranks that may run on several NUMA nodes, are left out.
    """
    texts = {}
    start = next((one for one in recorded.starts if one.variant == variant), None)
    for node, ranks in by_node(start.ranks).items() if start else ():
        facts = recorded.facts.get(node)
        adapters = adapters_of(facts).numa_nodes if facts else {}
        cores = known_cores(facts, ranks)
        near: dict[str, list[str]] = defaultdict(list)
        for rank in ranks if len(adapters) > 1 else ():
            numa_nodes = {cores[core].numa_node for core in cores_of(cores, rank.cpus)}
            names = [name for name, numa_node in adapters.items() if {numa_node} == numa_nodes]
            if len(names) == 1:
                near[names[0]].append(rank.place)
        for name, places in near.items():
            shared = f", which {count(len(places), 'rank')} share" if len(places) > 1 else ""
            texts.update(dict.fromkeys(places, f"near {name}{shared}"))
    return texts


def modes_of(values: Values, labels: Callable[[Pair], tuple[str, ...]]) -> tuple[SpectrumMode, ...]:
    """The modes of values above zero, rising. `labels`: what is known of the way of a pair."""
    groups = _by_labels(values, labels)
    peaks: list[list[tuple[float, tuple[str, ...]]]] = []
    for texts, own in sorted(groups.items(), key=lambda group: median(group[1])):
        if not peaks or _apart([value for value, _ in peaks[-1]], own):
            peaks.append([])
        peaks[-1] += ((value, texts) for value in own)
    parts = [
        [peak[place] for place in part]
        for peak in peaks
        for part in populations(np.log([value for value, _ in peak]), PRACTICAL, LEAST_SHARE)
    ]
    shared = [_shared(texts for _, texts in part) for part in parts]
    everywhere = set.intersection(*map(set, shared))
    modes = (
        SpectrumMode(
            median=median([value for value, _ in part]),
            low=min(value for value, _ in part),
            high=max(value for value, _ in part),
            pairs=len(part),
            explained=tuple(text for text in of_part if text not in everywhere),
        )
        for part, of_part in zip(parts, shared, strict=True)
    )
    return tuple(sorted(modes, key=lambda mode: mode.median))


def _shared(labels: Iterable[tuple[str, ...]]) -> list[str]:
    """What nearly all of these pairs have in common."""
    every = [*labels]
    counts = Counter(text for texts in every for text in texts)
    return [text for text, number in counts.items() if number >= NEARLY_ALL * len(every)]


def _apart(lower: Sequence[float], upper: Sequence[float]) -> bool:
    """Whether two groups have peaks of their own, and differ by a change that matters."""
    logs = np.log(lower), np.log(upper)
    distance = float(np.median(logs[1]) - np.median(logs[0]))
    return distance > max(PRACTICAL, PEAKS_APART * max(robust_scale(each) for each in logs))


def spectra_plots(spectra: Sequence[Spectrum]) -> Iterator[Plot]:
    """The distributions of each metric over each other, one for each number of ranks per node."""
    for title, what, drawn, text_of in _distributions(spectra):
        yield over_each_other(title, drawn, text_of, what, "values")


def spectra_table(spectra: Sequence[Spectrum]) -> Iterator[Table]:
    """The median of each spectrum and its modes; nothing where there is no spectrum."""
    if spectra:
        table = record_table(SPECTRA, spectra, None, "Pairs of ranks at several ranks per node")
        yield structs.replace(table, anchor="spectra", aside=ASIDE)


def spectra_bars(spectra: Sequence[Spectrum], width: int) -> Iterator[Drawing]:
    """The distributions for a terminal with room for them, a line for each number of ranks per node."""
    for title, _, drawn, text_of in _distributions(spectra) if width >= LEAST_COLUMNS else ():
        yield Drawing(title=title, lines=strips(drawn, text_of))


def _distributions(
    spectra: Sequence[Spectrum],
) -> Iterator[tuple[str, str, dict[str, tuple[float, ...]], Callable[[float], str]]]:
    """Title, metric, quantiles by number of ranks, and the text of a value, where there is something to compare."""
    for metric, (_, what) in METRICS.items():
        drawn = {
            f"{count(one.ranks_per_node, 'rank')} per node": one.quantiles for one in spectra if one.metric == metric
        }
        if len(drawn) > 1:
            yield (
                f"{what.capitalize()} of pairs of ranks, by ranks per node",
                what,
                drawn,
                partial(quantity, metric=metric),
            )


SPECTRA: Cells[Spectrum] = {
    "#ranks per node": lambda one: str(one.ranks_per_node),
    "metric": lambda one: METRICS[one.metric][1],
    "#pairs": lambda one: str(one.pairs),
    "#median": lambda one: quantity(one.median, one.metric),
    "#together": lambda one: "" if one.together is None else quantity(one.together, one.metric),
    "#ranks per port": lambda one: "" if one.ranks_per_port is None else str(one.ranks_per_port),
    "~modes": lambda one: "; ".join(_mode_text(mode, one) for mode in one.modes) if len(one.modes) > 1 else "one",
}


def _mode_text(mode: SpectrumMode, spectrum: Spectrum) -> str:
    """1.31 µs within a leaf (20 %); most pairs need no explanation."""
    most = mode.pairs > spectrum.pairs / 2
    why = " and ".join(mode.explained) or ("" if most else "unexplained")
    words = (quantity(mode.median, spectrum.metric), why, f"({share(mode.pairs / spectrum.pairs)})")
    return " ".join(filter(None, words))
