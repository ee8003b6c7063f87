"""Compares the findings of a check on a simulated fabric with the faults that were planted there."""

import enum
import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from seatrial.fabric.parts import FabricPart, FabricParts, PartKind
from seatrial.fabric.routed_fabric import RoutedFabric
from seatrial.lab.simulator.faults import SimulatedFault
from seatrial.lab.simulator.launcher import SimulatedLauncher
from seatrial.model.subject import Direction, Subject, SubjectKind, pair
from seatrial.model.verdict import Finding
from seatrial.pairs.rounds import Pair

LOSS_CLASSES = (
    (0.05, "less than 5 %"),
    (0.1, "5 to 10 %"),
    (0.2, "10 to 20 %"),
    (0.35, "20 to 35 %"),
    (1.1, "35 % up"),
)
"""Upper end (not included) and name of each class of losses."""


class Match(enum.StrEnum):
    """What became of a planted fault. UNSEEN: a faulty pair that was never measured, or a fault that had not begun when
    the check ended; it counts nowhere else."""

    NAMED = "named"
    IN_SET = "in-set"
    MISSED = "missed"
    UNSEEN = "unseen"


class Truth(enum.StrEnum):
    """What a finding is worth. PARTIAL: it names a pair or a cable that is slow because of a planted larger fault."""

    TRUE = "true"
    PARTIAL = "partial"
    FALSE = "false"


class ScoredFault(msgspec.Struct, frozen=True, kw_only=True):
    """A planted fault by the subject that a finding would have, and what became of it."""

    kind: PartKind
    subject: Subject
    direction: Direction
    loss_ratio: float
    match: Match

    @property
    def loss_class(self) -> str:
        """The name of its class of losses."""
        return next(name for end, name in LOSS_CLASSES if self.loss_ratio < end)


class JudgedFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One finding of the check, or a set of subjects with at least one at fault."""

    kind: str
    subject: Subject
    direction: Direction
    ambiguous_with: tuple[Subject, ...]
    truth: Truth


class SimulatorScore(msgspec.Struct, frozen=True, kw_only=True):
    """All faults and all findings of one trial."""

    faults: tuple[ScoredFault, ...]
    claims: tuple[JudgedFinding, ...]

    @property
    def right(self) -> bool:
        """Whether every fault that was measured is named or lies in a set, and no finding is false."""
        missed = any(fault.match is Match.MISSED for fault in self.faults)
        return not missed and not any(claim.truth is Truth.FALSE for claim in self.claims)


class Namer:
    """Subjects of parts, as a check with or without the fabric's routes names them."""

    def __init__(self, launcher: SimulatedLauncher, parts: FabricParts, wiring: RoutedFabric, *, routed: bool) -> None:
        """`parts` and `wiring` of the launcher's fabric; they are costly to make."""
        self.launcher = launcher
        self.parts = parts
        self.routed = routed
        self._wiring = wiring
        self._leaf_name: Mapping[str, str] = {} if routed else launcher.nodes.leaf_name

    def subject(self, part: FabricPart) -> Subject:
        """The subject of findings on this part."""
        name = self._leaf_name.get(part.place) if part.kind is PartKind.UPLINK else None
        return Subject(kind=SubjectKind(part.kind.value), name=name or self._wiring.name_of(part))

    def around(self, part: FabricPart) -> set[Subject]:
        """The uplinks that a cable belongs to, the least that a check without routes can name; none of other parts."""
        if self.routed or part.kind is not PartKind.LINK:
            return set()
        uplinks = (bundle for bundle in self.parts.bundles if bundle.kind is PartKind.UPLINK)
        return {self.subject(uplink) for uplink in uplinks if not set(part.hops).isdisjoint(uplink.hops)}


def score(
    planted: Sequence[SimulatedFault],
    findings: Sequence[Finding],
    measured: Collection[Pair],
    namer: Namer,
    ended_s: float = math.inf,
) -> SimulatorScore:
    """A fault is found by its exact subject, or by a set that contains it; `measured`: ordered pairs of nodes.
    `ended_s`: simulated seconds after which nothing was measured.

    A finding is false if neither it nor any member of its set is at fault or slow because of a planted fault.
    """
    subjects = [namer.subject(fault.part) for fault in planted]
    around = [namer.around(fault.part) for fault in planted]
    slowed = _slowed(planted, namer)
    claims = tuple(
        JudgedFinding(
            kind=one.kind,
            subject=one.subject,
            direction=one.direction,
            ambiguous_with=one.ambiguous_with,
            truth=_truth(_claimed(one), {*subjects, *itertools.chain.from_iterable(around)}, slowed),
        )
        for one in findings
    )
    named = {subject for one in findings for subject in (one.subject, *_turned(one))}
    in_sets = {subject for claim in claims for subject in claim.ambiguous_with}
    faults = []
    for fault, subject, uplinks in zip(planted, subjects, around, strict=True):
        in_set = subject in in_sets or not uplinks.isdisjoint(named | in_sets)
        match = Match.NAMED if subject in named else Match.IN_SET if in_set else Match.MISSED
        unmeasured = fault.part.pair is not None and _pair_of(subject) not in measured
        if match is Match.MISSED and (unmeasured or fault.course.since_s >= ended_s):
            match = Match.UNSEEN
        faults.append(
            ScoredFault(
                kind=fault.part.kind, subject=subject, direction=fault.part.way, loss_ratio=fault.loss, match=match
            )
        )
    return SimulatorScore(faults=tuple(faults), claims=claims)


def _claimed(finding: Finding) -> set[Subject]:
    """All subjects of which the finding says that at least one is at fault."""
    return {finding.subject, *finding.ambiguous_with, *_turned(finding)}


def _turned(finding: Finding) -> list[Subject]:
    """A pair in the other direction, which a finding on round trips names as well."""
    if finding.subject.kind is not SubjectKind.PAIR or finding.direction is not Direction.BOTH:
        return []
    return [pair(*_pair_of(finding.subject)[::-1])]


def _truth(named: Collection[Subject], planted: Collection[Subject], slowed: Callable[[Subject], bool]) -> Truth:
    if any(subject in planted for subject in named):
        return Truth.TRUE
    return Truth.PARTIAL if any(map(slowed, named)) else Truth.FALSE


def _slowed(planted: Sequence[SimulatedFault], namer: Namer) -> Callable[[Subject], bool]:
    """Whether a subject is slow because of a fault: a cable within a faulty bundle, a pair across any faulty cable."""
    launcher = namer.launcher
    faulty = {hop for fault in planted for hop in fault.part.hops}
    bundles = [fault.part for fault in planted if fault.part.kind in (PartKind.UPLINK, PartKind.SPINE)]
    cables = {namer.subject(namer.parts.of_hop(hop)) for part in bundles for hop in part.hops}

    def slowed(subject: Subject) -> bool:
        if subject.kind is not SubjectKind.PAIR:
            return subject in cables
        source, target = (launcher.nodes.adapter_of.get(name, "") for name in _pair_of(subject))
        routed = source in launcher.routes.number and target in launcher.routes.number
        return routed and not faulty.isdisjoint(launcher.routes.path(source, target))

    return slowed


def _pair_of(subject: Subject) -> Pair:
    source, _, target = subject.name.partition(">")
    return source, target
