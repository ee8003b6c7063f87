"""Parts whose bandwidth changed during a run: which, since when, and the sentences for it."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from seatrial.commands.check.processor_waits import explained
from seatrial.judgement.wording import WAYS, named, sentence
from seatrial.locate.evidence import Pair, run_value, waits_of
from seatrial.locate.explanation import Blamed, with_parts
from seatrial.locate.thresholds import GROSS_LOSS
from seatrial.model.fabric import Component
from seatrial.model.measurement import Kernel, Measurement, Phase
from seatrial.model.pair_faults import Change, ChangeKind
from seatrial.model.subject import Direction, SubjectKind
from seatrial.model.units import BANDWIDTH, share
from seatrial.model.verdict import Finding, FindingKind, Verdict
from seatrial.statistics.estimates import median

if TYPE_CHECKING:
    from seatrial.locate.part_series import RowSeries

PHASES = (Phase.SURVEY, Phase.NEXT, Phase.RETEST, Phase.LAST)
WAYS_OF = {
    Direction.OUT: (Direction.OUT,),
    Direction.IN: (Direction.IN,),
    Direction.BOTH: (Direction.OUT, Direction.IN),
}
LINK_KINDS = (FindingKind.SLOW_LINK, FindingKind.UNSTABLE_LINK)
FEWEST_ROWS = 12
"""Fewer values can show nothing significant."""


class Timed(msgspec.Struct, frozen=True, gc=False):
    """One value of a pair, bytes per second, at the middle of its round."""

    pair: Pair
    at_s: float
    bytes_per_s: float
    pairs_at_once: int
    phase: Phase
    waited: float
    """The longer wait of its two ranks for a processor, as a share of its time."""


def changes_of(
    measurements: Iterable[Measurement], leaf_of: Mapping[str, str], effect: float | None = None
) -> tuple[Change, ...]:
    """Nodes and uplinks whose bandwidth changed by the practical effect during the run, the earliest first.

    All rounds of the survey, of the pairs measured next and of the retest count. `leaf_of`: leaf switch by node, where
    known. `effect`: what --effect asked for, a share. Empty for archives without times.
    """
    values = _alike(_unwaited(timed(measurements)))
    if len(values) < FEWEST_ROWS:
        return ()
    from seatrial.locate.changes import find_changes
    from seatrial.locate.thresholds import practical_effects

    nodes = sorted({name for one in values for name in one.pair})
    groups: dict[str, list[str]] = defaultdict(list)
    for name in nodes:
        if name in leaf_of:
            groups[leaf_of[name]].append(name)
    series, usual = _series(values, nodes)
    return find_changes(series, nodes, practical_effects(BANDWIDTH, usual, effect), groups)


def timed(measurements: Iterable[Measurement]) -> list[Timed]:
    """The bandwidths with their times, of the rounds that count."""
    return [
        Timed(
            one.pair,
            one.at_s + (sum(one.times_s) + sum(one.warmup_times_s)) / 2,
            run_value(one),
            one.pairs_at_once,
            one.phase,
            max(waits_of(one)),
        )
        for one in measurements
        if one.phase in PHASES
        and one.at_s is not None
        and one.times_s
        and not one.errors
        and one.shape.kernel is Kernel.ONEWAY
        and not one.variant
    ]


def _unwaited(values: Sequence[Timed]) -> list[Timed]:
    """The values without any that is low because a rank waited for a processor, whatever other ranks waited.

    A stretch of low values may be chance where all ranks wait for most of the time, as single bad runs are.
    """
    if not any(one.waited for one in values):
        return list(values)
    fair = sorted((one.bytes_per_s for one in values), reverse=True)[len(values) // 4]
    return [one for one in values if one.bytes_per_s >= fair or not explained(one.bytes_per_s / fair, one.waited)]


def _alike(values: Sequence[Timed]) -> list[Timed]:
    """The values without what fewer pairs at once improve, so that contention in the survey is not a change.

    A pair that is better with fewer at once than it ever was in the survey is moved down to its best there. One that is
    worse is left as it is: fewer at once make nothing worse. Pairs that the survey did not measure count only if as
    many were measured at once as there.
    """
    survey: defaultdict[Pair, list[Timed]] = defaultdict(list)
    later: defaultdict[tuple[Pair, int], list[Timed]] = defaultdict(list)
    for one in values:
        if one.phase is Phase.SURVEY:
            survey[one.pair].append(one)
        else:
            later[one.pair, one.pairs_at_once].append(one)
    usual = {one.pairs_at_once for ones in survey.values() for one in ones}
    kept = [one for ones in survey.values() for one in ones]
    for (pair, at_once), ones in later.items():
        before = survey.get(pair)
        if before is None:
            kept += ones if usual == {at_once} else []
        elif at_once >= min(one.pairs_at_once for one in before):
            kept += ones
        else:
            best = max(one.bytes_per_s for one in before)
            better = max(median([one.bytes_per_s for one in ones]) / best, 1.0)
            kept += [msgspec.structs.replace(one, bytes_per_s=one.bytes_per_s / better) for one in ones]
    return kept


def _series(values: Sequence[Timed], nodes: Sequence[str]) -> "tuple[RowSeries, float]":
    """Logarithms relative to the usual value of the survey, and that value in bytes per second."""
    import numpy as np

    from seatrial.locate.part_series import RowSeries, usual_level

    place = {name: number for number, name in enumerate(nodes)}
    logs = np.log([one.bytes_per_s for one in values])
    survey = np.array([one.phase is Phase.SURVEY for one in values])
    level = usual_level(logs[survey] if survey.any() else logs)
    series = RowSeries(
        source=np.array([place[one.pair[0]] for one in values]),
        target=np.array([place[one.pair[1]] for one in values]),
        time_s=np.array([one.at_s for one in values]),
        log=logs - level,
    )
    return series, float(np.exp(level))


def with_changes(
    known: Sequence[Blamed], changes: Iterable[Change], measured: Collection[Pair], excused: Collection[Pair]
) -> list[Blamed]:
    """`known` suspects, and the parts that changed beside them; lone pairs that these explain are left out.

    A part that was good for half of the survey is on good pairs, too, so that no cover of bad pairs finds it.
    """
    blamed = {part for group in known for part in group.components}
    added = []
    for change in changes:
        pairs = frozenset(change.pairs).intersection(measured).difference(excused)
        subjects = (change.subject, *change.ambiguous_with)
        for way in WAYS_OF[change.direction]:
            parts = frozenset(Component(kind=one.kind.value, name=one.name, direction=way) for one in subjects)
            own = pairs if len(WAYS_OF[change.direction]) == 1 else _of_way(pairs, change, way)
            if own and not parts & blamed:
                added.append(Blamed(parts, own))
    return with_parts(known, added)


def _of_way(pairs: frozenset[Pair], change: Change, way: Direction) -> frozenset[Pair]:
    """The pairs that a node which changed in both directions sends or receives; all pairs of an uplink."""
    if change.subject.kind is not SubjectKind.NODE:
        return pairs
    return frozenset(pair for pair in pairs if pair[0 if way is Direction.OUT else 1] == change.subject.name)


def since_when(finding: Finding, changes: Iterable[Change]) -> Finding:
    """The finding with the sentence on its part's change, where it has one."""
    for change in changes:
        if {change.subject, *change.ambiguous_with} & {finding.subject, *finding.ambiguous_with}:
            return msgspec.structs.replace(finding, statement=f"{finding.statement} {change_statement(change)}")
    return finding


def changed_parts(changes: Iterable[Change], named: Iterable[Finding], excused: Collection[Pair]) -> list[Finding]:
    """Findings for parts that were grossly bad for a while, and that no other finding names."""
    known = {subject for finding in named for subject in (finding.subject, *finding.ambiguous_with)}
    return [
        Finding(
            kind=FindingKind.UNSTABLE_LINK,
            subject=change.subject,
            ambiguous_with=change.ambiguous_with,
            direction=change.direction,
            verdict=Verdict.UNSTABLE,
            statement=change_statement(change),
            remedy="Look at its port and cable: errors, link resets and rate changes at that time (dmesg, ethtool -S, "
            "the switch's log), and at what else used the part then.",
            metric=BANDWIDTH,
            pairs=tuple(f"{source}>{target}" for source, target in change.pairs),
        )
        for change in changes
        if not known & {change.subject, *change.ambiguous_with}
        and max(change.loss_before, change.loss_after) >= GROSS_LOSS
        and not set(change.pairs) <= set(excused)
    ]


def flapping_as_one(findings: Sequence[Finding], changes: Iterable[Change]) -> list[Finding]:
    """The findings, with those on the two directions of one flapping part as one finding.

    Which direction looks slow and which unstable depends on the moments at which their pairs were measured.
    """
    kept = list(findings)
    for change in changes:
        if change.kind is not ChangeKind.FLAPPING:
            continue
        own = [
            one for one in kept if one.kind in LINK_KINDS and one.subject in (change.subject, *change.ambiguous_with)
        ]
        if {one.direction for one in own} != {Direction.OUT, Direction.IN} or len({one.subject for one in own}) > 1:
            continue
        first = next((one for one in own if one.kind is FindingKind.UNSTABLE_LINK), own[0])
        kept[kept.index(own[0])] = msgspec.structs.replace(
            first,
            kind=FindingKind.UNSTABLE_LINK,
            verdict=Verdict.UNSTABLE,
            direction=Direction.BOTH,
            pairs=tuple(dict.fromkeys(pair for one in own for pair in one.pairs)),
            experiments=tuple(dict.fromkeys(each for one in own for each in one.experiments)),
        )
        kept = [one for one in kept if one not in own]
    return kept


def change_statement(change: Change) -> str:
    """One sentence: which part, how much of the usual bandwidth before and after, since when."""
    names = " or ".join(named(one) for one in (change.subject, *change.ambiguous_with))
    who = f"{names}, {WAYS[change.direction]}," if change.direction is not Direction.BOTH else names
    before, after = share(1 - change.loss_before), share(1 - change.loss_after)
    when = f"{seconds(change.since_s)} s ({_interval(change)}) after the start of the run"
    match change.kind:
        case ChangeKind.DROP:
            told = f"carries {after} of the usual bandwidth since {when}, and {before} before"
        case ChangeKind.RECOVERY:
            told = f"carried {before} of the usual bandwidth until {when}, and {after} since"
        case ChangeKind.FLAPPING:
            told = f"varies between {before} and {after} of the usual bandwidth, {_rhythm(change)}"
    return sentence(f"{who} {told}.")


def _interval(change: Change) -> str:
    return f"{seconds(change.since_low_s)} to {seconds(change.since_high_s)} s"


def _rhythm(change: Change) -> str:
    total = change.bad_values + change.good_values
    often = f"{change.bad_values} of {total} values low, first after {seconds(change.since_high_s)} s"
    if change.period_s is None:
        return f"without a visible period: {often}"
    return f"about every {seconds(change.period_s)} s: {often}"


def seconds(value: float) -> str:
    """Tenths of a second below 100 s."""
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"
