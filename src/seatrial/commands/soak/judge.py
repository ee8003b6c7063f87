"""The judgement on a soak: what became worse, what was wrong, and what a node that died was doing."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace

from seatrial.commands.soak.courses import FEWEST_CYCLES, LINK, Decline, courses, declines, detectable
from seatrial.commands.soak.missing import Presence, missing_results, missing_text
from seatrial.judgement.corrupt_data import corruption_findings
from seatrial.judgement.nodes.trials import judge_trials, trial_notes
from seatrial.judgement.outcome import failure_of
from seatrial.judgement.rank_deaths import judge_deaths, run_notes
from seatrial.model import subject
from seatrial.model.measurement import Conditions, GroupMeasurement, Measurement, node_of
from seatrial.model.node_trials import USEFUL, Measure, NodeFigures, NodeTrials
from seatrial.model.run import Ending, NodeState, RecordedRun
from seatrial.model.settings import SoakSettings, Trial
from seatrial.model.units import share
from seatrial.model.verdict import Finding, FindingKind, RunVerdict, Verdict, worst
from seatrial.model.words import count, some
from seatrial.rules.catalogue import findings_during

FEWEST_KEPT = 128
"""Cycles that are kept at least, however much memory they take: fewer would show changes late."""
MOST_CORRUPTIONS = 100
"""Wrong places that are kept of one group in one cycle; wrong bytes are counted of all."""

_One = TypeVar("_One", bound=Measurement | GroupMeasurement)


def sampled(measurements: Iterable[_One], most_times: int) -> list[_One]:
    """All measurements of a soak; where these would take too much memory, those of every second, fourth, ... cycle.

    Wrong bytes, throttling, and the extremes of temperature and frequency in a cycle that is left out are added to the
    cycle before it that is kept, so that what happened only once is not lost. `measurements` are gone through once.
    `most_times`: iterations that are kept, as long as that leaves `FEWEST_KEPT`.
    """
    sample = _Sample[_One](most_times)
    for measured in measurements:
        sample.take(measured)
    return [one for _, cycle in sorted(sample.cycles.items()) for one in cycle.values()]


class _Sample(Generic[_One]):
    """What is kept so far, by the number of the cycle."""

    def __init__(self, most_times: int) -> None:
        self.cycles: dict[int, dict[Hashable, _One]] = {}
        self._most_times = most_times
        self._times = 0
        self._every = 1

    def take(self, measured: _One) -> None:
        """Another measurement; when they become too many, half of the cycles are left out."""
        self._put(measured)
        if self._times > self._most_times and len(self.cycles) >= 2 * FEWEST_KEPT:
            self._every *= 2
            before, self.cycles, self._times = self.cycles, {}, 0
            for _, cycle in sorted(before.items()):
                for earlier in cycle.values():
                    self._put(earlier)

    def _put(self, measured: _One) -> None:
        first = measured.repetition - measured.repetition % self._every
        cycle = self.cycles.setdefault(first, {})
        conditions = measured.conditions if isinstance(measured, GroupMeasurement) else None
        key = (
            measured.shape,
            measured.variant,
            measured.nodes if isinstance(measured, GroupMeasurement) else measured.pair,
        )
        kept = cycle.get(key)
        if kept is None and measured.repetition == first:
            cycle[key] = measured
            self._times += len(measured.times_s) + len(measured.warmup_times_s)
        elif kept is not None:
            cycle[key] = _with_events(kept, measured)
        elif measured.errors or (conditions and conditions.throttles):
            cycle[key] = replace(measured, repetition=first, times_s=(), warmup_times_s=())


def _with_events(kept: _One, other: _One) -> _One:
    """The measurement with what happened in a later one of the same group, whose times are left out."""
    if other.errors:
        kept = replace(
            kept,
            errors=kept.errors + other.errors,
            corruptions=(*kept.corruptions, *other.corruptions)[:MOST_CORRUPTIONS],
            verified=kept.verified + other.verified,
        )
    if not isinstance(kept, GroupMeasurement) or not isinstance(other, GroupMeasurement):
        return kept
    if kept.conditions is None or other.conditions is None:
        return kept
    return replace(kept, conditions=_extremes(kept.conditions, other.conditions))


def _extremes(kept: Conditions, other: Conditions) -> Conditions:
    throttles = [one for one in (kept.throttles, other.throttles) if one is not None]
    return replace(
        kept,
        throttles=sum(throttles) if throttles else None,
        millicelsius=max(kept.millicelsius or 0, other.millicelsius or 0) or None,
        least_khz=min(filter(None, (kept.least_khz, other.least_khz)), default=None),
    )


MOST_NAMES = 4
MOST_TIMES = 4_000_000
"""Iterations that are judged, of 32 bytes each: those of 700 cycles on sixteen cores."""


class NodeSoak(msgspec.Struct, frozen=True, kw_only=True):
    """What the soak shows of one node."""

    node: str
    cycles: int
    """Cycles in which anything of it was measured."""
    last_s: float
    """When its last round began: seconds since the run began."""
    wrong_bytes: int
    celsius: float | None
    """The hottest reading of all, and the last one; None: unknown."""
    last_celsius: float | None
    first_hz: float | None
    """Clock of the slowest core in the first round, in the last one, and the least of all rounds; None: unknown."""
    last_hz: float | None
    least_hz: float | None
    throttles: int | None
    declines: tuple[Decline, ...]


class SoakResult(RunVerdict, frozen=True, kw_only=True):
    """All that is derived from the samples of a soak."""

    reason: str
    nodes: tuple[NodeSoak, ...]
    trials: NodeTrials


def judge_soak(recorded: RecordedRun) -> SoakResult:
    """The judgement, computed from the samples and facts alone; the samples may be read from the journal meanwhile."""
    presence = Presence(recorded)
    recorded = msgspec.structs.replace(
        recorded,
        measurements=tuple(sampled(recorded.measurements, MOST_TIMES)),
        group_measurements=tuple(sampled(recorded.group_measurements, MOST_TIMES)),
    )
    groups = recorded.group_measurements
    trials = judge_trials(groups, recorded.facts)
    followed = courses(groups, recorded.measurements)
    worse = declines(followed)
    common = declines(courses(groups, (), together=True))
    smallest = detectable(followed)
    by_node = _by_node(groups)
    nodes = tuple(_soak(figures, by_node[figures.node], worse, presence) for figures in trials.figures)
    lost = [state for state in recorded.info.lost if state.fault and not state.rank_died]
    findings = _findings(recorded, trials, nodes, lost)
    cycles = min((node.cycles for node in nodes), default=0)
    missing = missing_results(recorded, presence)
    lacking = missing_text(missing, presence.results)
    complete = recorded.info.ending is Ending.COMPLETE and not lost and not missing
    reason = _reason(recorded, nodes, lacking, common, complete=complete)
    useful = not missing and not common and _all_shown(smallest)
    return SoakResult(
        verdict=_verdict(findings, cycles, useful=useful),
        reason=reason,
        complete=complete,
        findings=findings,
        nodes=nodes,
        trials=trials,
        notes=(
            *(f"Missing results: {one.sentence}." for one in missing[:MOST_NAMES]),
            *(f"All nodes together: the {change_text(one)}. {SHARED}" for one in common[:MOST_NAMES]),
            *_seen(smallest),
            *run_notes(recorded, reason, findings),
            *trial_notes(trials, recorded.facts),
        ),
    )


def _by_node(groups: Sequence[GroupMeasurement]) -> Mapping[str, list[GroupMeasurement]]:
    by_node: dict[str, list[GroupMeasurement]] = {}
    for group in groups:
        by_node.setdefault(node_of(group.nodes[0]), []).append(group)
    return by_node


def _soak(
    figures: NodeFigures, groups: Sequence[GroupMeasurement], worse: Sequence[Decline], presence: Presence
) -> NodeSoak:
    readings = [group.conditions.millicelsius for group in groups if group.conditions and group.conditions.millicelsius]
    hertz = [1e3 * group.conditions.least_khz for group in groups if group.conditions and group.conditions.least_khz]
    conditions = figures.conditions
    return NodeSoak(
        node=figures.node,
        cycles=len(presence.of_node[figures.node]),
        last_s=presence.last_s[figures.node],
        wrong_bytes=figures.wrong_bytes,
        celsius=conditions.celsius if conditions else None,
        last_celsius=readings[-1] / 1e3 if readings else None,
        first_hz=hertz[0] if hertz else None,
        last_hz=hertz[-1] if hertz else None,
        least_hz=conditions.least_hz if conditions else None,
        throttles=conditions.throttles if conditions else None,
        declines=tuple(decline for decline in worse if decline.node == figures.node),
    )


def _findings(
    recorded: RecordedRun, trials: NodeTrials, nodes: Sequence[NodeSoak], lost: Sequence[NodeState]
) -> tuple[Finding, ...]:
    """What died and what was wrong first, then what became worse; a node that is slow throughout has its own."""
    by_name = {node.node: node for node in nodes}
    return (
        *(died(state, recorded, by_name.get(state.node)) for state in lost),
        *(finding for finding in judge_deaths(recorded).findings if finding.kind is not FindingKind.NODE_DOWN),
        *corruption_findings(map(_between_nodes, recorded.measurements), recorded.fabric),
        *trials.findings,
        *(
            finding
            for finding in findings_during(recorded.facts, recorded.facts_after)
            if finding.kind is not FindingKind.THROTTLED
        ),
        *_declined(nodes),
        *(throttled(node) for node in nodes if node.throttles),
    )


def _declined(nodes: Sequence[NodeSoak]) -> Iterator[Finding]:
    """What became worse of each node; of two nodes the link is one, and either may be the cause."""
    worse = {node.node: [msgspec.structs.replace(decline, node="") for decline in node.declines] for node in nodes}
    blamed: set[str] = set()
    for node in nodes:
        own = worse[node.node]
        alike = [name for name, other in worse.items() if name != node.node and all(one in other for one in own)]
        if own and not any(len(worse[name]) > len(own) or name in blamed for name in alike):
            blamed.add(node.node)
            yield declined(node.node, node.declines, alike)


def _between_nodes(measured: Measurement) -> Measurement:
    """The measurement of two ranks as one of their nodes."""
    wrong = tuple(
        msgspec.structs.replace(each, source=node_of(each.source), target=node_of(each.target))
        for each in measured.corruptions
    )
    source, target = node_of(measured.source), node_of(measured.target)
    return msgspec.structs.replace(measured, source=source, target=target, corruptions=wrong)


def _seen(smallest: Mapping[str, float]) -> tuple[str, ...]:
    """What would have been named had it begun in the middle; nothing where too few cycles were measured."""
    sizes = ", ".join(f"{label} {share(size)}" for label, size in smallest.items())
    return (f"A node that had become worse by this much would have been named: {sizes}.",) if sizes else ()


def _all_shown(smallest: Mapping[str, float]) -> bool:
    """Whether of each trial, and of the links, a figure would have shown a node that becomes worse by `USEFUL`.

    Figures that are reported only from larger changes on, as those of pipes, do not count, and neither does what other
    processes use: it shows nothing of what the node itself can do.
    """
    trial_of = {measure.label: measure.trial for measure in Measure if measure.fine}
    best: dict[Trial | None, float] = {}
    for label, size in smallest.items():
        if label == LINK or label in trial_of:
            trial = trial_of.get(label)
            best[trial] = min(size, best.get(trial, size))
    return bool(best) and max(best.values()) <= USEFUL


def _verdict(findings: Sequence[Finding], cycles: int, *, useful: bool) -> Verdict:
    if findings:
        return worst([finding.verdict for finding in findings])
    if not cycles:
        return Verdict.NOT_RUN
    return Verdict.PASS if cycles >= FEWEST_CYCLES and useful else Verdict.INCONCLUSIVE


def _reason(
    recorded: RecordedRun, nodes: Sequence[NodeSoak], lacking: str, common: Sequence[Decline], *, complete: bool
) -> str:
    """How long the soak was, and why it ended early or does not decide. `common`: what all nodes lost together."""
    if not nodes:
        return failure_of(recorded) or "nothing was measured"
    cycles = min(node.cycles for node in nodes)
    settings = recorded.info.settings
    wanted_s = settings.site.budget_s if isinstance(settings, SoakSettings) else 0.0
    lasted_s = max(node.last_s for node in nodes)
    reason = f"{count(len(nodes), 'node')}, {count(cycles, 'cycle')} in {lasted_s / 60:.1f} minutes"
    if cycles < FEWEST_CYCLES:
        reason += f"; at least {FEWEST_CYCLES} cycles are needed to see a change"
    if common:
        worst_of_all = max(common, key=lambda decline: decline.change)
        reason = f"all nodes together: {change_text(worst_of_all)}; {reason}"
    if complete:
        return reason
    absent = sorted({node_of(name) for name in recorded.info.nodes} - {node.node for node in nodes})
    if absent:
        return f"{reason}; not measured: {some(absent, MOST_NAMES)}"
    if lacking and recorded.info.ending is Ending.COMPLETE:
        return f"{lacking}; {reason}"
    return f"{reason}, stopped before the {wanted_s / 60:g} minutes were over"


MOST_DECLINES = 3
UNDER_LOAD = (
    "Look at temperature, fans, power limit and throttling of the node while it is loaded (sensors, ipmitool sel list, "
    "turbostat), for a CPU quota or another job that began at that time, and repeat the soak."
)
SHARED = (
    "No node is named, since none differs from the others: look at what they share, such as inlet temperature, power "
    "caps and a shared host, and for other work on them at that time."
)
COOLING = "Check fans, inlet temperature, dust and heat sinks, and compare its temperature with that of its neighbours."
CONSOLE = (
    "Read its console, its system event log (ipmitool sel list) and its kernel's last messages for that time: heat, "
    "power, memory errors, a panic. Soak it alone before it returns to service."
)


def declined(name: str, worse: Sequence[Decline], alike: Sequence[str]) -> Finding:
    """One node's figures that became worse, the largest change first. `alike`: nodes of which the same was seen."""
    ordered = sorted(worse, key=lambda decline: -decline.change)
    first, rest = ordered[0], ordered[1:MOST_DECLINES]
    others = f" Likewise: {'; '.join(map(change_text, rest))}." if rest else ""
    return Finding(
        kind=FindingKind.WORSE_UNDER_LOAD,
        subject=subject.node(name),
        verdict=FindingKind.WORSE_UNDER_LOAD.verdict,
        statement=f"On {name} the {change_text(first)}.{others}",
        remedy=UNDER_LOAD,
        brief=change_text(first),
        ambiguous_with=tuple(map(subject.node, alike)),
    )


def change_text(decline: Decline) -> str:
    """`memory latency became 12 % (10 % to 14 %) worse 132 s after the start, and stayed so`."""
    size = f"{share(decline.change)} ({share(decline.low)} to {share(decline.high)}) worse"
    if decline.drift:
        return f"{decline.label} drifted, {size} at the end of {count(decline.cycles, 'cycle')} than at their beginning"
    end = "and stayed so" if decline.until_s is None else f"until {decline.until_s:.0f} s"
    return f"{decline.label} became {size} {decline.since_s:.0f} s after the start, {end}"


def throttled(soak: NodeSoak) -> Finding:
    """A node whose throttle counters grew."""
    heat = f", at up to {soak.celsius:.0f} °C" if soak.celsius is not None else ""
    return Finding(
        kind=FindingKind.THROTTLED,
        subject=subject.node(soak.node),
        verdict=Verdict.UNSTABLE,
        statement=f"The cores of {soak.node} were throttled for heat {count(soak.throttles or 0, 'time')} while it was "
        f"loaded{heat}.",
        remedy=COOLING,
        brief=f"throttled for heat {count(soak.throttles or 0, 'time')}",
    )


def died(state: NodeState, recorded: RecordedRun, soak: NodeSoak | None) -> Finding:
    """A node that stopped answering: what was running, since when, and its last readings."""
    running = _running(state.node, recorded)
    last = ""
    if soak is not None:
        heat = f", at {soak.last_celsius:.0f} °C" if soak.last_celsius is not None else "; its temperature is unknown"
        last = f" Its last results are from {soak.last_s:.0f} s after the start, cycle {soak.cycles}{heat}."
    return Finding(
        kind=FindingKind.NODE_DOWN,
        subject=subject.node(state.node),
        verdict=Verdict.DOWN,
        statement=f"Node {state.node} died during the soak: {state.reason}.{running}{last}",
        remedy=CONSOLE,
        brief="died during the soak",
    )


def _running(name: str, recorded: RecordedRun) -> str:
    """A sentence on the round in which its session was lost; empty where that is not known."""
    losses = [loss for loss in recorded.losses if name in map(node_of, loss.loss.suspects) and loss.kernel is not None]
    if not losses:
        return ""
    loss = losses[-1]
    where = f" ({loss.variant})" if loss.variant else ""
    since = f", which began {loss.began_s:.0f} s after the start" if loss.began_s is not None else ""
    return f" {loss.kernel}{where} was running{since}; the loss was seen after {loss.at_s:.0f} s."
