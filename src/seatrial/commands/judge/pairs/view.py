"""Faults in a table of pairs: the report of `seatrial judge --as pairs`."""

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from seatrial.commands.judge.pairs.drawing import WORDS, pair_maps, table_findings
from seatrial.importers.lone_cells import LoneCell
from seatrial.judgement.wording import WAYS
from seatrial.locate.table import Classes
from seatrial.model.errors import ExitCode
from seatrial.model.pair_faults import (
    Instability,
    Located,
    LocatedFault,
    Method,
    Observation,
    Population,
    Resolution,
    TooGood,
    Undecided,
    Unstable,
)
from seatrial.model.pair_table import PairTable
from seatrial.model.subject import FABRIC, Direction, Subject
from seatrial.model.units import LATENCY, duration, fine_share, quantity, share
from seatrial.model.verdict import GOOD, Verdict
from seatrial.model.words import count, some, verb
from seatrial.render.finding_text import sentence_of, word_of
from seatrial.render.fleet.sentence import led_by_lone, lone_note
from seatrial.render.json import filled
from seatrial.render.report import Block, Findings, Items, Report

MOST, MOST_SILENT = 12, 2
CAUSES = {
    Instability.REPETITIONS: "its repetitions differ by {}",
    Instability.SINGLE: "{} worse than its nodes' other pairs, seen in one value only: measure it again",
    Instability.SOME_PARTNERS: "up to {} worse with some of its partners ({} pairs), and not with the others",
}
WHY_AGAIN = {
    Instability.REPETITIONS: "its numbers disagree",
    Instability.SINGLE: "out of line once",
    Instability.SOME_PARTNERS: "only with some partners",
}


class LatencyClass(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes near each other by their latencies."""

    nodes: tuple[str, ...]
    near_s: float
    far_s: float


class LocatedFields(msgspec.Struct, frozen=True, kw_only=True):
    """Faults in a table of pairs; docs/judge-pairs.md describes each field."""

    confidence: float
    faults: tuple[LocatedFault, ...]
    ambiguous: tuple[Undecided, ...]
    unstable: tuple[Unstable, ...]
    observations: tuple[Observation, ...]
    populations: tuple[Population, ...]
    too_good: tuple[TooGood, ...]
    nodes: int
    groups: tuple[tuple[str, ...], ...]
    unjudged: tuple[Subject, ...]
    unlisted_pairs: int
    unstable_pairs: int
    resolutions: tuple[Resolution, ...]
    classes: tuple[LatencyClass, ...]
    lone: tuple[LoneCell, ...]


def located_report(
    table: PairTable,
    located: Located,
    groups: Sequence[Sequence[str]],
    classes: Classes | None,
    exit_code: ExitCode,
    *,
    lone: tuple[LoneCell, ...] = (),
) -> Report:
    """The whole report: faults, what is undecided or unstable, and how the table was judged."""

    def terminal() -> Iterator[Block]:
        yield from _terminal(table, located, groups, classes)
        if note := lone_note(lone):
            yield Items(items=(note,))

    return Report(
        word=word_of(table_findings(located), located.verdict.value),
        sentence=_headline(table, located, lone),
        exit_code=exit_code,
        payload=lambda: located_fields(table, located, groups, classes, lone),
        terminal=lambda _: terminal(),
        page=lambda: (*pair_maps(table, located, groups), *terminal()),
        findings=table_findings(located),
        wrapped=False,
    )


def located_fields(
    table: PairTable,
    located: Located,
    groups: Sequence[Sequence[str]],
    classes: Classes | None,
    lone: tuple[LoneCell, ...] = (),
) -> LocatedFields:
    """What programs read of a table."""
    near = (
        [LatencyClass(nodes=group, near_s=classes.near_s, far_s=classes.far_s) for group in classes.groups]
        if classes
        else []
    )
    return filled(LocatedFields, located, nodes=len(table.nodes), groups=groups, classes=near, lone=lone)


def _terminal(
    table: PairTable, located: Located, groups: Sequence[Sequence[str]], classes: Classes | None
) -> Iterator[Block]:
    if located.faults:
        left_out = f"and {count(located.unlisted_pairs, 'more pair')} at fault" if located.unlisted_pairs else ""
        yield Findings(findings=table_findings(located), left_out=left_out)
    grouped = {name for group in groups for name in group}
    unknown = [name for name in table.nodes if name not in grouped] if groups else []
    yield Items(items=(*_open_lines(located), *_method_lines(located, groups, classes), *_unknown_lines(unknown)))


def _open_lines(located: Located) -> Iterator[str]:
    """What is undecided, unstable, too good to be true, too small for a fault, or not judged."""
    for best in located.too_good:
        yield f"Of {WORDS[best.metric]}, {_far_better(best)}"
    for one in located.ambiguous[:MOST]:
        yield f"Undecided: {' or '.join(subject.text for subject in one.subjects)} ({share(one.loss_ratio)})"
    yield from [
        f"Population {number} by {WORDS[one.metric]} ({count(len(one.nodes), 'node')}, at {share(one.ratio)}): "
        f"{some(one.nodes, MOST)}."
        for number, one in enumerate(located.populations, 1)
    ]
    yield from _unstable_lines(located.unstable, located.unstable_pairs)
    yield from (_observation(one) for one in located.observations[:MOST])
    if located.unjudged:
        names = some([subject.name for subject in located.unjudged], MOST)
        yield f"Not judged, too few pairs with nodes that are not at fault: {names}."


def _method_lines(located: Located, groups: Sequence[Sequence[str]], classes: Classes | None) -> Iterator[str]:
    """How the table was judged, and what it could have detected."""
    if classes:
        sizes = " + ".join(str(len(group)) for group in classes.groups)
        yield (
            f"Two distances, {duration(classes.near_s)} and {duration(classes.far_s)}: {sizes} nodes near each other. "
            "This is topology, not a fault; pairs are compared with pairs of the same distance."
        )
    yield from (_resolution(one) for one in located.resolutions)
    if len(groups) < 3:
        yield "Uplinks were not checked: this takes three or more groups of nodes (--topology)."


def _unknown_lines(unknown: Sequence[str]) -> Iterator[str]:
    if unknown:
        yield (
            f"The topology does not know {some(unknown, MOST)}: which uplink is theirs was not considered. Names must "
            "be the same in both files."
        )


def _headline(table: PairTable, located: Located, lone: Sequence[LoneCell]) -> str:
    """What was found, or how much the absence of findings means, in one line."""
    nodes = count(len(table.nodes), "node")
    if dead := [fault for fault in located.faults if fault.dead and fault.subject == FABRIC]:
        metrics = " or ".join(WORDS[fault.metric] for fault in dead)
        return f"no measured pair of {nodes} has a usable {metrics}"
    if located.verdict is Verdict.SLOW:
        faults = sentence_of(table_findings(located), located.unlisted_pairs)
        blind = all(one.detectable_ratio is None for one in located.resolutions)
        return f"{faults}, among {nodes}" + (f"; {_power(located)}" if blind else "")
    faster = [one for one in located.observations if one.loss_ratio < 0]
    if located.verdict is Verdict.UNSTABLE or (located.verdict is Verdict.NOTE and not faster and located.low_once):
        return _measure_again(located)
    if located.verdict is Verdict.NOT_RUN:
        silent = _silent(table)
        of_nodes = f"no number of {some(silent, MOST_SILENT)}, " if silent else ""
        return f"{of_nodes}on {nodes}, {_missing(located)}; no fault in the rest; {_power(located)}"
    if located.verdict in GOOD:
        names = some([one.subject.name for one in faster], MOST_SILENT)
        far = f"{names} {verb(len(faster), 'has', 'have')} {_faster(faster[0])} than the others; " if faster else ""
        note = located.verdict is Verdict.NOTE
        return led_by_lone([f"{far}no fault on {nodes}; {_power(located)}"], lone, leads=note)[0]
    return f"{_undecided(located)}, on {nodes}"


def _silent(table: PairTable) -> list[str]:
    """The nodes without any number, not even of a dead pair."""
    measured = ~np.isnan(table.bandwidth_bytes_per_s) | ~np.isnan(table.latency_s)
    with_numbers = {*table.source[measured].tolist(), *table.target[measured].tolist()}
    return [name for place, name in enumerate(table.nodes) if place not in with_numbers]


def _measure_again(located: Located) -> str:
    """The worst of what withholds a PASS, by name: two, or one of many; nodes before pairs, by their bad pairs."""
    gross = [one for one in located.unstable if one.gross] or list(located.unstable)
    gross.sort(key=lambda one: (not one.of_node, -one.pairs if one.of_node else 0, -one.loss_ratio))
    named = gross if len(gross) <= 2 else gross[:1]
    shown = ", ".join(f"{one.subject.name} ({share(one.loss_ratio)})" for one in named)
    more = f" and {len(gross) - 1} more" if len(named) < len(gross) else ""
    causes = {one.cause for one in named}
    why = WHY_AGAIN[causes.pop()] if len(causes) == 1 else "numbers disagree"
    return f"measure again: {shown}{more}; {why}"


def _far_better(best: TooGood) -> str:
    value, median = quantity(best.value, best.metric), quantity(best.median, best.metric)
    more = f" and {count(best.values - 1, 'more pair')} have" if best.values > 1 else " has"
    return f"check the unit: {best.subject.name}{more} {value}, median {median}"


def _undecided(located: Located) -> str:
    if located.too_good:
        return _far_better(located.too_good[0])
    if located.populations:
        slower = located.populations[0]
        total = sum(len(one.nodes) for one in located.populations if one.metric == slower.metric)
        word, ratio = ("take", 1 / slower.ratio) if slower.metric == LATENCY else ("reach", slower.ratio)
        members = f"{len(slower.nodes)} of {total} nodes"
        return f"two populations: {members} {word} {share(ratio)} of the others' {WORDS[slower.metric]}"
    if located.ambiguous:
        return f"{count(len(located.ambiguous), 'slow part')} that these pairs cannot distinguish"
    split = [one for one in located.resolutions if not one.majority]
    if split:
        return f"{WORDS[split[0].metric]} has two levels, and too few pairs were measured to say which nodes are slow"
    weak = "; ".join(_weakness(one) for one in located.resolutions if not one.enough)
    read = "nodes whose intervals include the practical effect: more measurements decide"
    return weak or (read if located.resolutions else "no number was read")


def _weakness(one: Resolution) -> str:
    if one.hidden_ratio is None:
        return f"{WORDS[one.metric]}: too few nodes to compare with each other"
    return f"{WORDS[one.metric]}: scatter or rounding hides a node that is {share(one.hidden_ratio)} worse"


def _power(located: Located) -> str:
    """What would have been detected."""
    seen = [
        f"{share(one.detectable_ratio)} {'more latency' if one.metric == LATENCY else 'less bandwidth'}"
        for one in located.resolutions
        if one.detectable_ratio is not None
    ]
    if seen:
        return f"a node with {' or '.join(seen)} would have been reported{_single_power(located)}"
    return f"no {'other ' if located.faults else ''}fault could have been detected"


def _single_power(located: Located) -> str:
    """Which loss of a single value would have withheld the PASS."""
    values = [
        share(one.detectable_value_ratio)
        for one in located.resolutions
        if one.detectable_value_ratio is not None and one.detectable_ratio is not None
    ]
    return f", one value with {' or '.join(values)} too" if values else ""


def _missing(located: Located) -> str:
    lacking = [one for one in located.resolutions if not one.complete]
    if not lacking:
        return f"{count(len(located.unjudged), 'node')} could not be judged"
    worst = min(lacking, key=lambda one: one.measured_pairs)
    missing = worst.expected_pairs - worst.measured_pairs
    return f"{missing} of {worst.expected_pairs} {_pairs(worst)} {verb(missing, 'was', 'were')} not measured"


def _pairs(one: Resolution) -> str:
    return "ordered pairs" if one.directed else "pairs"


def _unstable_lines(unstable: Sequence[Unstable], pairs: int) -> list[str]:
    if not unstable:
        return []
    lines = [
        f"Unstable: {one.subject.text} {WORDS[one.metric]}: "
        + CAUSES[one.cause].format(share(one.loss_ratio), one.pairs)
        for one in unstable[:MOST]
    ]
    more = f", {len(unstable) - MOST} parts more than these" if len(unstable) > MOST else ""
    return [*lines, f"In all {count(pairs, 'pair')} {verb(pairs)} unstable{more}."]


def _faster(node: Observation) -> str:
    """How much better a node is."""
    way = "" if node.direction is Direction.BOTH else f" {WAYS[node.direction]}"
    return f"{share(-node.loss_ratio)} {'less latency' if node.metric == LATENCY else 'more bandwidth'}{way}"


def _observation(one: Observation) -> str:
    more = "more latency" if one.metric == LATENCY else "less bandwidth"
    if one.loss_ratio < 0:
        why = "better hardware, or a number that is not right"
        return f"Observed: {one.subject.text} has {_faster(one)} than the others: {why}."
    end = "below the practical effect" if one.decided else "the practical effect is within the interval: measure again"
    return (
        f"Observed: {one.subject.text} has {share(one.loss_ratio)} [{share(one.low)}–{share(one.high)}] {more}, "
        f"{WAYS[one.direction]}; {end}."
    )


def _resolution(one: Resolution) -> str:
    """How one metric was judged, and what it could have shown."""
    measured = f"{WORDS[one.metric].capitalize()}: {one.measured_pairs} of {one.expected_pairs} {_pairs(one)}"
    if not one.directed:
        measured += " (each once: this table has no directions)"
    if math.isnan(one.median):
        return f"{measured}, none with a usable number."
    said = f"{measured}, median {quantity(one.median, one.metric)}; pairs scatter by {share(one.pair_scatter)}"
    if one.method is Method.ADDITIVE and one.node_scatter is not None:
        said += f", healthy nodes by {fine_share(one.node_scatter)}"
    said += f"; practical effect {share(one.effect_ratio)}"
    if one.detectable_ratio is not None and one.detectable_one_way_ratio is not None:
        said += (
            f"; smallest detectable (95 % power, 99 % confidence) {share(one.detectable_ratio)}, "
            f"in one direction {share(one.detectable_one_way_ratio)}"
            if one.directed
            else f"; smallest detectable (95 % power, 99 % confidence) {share(one.detectable_ratio)}"
        )
    if one.detectable_value_ratio is not None:
        said += f", in one value {share(one.detectable_value_ratio)}"
    return said + "."
