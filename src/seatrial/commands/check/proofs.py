"""What the retest makes of the survey's suspects, and of the verdicts on their pairs."""

from collections import ChainMap
from collections.abc import Collection, Mapping, Sequence

import msgspec

from seatrial.commands.check.pair_verdicts import Judged, limit_floor
from seatrial.commands.check.retest_verdicts import Outcome, SecondLook, Verified
from seatrial.locate.evidence import SHORTEST_S, Evidence, Pair
from seatrial.locate.explanation import Blamed
from seatrial.locate.references import References
from seatrial.locate.thresholds import RETEST_RUNS
from seatrial.model.measurement import Phase
from seatrial.model.verdict import Verdict


class Proofs(msgspec.Struct, frozen=True, kw_only=True):
    """Suspects by outcome (`slow`: confirmed, or not measured again yet), and the verdicts that this changed."""

    slow: tuple[Blamed, ...]
    unstable: tuple[Blamed, ...]
    open: tuple[Blamed, ...]
    changed: Mapping[Pair, Judged]
    """Verdicts that differ from the survey's, or say more."""
    look: SecondLook


def prove_bandwidth(
    groups: Sequence[Blamed],
    judged: Mapping[Pair, Judged],
    evidence: Mapping[Pair, Evidence],
    retested: Collection[Pair],
    references: References,
) -> Proofs:
    """Every group's retest, compared with the peers in the same minutes and with the limit.

    `judged`: the survey's verdicts. `retested`: pairs whose bandwidth was measured again.
    """
    line = references.bandwidth
    runs = {pair: evidence[pair].bandwidth[Phase.RETEST].runs for pair in sorted(retested)}

    def floor(pair: Pair) -> float:
        return references.rate_over_peers(pair, limit_floor(references.limits.get(pair)))

    look = SecondLook(
        runs,
        references.rate_over_peers,
        {pair for group in groups for pair in group.pairs},
        (line.effect if references.alike else float("inf")) if line else 0.0,
        line.scatter if line else 0.0,
        floor,
    )
    proofs = _Proofs(judged, look)
    for group in groups:
        proofs.take(group, look.of(group.pairs))
    proofs.look_at_controls(runs.keys() - {pair for group in groups for pair in group.pairs})
    return proofs.made()


def prove_latency(
    groups: Sequence[Blamed],
    judged: Mapping[Pair, Judged],
    evidence: Mapping[Pair, Evidence],
    retested: Collection[Pair],
    references: References,
) -> Proofs:
    """The same of late parts. They are late in nearly every run or not late: load makes a microsecond waver."""
    lines = references.speed
    runs = {
        pair: [1 / max(run, SHORTEST_S) for run in evidence[pair].latency[Phase.RETEST].runs]
        for pair in sorted(retested)
        if references.crosses(pair) in lines
    }
    look = SecondLook(
        runs,
        lambda pair, run: lines[references.crosses(pair)].over_peers(run),
        {pair for group in groups for pair in group.pairs},
        max((line.effect for line in lines.values()), default=0.0),
        max((line.scatter for line in lines.values()), default=0.0),
    )
    slow, unstable = [], []
    result: dict[Pair, Judged] = {}
    for group in groups:
        outcome = look.of(group.pairs).outcome
        if outcome in (Outcome.UNSEEN, Outcome.CONFIRMED):
            slow.append(group)
            continue
        if outcome is Outcome.UNSTABLE:
            unstable.append(group)
        for pair in group.pairs:
            result[pair] = judged[pair].decided(Verdict.PASS)
    return Proofs(slow=tuple(slow), unstable=tuple(unstable), open=(), changed=result, look=look)


def _own(group: Blamed) -> bool:
    """Whether it is a node's own link, which no other job uses while the node is ours."""
    return any(part.kind == "node" for part in group.components)


class _Proofs:
    def __init__(self, judged: Mapping[Pair, Judged], look: SecondLook) -> None:
        self._changed: dict[Pair, Judged] = {}
        self._judged: Mapping[Pair, Judged] = ChainMap(self._changed, dict(judged))
        self._look = look
        self._slow: list[Blamed] = []
        self._unstable: list[Blamed] = []
        self._open: list[Blamed] = []
        self._certain: set[tuple[str, str]] = set()
        """Kinds and names of parts that the retest confirmed, in one direction at least."""

    def made(self) -> Proofs:
        """Pairs that a part explains do not stand on their own beside it.

        The other direction of a part that is slow for certain is slow, too, if its runs do not refute it.
        Of a cable or bundle the way back counts, too: supposed routes may lead it elsewhere than it goes.
        """
        other = [one for one in self._open if self._certain & {(part.kind, part.name) for part in one.components}]
        for group in other:
            self._open.remove(group)
            self._slow.append(group)
            self._decide(group, Verdict.SLOW)
        parts = [group for group in (*self._slow, *self._unstable) if group.components]
        beyond = [group for group in parts if all(part.kind != "node" for part in group.components)]
        explained = frozenset(pair for group in parts for pair in group.pairs)
        explained |= {pair[::-1] for group in beyond for pair in group.pairs}

        def left(groups: Sequence[Blamed]) -> tuple[Blamed, ...]:
            return tuple(group for group in groups if group.components or not group.pairs <= explained)

        return Proofs(
            slow=left(self._slow),
            unstable=left(self._unstable),
            open=left(self._open),
            changed=self._changed,
            look=self._look,
        )

    def take(self, group: Blamed, verified: Verified) -> None:
        """One suspect of the survey with the outcome of its retest."""
        match verified.outcome if _own(group) else verified.if_shared:
            case Outcome.UNSEEN:
                self._slow.append(group)
            case Outcome.CONFIRMED:
                self._certain |= {(part.kind, part.name) for part in group.components}
                self._slow.append(group)
                self._decide(group, Verdict.SLOW)
            case Outcome.UNSTABLE:
                self._unstable.append(group)
                self._decide(group, Verdict.UNSTABLE)
            case Outcome.OPEN:
                self._open.append(group)
                for pair in group.pairs:
                    self._changed[pair] = self._judged[pair].opened(_why_open(verified))
            case Outcome.REFUTED | Outcome.MIXED:
                for pair in sorted(group.pairs):
                    self._alone(pair, verified.outcome)

    def _decide(self, group: Blamed, verdict: Verdict) -> None:
        for pair in group.pairs:
            if not self._judged[pair].above_gate:
                self._changed[pair] = self._judged[pair].decided(verdict)

    def _alone(self, pair: Pair, part: Outcome) -> None:
        """A pair of a part that is not at fault: by its own runs, or not decided."""
        before = self._judged[pair]
        verified = self._look.of([pair])
        if verified.outcome is Outcome.UNSEEN:
            if before.verdict is Verdict.SLOW:
                why = "not measured again, and others of the same part were good when they were"
                self._changed[pair] = before.opened(why, refuted=True)
            return
        alone = Blamed(frozenset(), frozenset([pair]))
        match verified.if_shared:
            case Outcome.CONFIRMED:
                self._changed[pair] = before.decided(Verdict.SLOW)
                self._slow.append(alone)
            case Outcome.REFUTED:
                self._changed[pair] = before.decided(Verdict.PASS)
            case _:
                self._changed[pair] = before.opened(_why_open(verified))
                self._open.append(alone)

    def look_at_controls(self, pairs: "set[Pair]") -> None:
        """Pairs that the survey had nothing against: for them the retest is a first look, which convicts nobody."""
        for pair in pairs:
            if self._look.of([pair]).outcome in (Outcome.CONFIRMED, Outcome.UNSTABLE):
                why = "good in the survey, and bad only when measured beside suspects"
                self._changed[pair] = self._judged[pair].opened(why)


def _why_open(verified: Verified) -> str:
    if verified.runs < RETEST_RUNS:
        return f"measured again {verified.runs} times of {RETEST_RUNS}, which does not prove it: give more by --budget"
    if not verified.steady:
        return "its runs lie on several levels, as where other jobs' traffic shares its way"
    return "the runs lie on both sides of the line"
