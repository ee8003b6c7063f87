"""Verdicts of the retest: suspects are measured again alone, alternating with good pairs, and these runs decide.

`SecondLook` compares the runs of a part with those of the good pairs beside it. `prove_bandwidth` and `prove_latency`
apply it to the suspects of the survey and change the verdicts on their pairs.
"""

import enum
import math
from collections import ChainMap
from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from seatrial.commands.check.pair_verdicts import Judged, limit_floor
from seatrial.locate.evidence import SHORTEST_S, Evidence, Pair
from seatrial.locate.explanation import Blamed
from seatrial.locate.references import References
from seatrial.locate.significance import NORMAL
from seatrial.locate.thresholds import GROSS_LOSS, NEAR, RETEST_RUNS, SCATTERS, SURE
from seatrial.model.measurement import Estimate, Phase
from seatrial.model.verdict import Verdict
from seatrial.pairs.separate_rounds import on_shared_cables
from seatrial.statistics.estimates import median, median_estimate

ONE_LEVEL = 0.15
"""Log: runs of one part that lie further apart than this, and than noise puts them, are on several levels."""
LOOKS_BETWEEN_TRAFFIC = 2
"""Retests, minutes apart, after which a part that no run found good is at fault, and not the traffic beside it."""
LEAST_SWING, SWING_SHARE = 2, 0.25
"""Runs that must be grossly bad, and as many that must be good, where a part comes and goes. With a smaller share of
bad ones the part is not decided: on a loaded machine one run in twenty is this slow."""


class Outcome(enum.StrEnum):
    """How a second look at a suspect ended."""

    UNSEEN = "unseen"
    """Nothing of it was measured again."""
    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    MIXED = "mixed"
    """Some of its pairs are bad and others are good: the part itself is not at fault, single pairs may be."""
    UNSTABLE = "unstable"
    OPEN = "open"


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """`of_peers`: what it delivers as a share of its peers' in the same minutes; None where it is not known."""

    outcome: Outcome
    of_peers: Estimate | None = None
    runs: int = 0
    steady: bool = True
    """All runs lie on one level, as a fault makes them, or the better ones of many do; traffic comes and goes."""

    @property
    def if_shared(self) -> Outcome:
        """The outcome for what other jobs may use, too, a pair or a cable: only one level convicts it."""
        if self.outcome is Outcome.UNSTABLE or (self.outcome is Outcome.CONFIRMED and not self.steady):
            return Outcome.OPEN
        return self.outcome


UNSEEN = Verified(outcome=Outcome.UNSEEN)


class SecondLook:
    """All runs of the retest of one metric, as logarithms over the peers; larger is better."""

    def __init__(
        self,
        runs: Mapping[Pair, Sequence[float]],
        over_peers: Callable[[Pair, float], float],
        suspected: Collection[Pair],
        effect: float,
        scatter: float,
        floor: Callable[[Pair], float] | None = None,
    ) -> None:
        """`runs`: of the pairs that were measured again, whose controls are those not `suspected`.

        `over_peers`: the logarithm of a run over what its peers give. `floor`: the same of the least that is good
        whatever the peers do; None: there is none. `scatter`: of a healthy pair in the survey.
        """
        self._over = {pair: [over_peers(pair, run) for run in own] for pair, own in runs.items()}
        self._floor = floor
        self._effect = effect
        self._gross = max(-math.log1p(-GROSS_LOSS), 2 * effect)
        controls = [own for pair, own in self._over.items() if pair not in suspected]
        most = max((len(own) for own in self._over.values()), default=0)
        self._beside = [_middle([own[run] for own in controls if run < len(own)]) for run in range(most)]
        apart = [abs(value - self._beside[run]) for own in controls for run, value in enumerate(own)]
        self._noise = NORMAL * median(apart) if len(controls) > 1 else scatter

    def of(self, pairs: Collection[Pair]) -> Verified:
        """The outcome for a part that is on all these pairs."""
        own = {pair: self._relative(pair) for pair in pairs if pair in self._over}
        if not own:
            return UNSEEN
        count = max(len(runs) for runs in own.values())
        pooled = [_middle([runs[run] for runs in own.values() if run < len(runs)]) for run in range(count)]
        margins = {pair: self._margins(pair, runs) for pair, runs in own.items()}
        least = [_middle([runs[run] for runs in margins.values() if run < len(runs)]) for run in range(count)]
        outcome = self._outcome(pooled, least)
        if outcome in (Outcome.CONFIRMED, Outcome.OPEN) and self._mixed(margins, least):
            outcome = Outcome.MIXED
        if outcome is Outcome.UNSTABLE and self._mostly_calm(own):
            outcome = Outcome.MIXED
        if outcome is Outcome.UNSTABLE and sum(run < -self._swing for run in pooled) < SWING_SHARE * count:
            outcome = Outcome.OPEN
        steady = self._one_level(pooled) or self._one_level_below_traffic(pooled, least)
        return Verified(outcome=outcome, of_peers=_share(pooled), runs=count, steady=steady)

    def _one_level(self, pooled: Sequence[float]) -> bool:
        return max(pooled) - min(pooled) <= max(ONE_LEVEL, SCATTERS * math.sqrt(2) * self._noise)

    def _one_level_below_traffic(self, pooled: Sequence[float], margins: Sequence[float]) -> bool:
        """Whether the better half of many runs lies on one level, and none is good.

        Traffic of others only takes from a part, and it pauses. Over several looks the better runs show the part
        alone: a healthy one would have been good at least once.
        """
        bad = sorted(value for value, margin in zip(pooled, margins, strict=True) if margin < 0)
        enough = len(pooled) >= LOOKS_BETWEEN_TRAFFIC * RETEST_RUNS and len(bad) == len(pooled)
        return enough and self._one_level(bad[len(bad) // 2 :])

    def _relative(self, pair: Pair) -> list[float]:
        """Its runs less what the controls of the same run show."""
        return [value - self._beside[run] for run, value in enumerate(self._over[pair])]

    def _margins(self, pair: Pair, relative: Sequence[float]) -> list[float]:
        """By how much each run is above the line: that of the peers, or that of the limit where it is nearer."""
        margins = [value + self._effect for value in relative]
        if self._floor is None:
            return margins
        floor = self._floor(pair)
        return [min(margin, value - floor) for margin, value in zip(margins, self._over[pair], strict=True)]

    def _outcome(self, pooled: Sequence[float], margins: Sequence[float]) -> Outcome:
        below = sum(margin < 0 for margin in margins)
        middle = median(margins)
        good = middle > (1 - NEAR) * self._effect
        if len(margins) < RETEST_RUNS:
            return Outcome.REFUTED if good and below <= min(1, len(margins) - 1) else Outcome.OPEN
        interval = median_estimate(margins)
        if interval.high < 0 or len(margins) - below <= 1:
            return Outcome.CONFIRMED
        bad, fair = (sum(run < -self._swing for run in pooled), len(margins) - below)
        if bad >= LEAST_SWING and fair >= LEAST_SWING:
            return Outcome.UNSTABLE
        if interval.low > (1 - SURE) * self._effect or (good and bad < LEAST_SWING):
            return Outcome.REFUTED
        return Outcome.OPEN

    @property
    def _swing(self) -> float:
        """A run that lacks this much is bad for another reason than noise."""
        return max(self._gross, SCATTERS * self._noise)

    def _mixed(self, margins: Mapping[Pair, Sequence[float]], pooled: Sequence[float]) -> bool:
        """Whether a pair is good that the part would have made bad: a pair is as good as the worst part on its way."""
        middle = median(pooled)
        for runs in margins.values():
            own = median(runs)
            apart = SCATTERS * self._noise / math.sqrt(len(runs))
            if len(runs) >= RETEST_RUNS and own > (1 - NEAR) * self._effect and own - middle > apart:
                return True
        return False

    def _mostly_calm(self, own: Mapping[Pair, Sequence[float]]) -> bool:
        """Whether half of several pairs were never bad: a part that comes and goes takes all its pairs with it, while
        other jobs' traffic takes those on its way."""
        seen = [runs for runs in own.values() if len(runs) >= RETEST_RUNS]
        calm = sum(min(runs) > -self._swing for runs in seen)
        return len(seen) > 1 and 2 * calm >= len(seen)


def _middle(values: Sequence[float]) -> float:
    return median(values) if values else 0.0


def _share(logs: Sequence[float]) -> Estimate:
    """With the interval of the median: order statistics, which survive the exponential."""
    found = median_estimate(logs)
    return msgspec.structs.replace(
        found, value=math.exp(found.value), low=math.exp(found.low), high=math.exp(found.high)
    )


# Suspects of the survey and verdicts on their pairs, as the retest changes them.


class Proofs(msgspec.Struct, frozen=True, kw_only=True):
    """Suspects by outcome (`slow`: confirmed, or not measured again yet), and the verdicts that this changed."""

    slow: tuple[Blamed, ...]
    unstable: tuple[Blamed, ...]
    open: tuple[Blamed, ...]
    changed: Mapping[Pair, Judged]
    """Verdicts that differ from the survey's, or say more."""
    look: SecondLook
    turned: frozenset[Pair] = frozenset()
    """Control pairs, good in the survey, that were slow for certain when measured alone."""


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
    proofs = _Proofs(judged, look, lambda pair: on_shared_cables(pair, references.fabric))
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
    """The same of late parts. They are late in nearly every run or not late: load makes a microsecond vary."""
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


class _Proofs:
    def __init__(self, judged: Mapping[Pair, Judged], look: SecondLook, shared: Callable[[Pair], bool]) -> None:
        """`shared`: whether a pair crosses cables that other jobs use, too."""
        self._shared = shared
        self._changed: dict[Pair, Judged] = {}
        self._judged: Mapping[Pair, Judged] = ChainMap(self._changed, dict(judged))
        self._look = look
        self._slow: list[Blamed] = []
        self._unstable: list[Blamed] = []
        self._open: list[Blamed] = []
        self._turned: set[Pair] = set()
        self._certain: set[tuple[str, str]] = set()
        """Kinds and names of parts that the retest confirmed, in one direction at least."""

    def made(self) -> Proofs:
        """Pairs that a part explains are not suspects of their own.

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
            turned=frozenset(self._turned),
        )

    def take(self, group: Blamed, verified: Verified) -> None:
        """One suspect of the survey with the outcome of its retest."""
        match self._outcome(group, verified):
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

    def _outcome(self, group: Blamed, verified: Verified) -> Outcome:
        """Traffic of one other job may fill a whole retest; a single pair on its way is convicted by two.

        A bundle of cables whose every pair was slow need not be on one level: they meet different traffic.
        """
        shared = all(map(self._shared, group.pairs))
        if group.is_own or (shared and group.is_wide and verified.outcome is Outcome.CONFIRMED):
            return verified.outcome
        outcome = verified.if_shared
        once = verified.runs < LOOKS_BETWEEN_TRAFFIC * RETEST_RUNS
        if outcome is Outcome.CONFIRMED and once and shared and not group.components:
            return Outcome.OPEN
        return outcome

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
                why = "not measured again; other pairs of the same part were good in the retest"
                self._changed[pair] = before.opened(why, refuted=True)
            return
        alone = Blamed(frozenset(), frozenset([pair]))
        match self._outcome(alone, verified):
            case Outcome.CONFIRMED:
                self._changed[pair] = before.decided(Verdict.SLOW)
                self._slow.append(alone)
            case Outcome.REFUTED:
                self._changed[pair] = before.decided(Verdict.PASS)
            case _:
                self._changed[pair] = before.opened(_why_open(verified))
                self._open.append(alone)

    def look_at_controls(self, pairs: "set[Pair]") -> None:
        """Pairs that were good in the survey: one bad retest leaves them undecided, and no part is reported for it."""
        for pair in pairs:
            outcome = self._look.of([pair]).outcome
            if outcome is Outcome.CONFIRMED:
                self._turned.add(pair)
            if outcome in (Outcome.CONFIRMED, Outcome.UNSTABLE):
                why = "good in the survey; bad only when measured beside suspects"
                self._changed[pair] = self._judged[pair].opened(why)


def _why_open(verified: Verified) -> str:
    if verified.runs < RETEST_RUNS:
        times = "once" if verified.runs == 1 else f"{verified.runs} times"
        return f"measured again {times}, and a proof takes {RETEST_RUNS} runs; give more time with --budget"
    if verified.outcome is Outcome.CONFIRMED and verified.steady:
        return "slow in one retest; traffic of other jobs on its cables can fill one, so it takes a second"
    if not verified.steady:
        return "its runs lie on several levels, as when traffic of other jobs shares its path"
    return "the runs lie on both sides of the threshold"
