"""Verdicts of the retest: `prove_bandwidth` and `prove_latency` apply the second look to the suspects of the survey and
change the verdicts on their pairs.
"""

from collections import ChainMap, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import msgspec

from seatrial.commands.check.pair_verdicts import JudgedPair, limit_floor
from seatrial.commands.check.second_look import SHARED_RUNS, RetestOutcome, SecondLook, Verified
from seatrial.experiment.controls import RETEST_RUNS
from seatrial.locate.evidence import SHORTEST_S, MeasuredPair, Pair
from seatrial.locate.explanation import Blamed
from seatrial.locate.references import References
from seatrial.locate.slow_parts import FEWEST_ROWS
from seatrial.locate.thresholds import EFFECT
from seatrial.model.fabric import Component, Wiring
from seatrial.model.measurement import Phase
from seatrial.model.subject import SubjectKind
from seatrial.model.verdict import Verdict
from seatrial.pairs.leaf_matchings import on_shared_cables

UNKNOWN_WAITS = "late, as beside a program on a core: nobody knows how long its ranks waited for a processor"


class Proofs(msgspec.Struct, frozen=True, kw_only=True):
    """Suspects by outcome (`slow`: confirmed, or not measured again yet), and the verdicts that this changed."""

    slow: tuple[Blamed, ...]
    unstable: tuple[Blamed, ...]
    open: tuple[Blamed, ...]
    busy: tuple[Blamed, ...] = ()
    """Confirmed, and the rank of a node waited for a processor for as much of the time as is lost."""
    changed: Mapping[Pair, JudgedPair]
    """Verdicts that differ from the survey's, or say more."""
    look: SecondLook
    turned: frozenset[Pair] = frozenset()
    """Control pairs, good in the survey, that were slow for certain when measured alone."""
    refuted: frozenset[Pair] = frozenset()
    """Pairs, slow in the survey, that were good when measured alone."""

    @property
    def contradicts_survey(self) -> bool:
        """Whether other parts may be at fault than those that the survey accuses."""
        return bool(self.turned or (self.refuted and any(not one.components for one in (*self.slow, *self.open))))


def prove_bandwidth(
    groups: Sequence[Blamed],
    judged: Mapping[Pair, JudgedPair],
    evidence: Mapping[Pair, MeasuredPair],
    retested: Collection[Pair],
    references: References,
    *,
    starved: Collection[Pair] = (),
    unknown_waits: bool = False,
) -> Proofs:
    """Every group's retest, compared with the peers in the same minutes and with the limit.

    `judged`: the survey's verdicts. `retested`: pairs whose bandwidth was measured again, suspects and controls; none
    that is bad for a reason that is known. `starved`: pairs that are below their limit while their ranks waited, each
    judged by itself. `unknown_waits`: nobody knows how long ranks waited for a processor.
    """
    line = references.bandwidth
    series = {pair: evidence[pair].bandwidth[Phase.RETEST] for pair in sorted(retested)}

    def floor(pair: Pair) -> float:
        return references.rate_over_peers(pair, limit_floor(references.limits.get(pair)))

    look = SecondLook(
        {pair: own.by_number(own.runs) for pair, own in series.items()},
        references.rate_over_peers,
        {pair for group in groups for pair in group.pairs},
        (line.effect if references.alike else float("inf")) if line else 0.0,
        line.scatter if line else 0.0,
        floor,
        {pair: own.by_number(own.waited) for pair, own in series.items()},
        {pair: own.since for pair, own in series.items()},
    )
    proofs = _Proofs(judged, look, references, unknown_waits)
    seen = [
        (group, proofs.seen(group)) for group in _beside_others(groups, look, references.fabric, proofs.on_own_link)
    ]
    slow = {pair for group, verified in seen if verified.outcome is RetestOutcome.CONFIRMED for pair in group.pairs}
    for group, verified in seen:
        rest = Blamed(group.components, group.pairs - slow)  # what is slow elsewhere does not make this part unstable
        proofs.take(group, proofs.seen(rest) if rest.pairs and verified.outcome is RetestOutcome.UNSTABLE else verified)
    suspected = {pair for group in groups for pair in group.pairs}
    for pair in sorted(starved):
        if pair not in proofs.changed:  # no part that it crosses was decided
            proofs.alone(pair, "its ranks waited for a processor as long as it lacks of its limit")
    proofs.look_at_controls({pair for pair in series if judged[pair].verdict is Verdict.PASS} - suspected)
    return proofs.made()


def _beside_others(
    groups: Sequence[Blamed], look: SecondLook, fabric: Wiring, near: Callable[[Blamed], Sequence[Pair]]
) -> Iterator[Blamed]:
    """The groups without those of their pairs that another part explains which is slow for certain.

    A bundle is not explained by a node behind it unless that is slow by its pairs within its leaf, too (`near`), in one
    direction at least. A node with `FEWEST_ROWS` pairs besides stays a suspect; of fewer, other jobs' traffic may be
    the reason, so that each is a suspect by itself. What is slower than the other part is not explained by it.
    """
    confirmed: defaultdict[Component, list[tuple[Blamed, Verified]]] = defaultdict(list)
    own = [group for group in groups if look.of(near(group)).outcome is RetestOutcome.CONFIRMED]
    within = {part.name for group in own for part in group.components}
    for group in groups:
        if (verified := look.of(group.pairs)).outcome is RetestOutcome.CONFIRMED:
            for part in group.components:
                confirmed[part].append((group, verified))
    for group in groups:
        explained = {
            pair
            for pair in (group.pairs if group.components else ())
            for part in fabric.path(*pair)
            for other, verified in confirmed.get(part, ())
            if other is not group and (group.is_own or (other.is_own and part.name in within))
            if _as_good(look.of([pair]), verified, group.is_own)
        }
        left = group.pairs - explained
        if not explained or len(left) >= FEWEST_ROWS:
            yield Blamed(group.components, left)
        else:
            yield from (Blamed(frozenset(), frozenset([pair])) for pair in sorted(left))


def _as_good(pair: Verified, part: Verified, of_node: bool) -> bool:
    """Whether the pair may deliver what the part permits; of a node (`of_node`) not if it was not measured again."""
    if pair.of_peers is None or part.of_peers is None:
        return pair.outcome is RetestOutcome.UNSEEN and not of_node
    return pair.of_peers.high >= (1 - EFFECT) * part.of_peers.value


def prove_latency(
    groups: Sequence[Blamed],
    judged: Mapping[Pair, JudgedPair],
    evidence: Mapping[Pair, MeasuredPair],
    retested: Collection[Pair],
    references: References,
    *,
    unknown_waits: bool = False,
) -> Proofs:
    """Verdicts of the retest on late parts, which are late in nearly every run or not late: load makes a microsecond
    vary. With few runs, since others say nothing beside control pairs that were late, too, a part is left open; so is
    a node or a pair if nobody knows how long ranks waited, since a program on a core makes it late, too."""
    lines = references.speed
    series = {
        pair: evidence[pair].latency[Phase.RETEST] for pair in sorted(retested) if references.crosses(pair) in lines
    }
    look = SecondLook(
        {pair: own.by_number([1 / max(run, SHORTEST_S) for run in own.runs]) for pair, own in series.items()},
        lambda pair, run: lines[references.crosses(pair)].over_peers(run),
        {pair for group in groups for pair in group.pairs},
        max((line.effect for line in lines.values()), default=0.0),
        max((line.scatter for line in lines.values()), default=0.0),
        waited={pair: own.by_number(own.waited) for pair, own in series.items()},
        since={pair: own.since for pair, own in series.items()},
        round_trips=True,
    )
    slow: list[Blamed] = []
    unstable: list[Blamed] = []
    left: list[Blamed] = []
    result: dict[Pair, JudgedPair] = {}
    for group in groups:
        verified = look.of(group.pairs)
        confirmed = verified.outcome is RetestOutcome.CONFIRMED
        doubtful = confirmed and unknown_waits and ends_of(group)
        if verified.outcome is RetestOutcome.UNSEEN or (confirmed and not doubtful):
            slow.append(group)
        elif doubtful or (verified.outcome is RetestOutcome.OPEN and verified.runs < RETEST_RUNS):
            left.append(group)
            why = UNKNOWN_WAITS if doubtful else _why_open(verified)
            result |= {pair: judged[pair].opened(why) for pair in group.pairs}
        else:
            unstable += [group] if verified.outcome is RetestOutcome.UNSTABLE else []
            result |= {pair: judged[pair].decided(Verdict.PASS) for pair in group.pairs}
    return Proofs(slow=tuple(slow), unstable=tuple(unstable), open=tuple(left), changed=result, look=look)


class _Proofs:
    def __init__(
        self, judged: Mapping[Pair, JudgedPair], look: SecondLook, references: References, unknown_waits: bool = False
    ) -> None:
        self._references, self._unknown_waits = references, unknown_waits
        self.changed: dict[Pair, JudgedPair] = {}
        self._judged: Mapping[Pair, JudgedPair] = ChainMap(self.changed, dict(judged))
        self._look = look
        self._slow: list[Blamed] = []
        self._unstable: list[Blamed] = []
        self._open: list[Blamed] = []
        self._busy: list[Blamed] = []
        self._turned: set[Pair] = set()
        self._doubtful: set[Pair] = set()
        """Control pairs that are not decided."""
        self._certain: set[tuple[str, str]] = set()
        """Kinds and names of parts that the retest confirmed, in one direction at least."""

    def made(self) -> Proofs:
        """Pairs that a part explains are not suspects of their own.

        The other direction of a part that is slow for certain is slow, too, if its runs do not refute it.
        Of a cable or bundle the way back counts, too: supposed routes may lead it elsewhere than it goes.
        """
        for group in [one for one in self._slow if not one.components and self._elsewhere_bad(one)]:
            self._slow.remove(group)
            self._open.append(group)
            self._leave_open(group.pairs, "other pairs of its nodes were bad beside it, too")
        for group in [one for one in self._open if self._certain & {(part.kind, part.name) for part in one.components}]:
            self._open.remove(group)
            self._slow.append(group)
            self._decide(group, Verdict.SLOW)
        self._slow = [*self._with_explained(self._slow)]
        parts = [group for group in (*self._slow, *self._unstable, *self._busy) if group.components]
        beyond = [group for group in parts if all(part.kind != "node" for part in group.components)]
        explained = frozenset(pair for group in parts for pair in group.pairs)
        explained |= {pair[::-1] for group in beyond for pair in group.pairs}

        def left(groups: Sequence[Blamed]) -> tuple[Blamed, ...]:
            return tuple(group for group in groups if group.components or not group.pairs <= explained)

        return Proofs(
            slow=left(self._slow),
            unstable=left(self._unstable),
            open=left(self._open),
            busy=left(self._busy),
            changed=self.changed,
            look=self._look,
            turned=frozenset(self._turned),
            refuted=frozenset(pair for pair, one in self.changed.items() if one.verdict is Verdict.PASS),
        )

    def _with_explained(self, slow: Sequence[Blamed]) -> Iterator[Blamed]:
        """The slow parts with those lone pairs on whose way they are and that are as good as they permit."""
        alone = {pair for group in (*slow, *self._open) if not group.components for pair in group.pairs}
        crossing: defaultdict[Component, set[Pair]] = defaultdict(set)
        for pair in alone:
            for part in self._references.fabric.path(*pair):
                crossing[part].add(pair)
        for group in slow:
            more = set[Pair].intersection(*(crossing[part] for part in group.components)) if group.components else set()
            verified = self.seen(group) if more else None
            fit = {pair for pair in more if verified and _as_good(self._look.of([pair]), verified, group.is_own)}
            yield Blamed(group.components, group.pairs | fit)

    def _elsewhere_bad(self, group: Blamed) -> bool:
        """Whether a sender or a receiver of these pairs was bad with others in the retest: it may be at fault."""
        seen, others = self._look.of(group.pairs).outcome is not RetestOutcome.UNSEEN, self._doubtful - group.pairs
        return seen and any(pair[end] == other[end] for pair in group.pairs for other in others for end in (0, 1))

    def seen(self, group: Blamed) -> Verified:
        """The retest of a group: of a node by its pairs within its leaf, if any was measured again and no other pair of
        it was good: if one was, what is bad within the leaf is the partner, or the pair itself."""
        near = self.on_own_link(group)
        verified, path = self._look.of(near or group.pairs), self._references.fabric.path
        sure = near and verified.outcome is RetestOutcome.CONFIRMED
        crossing = [pair for pair in self._look.pairs if sure and group.components <= {*path(*pair)}]
        mixed = any(self._look.of([pair]).outcome is RetestOutcome.REFUTED for pair in crossing)
        return msgspec.structs.replace(verified, outcome=RetestOutcome.MIXED) if mixed else verified

    def on_own_link(self, group: Blamed) -> list[Pair]:
        """Pairs of a node that were measured again and cross no cable that other jobs use."""
        near = [pair for pair in group.pairs if group.is_own and not self._references.crosses(pair)]
        return [pair for pair in near if self._look.of([pair]).outcome is not RetestOutcome.UNSEEN]

    def take(self, group: Blamed, verified: Verified) -> None:
        """One suspect of the survey with the outcome of its retest."""
        match self._outcome(group, verified):
            case RetestOutcome.UNSEEN:
                self._slow.append(group)
            case RetestOutcome.CONFIRMED:
                self._certain |= {(part.kind, part.name) for part in group.components}
                self._slow.append(group)
                self._decide(group, Verdict.SLOW)
            case RetestOutcome.UNSTABLE:
                self._unstable.append(group)
                self._decide(group, Verdict.UNSTABLE)
            case RetestOutcome.OPEN if self._waited(group, verified):
                pass
            case RetestOutcome.OPEN:
                self._open.append(group)
                self._leave_open(group.pairs, _why_open(verified))
            case RetestOutcome.REFUTED | RetestOutcome.MIXED:
                for pair in sorted(group.pairs):
                    self.alone(pair, "other pairs of the same part were good in the retest")

    def _waited(self, group: Blamed, verified: Verified) -> bool:
        """Whether the rank of a node waited for a processor in as many runs, which say nothing for this reason, as it
        takes to distinguish a program that stays from those that come and go; the pairs are then not decided."""
        often = verified.waited >= SHARED_RUNS
        waits = self._look.long_waits(ends_of(group), group.pairs) if often else None
        if waits is None:
            return False
        self._busy.append(group)
        self._leave_open(group.pairs, f"{waits.text}: another program takes it, or a quota withholds it")
        return True

    def _outcome(self, group: Blamed, verified: Verified) -> RetestOutcome:
        """What other jobs use, too, is slow if two retests agree, since traffic may fill one, and on one level.

        So is a single pair: both its nodes are good with others, which a fault seldom does, and a program on a core
        may. A bundle of cables whose every pair was slow need not be on one level: they meet different traffic. What
        varies on a node's own link is decided only if it is known how long its ranks waited.
        """
        shared = all(on_shared_cables(pair, self._references.fabric) for pair in group.pairs)
        often = verified.runs >= SHARED_RUNS
        confirmed = verified.outcome is RetestOutcome.CONFIRMED
        if self.on_own_link(group):
            sure = not self._unknown_waits or (confirmed and (verified.one_level or verified.never_good))
        elif not group.components:
            sure = confirmed and often and verified.one_level
        else:
            sure = confirmed and (often or not shared) and (verified.steady or (shared and group.is_wide))
        doubtful = (RetestOutcome.CONFIRMED, RetestOutcome.UNSTABLE)
        return RetestOutcome.OPEN if verified.outcome in doubtful and not sure else verified.outcome

    def _leave_open(self, pairs: Collection[Pair], why: str) -> None:
        self.changed.update({pair: self._judged[pair].opened(why) for pair in pairs})

    def _decide(self, group: Blamed, verdict: Verdict) -> None:
        for pair in group.pairs:
            if not self._judged[pair].above_gate:
                self.changed[pair] = self._judged[pair].decided(verdict)

    def alone(self, pair: Pair, why: str) -> None:
        """A pair of a part that is not at fault: by its own runs, or not decided. `why` not, if it has none."""
        before = self._judged[pair]
        verified = self._look.of([pair])
        if verified.outcome is RetestOutcome.UNSEEN:
            if before.verdict is Verdict.SLOW:
                self.changed[pair] = before.opened(f"not measured again; {why}", refuted=True)
            return
        alone = Blamed(frozenset(), frozenset([pair]))
        match self._outcome(alone, verified):
            case RetestOutcome.CONFIRMED:
                self.changed[pair] = before.decided(Verdict.SLOW)
                self._slow.append(alone)
            case RetestOutcome.REFUTED if verified.waited > verified.runs:
                self.changed[pair] = before.opened(_why_open(verified))  # good runs among many that say nothing
            case RetestOutcome.REFUTED:
                self.changed[pair] = before.decided(Verdict.PASS)
            case RetestOutcome.OPEN if self._waited(alone, verified):
                pass
            case _:
                self.changed[pair] = before.opened(_why_open(verified))
                self._open += [] if before.starved else [alone]  # beside the same waits, further runs decide nothing

    def look_at_controls(self, pairs: "set[Pair]") -> None:
        """Pairs that were good in the survey: one bad retest leaves them undecided, and no part is reported for it.

        One that is open and far below the peers of the survey is not good either: the other controls may be worse.
        """
        for pair in pairs:
            outcome = self._look.of([pair]).outcome
            if outcome is RetestOutcome.CONFIRMED:
                self._turned.add(pair)
            bad = outcome in (RetestOutcome.CONFIRMED, RetestOutcome.UNSTABLE)
            if bad or (outcome is RetestOutcome.OPEN and self._look.lacks(pair)):
                self._doubtful.add(pair)
                self._leave_open([pair], "good in the survey; bad only when measured beside suspects")


def ends_of(group: Blamed) -> set[str]:
    """Nodes whose ranks can make the group slow: those that it is or may be, of pairs on their own both ends."""
    if not group.components:
        return {name for pair in group.pairs for name in pair}
    return {part.name for part in group.components if part.kind == SubjectKind.NODE}


def _why_open(verified: Verified) -> str:
    if verified.waited:
        every = verified.runs + verified.waited
        return (
            f"in {verified.waited} of {every} runs its ranks waited for a processor as long as they lack: other "
            "programs take the cores of the nodes"
        )
    if verified.runs < RETEST_RUNS:
        times = "once" if verified.runs == 1 else f"{verified.runs} times"
        return f"measured again {times}, and a proof takes {RETEST_RUNS} runs; give more time with --budget"
    if verified.outcome is RetestOutcome.CONFIRMED and verified.steady:
        return "slow in one retest; other jobs on its cables or its cores can fill one, so it takes a second"
    if not verified.steady:
        return "its runs lie on several levels, as when traffic of other jobs shares its path"
    return "the runs lie on both sides of the threshold"
