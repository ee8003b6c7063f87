"""Verdicts on rounds under load: uplinks and cables that carry less than others, and the over-subscription."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set

import msgspec

from seatrial.commands.check.leaf_comparison import LeafRatio
from seatrial.commands.check.leaf_loads import Key, apart, is_light, loads, node_rates, rounds_of
from seatrial.commands.check.loaded_scene import LoadState, Looks, scene_of
from seatrial.experiment.controls import RETEST_RUNS
from seatrial.judgement.wording import WAYS, part_remedy, sentence, who
from seatrial.locate.evidence import MeasuredPair, Pair
from seatrial.locate.explanation import PartSuspect
from seatrial.locate.thresholds import EFFECT
from seatrial.model.fabric import Wiring
from seatrial.model.judgement import LeafLoad, Loaded
from seatrial.model.measurement import Measurement
from seatrial.model.run import RecordedRun
from seatrial.model.subject import Direction, SubjectKind, link, uplink
from seatrial.model.units import BANDWIDTH, bandwidth, share
from seatrial.model.verdict import Experiment, Finding, FindingKind, Verdict
from seatrial.model.words import MOST_NAMED, count, natural_sorted, some
from seatrial.statistics.concurrent_flows import carried
from seatrial.statistics.estimates import median, median_estimate

NO_TIME = "time did not permit a retest; give more with --budget"


def open_uplinks(
    looks: Sequence[Looks], scene: LoadState, measurements: Sequence[Measurement], leaf_of: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Leaves that keep the run from being a PASS, and notes, which name the first few of them. `looks`: at the leaves
    that were measured again."""
    slow = {leaf.latest.key for leaf in looks if leaf.slow}
    group = [] if slow >= {*scene.slower_group} else [*scene.slower_group]  # unless each of it is slow for itself
    undecided = [leaf for leaf in _undecided(looks, scene, slow) if leaf.key not in group]
    missing = _missing(measurements, scene, leaf_of)
    notes = [_group_note(group, scene)] if group else []
    notes += [leaf.note for leaf in undecided[:MOST_NAMED]]
    if missing:
        uplinks = f"The uplink{'s' * (len(missing) > 1)} of {some(missing)} under load"
        notes.append(f"{uplinks}: not decided, pairs of every round failed; run the check again.")
    names = [*(leaf for leaf, _ in group), *(leaf.key[0] for leaf in undecided), *missing]
    return tuple(dict.fromkeys(names)), tuple(notes)


class UndecidedLeaf(msgspec.Struct, frozen=True, kw_only=True):
    """A leaf that looked slow under load and was neither confirmed nor cleared."""

    key: Key
    ratio: float
    why: str

    @property
    def note(self) -> str:
        """One sentence."""
        leaf, way = self.key
        return (
            f"Under load the uplink of {leaf} carried {share(self.ratio)} of what its peers did {WAYS[way]}{self.why}."
        )


def _undecided(looks: Sequence[Looks], scene: LoadState, slow: Set[Key]) -> list[UndecidedLeaf]:
    left = [leaf for one in looks if (leaf := _left_open(one))]
    again = {leaf.latest.key for leaf in looks}
    if again and not slow:
        return left  # The worst are as good as others: what the rest lack, they lose inside the fabric.
    why = f": not decided, {NO_TIME}"
    if again:
        why = ": not decided, it was not measured again; repair what is named and run the check again"
    rest = [key for key in scene.low if key not in again]
    return left + [UndecidedLeaf(key=key, ratio=scene.of_peers[key], why=why) for key in rest]


def _left_open(leaf: Looks) -> UndecidedLeaf | None:
    """What two looks at a leaf leave open, if they do."""
    latest, earlier, least = leaf.latest, leaf.earlier, leaf.least
    worse = min((look for look in (earlier, latest) if look), key=lambda look: look.ratio.value)
    runs = f" in {RETEST_RUNS} runs"
    if leaf.slow:
        return None
    if earlier and (earlier.slow(least) or latest.slow(least)):
        better = max(earlier.ratio.value, latest.ratio.value)
        why = f"{runs}, and {share(better)} in another {RETEST_RUNS}: not decided, traffic of other jobs or a fault "
        return UndecidedLeaf(key=latest.key, ratio=worse.ratio.value, why=f"{why}that comes and goes")
    if latest.slow(least):
        return UndecidedLeaf(key=latest.key, ratio=latest.ratio.value, why=f"{runs}: not decided, {NO_TIME}")
    if not leaf.suspect or not latest.perhaps(least) or (earlier and latest.by_partners(earlier, least)):
        return None
    why = f": not decided, {RETEST_RUNS} more runs did not settle it"
    return UndecidedLeaf(key=latest.key, ratio=latest.ratio.value, why=why)


def _group_note(group: Sequence[Key], scene: LoadState) -> str:
    way = group[0][1]
    slower = [key for key in group if key[1] is way]
    rates = {key: median([load.bytes_per_s for load in apart(many)]) for key, many in scene.found.items()}
    faster = [key for key in scene.of_peers if key[1] is way and key not in slower]
    low, high = (median([rates[key] for key in keys]) for keys in (slower, faster))
    names, others = (natural_sorted(leaf for leaf, _ in keys) for keys in (slower, faster))
    return (
        f"Two groups of uplinks: under load those of {len(names)} of {len(names) + len(others)} leaves carry "
        f"{bandwidth(low)} {WAYS[way]}, {share(low / high)} of what the others do ({bandwidth(high)}), and nothing "
        f"says which group is as it should be. The slower ones: {some(names)}. Compare the cables and "
        f"ports of {names[0]} with those of {others[0]}."
    )


def _missing(measurements: Sequence[Measurement], scene: LoadState, leaf_of: Mapping[str, str]) -> list[str]:
    """Leaves whose nodes were under load, but in no complete round."""
    if len({leaf for leaf, _ in scene.found}) < 2:
        return []
    tried = loads(rounds_of(measurements, whole=False), leaf_of)
    return sorted({leaf for leaf, _ in tried.keys() - scene.found.keys()})


BISECTION = 0.4
"""Share of the nodes: a round with as many pairs loads the whole fabric. An odd number of leaves leaves one out."""
PEERS = "median of other leaves in the same rounds"


class LoadedVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers, findings, and sentences on what was not decided."""

    loaded: Loaded | None
    """None where no round under load was completed."""
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


def judge_loaded(
    recorded: RecordedRun,
    evidence: Mapping[Pair, MeasuredPair],
    faulty: Set[str] = frozenset(),
) -> LoadedVerdict:
    """Uplinks that carry less than their peers' by more than the effect; numbers of every leaf and of the whole fabric.

    An over-subscribed fabric is not a finding where all leaves are alike: that is its design. `faulty`: nodes at fault;
    if one turned out so after it took part, nothing is decided on the uplink of its leaf.
    """
    leaf_of, effect = recorded.fabric.leaf_of, recorded.info.effect or EFFECT
    scene = scene_of(recorded.measurements, node_rates(evidence), leaf_of, effect)
    if not scene.rounds:
        return LoadedVerdict(loaded=None)
    disturbed = {key for key, many in scene.found.items() if not faulty.isdisjoint(many[-1].nodes)}
    looks = [leaf for leaf in scene.looks(effect) if not (leaf.slow and leaf.latest.key in disturbed)]
    undecided, notes = open_uplinks(looks, scene, recorded.measurements, leaf_of)
    slow = [leaf.latest for leaf in looks if leaf.slow]
    return LoadedVerdict(
        loaded=_numbers(scene, [leaf.latest for leaf in looks], undecided, recorded.wiring),
        findings=tuple(_findings(slow, scene, recorded.wiring, effect)),
        notes=notes,
    )


def _numbers(
    scene: LoadState, verdicts: Sequence[LeafRatio], undecided: tuple[str, ...], wiring: Wiring | None
) -> Loaded:
    again = {one.key: one.ratio.value for one in verdicts}
    leaves = tuple(
        LeafLoad(
            leaf=key[0],
            direction=key[1],
            nodes=len(many[-1].nodes),
            bytes_per_s=carries,
            alone_bytes_per_s=scene.offered[key],
            share=carries.value / scene.offered[key],
            of_peers=again.get(key, scene.of_peers.get(key)),
        )
        for key, many in scene.found.items()
        if scene.offered[key] > 0
        for carries in [median_estimate([one.bytes_per_s for one in apart(many) or many])]
    )
    nodes = {name for flows in scene.rounds for one in flows for name in one.pair}
    whole = [flows for flows in scene.rounds if 1 < len(flows) >= BISECTION * len(nodes)]
    whole = [flows for flows in whole if not is_light(flows, scene.alone.leaf_of)]
    sums = [sum(scene.alone.pair(one.pair) for one in flows) for flows in whole]
    rates = [carried(flows) for flows in whole]
    return Loaded(
        rounds=len(scene.rounds),
        leaves=leaves,
        bisection_bytes_per_s=median_estimate(rates) if rates else None,
        bisection_pairs=max((len(flows) for flows in whole), default=0),
        bisection_share=median([rate / most for rate, most in zip(rates, sums, strict=True)])
        if rates and min(sums) > 0
        else None,
        oversubscription=max(median([1 / one.share for one in leaves]), 1.0) if leaves else None,
        design_oversubscription=_by_cables(wiring, nodes),
        undecided=undecided,
        detectable_ratio=scene.detectable,
    )


def _by_cables(wiring: Wiring | None, nodes: Collection[str]) -> float | None:
    """The over-subscription by design, if the cables are known."""
    if wiring is None:
        return None
    from seatrial.fabric.routed_fabric import RoutedFabric, oversubscription

    return oversubscription(wiring.routing, nodes) if isinstance(wiring, RoutedFabric) else None


def _findings(slow: Sequence[LeafRatio], scene: LoadState, wiring: Wiring | None, effect: float) -> list[Finding]:
    by_leaf: defaultdict[str, list[LeafRatio]] = defaultdict(list)
    for one in sorted(slow, key=lambda one: one.ratio.value):
        by_leaf[one.key[0]].append(one)
    found = []
    for leaf, ways in by_leaf.items():
        named = _finding(leaf, ways, scene)
        found.append(_with_cables(named, ways[0], scene, wiring, effect) if wiring is not None else named)
    return found


def _with_cables(found: Finding, worst: LeafRatio, scene: LoadState, wiring: Wiring, effect: float) -> Finding:
    """Which cables of the uplink it is, if some of them are as good as others'; one alone is named instead of it."""
    ours = _rounds_apart(worst.key, scene)
    others = [flows for key in worst.peers for flows in _rounds_apart(key, scene)]
    cables = cable_loads(worst.key, ours, others, wiring)
    slow = [one for one in cables if one.of_peers < 1 - effect]
    if not slow or len(slow) == len(cables):
        return found
    listed = some([f"{one.cable} ({share(one.of_peers)})" for one in slow])
    by_cable = Experiment(
        description=f"Cable by cable, {count(len(cables), 'cable')} of the uplink compared with those of other leaves",
        outcome=f"slow: {listed}; the other {len(cables) - len(slow)} are as good as others",
        confirmed=True,
    )
    found = msgspec.structs.replace(found, experiments=(*found.experiments, by_cable))
    if len(slow) > 1:
        return found
    way = found.direction if found.direction is Direction.BOTH else slow[0].direction
    suspect = PartSuspect(subject=link(slow[0].cable), direction=way, ambiguous_with=(), pairs=())
    return msgspec.structs.replace(
        found,
        kind=FindingKind.SLOW_CABLE,
        subject=suspect.subject,
        ambiguous_with=(),
        direction=way,
        remedy=part_remedy(suspect.subject),
        statement=f"The cable {slow[0].cable} carries {share(slow[0].of_peers)} of what cables of other leaves do "
        f"under load. {found.statement}",
    )


def _finding(leaf: str, ways: Sequence[LeafRatio], scene: LoadState) -> Finding:
    """`ways`: the slow ones of one leaf, the worse first."""
    worst = ways[0]
    many = apart(scene.found[worst.key])
    names = {key[0] for key in scene.found}
    suspect = PartSuspect(
        subject=uplink(leaf),
        direction=Direction.BOTH if len(ways) > 1 else worst.key[1],
        ambiguous_with=tuple(uplink(other) for other in sorted(names - {leaf})) if len(names) == 2 else (),
        pairs=tuple(sorted(flow.pair for flow in _rounds_apart(worst.key, scene)[-1])),
    )
    measured = median_estimate([one.bytes_per_s for one in many[-worst.ratio.runs :]])
    ratio = worst.ratio
    beside = ", ".join(dict.fromkeys(key[0] for key in worst.peers))
    does = "send" if worst.key[1] is Direction.OUT else "receive"
    return Finding(
        kind=FindingKind.SLOW_UPLINK,
        **suspect.accused,
        verdict=Verdict.SLOW,
        statement=sentence(
            f"{who(suspect)} carries {bandwidth(measured.value)} {WAYS[worst.key[1]]} while "
            f"{count(len(many[-1].nodes), 'node')} of the leaf {does} at once: {share(ratio.value)} of what other "
            f"leaves carry ({bandwidth(worst.expected_bytes_per_s)}; {share(ratio.low)} to {share(ratio.high)} with "
            f"{share(ratio.confidence)} confidence). Single pairs do not load it enough to show this."
        ),
        remedy=part_remedy(suspect.subject),
        metric=BANDWIDTH,
        measured=measured,
        peers=worst.expected_bytes_per_s,
        peers_name=PEERS,
        experiments=(
            Experiment(
                description=f"All nodes of the leaf under load, {ratio.runs} runs, alternating with {beside}",
                outcome=f"{bandwidth(measured.value)}, while the others gave {bandwidth(worst.expected_bytes_per_s)}",
                confirmed=True,
            ),
        ),
    )


def _rounds_apart(key: Key, scene: LoadState) -> list[Sequence[Measurement]]:
    """The rounds in which this leaf alone was under load."""
    nodes = set(apart(scene.found[key])[-1].nodes)
    end = 0 if key[1] is Direction.OUT else 1
    return [flows for flows in scene.rounds if {one.pair[end] for one in flows} == nodes]


# Single cables of an uplink, where the routes are known.

Rounds = Sequence[Sequence[Measurement]]


class CableLoad(msgspec.Struct, frozen=True, kw_only=True):
    """One cable of an uplink while its leaf is under load."""

    cable: str
    direction: Direction
    """Seen from the cable's first end."""
    bytes_per_s: float
    of_peers: float
    """Share of what cables of other leaves carry with as many streams."""


def cable_loads(key: Key, ours: Rounds, others: Rounds, wiring: Wiring) -> list[CableLoad]:
    """The cables by which a leaf's streams leave it (or enter it), the worst first.

    `ours` and `others`: rounds in which this leaf alone, or another one alone, was under load the same way. A cable is
    compared with those of other leaves that had as many streams; one without such is left out.
    """
    usual: defaultdict[int, list[float]] = defaultdict(list)
    for flows in others:
        for _, streams, rate in _cables(flows, key[1], wiring):
            usual[streams].append(rate)
    shares: defaultdict[tuple[str, Direction], list[tuple[float, float]]] = defaultdict(list)
    for flows in ours:
        for cable, streams, rate in _cables(flows, key[1], wiring):
            if usual[streams]:
                shares[cable].append((rate, rate / median(usual[streams])))
    found = [
        CableLoad(
            cable=name,
            direction=way,
            bytes_per_s=median([rate for rate, _ in many]),
            of_peers=median([share for _, share in many]),
        )
        for (name, way), many in shares.items()
    ]
    return sorted(found, key=lambda one: (one.of_peers, one.cable))


def _cables(
    flows: Sequence[Measurement], way: Direction, wiring: Wiring
) -> Iterator[tuple[tuple[str, Direction], int, float]]:
    """Each cable next to the leaf: how many streams cross it in this round, and what they carry together."""
    by_cable: defaultdict[tuple[str, Direction], list[Measurement]] = defaultdict(list)
    for one in flows:
        crossed = [part for part in wiring.path(*one.pair) if part.kind == SubjectKind.LINK]
        if crossed:
            nearest = crossed[0] if way is Direction.OUT else crossed[-1]
            by_cable[nearest.name, nearest.direction].append(one)
    for cable, many in by_cable.items():
        yield cable, len(many), carried(many)
